//! Consumers that run where their producers store.

use vyre_foundation::build::{BuildError, Kernel};
use vyre_foundation::check::Checked;
use vyre_foundation::graph::{GraphBuilder, ProgramGraph};
use vyre_foundation::ir::{Node, Program};
use vyre_spec::MemoryOrdering;

use super::{kernels, same, shown};
use crate::fuse::{Fusion, RejectReason};

const TILE: u32 = 4;

/// A tiled product of matrices; `guarded` says whether it stores only inside of them.
fn product(guarded: bool) -> Result<Checked<Program>, BuildError> {
    Kernel::build("product", |k| {
        let (m, n, depth) = (k.param::<u32>("m"), k.param::<u32>("n"), k.param::<u32>("depth"));
        let (a, b) = (k.read_only::<f32>("a"), k.read_only::<f32>("b"));
        let c = k.write_only::<f32>("c", m.extent() * n.extent());
        let (left, right) = (k.shared::<f32>("left", TILE * TILE), k.shared::<f32>("right", TILE * TILE));
        let groups = [n.extent().ceil_div(u64::from(TILE)), m.extent().ceil_div(u64::from(TILE))];
        k.workgroups([TILE, TILE], groups, |group| {
            let [x, y, _] = group.local_id;
            let (column, row) = (group.id[0] * TILE + x, group.global_id[1]);
            let sum = k.var("sum", 0.0f32);
            k.for_step(0, depth, TILE, |from| {
                let (i, j) = (from + x, from + y);
                left.store(y * TILE + x, i.lt(depth).select(a.load(row * depth + i), 0.0));
                right.store(y * TILE + x, j.lt(depth).select(b.load(j * n + column), 0.0));
                k.barrier(MemoryOrdering::Workgroup);
                k.for_(0, TILE, |i| {
                    sum.set(left.load(y * TILE + i).fma(right.load(i * TILE + x), sum.get()));
                });
                k.barrier(MemoryOrdering::Workgroup);
            });
            let inside = if guarded { row.lt(m) & column.lt(n) } else { column.lt(n) };
            k.if_(inside, || c.store(row * n + column, sum.get()));
        });
    })
}

/// Bias of a column and rectification, over two axes or one.
fn bias(axes: u32) -> Result<Checked<Program>, BuildError> {
    Kernel::build("bias", |k| {
        let (m, n) = (k.param::<u32>("m"), k.param::<u32>("n"));
        let (c, bias) = (k.read_only::<f32>("c"), k.read_only::<f32>("bias"));
        let y = k.write_only::<f32>("y", c.len());
        if axes == 2 {
            k.domain([n, m], |[j, i]| {
                y.store(i * n + j, (c.load(i * n + j) + bias.load(j)).max(0.0));
            });
        } else {
            k.domain([c.len()], |[i]| y.store(i, (c.load(i) + bias.load(i % n)).max(0.0)));
        }
    })
}

fn matrices(product: &Checked<Program>, bias: &Checked<Program>, keep: bool) -> ProgramGraph {
    let g = GraphBuilder::new("linear");
    let (m, n, depth) = (g.dim("m"), g.dim("n"), g.dim("depth"));
    let (a, b) = (g.input::<f32>("a", [m, depth]), g.input::<f32>("b", [depth, n]));
    let column = g.input::<f32>("bias", [n]);
    let c = g.call(product, (m, n, depth, a, b)).unwrap();
    let y = g.call(bias, (m, n, c, column)).unwrap();
    g.output("y", y);
    if keep {
        g.output("c", c);
    }
    g.finish().unwrap()
}

#[test]
fn biases_follow_matrix_products() {
    let sizes: [&[(&str, u64)]; 3] = [
        &[("m", 5), ("n", 7), ("depth", 6)],
        &[("m", 8), ("n", 4), ("depth", 4)],
        &[("m", 1), ("n", 1), ("depth", 1)],
    ];
    for keep in [false, true] {
        for axes in [1, 2] {
            let graph = matrices(&product(true).unwrap(), &bias(axes).unwrap(), keep);
            let plan = same(&graph, &sizes);
            assert_eq!(kernels(&plan), 1, "{}", shown(&plan));
            assert_eq!(plan.groups[0].how, [Fusion::Epilogue]);
            let stores = plan.programs[0].nodes().iter().filter(|node| {
                matches!(node, Node::Store { place: vyre_foundation::ir::Place::Buffer(_), .. })
            });
            assert_eq!(stores.count(), 1 + usize::from(keep));
        }
    }
}

#[test]
fn a_store_that_may_lie_outside_is_no_proof() {
    let graph = matrices(&product(false).unwrap(), &bias(1).unwrap(), false);
    let plan = same(&graph, &[&[("m", 5), ("n", 7), ("depth", 6)]]);
    assert_eq!(kernels(&plan), 2, "{}", shown(&plan));
    assert_eq!(plan.rejected[0].reason, RejectReason::NotWhole);
}

#[test]
fn what_follows_loops_over_rows_runs_in_them() {
    let rows = Kernel::build("rows", |k| {
        let (rows, columns) = (k.param::<u32>("rows"), k.param::<u32>("columns"));
        let x = k.read_only::<f32>("x");
        let y = k.write_only::<f32>("y", x.len());
        k.workgroups([8], [rows], |group| {
            let first = group.id[0] * columns;
            k.for_step(group.local_index, columns, 8, |column| {
                y.store(first + column, x.load(first + columns - 1 - column));
            });
        });
    })
    .unwrap();
    let next = Kernel::build("next", |k| {
        let x = k.read_only::<f32>("x");
        let y = k.read_write::<f32>("y").with_len(x.len());
        k.domain([x.len()], |[i]| y.store(i, x.load(i) * 2.0 - y.load(i)));
    })
    .unwrap();
    let g = GraphBuilder::new("rows");
    let (r, c) = (g.dim("rows"), g.dim("columns"));
    let (x, z) = (g.input::<f32>("x", [r, c]), g.input::<f32>("z", [r, c]));
    let y = g.call(&rows, (r, c, x)).unwrap();
    let y = g.call(&next, [y, z]).unwrap();
    g.output("y", g.call(&next, [y, x]).unwrap());
    let graph = g.finish().unwrap();
    let plan = same(&graph, &[&[("rows", 3), ("columns", 21)], &[("rows", 1), ("columns", 1)]]);
    assert_eq!(kernels(&plan), 1, "{}", shown(&plan));
}

#[test]
fn half_of_a_value_is_not_all_of_it() {
    // As many workgroups as half of the rows need, but the whole buffer.
    let half = Kernel::build("half", |k| {
        let x = k.read_only::<f32>("x");
        let y = k.write_only::<f32>("y", x.len());
        k.workgroups([8], [x.len().extent().ceil_div(16u64)], |group| {
            let i = group.global_id[0];
            k.if_(i.lt(x.len()), || y.store(i, x.load(i)));
        });
    })
    .unwrap();
    let next = Kernel::build("next", |k| {
        let x = k.read_only::<f32>("x");
        let y = k.write_only::<f32>("y", x.len());
        k.domain([x.len()], |[i]| y.store(i, x.load(i) + 1.0));
    })
    .unwrap();
    let g = GraphBuilder::new("halves");
    let x = g.input::<f32>("x", [g.dim("n")]);
    let y = g.call(&half, [x]).unwrap();
    g.output("y", g.call(&next, [y]).unwrap());
    let graph = g.finish().unwrap();
    let plan = same(&graph, &[&[("n", 40)]]);
    assert_eq!(kernels(&plan), 2);
}
