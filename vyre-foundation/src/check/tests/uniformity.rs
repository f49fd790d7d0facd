//! Uniformity, barriers and certain races, on programs from the builder.

use vyre_spec::MemoryOrdering::{GridSync, WorkgroupAndStorage};

use crate::build::{BuildError, Kernel, ReadOnly, ReadWrite, Shared, Uniform, Workgroup};
use crate::check::{Checked, Uniformity};
use crate::diag::{Code, Diagnostic, Site};
use crate::ir::{Node, Program};

/// What a test's body works with, in workgroups of 64.
#[derive(Clone, Copy)]
struct Scope<'k> {
    k: &'k Kernel,
    group: Workgroup<'k>,
    n: crate::build::Val<'k, u32>,
    input: ReadOnly<'k, u32>,
    table: Uniform<'k, u32>,
    data: ReadWrite<'k, u32>,
    tile: Shared<'k, u32>,
}

impl Scope<'_> {
    fn barrier(self) {
        self.k.barrier(WorkgroupAndStorage);
    }
}

fn build(size: u32, body: impl for<'k> FnOnce(Scope<'k>)) -> Result<Checked<Program>, BuildError> {
    Kernel::build("test", |k| {
        let n = k.param::<u32>("n");
        let input = k.read_only::<u32>("input");
        let table = k.uniform::<u32>("table");
        let data = k.read_write::<u32>("data");
        let tile = k.shared::<u32>("tile", 64);
        k.workgroups([size], [n], |group| body(Scope { k, group, n, input, table, data, tile }));
    })
}

fn accepted(body: impl for<'k> FnOnce(Scope<'k>)) {
    if let Err(error) = build(64, body) {
        panic!("{error}");
    }
}

/// The one finding of a program, which is in divergent flow; and the kinds of its related places.
fn refused(body: impl for<'k> FnOnce(Scope<'k>)) -> (Diagnostic, Vec<String>) {
    let error = build(64, body).unwrap_err();
    let findings: Vec<_> = error.diagnostics().cloned().collect();
    assert_eq!(findings.len(), 1, "{error}");
    let labels = findings[0].related.iter().map(|(_, label)| label.clone()).collect();
    (findings[0].clone(), labels)
}

fn barrier_refused(because: &[&str], body: impl for<'k> FnOnce(Scope<'k>)) {
    let (finding, labels) = refused(body);
    assert_eq!(finding.code, Code::DivergentBarrier);
    assert_eq!(labels.len(), because.len(), "{labels:?}");
    for (label, part) in labels.iter().zip(because) {
        assert!(label.contains(part), "{label:?} lacks {part:?}");
    }
}

#[test]
fn a_barrier_under_a_lane_dependent_branch_is_refused_and_the_branch_is_named() {
    barrier_refused(&["this `if`", "`local_index` differs"], |s| {
        s.k.if_(s.group.local_index.lt(32), || s.barrier());
    });
    barrier_refused(&["this `if`", "`global_id.x` differs"], |s| {
        s.k.if_else(s.group.global_id[0].lt(s.n), || {}, || s.barrier());
    });
    // The innermost branch is uniform; the one around it is at fault.
    let (finding, _) = refused(|s| {
        s.k.if_(s.group.local_id[0].eq(0), || s.k.if_(s.n.eq(0), || s.barrier()));
    });
    let Some(&(Site::Node(branch), _)) = finding.related.first() else { panic!("{finding:?}") };
    assert_eq!(branch.index(), 0);
}

#[test]
fn a_barrier_in_a_loop_of_lane_dependent_trips_is_refused() {
    barrier_refused(&["this `for`", "`local_index`"], |s| {
        s.k.for_(0u32, s.group.local_index, |_| s.barrier());
    });
    barrier_refused(&["this `for`", "`local_index`"], |s| {
        s.k.for_step(0u32, s.n, s.group.local_index, |_| s.barrier());
    });
    barrier_refused(&["this `while`", "variable `left`", "`local_index`"], |s| {
        let left = s.k.var("left", s.group.local_index);
        s.k.while_(
            || left.get().gt(0),
            || {
                s.barrier();
                left.set(left.get() - 1);
            },
        );
    });
}

