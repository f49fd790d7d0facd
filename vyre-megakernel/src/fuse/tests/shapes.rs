//! Small graphs, one for each shape of fusion, and random ones of them.

use vyre_foundation::build::{Kernel, Val};
use vyre_foundation::check::Checked;
use vyre_foundation::graph::{GraphBuilder, Handle, ProgramGraph};
use vyre_foundation::ir::Program;
use vyre_foundation::testing::Rng;
use vyre_spec::{DeviceProfile, MemoryOrdering, f16};

use super::{kernels, planned, run, same, shown};
use crate::fuse::{Facts, Placement, RejectReason, SearchBudget, Step, plan, unfused};

type V<'k> = Val<'k, u32>;

/// `y[i] = of(i, n, x)`, over as many points as `x` has elements.
fn map(
    name: &str,
    of: impl for<'k> Fn(&'k Kernel, V<'k>, V<'k>, &dyn Fn(V<'k>) -> V<'k>) -> V<'k>,
) -> Checked<Program> {
    Kernel::build(name, |k| {
        let x = k.read_only::<u32>("x");
        let y = k.write_only::<u32>("y", x.len());
        k.domain([x.len()], |[i]| y.store(i, of(k, i, x.len(), &|at| x.load(at))));
    })
    .unwrap()
}

/// Elementwise.
fn add_one() -> Checked<Program> {
    map("add_one", |_, i, _, x| x(i) * 3 + 1)
}

/// Reads in reverse.
fn reverse() -> Checked<Program> {
    map("reverse", |_, i, n, x| x(n - 1 - i))
}

/// Reads neighbours, also such as do not exist.
fn stencil() -> Checked<Program> {
    map("stencil", |_, i, _, x| x(i - 1) + x(i) * 5 + x(i + 1) * 7)
}

/// Reads one element for all.
fn broadcast() -> Checked<Program> {
    map("broadcast", |_, i, n, x| x(i % 3) ^ x(n / 2))
}

/// Reads in a loop and under a condition.
fn looped() -> Checked<Program> {
    map("looped", |k, i, n, x| {
        let sum = k.var("sum", 0u32);
        k.for_(0, n.min(5), |j| {
            k.if_(((i + j) & 1).eq(0), || sum.set(sum.get() * 31 + x(i + j)));
        });
        sum.get()
    })
}

/// A producer with a loop.
fn prefix() -> Checked<Program> {
    map("prefix", |k, i, _, x| {
        let sum = k.var("sum", 7u32);
        k.for_(0, 4u32, |j| sum.set(sum.get() * 3 + x(i * 2 + j)));
        sum.get()
    })
}

/// Indices of other types.
fn signed() -> Checked<Program> {
    map("signed", |_, i, _, x| {
        let _ = x;
        i
    })
}

/// `z = a x + z`, in place.
fn update() -> Checked<Program> {
    Kernel::build("update", |k| {
        let x = k.read_only::<u32>("x");
        let z = k.read_write::<u32>("z").with_len(x.len());
        k.domain([x.len()], |[i]| z.store(i, x.load(i) * 5 + z.load(i)));
    })
    .unwrap()
}

/// In place, of half of the elements.
fn update_some() -> Checked<Program> {
    Kernel::build("update_some", |k| {
        let x = k.read_only::<u32>("x");
        let z = k.read_write::<u32>("z").with_len(x.len());
        k.domain([x.len()], |[i]| k.if_((i & 1).eq(0), || z.store(i, x.load(i) - z.load(i))));
    })
    .unwrap()
}

/// Two inputs.
fn both() -> Checked<Program> {
    Kernel::build("both", |k| {
        let x = k.read_only::<u32>("x");
        let y = k.read_only::<u32>("y").with_len(x.len());
        let z = k.write_only::<u32>("z", x.len());
        k.domain([x.len()], |[i]| z.store(i, x.load(i) * 9 + y.load(x.len() - 1 - i) + y.load(i)));
    })
    .unwrap()
}

/// Two outputs of one domain.
fn split() -> Checked<Program> {
    Kernel::build("split", |k| {
        let x = k.read_only::<u32>("x");
        let (low, high) = (k.write_only::<u32>("low", x.len()), k.write_only::<u32>("high", x.len()));
        k.domain([x.len()], |[i]| {
            low.store(i, x.load(i) & 0xFFFF);
            high.store(i, x.load(i) >> 16);
        });
    })
    .unwrap()
}

