//! What tasks do as they run: faults, added tasks, tasks that run again, lanes.

use super::*;

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
