//! The queue on the reference machine.

mod refused;
mod tasks;

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