#[test]
fn a_barrier_after_a_lane_dependent_exit_is_refused() {
    barrier_refused(&["return here", "this `if`", "`global_id.x`"], |s| {
        s.k.if_(s.group.global_id[0].ge(s.n), || s.k.return_());
        s.barrier();
    });
    // Also on a later trip of a loop, and after the loop.
    barrier_refused(&["return here", "this `if`", "`local_index`"], |s| {
        s.k.for_(0u32, s.n, |i| {
            s.barrier();
            s.k.if_(s.group.local_index.eq(i), || s.k.return_());
        });
    });
    barrier_refused(&["return here", "this `if`", "`local_index`"], |s| {
        s.k.for_(0u32, s.n, |i| s.k.if_(s.group.local_index.eq(i), || s.k.return_()));
        s.barrier();
    });
    // A break ends the loop for some: the barrier before it is met by fewer on the next trip.
    barrier_refused(&["leave the loop here", "this `if`", "`local_index`"], |s| {
        s.k.for_(0u32, s.n, |i| {
            s.barrier();
            s.k.if_(s.group.local_index.eq(i), || s.k.break_());
        });
    });
    barrier_refused(&["go to the next trip here", "this `if`", "`local_index`"], |s| {
        s.k.for_(0u32, s.n, |i| {
            s.k.if_(s.group.local_index.eq(i), || s.k.continue_());
            s.barrier();
        });
    });
}

#[test]
fn what_other_invocations_may_write_is_divergent() {
    barrier_refused(&["this `if`", "loaded from `data`"], |s| {
        s.k.if_(s.data.load(0u32).eq(0), || s.barrier());
    });
    barrier_refused(&["this `if`", "loaded from `tile`"], |s| {
        s.k.if_(s.tile.load(0u32).eq(0), || s.barrier());
    });
    barrier_refused(&["this `if`", "an atomic"], |s| {
        s.k.if_(s.data.atomic_add(0u32, 1u32).eq(0), || s.barrier());
    });
    // A load at a divergent index, and a variable set in divergent flow.
    barrier_refused(&["this `if`", "`local_index`"], |s| {
        s.k.if_(s.input.load(s.group.local_index).eq(0), || s.barrier());
    });
    barrier_refused(&["this `if`", "variable `found`", "this `if`", "`local_index`"], |s| {
        let found = s.k.var("found", 0u32);
        s.k.if_(s.group.local_index.eq(3), || found.set(1u32));
        s.k.if_(found.get().eq(1), || s.barrier());
    });
    // Set with a uniform value, but as often as the lane has trips.
    barrier_refused(&["this `if`", "variable `count`", "this `for`", "`local_index`"], |s| {
        let count = s.k.var("count", 0u32);
        s.k.for_(0u32, s.group.local_index, |_| count.set(count.get() + 1));
        s.k.if_(count.get().eq(1), || s.barrier());
    });
}

#[test]
fn barriers_in_flow_that_a_workgroup_shares_are_accepted() {
    accepted(|s| s.k.if_(s.n.gt(1), || s.barrier()));
    accepted(|s| s.k.if_(s.group.id[0].gt(1), || s.barrier()));
    accepted(|s| s.k.if_(s.input.len().gt(s.group.count[0]), || s.barrier()));
    accepted(|s| s.k.if_(s.table.load(3u32).gt(1), || s.barrier()));
    accepted(|s| s.k.if_(s.input.load(s.group.id[0]).gt(1), || s.barrier()));
    accepted(|s| s.k.for_(0u32, s.n, |_| s.barrier()));
    accepted(|s| s.k.for_(0u32, s.input.load(s.group.id[0]), |_| s.barrier()));
    // Exits that the whole workgroup takes.
    accepted(|s| {
        s.k.if_(s.group.id[0].ge(s.n), || s.k.return_());
        s.barrier();
        s.k.for_(0u32, s.n, |i| {
            s.k.if_(s.table.load(i).eq(0), || s.k.continue_());
            s.barrier();
            s.k.if_(s.table.load(i).eq(1), || s.k.break_());
            s.barrier();
        });
    });
    // The usual reduction: a uniform loop over a variable, a divergent branch beside the barrier.
    accepted(|s| {
        let me = s.group.local_index;
        s.tile.store(me, s.input.load(s.group.global_id[0]));
        let stride = s.k.var("stride", 32u32);
        s.k.while_(
            || stride.get().gt(0),
            || {
                s.barrier();
                let half = stride.get();
                s.k.if_(me.lt(half), || s.tile.store(me, s.tile.load(me) + s.tile.load(me + half)));
                stride.set(half >> 1);
            },
        );
        s.k.if_(me.eq(0), || s.data.store(s.group.id[0], s.tile.load(0u32)));
    });
    // After a loop that invocations leave at different times, they are together again.
    accepted(|s| {
        s.k.for_(0u32, s.n, |i| s.k.if_(s.group.local_index.eq(i), || s.k.break_()));
        s.barrier();
    });
    // Before a divergent exit, and before a divergent continue.
    accepted(|s| {
        s.k.for_(0u32, s.n, |i| {
            s.barrier();
            s.k.if_(s.group.local_index.eq(i), || s.k.continue_());
            s.data.store(s.group.global_id[0], i);
        });
        s.k.if_(s.group.local_index.eq(0), || s.k.return_());
    });
}