/// Sums of 64 elements, by workgroups, spread to the length again.
fn sums() -> Checked<Program> {
    Kernel::build("sums", |k| {
        let x = k.read_only::<u32>("x");
        let y = k.write_only::<u32>("y", x.len());
        let tile = k.shared::<u32>("tile", 64);
        k.workgroups([64], [x.len().extent().ceil_div(64u64)], |group| {
            let lane = group.local_index;
            tile.store(lane, x.load(group.global_id[0]));
            k.barrier(MemoryOrdering::Workgroup);
            k.for_(0, 6u32, |level| {
                let stride = k.lit(32u32) >> level;
                k.if_(lane.lt(stride), || tile.store(lane, tile.load(lane) + tile.load(lane + stride)));
                k.barrier(MemoryOrdering::Workgroup);
            });
            y.store(group.global_id[0], tile.load(0) + lane);
        });
    })
    .unwrap()
}

/// A matrix of `rows` and `columns`, transposed, as a domain of two axes.
fn transpose() -> Checked<Program> {
    Kernel::build("transpose", |k| {
        let (rows, columns) = (k.param::<u32>("rows"), k.param::<u32>("columns"));
        let x = k.read_only::<u32>("x");
        let y = k.write_only::<u32>("y", x.len());
        k.domain([columns, rows], |[c, r]| y.store(c * rows + r, x.load(r * columns + c)));
    })
    .unwrap()
}

/// The same, by what it stores in order.
fn gather() -> Checked<Program> {
    Kernel::build("gather", |k| {
        let (rows, columns) = (k.param::<u32>("rows"), k.param::<u32>("columns"));
        let x = k.read_only::<u32>("x");
        let y = k.write_only::<u32>("y", x.len());
        k.domain([rows, columns], |[r, c]| y.store(c * rows + r, x.load(r * columns + c) + c));
    })
    .unwrap()
}

const SIZES: [&[(&str, u64)]; 5] = [&[("n", 1)], &[("n", 2)], &[("n", 64)], &[("n", 129)], &[("n", 0)]];

fn pipeline(programs: &[&Checked<Program>]) -> ProgramGraph {
    let g = GraphBuilder::new("pipeline");
    let n = g.dim("n");
    let x = g.input::<u32>("x", [n]);
    let last = programs.iter().fold(x, |x, program| g.call(program, [x]).unwrap());
    g.output("y", last);
    g.finish().unwrap()
}

#[test]
fn consumers_of_any_access_take_elementwise_producers() {
    for consumer in [reverse(), stencil(), broadcast(), looped(), sums(), prefix()] {
        for producer in [add_one(), reverse(), stencil(), prefix(), broadcast(), looped()] {
            let graph = pipeline(&[&producer, &consumer]);
            let plan = same(&graph, &SIZES);
            assert_eq!(kernels(&plan), 1, "{} -> {}\n{}", producer.name(), consumer.name(), shown(&plan));
        }
    }
}

#[test]
fn workgroup_producers_stay() {
    let graph = pipeline(&[&sums(), &add_one(), &stencil()]);
    let plan = same(&graph, &SIZES);
    assert_eq!(kernels(&plan), 2, "{}", shown(&plan));
    assert_eq!(plan.rejected.len(), 1);
    assert_eq!(plan.rejected[0].reason, RejectReason::Elsewhere("invocation"), "{}", shown(&plan));
}

#[test]
fn workgroups_pass_on_what_they_computed() {
    for last in [add_one(), sums()] {
        let graph = pipeline(&[&sums(), &sums(), &add_one(), &sums(), &last]);
        let plan = same(&graph, &SIZES);
        assert_eq!(kernels(&plan), 1, "{}", shown(&plan));
        for (dims, facts) in [(129, 129), (128, 128), (64, 64)] {
            let facts = Facts::new().with_dim("n", facts);
            let gpu = DeviceProfile { is_software: false, ..DeviceProfile::reference() };
            let known = plan_of(&graph, &gpu, &facts);
            let dims = [("n", dims)];
            assert_eq!(kernels(&known), 1, "{}", shown(&known));
            assert_eq!(run(&graph, &known, &dims, &[], 1), run(&graph, &unfused(&graph), &dims, &[], 1));
        }
    }
}

