//! Each planted fault is reported at its place, and what is next to it is not.

use vyre_spec::{Axis, BuiltIn, MemoryOrdering, Value};

use super::{bytes, run_clean};
use crate::build::{Kernel, Val};
use crate::check::{Checked, check};
use crate::diag::Code;
use crate::ir::{
    Arena, Buffer, Count, Expr, Extent, Launch, Node, NodeId, Place, Program, RegionId, SharedId,
};
use crate::launch::Params;
use crate::machine::{Finding, MachineError, MachineOptions, Report, Schedule, run};

fn sanitize(program: &Checked<Program>, inputs: &[&[u32]]) -> Vec<Report> {
    let owned: Vec<Vec<u8>> = inputs.iter().map(|i| bytes(i)).collect();
    let inputs: Vec<&[u8]> = owned.iter().map(Vec::as_slice).collect();
    let options = MachineOptions { sanitize: true, ..MachineOptions::default() };
    run(program, &Params::new(), &inputs, &options).unwrap().reports
}

fn nodes(program: &Program, wanted: impl Fn(&Node) -> bool) -> Vec<NodeId> {
    let numbered = program.nodes().iter().enumerate();
    numbered.filter(|(_, n)| wanted(n)).map(|(i, _)| NodeId::new(i as u32)).collect()
}

#[test]
fn accesses_out_of_bounds_are_reported_once_for_each_place() {
    let program = Kernel::build("test", |k| {
        let x = k.read_only::<u32>("x");
        let out = k.read_write::<u32>("out");
        k.domain([6], |[i]| out.store(i.bitcast::<i32>() - 2i32, x.load(i)));
    })
    .unwrap();
    let reports = sanitize(&program, &[&[1, 2, 3], &[0; 4]]);
    let load = nodes(&program, |n| matches!(n, Node::Load { .. }))[0];
    let store = nodes(&program, |n| matches!(n, Node::Store { .. }))[0];
    let place = |node: NodeId| program.node(node).place().unwrap();
    let out_of = |node, index, length| Finding::OutOfBounds { place: place(node), index, length };
    assert_eq!(
        reports,
        [
            Report { node: load, invocation: 3, finding: out_of(load, 3, 3), times: 3 },
            Report { node: store, invocation: 0, finding: out_of(store, -2, 4), times: 2 },
        ]
    );
    let shown = reports[1].diagnostic(&program);
    assert_eq!(shown.code, Code::OutOfBounds);
    assert_eq!(shown.message, "index -2 is outside `out`, which has 4 elements (invocation 0) (2 times)");
}

/// Workgroups of 4 that store to a shared array at `local_index`, meet at `barrier` if any, and load the
/// element of their neighbour.
fn neighbours(barrier: Option<MemoryOrdering>) -> Checked<Program> {
    Kernel::build("test", |k| {
        let out = k.write_only::<u32>("out", 8);
        let tile = k.shared::<u32>("tile", 4);
        k.workgroups([4], [2], |g| {
            tile.store(g.local_index, g.id[0]);
            if let Some(ordering) = barrier {
                k.barrier(ordering);
            }
            out.store(g.global_id[0], tile.load(g.local_index ^ 1u32));
        });
    })
    .unwrap()
}

#[test]
fn a_race_in_shared_memory_needs_the_right_barrier() {
    for ordering in [MemoryOrdering::Workgroup, MemoryOrdering::WorkgroupAndStorage, MemoryOrdering::GridSync]
    {
        assert_eq!(sanitize(&neighbours(Some(ordering)), &[]), []);
    }
    // None at all; and one that orders buffers only.
    let program = neighbours(None);
    let reports = sanitize(&program, &[]);
    let load = nodes(&program, |n| matches!(n, Node::Load { .. }))[0];
    let store = nodes(&program, |n| matches!(n, Node::Store { .. }))[0];
    let tile = Place::Shared(SharedId::new(0));
    // In order, all stores come before all loads: each invocation loads what its neighbour stored.
    let finding = Finding::Race { place: tile, element: 1, other: store, other_invocation: 1 };
    assert_eq!(reports, [Report { node: load, invocation: 0, finding, times: 8 }]);
    let storage = sanitize(&neighbours(Some(MemoryOrdering::Storage)), &[]);
    assert!(storage.iter().any(|r| matches!(r.finding, Finding::Race { .. })), "{storage:?}");
}

