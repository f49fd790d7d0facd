//! What is refused: graphs, handlers, bindings and numbers.

use super::*;

#[test]
fn findings_say_which_task_and_why() {
    let (queue, mix, _) = mixing(QueueLayout::default(), 16);
    let four = [0; 4];
    let found = |graph: TaskGraph| -> Vec<String> {
        let TaskGraphError(findings) = queue.check(graph).unwrap_err();
        findings.iter().map(ToString::to_string).collect()
    };
    let mut graph = TaskGraph::new();
    let a = graph.add(Opcode(4), 0, &[]);
    let b = graph.add(mix, 3, &[1]);
    graph.depend(b, a);
    graph.link(b, TaskId(9));
    assert_eq!(
        found(graph),
        [
            "task 0: opcode 4 has no handler; there are 1, and `handler` gives the opcode of each",
            "task 1: the handler of opcode 0 takes 4 arguments, not 1",
            "task 1: there is no lane 3, only 1",
            "task 1 is to tell task 9, but there are 2 tasks",
        ]
    );
    let mut graph = TaskGraph::new();
    let ids: Vec<_> = (0..6).map(|_| graph.add(mix, 0, &four)).collect();
    // 4 → 2 → 5 → 4 is a circle, and 3 waits for it.
    for (task, on) in [(2, 4), (5, 2), (4, 5), (3, 5), (1, 0)] {
        graph.depend(ids[task], ids[on]);
    }
    graph.link(ids[0], ids[1]);
    graph.expect(ids[1], 3);
    assert_eq!(
        found(graph),
        [
            "task 0 is to tell task 1 twice: link them once",
            "task 1 waits for 3 tasks, but 2 tell it: use `depend`, or `expect` as many as link to it",
            "tasks wait for each other in a circle: 2 → 5 → 4",
        ]
    );
    let mut graph = TaskGraph::new();
    let ids: Vec<_> = (0..100).map(|_| graph.add(mix, 0, &four)).collect();
    for n in 0..100 {
        graph.depend(ids[(n + 1) % 100], ids[n]);
    }
    let TaskGraphError(findings) = queue.check(graph).unwrap_err();
    assert_eq!(findings[0].task(), Some(TaskId(0)));
    assert!(findings[0].to_string().ends_with("13 → 14 → 15 → … (100 in all)"), "{}", findings[0]);
}

#[test]
fn what_is_bound_is_what_the_handlers_declare() {
    let (queue, mix, backend) = mixing(QueueLayout::default(), 16);
    let mut graph = TaskGraph::new();
    graph.add(mix, 0, &[0; 4]);
    let tasks = queue.check(graph.clone()).unwrap();
    let one = backend.allocate(4).unwrap();
    let refused =
        |buffers: &[(&str, Resource)]| queue.run(&backend, &tasks, buffers, &options()).unwrap_err();
    assert_eq!(refused(&[("values", one)]), QueueError::Unbound { name: "runs".to_owned() });
    let known = vec!["values".to_owned(), "runs".to_owned()];
    assert_eq!(refused(&[("value", one)]), QueueError::UnknownBuffer { name: "value".to_owned(), known });
    assert_eq!(refused(&[("runs", one), ("runs", one)]), QueueError::Twice { name: "runs".to_owned() });
    let (other, ..) = mixing(QueueLayout { lanes: 2, ..QueueLayout::default() }, 16);
    let buffers = [("values", one), ("runs", one)];
    assert_eq!(other.run(&backend, &tasks, &buffers, &options()), Err(QueueError::OtherQueue));
    let options = QueueOptions { extra_tasks: MAX_TASKS, ..options() };
    let error = queue.run(&backend, &tasks, &buffers, &options).unwrap_err();
    assert_eq!(error, QueueError::Capacity { tasks: 1, extra: 1 << 24, limit: 1 << 24 });
    // No tasks are no work.
    let none = queue.check(TaskGraph::new()).unwrap();
    let buffers = ["values", "runs"].map(|name| (name, backend.allocate(4).unwrap()));
    assert_eq!(queue.run(&backend, &none, &buffers, &QueueOptions::default()).unwrap().done(), 0);
}