fn plan_of(graph: &ProgramGraph, profile: &DeviceProfile, facts: &Facts) -> crate::fuse::Plan {
    plan(graph, profile, facts, &SearchBudget::default()).unwrap()
}

#[test]
fn transposed_matrices_are_read_where_they_come_from() {
    let g = GraphBuilder::new("matrices");
    let (rows, columns) = (g.dim("rows"), g.dim("columns"));
    let x = g.input::<u32>("x", [rows, columns]);
    let a = g.call(&add_one(), [x]).unwrap();
    let t = g.call(&transpose(), (rows, columns, a)).unwrap();
    let b = g.call(&add_one(), [t]).unwrap();
    let u = g.call(&gather(), (columns, rows, b)).unwrap();
    let v = g.call(&transpose(), (rows, columns, u)).unwrap();
    g.output("y", v);
    let graph = g.finish().unwrap();
    let plan = same(&graph, &[&[("rows", 3), ("columns", 5)], &[("rows", 1), ("columns", 9)]]);
    assert_eq!(kernels(&plan), 1, "{}", shown(&plan));
}

#[test]
fn what_is_read_twice_and_given_back_is_computed_once_or_twice() {
    let g = GraphBuilder::new("diamond");
    let x = g.input::<u32>("x", [g.dim("n")]);
    let a = g.call(&add_one(), [x]).unwrap();
    let [low, high] = g.call_many(&split(), [a]).unwrap();
    let b = g.call(&reverse(), [high]).unwrap();
    let c = g.call(&both(), [low, b]).unwrap();
    g.output("a", a);
    g.output("c", c);
    g.output("again", c);
    g.output("x", x);
    let graph = g.finish().unwrap();
    let plan = same(&graph, &SIZES);
    assert!(kernels(&plan) <= 2, "{}", shown(&plan));
}

#[test]
fn old_values_outlive_updates_in_place() {
    for program in [update(), update_some()] {
        let g = GraphBuilder::new("updates");
        let x = g.input::<u32>("x", [g.dim("n")]);
        let a = g.call(&sums(), [x]).unwrap();
        let b = g.call(&program, [x, a]).unwrap();
        let c = g.call(&program, [b, b]).unwrap();
        let d = g.call(&program, [a, c]).unwrap();
        g.output("d", d);
        let graph = g.finish().unwrap();
        same(&graph, &SIZES);
        let plan = unfused(&graph);
        // `a` is read again later and `b` by the very program that changes it; `c` is changed where it lives.
        let copies = plan.steps.iter().filter(|step| matches!(step, Step::Copy { .. })).count();
        assert_eq!(copies, 3, "{:?}", plan.steps);
    }
}

#[test]
fn retained_values_are_what_the_run_made_of_them() {
    let g = GraphBuilder::new("state");
    let n = g.dim("n");
    let (x, s) = (g.input::<u32>("x", [n]), g.retained::<u32>("s", [n]));
    let t = g.call(&update(), [x, s]).unwrap();
    let u = g.call(&both(), [t, s]).unwrap();
    g.update(s, t);
    g.output("u", u);
    let graph = g.finish().unwrap();
    let plan = same(&graph, &SIZES);
    assert!(plan.places.contains(&Placement::Output));
}

#[test]
fn slots_are_used_again() {
    let graph = pipeline(&[&sums(), &sums(), &sums(), &sums(), &sums()]);
    let plan = unfused(&graph);
    assert_eq!((kernels(&plan), plan.slots.len()), (5, 2));
    let slots: usize = plan.slots.iter().map(|slot| slot.values.len()).sum();
    assert_eq!(slots, 4);
}

#[test]
fn facts_become_constants_and_budgets_end_the_search() {
    let graph = pipeline(&[&add_one(), &reverse(), &stencil()]);
    let profile = DeviceProfile::reference();
    let facts = Facts::new().with_dim("n", 129);
    let known = plan(&graph, &profile, &facts, &SearchBudget::default()).unwrap();
    let dims = [("n", 129)];
    assert_eq!(run(&graph, &known, &dims, &[], 1), run(&graph, &unfused(&graph), &dims, &[], 1));
    assert_eq!(kernels(&known), 1);
    assert_ne!(shown(&known), shown(&planned(&graph)));
    let none = plan(&graph, &profile, &Facts::new(), &SearchBudget::none()).unwrap();
    assert_eq!(none.steps, unfused(&graph).steps);
    assert!(none.rejected.iter().all(|one| one.reason == RejectReason::Budget) && !none.rejected.is_empty());
    let time = SearchBudget { time: Some(std::time::Duration::ZERO), ..SearchBudget::default() };
    assert!(plan(&graph, &profile, &Facts::new(), &time).is_err());
}

