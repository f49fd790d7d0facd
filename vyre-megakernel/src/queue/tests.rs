//! The queue on the reference machine.

use vyre_driver::{ReferenceBackend, Resource, VyreBackend};
use vyre_foundation::build::{BuildError, Kernel};
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;

use super::trial::{self, Trial};
use super::*;

fn options() -> QueueOptions {
    QueueOptions { invocations: Some(64), ..QueueOptions::default() }
}

fn mixing(layout: QueueLayout, budget: u32) -> (WorkQueue, Opcode, ReferenceBackend) {
    let backend = ReferenceBackend::default();
    let mut compiler = QueueCompiler::new(layout).with_budget(budget);
    let mix = compiler.handler(&trial::mix().unwrap()).unwrap();
    (compiler.compile(&backend).unwrap(), mix, backend)
}

/// A queue of these handlers, with one buffer `out` of so many words; gives the report and the words.
fn run(
    layout: QueueLayout,
    handlers: &[Checked<Program>],
    graph: TaskGraph,
    options: &QueueOptions,
    words: u64,
) -> (Result<QueueReport, QueueError>, Vec<u32>) {
    let backend = ReferenceBackend::default();
    let mut compiler = QueueCompiler::new(layout);
    for handler in handlers {
        compiler.handler(handler).unwrap();
    }
    let queue = compiler.compile(&backend).unwrap();
    let tasks = queue.check(graph).unwrap();
    let out: Resource = backend.allocate(4 * words).unwrap();
    let report = queue.run(&backend, &tasks, &[("out", out)], options);
    let bytes = backend.download_resident(&out).unwrap();
    (report, report::words(&bytes))
}

fn build(name: &str, body: impl for<'k> FnOnce(&'k Kernel)) -> Checked<Program> {
    let built: Result<_, BuildError> = Kernel::build(name, body);
    built.unwrap()
}

#[test]
fn random_graphs_run_each_task_once_and_see_what_was_stored() {
    for (seed, window, lanes, budget) in [(1, 4, 1, 4096), (2, 100, 3, 4096), (3, 1, 1, 7), (4, 30, 2, 1)] {
        let layout = QueueLayout { lanes, ..QueueLayout::default() };
        let (queue, mix, backend) = mixing(layout, budget);
        let trial = Trial::random(mix, 300, seed, window, lanes);
        let report = trial.run(&queue, &backend, &options()).unwrap();
        assert_eq!((report.done(), report.of(mix).done, report.added), (300, 300, 0));
        assert_eq!(queue.budget(), budget);
    }
}

#[test]
fn adversarial_graphs_are_accepted_exactly_if_they_run() {
    let (queue, mix, backend) = mixing(QueueLayout::default(), 4096);
    let found = trial::adversaries(&queue, &backend, mix, 0..100_000, &options()).unwrap();
    assert!(found.accepted > 50_000, "{found:?}");
    let kinds: Vec<_> =
        found.refused.iter().filter(|(_, count)| **count > 500).map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, ["arguments", "cycle", "double join", "joins", "lane", "no task", "opcode"]);
}

#[test]
fn a_task_with_more_dependants_than_steps_tells_them_in_several_passes() {
    let (queue, mix, backend) = mixing(QueueLayout::default(), 5);
    let mut graph = TaskGraph::new();
    let first = graph.add(mix, 0, &[0; 4]);
    for _ in 0..40 {
        let next = graph.add(mix, 0, &[1, 0, 0, 0]);
        graph.depend(next, first);
    }
    let tasks = queue.check(graph).unwrap();
    assert_eq!((tasks.len(), tasks.links(), tasks.depth()), (41, 40, 2));
    let buffers = ["values", "runs"].map(|name| (name, backend.allocate(164).unwrap()));
    let options = QueueOptions { invocations: Some(1), ..QueueOptions::default() };
    let report = queue.run(&backend, &tasks, &buffers, &options).unwrap();
    // An invocation makes 5 steps, one for each dependant.
    assert!(report.passes >= 40 / 5, "{report:?}");
    assert_eq!(report.done(), 41);
    let runs = report::words(&backend.download_resident(&buffers[1].1).unwrap());
    assert_eq!(runs, [1; 41]);
}