#[test]
fn a_workgroup_of_one_invocation_is_uniform() {
    assert!(build(1, |s| s.k.if_(s.data.load(s.group.local_index).eq(0), || s.barrier())).is_ok());
    // On an axis of one invocation, the id is 0, whatever the others are.
    accepted(|s| s.k.if_(s.group.local_id[1].eq(0), || s.barrier()));
    accepted(|s| s.k.if_(s.group.global_id[1].eq(0), || s.barrier()));
}

#[test]
fn a_grid_barrier_needs_flow_that_the_launch_shares() {
    accepted(|s| s.k.for_(0u32, s.n, |_| s.k.barrier(GridSync)));
    barrier_refused(&["this `if`", "`workgroup_id.x` differs among workgroups"], |s| {
        s.k.if_(s.group.id[0].eq(0), || s.k.barrier(GridSync));
    });
}

#[test]
fn subgroup_ops_need_flow_that_the_workgroup_shares() {
    let (finding, labels) = refused(|s| {
        s.k.if_(s.group.local_index.lt(32), || {
            s.group.local_index.subgroup_add();
        });
    });
    assert_eq!(finding.code, Code::DivergentSubgroup);
    assert!(labels[0].contains("this `if`"));
    accepted(|s| {
        s.group.local_index.subgroup_add();
    });
}

#[test]
fn facts_tell_the_uniformity_of_flow_and_values() {
    let checked = build(64, |s| {
        s.k.if_(s.group.id[0].eq(0), || s.data.store(s.group.local_index, s.n));
    })
    .unwrap();
    for (id, node) in super::super::tree::ids(&checked) {
        match *node {
            Node::If { condition, .. } => {
                assert_eq!(checked.facts().uniformity(condition), Uniformity::Workgroup);
                assert_eq!(checked.facts().flow(id), Uniformity::Launch);
            }
            Node::Store { index, value, .. } => {
                assert_eq!(checked.facts().uniformity(index), Uniformity::Divergent);
                assert_eq!(checked.facts().uniformity(value), Uniformity::Launch);
                assert_eq!(checked.facts().flow(id), Uniformity::Workgroup);
            }
            _ => panic!("{node:?}"),
        }
    }
}

#[test]
fn certain_races_are_refused_and_others_are_not() {
    let race = |body: fn(Scope<'_>)| match build(64, body) {
        Ok(_) => false,
        Err(error) => {
            assert!(error.diagnostics().all(|finding| finding.code == Code::Race), "{error}");
            true
        }
    };
    assert!(race(|s| s.tile.store(0u32, s.group.local_index)));
    assert!(race(|s| s.data.store(s.group.id[0], s.input.load(s.group.global_id[0]))));
    // One value, one invocation, one element each, out of bounds.
    assert!(!race(|s| s.tile.store(0u32, s.n)));
    assert!(!race(|s| s.k.if_(s.group.local_index.eq(0), || s.tile.store(0u32, s.group.local_index))));
    assert!(!race(|s| s.tile.store(s.group.local_index, s.group.local_index)));
    assert!(!race(|s| s.tile.store(64u32, s.group.local_index)));

    assert!(race(|s| {
        s.tile.store(0u32, 0u32);
        s.tile.atomic_add(0u32, 1u32);
    }));
    assert!(race(|s| {
        s.data.atomic_add(s.n, 1u32);
        s.data.store(s.n, 0u32);
    }));
    assert!(!race(|s| {
        s.tile.store(0u32, 0u32);
        s.barrier();
        s.tile.atomic_add(0u32, 1u32);
    }));
    assert!(!race(|s| {
        s.tile.store(0u32, 0u32);
        s.k.if_(s.n.eq(1), || s.barrier());
        s.tile.atomic_add(0u32, 1u32);
    }));
    assert!(!race(|s| {
        s.tile.store(1u32, 0u32);
        s.tile.atomic_add(0u32, 1u32);
    }));
    assert!(build(1, |s| s.tile.store(0u32, s.group.local_index)).is_ok());
}

#[test]
fn uniformity_of_long_programs_is_linear_and_needs_no_stack() {
    super::on_small_stack(|| {
        let error = build(64, |s| {
            s.k.if_(s.group.local_index.eq(0), || s.k.return_());
            let x = s.k.var("x", 0u32);
            for _ in 0..50_000 {
                x.set(x.get() + 1);
                s.barrier();
            }
        })
        .unwrap_err();
        // Each barrier is refused, with its short explanation.
        assert_eq!(error.findings().len(), 50_000);
        assert!(error.diagnostics().all(|finding| finding.related.len() == 3));
    });
}
