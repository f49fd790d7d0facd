//! The device work queue on the device.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here fails the test")]

use std::sync::OnceLock;

use vyre_driver::VyreBackend;
use vyre_driver_wgpu::WgpuBackend;
use vyre_foundation::build::Kernel;
use vyre_megakernel::queue::trial::{Trial, adversaries, mix};
use vyre_megakernel::queue::{
    AFTER_CHILDREN, Counts, Fault, Opcode, QueueCompiler, QueueError, QueueLayout, QueueOptions, TaskFault,
    TaskGraph, TaskId, WorkQueue,
};

fn backend() -> &'static WgpuBackend {
    static BACKEND: OnceLock<WgpuBackend> = OnceLock::new();
    BACKEND.get_or_init(|| WgpuBackend::acquire().unwrap())
}

/// Tasks of the random graphs; `VYRE_QUEUE_TASKS` asks for others.
fn tasks() -> u32 {
    std::env::var("VYRE_QUEUE_TASKS").ok().and_then(|text| text.parse().ok()).unwrap_or(100_000)
}

fn mixing(lanes: u32, budget: Option<u32>) -> (WorkQueue, Opcode) {
    let mut compiler = QueueCompiler::new(QueueLayout { lanes, ..QueueLayout::default() });
    if let Some(steps) = budget {
        compiler = compiler.with_budget(steps);
    }
    let mix = compiler.handler(&mix().unwrap()).unwrap();
    (compiler.compile(backend()).unwrap(), mix)
}

#[test]
fn each_task_of_a_random_graph_runs_once_and_sees_what_was_stored() {
    let (queue, mix) = mixing(2, None);
    // A wide graph and a deep one.
    for (seed, window) in [(1, tasks() / 100), (2, 20)] {
        let count = if window == 20 { tasks() / 10 } else { tasks() };
        let trial = Trial::random(mix, count, seed, window, 2);
        let report = trial.run(&queue, backend(), &QueueOptions::default()).unwrap();
        assert_eq!(report.done(), u64::from(count));
    }
}

#[test]
fn passes_continue_where_others_ended() {
    let (queue, mix) = mixing(1, Some(40));
    let trial = Trial::random(mix, 5_000, 3, 300, 1);
    let report = trial.run(&queue, backend(), &QueueOptions::default()).unwrap();
    assert!(report.passes > 1, "{report:?}");
    // Idle invocations that give up at once leave their slots to others.
    let options = QueueOptions { patience: 0, ..QueueOptions::default() };
    let (queue, mix) = mixing(1, None);
    Trial::random(mix, 2_000, 4, 300, 1).run(&queue, backend(), &options).unwrap();
}

#[test]
fn graphs_made_to_mislead_are_refused_or_run() {
    let (queue, mix) = mixing(1, None);
    let found = adversaries(&queue, backend(), mix, 0..20_000, &QueueOptions::default()).unwrap();
    assert!(found.accepted > 10_000, "{found:?}");
}

const LAYOUT: QueueLayout = QueueLayout { arguments: 2, lanes: 1, children: 2 };

/// Adds the numbers of a range to `sum`, by halves of it that are tasks of their own; a range that begins at `bad`
/// traps.
fn halves(bad: u32) -> vyre_foundation::check::Checked<vyre_foundation::ir::Program> {
    Kernel::build("halves", |k| {
        let start = k.param::<u32>("start");
        let end = k.param::<u32>("end");
        let task = k.param::<u32>("task");
        let sum = k.read_write::<u32>("sum");
        let come = k.read_write::<u32>("come");
        let spawn = k.write_only::<u32>("spawn", u64::from(LAYOUT.spawn_words()));
        let requeue = k.write_only::<u32>("requeue", 1);
        k.domain([1], |_| {
            let again = come.load(task);
            come.store(task, 1u32);
            k.if_else(
                (end - start).eq(1u32),
                || {
                    k.if_(start.eq(bad), || k.trap(3, start));
                    sum.atomic_add(0u32, start);
                },
                || {
                    k.if_(again.eq(0u32), || {
                        let middle = start + (end - start) / 2u32;
                        spawn.store(0u32, 2u32);
                        for (at, start, end) in [(1u32, start, middle), (5, middle, end)] {
                            spawn.store(at + 2, start);
                            spawn.store(at + 3, end);
                        }
                        requeue.store(0u32, AFTER_CHILDREN);
                    });
                },
            );
        });
    })
    .unwrap()
}