#[test]
fn what_is_no_handler_is_refused_by_name() {
    let refused = |program: &Checked<Program>| {
        let mut compiler = QueueCompiler::new(QueueLayout { arguments: 1, ..QueueLayout::default() });
        compiler
            .handler(&build("known", |k| {
                let x = k.read_write::<f32>("x");
                k.domain([1], |_| x.store(0u32, 1.0));
            }))
            .unwrap();
        match compiler.handler(program) {
            Err(QueueError::Handler(error)) => error.to_string(),
            other => panic!("{other:?}"),
        }
    };
    let wide = build("h", |k| {
        let x = k.read_write::<f32>("x");
        k.domain([2], |[i]| x.store(i, 1.0));
    });
    assert_eq!(refused(&wide), "handler `h` must launch a domain of one point: a task is one invocation");
    let returns = build("h", |k| k.domain([1], |_| k.return_()));
    assert_eq!(
        refused(&returns),
        "handler `h` has a `return`, which a task cannot have: each task is one invocation"
    );
    let long = build("h", |k| {
        let (a, b) = (k.param::<u32>("a"), k.param::<f32>("b"));
        let x = k.read_write::<f32>("x");
        k.domain([1], |_| x.store(a, b));
    });
    assert_eq!(
        refused(&long),
        "handler `h` takes 2 arguments, but the queue's layout has 1: raise its `arguments`"
    );
    let double = build("h", |k| {
        let a = k.param::<u64>("a");
        let y = k.read_write::<u64>("y");
        k.domain([1], |_| y.store(0u32, a));
    });
    assert_eq!(refused(&double), "parameter `a` of handler `h` is u64: arguments are u32, i32 or f32");
    let other = build("h", |k| {
        let x = k.read_write::<u32>("x");
        k.domain([1], |_| x.store(0u32, 1u32));
    });
    assert_eq!(
        refused(&other),
        "buffer `x` is f32 in one handler and u32 in `h`: name one of them otherwise"
    );
    let counted = build("h", |k| {
        let y = k.read_write::<u32>("y").with_len(4);
        k.domain([1], |_| y.store(0u32, 1u32));
    });
    assert!(refused(&counted).starts_with("buffer `y` of handler `h` must be as long as what is bound"));
    let spawns = build("h", |k| {
        let spawn = k.write_only::<u32>("spawn", 9);
        k.domain([1], |_| spawn.store(0u32, 1u32));
    });
    assert_eq!(refused(&spawns), "buffer `spawn` of handler `h` must be `writeonly u32[1]`");
    let own = build("h", |k| {
        let x = k.read_write::<u32>("queue_tasks");
        k.domain([1], |_| x.store(0u32, 1u32));
    });
    assert!(refused(&own).contains("has a name of the queue's own"));
}

#[test]
fn numbers_beyond_all_limits_are_refused_or_cut() {
    // 2^32 - 1 tasks of 2^32 - 1 words are refused where the layout is, and overflow nothing before.
    let layout = QueueLayout { arguments: u32::MAX, lanes: 1, children: u32::MAX };
    assert_eq!((layout.child_words(), layout.spawn_words(), layout.stride()), (u32::MAX, u32::MAX, u32::MAX));
    let mut compiler = QueueCompiler::new(layout);
    compiler.handler(&picky()).unwrap();
    let refused = compiler.compile(&ReferenceBackend::default()).unwrap_err();
    let what = "words of arguments";
    assert_eq!(refused, QueueError::Layout { what, value: u32::MAX, least: 0, most: 64 });
    // As many invocations as there are numbers are as many as there are tasks.
    let mut graph = TaskGraph::new();
    let first = graph.add(Opcode(0), 0, &[4]);
    let second = graph.add(Opcode(0), 0, &[6]);
    graph.depend(second, first);
    let options = QueueOptions { invocations: Some(u32::MAX), patience: u32::MAX, ..QueueOptions::default() };
    let (report, out) = run(QueueLayout::default(), &[picky()], graph, &options, 2);
    assert_eq!(report.unwrap().of(Opcode(0)), Counts { done: 2, faulted: 0, requeued: 0 });
    assert_eq!(out, [4, 6]);
}