#[test]
fn truths_and_halves_are_the_same_in_registers() {
    let narrow = Kernel::build("narrow", |k| {
        let x = k.read_only::<u32>("x");
        let (half, odd) = (k.write_only::<f16>("half", x.len()), k.write_only::<bool>("odd", x.len()));
        k.domain([x.len()], |[i]| {
            half.store(i, (x.load(i) >> 12).convert::<f16>());
            odd.store(i, (x.load(i) & 1).eq(1));
        });
    })
    .unwrap();
    let wide = Kernel::build("wide", |k| {
        let (half, odd) = (k.read_only::<f16>("half"), k.read_only::<bool>("odd"));
        let y = k.write_only::<f32>("y", half.len());
        k.domain([half.len()], |[i]| {
            let value = half.load(half.len() - 1 - i).convert::<f32>();
            y.store(i, odd.load(i).select(value * 3.0, value));
        });
    })
    .unwrap();
    let g = GraphBuilder::new("narrow");
    let x = g.input::<u32>("x", [g.dim("n")]);
    let [half, odd] = g.call_many(&narrow, [x]).unwrap();
    g.output("y", g.call(&wide, [half, odd]).unwrap());
    g.output("odd", odd);
    let graph = g.finish().unwrap();
    let plan = same(&graph, &SIZES);
    // `x`, `odd` and `y`: nobody needs `half` in memory.
    assert_eq!(kernels(&plan), 1, "{}", shown(&plan));
    assert_eq!(plan.programs[0].buffers().len(), 3, "{}", shown(&plan));
}

/// Random graphs of these programs.
fn random(seed: u64, most: usize) -> ProgramGraph {
    let mut rng = Rng::with_seed(seed);
    let unary = [add_one(), reverse(), stencil(), broadcast(), looped(), prefix(), sums(), signed()];
    let binary = [update(), update_some(), both()];
    let split = split();
    let g = GraphBuilder::new("random");
    let n = g.dim("n");
    let s = g.retained::<u32>("s", [n]);
    let mut values: Vec<Handle<'_>> = vec![g.input::<u32>("x", [n]), g.input::<u32>("w", [n]), s];
    for _ in 0..rng.usize(3..most) {
        // Mostly recent values, so that chains come about.
        let recent = values.len().saturating_sub(4);
        let any = |rng: &mut Rng| {
            let from = if rng.bool() { recent } else { 0 };
            values[rng.usize(from..values.len())]
        };
        let (a, b) = (any(&mut rng), any(&mut rng));
        match rng.u32(..8) {
            0 => values.extend(g.call_many::<2>(&split, [a]).unwrap()),
            1..=3 => values.push(g.call(&binary[rng.usize(..binary.len())], [a, b]).unwrap()),
            _ => values.push(g.call(&unary[rng.usize(..unary.len())], [a]).unwrap()),
        }
    }
    for i in 0..rng.usize(1..4) {
        g.output(format!("out{i}"), values[rng.usize(..values.len())]);
    }
    g.output("last", values[values.len() - 1]);
    g.update(s, values[rng.usize(..values.len())]);
    g.finish().unwrap()
}

/// `VYRE_GRAPH_SEEDS=N` tries N graphs instead of some.
#[test]
fn random_graphs_compute_the_same_when_fused() {
    let seeds = std::env::var("VYRE_GRAPH_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(150);
    let (mut nodes, mut fused) = (0, 0);
    for seed in 0..seeds {
        let graph = random(seed, if seed % 30 == 29 { 150 } else { 25 });
        let plan = same(&graph, &[&[("n", 70)], &[("n", 3)]]);
        nodes += graph.nodes().len();
        fused += kernels(&plan);
    }
    assert!(fused * 2 < nodes, "{fused} kernels of {nodes} nodes");
    println!("{fused} kernels of {nodes} nodes");
}