/// Traps with its argument as address if that is odd; else stores it in its place of `out`.
fn picky() -> Checked<Program> {
    build("picky", |k| {
        let task = k.param::<u32>("task");
        let x = k.param::<u32>("x");
        let out = k.read_write::<u32>("out");
        k.domain([1], |_| {
            k.if_else(
                (x & 1u32).eq(1u32),
                || {
                    k.trap(5, x);
                    k.trap(6, 0u32);
                },
                || out.store(task, x),
            );
        });
    })
}

#[test]
fn a_fault_names_its_task_and_those_that_wait_for_it() {
    let mut graph = TaskGraph::new();
    let picky_code = Opcode(0);
    let tasks: Vec<_> = [2, 7, 4, 6, 8].iter().map(|&x| graph.add(picky_code, 0, &[x])).collect();
    // 0 → 1 → 2 → 3, and 4 by itself.
    for pair in tasks[..4].windows(2) {
        graph.depend(pair[1], pair[0]);
    }
    let (report, out) = run(QueueLayout::default(), &[picky()], graph, &options(), 5);
    let report = report.unwrap();
    let fault = Fault::Trap { code: 5, address: 7 };
    assert_eq!(report.faults, [TaskFault { task: TaskId(1), opcode: picky_code, fault }]);
    assert_eq!(report.faults[0].to_string(), "task 1 (opcode 0) trapped with code 5, address 7");
    assert_eq!(report.blocked, [TaskId(2), TaskId(3)]);
    assert_eq!(report.counts, [Counts { done: 2, faulted: 1, requeued: 0 }]);
    assert!(!report.is_complete());
    assert_eq!(out, [2, 0, 0, 0, 8]);
}

const TREE: QueueLayout = QueueLayout { arguments: 2, lanes: 2, children: 2 };

/// Splits a range of numbers until two are left, which it adds to `out[0]`; comes again when its halves are done, and
/// counts that in `out[1]`, by way of `out[2]`, where every first run leaves its mark.
fn tree(first_lane: u32) -> Checked<Program> {
    build("tree", |k| {
        let start = k.param::<u32>("start");
        let end = k.param::<u32>("end");
        let task = k.param::<u32>("task");
        let out = k.read_write::<u32>("out");
        let spawn = k.write_only::<u32>("spawn", u64::from(TREE.spawn_words()));
        let requeue = k.write_only::<u32>("requeue", 1);
        k.domain([1], |_| {
            let length = end - start;
            let seen = out.atomic_exchange(task + 3u32, 1u32);
            k.if_else(
                length.le(2u32),
                || {
                    k.for_(start, end, |n| {
                        out.atomic_add(0u32, n);
                    });
                },
                || {
                    k.if_else(
                        seen.eq(0u32),
                        || {
                            let middle = start + length / 2u32;
                            spawn.store(0u32, 2u32);
                            let halves = [(start, middle), (middle, end)];
                            for (n, (start, end)) in (0u32..).zip(halves) {
                                let at = 1 + n * TREE.child_words();
                                spawn.store(at, 0u32);
                                spawn.store(at + 1, first_lane + n);
                                spawn.store(at + 2, start);
                                spawn.store(at + 3, end);
                            }
                            requeue.store(0u32, AFTER_CHILDREN);
                        },
                        || {
                            out.atomic_add(1u32, 1u32);
                        },
                    );
                },
            );
        });
    })
}

#[test]
fn tasks_add_tasks_and_come_again_when_those_are_done() {
    let mut graph = TaskGraph::new();
    let root = graph.add(Opcode(0), 0, &[0, 64]);
    // It runs when the whole tree is done.
    let last = graph.add(Opcode(1), 1, &[0]);
    graph.depend(last, root);
    let check = build("check", |k| {
        let x = k.param::<u32>("x");
        let out = k.read_write::<u32>("out");
        k.domain([1], |_| {
            let sum = out.atomic_add(0u32, 0u32);
            out.store(2u32, sum + x);
        });
    });
    let options = QueueOptions { extra_tasks: 62, ..options() };
    // Lanes beyond the last are the last.
    let (report, out) = run(TREE, &[tree(1), check], graph, &options, 3 + 64);
    let report = report.unwrap();
    // 32 leaves, 31 inner tasks, which run twice each.
    assert_eq!(report.counts[0], Counts { done: 63, faulted: 0, requeued: 31 });
    assert_eq!((report.counts[1].done, report.added), (1, 62));
    assert_eq!(out[..3], [63 * 64 / 2, 31, 63 * 64 / 2]);
    assert!(report.is_complete());
}