#[test]
fn tasks_add_tasks_fault_and_come_again() {
    const LEAVES: u32 = 1 << 10;
    let mut compiler = QueueCompiler::new(LAYOUT);
    let code = compiler.handler(&halves(u32::MAX)).unwrap();
    let queue = compiler.compile(backend()).unwrap();
    let mut graph = TaskGraph::new();
    graph.add(code, 0, &[0, LEAVES]);
    let run = |queue: &WorkQueue, extra: u32| {
        let b = backend();
        let (sum, come) = (b.allocate(4).unwrap(), b.allocate(u64::from(8 * LEAVES)).unwrap());
        let options = QueueOptions { extra_tasks: extra, ..QueueOptions::default() };
        let tasks = queue.check(graph.clone()).unwrap();
        let report = queue.run(b, &tasks, &[("sum", sum), ("come", come)], &options).unwrap();
        let bytes = b.download_resident(&sum).unwrap();
        b.free(sum).unwrap();
        b.free(come).unwrap();
        (report, u32::from_le_bytes(bytes.try_into().unwrap()))
    };
    let (report, sum) = run(&queue, 2 * LEAVES - 2);
    assert_eq!(sum, LEAVES * (LEAVES - 1) / 2);
    assert_eq!(report.counts, [Counts { done: 2 * LEAVES - 1, faulted: 0, requeued: LEAVES - 1 }]);
    assert!(report.is_complete() && report.added == 2 * LEAVES - 2);

    // One task too many.
    let (report, _) = run(&queue, 2 * LEAVES - 3);
    let [TaskFault { fault: Fault::Overflow { children: 2, capacity }, .. }] = report.faults[..] else {
        panic!("{report:?}")
    };
    assert_eq!(capacity, 2 * LEAVES - 2);

    // One leaf traps: it, and everything above it, is missing.
    let mut compiler = QueueCompiler::new(LAYOUT);
    compiler.handler(&halves(77)).unwrap();
    let (report, sum) = run(&compiler.compile(backend()).unwrap(), 2 * LEAVES - 2);
    assert_eq!(sum, LEAVES * (LEAVES - 1) / 2);
    let [TaskFault { fault, .. }] = report.faults[..] else { panic!("{report:?}") };
    assert_eq!(fault, Fault::Trap { code: 3, address: 77 });
    assert_eq!(report.blocked.len() as u32, LEAVES.ilog2());
    assert_eq!(report.blocked[0], TaskId(0));
    assert_eq!(report.counts[0].done, 2 * LEAVES - 1 - 1 - LEAVES.ilog2());
}

#[test]
fn a_handler_that_never_ends_is_an_error() {
    let patient = Kernel::build("patient", |k| {
        let requeue = k.write_only::<u32>("requeue", 1);
        k.domain([1], |_| requeue.store(0u32, 1u32));
    })
    .unwrap();
    let mut compiler = QueueCompiler::new(QueueLayout::default()).with_budget(64);
    let code = compiler.handler(&patient).unwrap();
    let queue = compiler.compile(backend()).unwrap();
    let mut graph = TaskGraph::new();
    graph.add(code, 0, &[]);
    let tasks = queue.check(graph).unwrap();
    let options = QueueOptions { max_passes: 9, ..QueueOptions::default() };
    let error = queue.run(backend(), &tasks, &[], &options).unwrap_err();
    assert_eq!(error, QueueError::Passes { passes: 9, ready: 1, task: TaskId(0) });
}