#[test]
fn every_schedule_finds_the_race() {
    for seed in 0..20 {
        let options =
            MachineOptions { sanitize: true, schedule: Schedule::Seeded(seed), ..MachineOptions::default() };
        let reports = run(&neighbours(None), &Params::new(), &[], &options).unwrap().reports;
        assert!(reports.iter().any(|r| matches!(r.finding, Finding::Race { .. })), "seed {seed}");
    }
}

/// A domain of 4 points in which `body` does what may race.
fn points(
    body: impl for<'k> FnOnce(&'k Kernel, crate::build::ReadWrite<'k, u32>, Val<'k, u32>),
) -> Vec<Report> {
    let program = Kernel::build("test", |k| {
        let x = k.read_write::<u32>("x");
        k.domain([4], |[i]| body(k, x, i));
    })
    .unwrap();
    sanitize(&program, &[&[0; 8]])
}

#[test]
fn points_of_a_domain_are_unordered() {
    let races =
        |reports: Vec<Report>| reports.iter().filter(|r| matches!(r.finding, Finding::Race { .. })).count();
    // Two writes, a write after another's read, a read after another's write, an atomic beside a plain read.
    assert_eq!(races(points(|_, x, i| x.store(i / 2u32, 1u32))), 1);
    assert_eq!(races(points(|_, x, i| x.store(i, x.load(i + 1u32)))), 1);
    assert_eq!(races(points(|_, x, i| x.store(i + 1u32, x.load(i)))), 1);
    assert_eq!(
        races(points(|k, x, i| {
            x.atomic_add(0u32, 1u32);
            k.if_(i.eq(3u32), || x.store(i, x.load(0u32)));
        })),
        1
    );
    // Own elements, atomics, and shared reads are fine.
    assert_eq!(points(|_, x, i| x.store(i, x.load(i) + x.load(7u32))), []);
    assert_eq!(points(|_, x, i| x.store(i, x.atomic_add(7u32, 1u32))), []);
}

#[test]
fn workgroups_are_unordered_even_across_a_barrier() {
    let build = |ordering| {
        Kernel::build("test", |k| {
            let x = k.read_write::<u32>("x");
            k.workgroups([2], [2], |g| {
                x.store(g.global_id[0], 1u32);
                k.barrier(ordering);
                x.store(g.global_id[0] + 4u32, x.load(3u32 - g.global_id[0]));
            });
        })
        .unwrap()
    };
    let races = sanitize(&build(MemoryOrdering::WorkgroupAndStorage), &[&[0; 8]]);
    assert!(races.iter().any(|r| matches!(r.finding, Finding::Race { .. })), "{races:?}");
    assert_eq!(sanitize(&build(MemoryOrdering::GridSync), &[&[0; 8]]), []);
}

#[test]
fn a_storage_barrier_orders_a_workgroups_own_accesses() {
    let build = |ordering| {
        Kernel::build("test", |k| {
            let x = k.read_write::<u32>("x");
            k.workgroups([4], [1], |g| {
                x.store(g.global_id[0], 1u32);
                k.barrier(ordering);
                x.store(g.global_id[0] + 4u32, x.load(3u32 - g.global_id[0]));
            });
        })
        .unwrap()
    };
    assert_eq!(sanitize(&build(MemoryOrdering::Storage), &[&[0; 8]]), []);
    let races = sanitize(&build(MemoryOrdering::Workgroup), &[&[0; 8]]);
    assert!(races.iter().any(|r| matches!(r.finding, Finding::Race { .. })), "{races:?}");
}