#[test]
fn tasks_that_do_not_fit_are_a_fault_of_the_one_that_adds_them() {
    let mut graph = TaskGraph::new();
    graph.add(Opcode(0), 0, &[0, 8]);
    let options = QueueOptions { extra_tasks: 4, ..options() };
    let (report, _) = run(TREE, &[tree(0)], graph, &options, 3 + 64);
    let report = report.unwrap();
    // The root and its halves fit, and the halves of one half; the other half's do not.
    let [TaskFault { task, fault, .. }] = report.faults[..] else { panic!("{report:?}") };
    assert_eq!(fault, Fault::Overflow { children: 2, capacity: 5 });
    assert!([TaskId(1), TaskId(2)].contains(&task));
    // The root waits for it.
    assert_eq!((report.blocked.as_slice(), report.added), (&[TaskId(0)][..], 4));
    assert_eq!(report.counts, [Counts { done: 3, faulted: 1, requeued: 2 }]);
}

#[test]
fn an_added_task_without_handler_is_named() {
    let odd = build("odd", |k| {
        let out = k.read_write::<u32>("out");
        let spawn = k.write_only::<u32>("spawn", u64::from(TREE.spawn_words()));
        k.domain([1], |_| {
            out.store(0u32, 1u32);
            spawn.store(0u32, 1u32);
            spawn.store(1u32, 9u32);
        });
    });
    let greedy = build("greedy", |k| {
        let spawn = k.write_only::<u32>("spawn", u64::from(TREE.spawn_words()));
        k.domain([1], |_| spawn.store(0u32, 3u32));
    });
    let mut graph = TaskGraph::new();
    graph.add(Opcode(0), 1, &[]);
    graph.add(Opcode(1), 0, &[]);
    let options = QueueOptions { extra_tasks: 10, ..options() };
    let (report, _) = run(TREE, &[odd, greedy], graph, &options, 1);
    let report = report.unwrap();
    let unknown = TaskFault { task: TaskId(2), opcode: Opcode(9), fault: Fault::UnknownOpcode };
    let fault = Fault::Overflow { children: 3, capacity: 12 };
    assert_eq!(report.faults, [TaskFault { task: TaskId(1), opcode: Opcode(1), fault }, unknown]);
    assert_eq!((report.unknown, report.added, report.done()), (1, 1, 1));
}

/// Runs `x` times over before it is done.
fn patient() -> Checked<Program> {
    build("patient", |k| {
        let task = k.param::<u32>("task");
        let x = k.param::<i32>("x");
        let out = k.read_write::<u32>("out");
        let requeue = k.write_only::<u32>("requeue", 1);
        k.domain([1], |_| {
            let runs = out.load(task) + 1u32;
            out.store(task, runs);
            k.if_(runs.lt(x.bitcast::<u32>()), || requeue.store(0u32, AGAIN));
        });
    })
}

#[test]
fn a_task_may_run_again_but_not_for_ever() {
    let mut graph = TaskGraph::new();
    let tasks = [3, 1, 5].map(|x| graph.add(Opcode(0), 0, &[x]));
    graph.depend(tasks[2], tasks[0]);
    let (report, out) = run(QueueLayout::default(), &[patient()], graph.clone(), &options(), 3);
    let report = report.unwrap();
    assert_eq!(out, [3, 1, 5]);
    assert_eq!(report.counts, [Counts { done: 3, faulted: 0, requeued: 2 + 4 }]);

    let mut graph = TaskGraph::new();
    graph.add(Opcode(0), 0, &[1]);
    graph.add(Opcode(0), 0, &[u32::MAX]);
    let options = QueueOptions { max_passes: 5, ..options() };
    let (report, _) = run(QueueLayout::default(), &[patient()], graph, &options, 3);
    let error = report.unwrap_err();
    assert_eq!(error, QueueError::Passes { passes: 5, ready: 1, task: TaskId(1) });
}

#[test]
fn lanes_are_served_in_order() {
    let note = build("note", |k| {
        let task = k.param::<u32>("task");
        let out = k.read_write::<u32>("out");
        k.domain([1], |_| {
            let place = out.atomic_add(0u32, 1u32);
            out.store(place + 1u32, task);
        });
    });
    let mut graph = TaskGraph::new();
    for lane in [2, 0, 1, 0, 2, 1] {
        graph.add(Opcode(0), lane, &[]);
    }
    let layout = QueueLayout { lanes: 3, ..QueueLayout::default() };
    let options = QueueOptions { invocations: Some(1), ..QueueOptions::default() };
    let backend_order = |graph: TaskGraph| run(layout, std::slice::from_ref(&note), graph, &options, 7).1;
    let out = backend_order(graph);
    let mut by_lane = [out[1..3].to_vec(), out[3..5].to_vec(), out[5..7].to_vec()];
    by_lane.iter_mut().for_each(|lane| lane.sort_unstable());
    assert_eq!(by_lane, [[1, 3], [2, 5], [0, 4]]);
}

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
            "task 0: opcode 4 has no handler; there are 1",
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
            "task 1 waits for 3 tasks, but 2 tell it",
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
    assert_eq!(refused(&wide), "handler `h` must launch a domain of one point");
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
    assert_eq!(refused(&long), "handler `h` takes 2 arguments, but the queue's layout has 1");
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
    assert_eq!(refused(&other), "buffer `x` is f32 in one handler and u32 in `h`");
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
fn handlers_keep_their_loops_arrays_and_types() {
    // Sorts what it is given with a private array, which must be zero each time, and stores it as floats.
    let sort = build("sort", |k| {
        let (a, b, c) = (k.param::<u32>("a"), k.param::<i32>("b"), k.param::<f32>("c"));
        let task = k.param::<u32>("task");
        let out = k.read_write::<u32>("out");
        let seen = k.private::<u32>("seen", 40);
        k.domain([1], |[zero]| {
            for x in [a, b.bitcast::<u32>(), c.convert::<u32>()] {
                seen.store(x, seen.load(x) + 1u32);
            }
            let place = k.var("place", task * 4u32 + zero);
            k.for_(0u32, 40u32, |n| {
                k.for_(0u32, seen.load(n), |_| {
                    let at = place.get();
                    out.store(at, n);
                    place.set(at + 1u32);
                });
            });
        });
    });
    let mut graph = TaskGraph::new();
    for (a, b, c) in [(9, 3u32, 5.0f32), (1, 1, 1.0), (30, 2, 39.0)] {
        graph.add(Opcode(0), 0, &[a, b, c.to_bits()]);
    }
    let options = QueueOptions { invocations: Some(1), ..QueueOptions::default() };
    let (report, out) = run(QueueLayout::default(), &[sort], graph, &options, 12);
    assert!(report.unwrap().is_complete());
    assert_eq!(out, [3, 5, 9, 0, 1, 1, 1, 0, 2, 30, 39, 0]);
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

#[test]
fn one_invocation_with_a_ring_that_is_full_runs_what_is_left_in_later_passes() {
    // One task and one workgroup of the reference machine's 32: the ring has 33 slots. A task that runs 100 times needs
    // 100 of them.
    let again = build("again", |k| {
        let out = k.read_write::<u32>("out");
        let requeue = k.write_only::<u32>("requeue", 1u64);
        k.domain([1], |_| {
            let run = out.load(0u32) + 1u32;
            out.store(0u32, run);
            requeue.store(0u32, run.lt(100u32).select(k.lit(AGAIN), k.lit(0u32)));
        });
    });
    let mut graph = TaskGraph::new();
    graph.add(Opcode(0), 0, &[]);
    let options = QueueOptions { invocations: Some(1), ..QueueOptions::default() };
    let (report, out) = run(QueueLayout::default(), std::slice::from_ref(&again), graph.clone(), &options, 1);
    let report = report.unwrap();
    assert_eq!(report.of(Opcode(0)), Counts { done: 1, faulted: 0, requeued: 99 });
    assert!(report.passes >= 4, "{report:?}");
    assert_eq!(out, [100]);
    // One pass is not enough, and what is left has a name.
    let options = QueueOptions { max_passes: 1, ..options };
    let (report, out) = run(QueueLayout::default(), &[again], graph, &options, 1);
    assert_eq!(report, Err(QueueError::Passes { passes: 1, ready: 1, task: TaskId(0) }));
    assert!((1..=33).contains(&out[0]), "{out:?}");
}