#[test]
fn loads_of_unwritten_shared_memory_are_reported_in_each_workgroup() {
    let program = Kernel::build("test", |k| {
        let out = k.write_only::<u32>("out", 8);
        let tile = k.shared::<u32>("tile", 4);
        k.workgroups([4], [2], |g| {
            // Only the first workgroup writes element 0.
            k.if_(g.global_id[0].eq(0u32), || tile.store(0u32, 5u32));
            k.barrier(MemoryOrdering::Workgroup);
            out.store(g.global_id[0], tile.load(0u32));
        });
    })
    .unwrap();
    let reports = sanitize(&program, &[]);
    let load = nodes(&program, |n| matches!(n, Node::Load { .. }))[0];
    let finding = Finding::Unwritten { place: Place::Shared(SharedId::new(0)), element: 0 };
    assert_eq!(reports, [Report { node: load, invocation: 4, finding, times: 4 }]);
}

/// A barrier under `id < 2`, in two workgroups of 4, as the checker would have proved it for `lie`.
fn barrier_under(id: BuiltIn) -> Program {
    let mut arena = Arena::new("test");
    let one = arena.extent(Extent::Literal(1));
    let count = arena.extent(Extent::Literal(2));
    arena.set_launch(Launch::Workgroups { size: [4, 1, 1], count: [count, one, one] });
    arena.buffer(Buffer {
        name: "out".into(),
        element: vyre_spec::DataType::U32,
        access: vyre_spec::Access::ReadWrite,
        count: Count::Bytes,
        coherent: false,
    });
    let id = arena.expr(Expr::BuiltIn(id));
    let two = arena.expr(Expr::Literal(Value::new(2u32)));
    let condition = arena.expr(Expr::Binary(vyre_spec::ops::BinaryOp::Lt, id, two));
    let (then, otherwise) = (arena.region(), arena.region());
    arena.push(RegionId::new(0), Node::If { condition, then, otherwise });
    arena.push(then, Node::Barrier { ordering: MemoryOrdering::Workgroup });
    arena.finish().unwrap().0
}

#[test]
fn a_divergent_barrier_is_reported_and_passed() {
    // The checker refuses such a program, so its facts are borrowed from one that differs in the id.
    let uniform = check(barrier_under(BuiltIn::WorkgroupId(Axis::X))).unwrap();
    assert_eq!(sanitize(&uniform, &[&[]]), []);
    let divergent = Checked::new(barrier_under(BuiltIn::LocalIndex), uniform.facts().clone());
    let finding = Finding::Divergent { arrived: 2, of: 4 };
    assert_eq!(
        sanitize(&divergent, &[&[]]),
        [Report { node: NodeId::new(1), invocation: 0, finding, times: 2 }]
    );
}

#[test]
fn a_spent_budget_is_an_error_and_a_report() {
    let program = Kernel::build("test", |k| {
        let out = k.write_only::<u32>("out", 1);
        k.domain([1], |[i]| {
            let n = k.var("n", 1u32);
            k.while_(|| n.get().gt(0u32), || n.set(n.get() | 1u32));
            out.store(i, 1u32);
        });
    })
    .unwrap();
    for schedule in [Schedule::InOrder, Schedule::Seeded(3)] {
        let mut options = MachineOptions { step_budget: Some(5000), schedule, ..MachineOptions::default() };
        let plain = run(&program, &Params::new(), &[], &options);
        assert!(
            matches!(plain, Err(MachineError::StepBudget { budget: 5000, invocation: 0, .. })),
            "{plain:?}"
        );
        options.sanitize = true;
        let outcome = run(&program, &Params::new(), &[], &options).unwrap();
        assert_eq!(outcome.outputs[0], bytes(&[0]));
        assert_eq!(outcome.reports.len(), 1);
        assert_eq!(outcome.reports[0].finding, Finding::StepBudget { budget: 5000 });
    }
}

#[test]
fn a_budget_that_suffices_is_no_finding() {
    let program = neighbours(Some(MemoryOrdering::Workgroup));
    run_clean(&program, &Params::new(), &[]);
    let options = MachineOptions { step_budget: Some(1000), ..MachineOptions::default() };
    assert!(run(&program, &Params::new(), &[], &options).is_ok());
}
