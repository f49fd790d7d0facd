//! The graphs of the benchmarks.

use std::collections::BTreeMap;

use vyre_foundation::graph::{Bindings, solve};
use vyre_foundation::machine::{MachineError, MachineOptions};
use vyre_spec::DeviceProfile;

use super::{kernels, planned, run_with, same, shown};
use crate::fuse::{Facts, SearchBudget, evaluate, plan};
use crate::samples;

#[test]
fn a_chain_is_one_kernel() {
    let graph = samples::chain(8).unwrap();
    let plan = same(&graph, &[&[("n", 1)], &[("n", 257)], &[("n", 0)]]);
    assert_eq!(kernels(&plan), 1, "{}", shown(&plan));
    assert_eq!(plan.slots, []);
    // Loads its input once and stores its output.
    let program = &plan.programs[0];
    assert_eq!(program.nodes().len(), 2, "{}", shown(&plan));
    assert_eq!(program.buffers().len(), 2);
    assert!(program.facts().stores_whole(vyre_foundation::ir::BufferId::new(1)));
}

#[test]
fn softmax_is_one_kernel() {
    let graph = samples::softmax().unwrap();
    let plan = same(&graph, &[&[("rows", 3), ("columns", 300)], &[("rows", 1), ("columns", 1)]]);
    assert_eq!(kernels(&plan), 1, "{}", shown(&plan));
}

#[test]
fn layer_norm_is_one_kernel() {
    let graph = samples::layer_norm().unwrap();
    let plan = same(&graph, &[&[("rows", 2), ("columns", 513)], &[("rows", 4), ("columns", 7)]]);
    assert_eq!(kernels(&plan), 1, "{}", shown(&plan));
}

#[test]
fn a_plan_is_the_same_each_time() {
    let graph = samples::softmax().unwrap();
    let (a, b) = (planned(&graph), planned(&graph));
    assert_eq!(a.steps, b.steps);
    assert_eq!(shown(&a), shown(&b));
}

#[test]
fn one_workgroup_does_not_take_the_work_of_a_domain() {
    let graph = samples::softmax().unwrap();
    let profile = DeviceProfile { is_software: false, ..DeviceProfile::reference() };
    let kernels_of = |rows| {
        let facts = Facts::new().with_dim("rows", rows).with_dim("columns", (1 << 26) / rows);
        kernels(&plan(&graph, &profile, &facts, &SearchBudget::default()).unwrap())
    };
    // One row alone is one workgroup: what it does not have to do, the exponentials and quotients, is left to domains.
    assert_eq!((kernels_of(1), kernels_of(1 << 14)), (4, 1));
}

#[test]
fn what_workgroups_pass_on_is_behind_barriers() {
    let options = MachineOptions { sanitize: true, ..MachineOptions::default() };
    let dims = [("rows", 3), ("columns", 300)];
    for graph in [samples::softmax().unwrap(), samples::layer_norm().unwrap()] {
        let found = run_with(&graph, &planned(&graph), &dims, &[], (1, &options)).reports;
        assert!(found.is_empty(), "{found:?}");
    }
}

#[test]
fn a_value_beyond_the_memory_is_refused_before_it_is_made() {
    let graph = samples::chain(2).unwrap();
    let solved = solve(&graph, &Bindings::new().dim("n", u64::from(u32::MAX))).unwrap();
    let error = evaluate(&graph, &planned(&graph), &solved, &BTreeMap::new(), &MachineOptions::default());
    let bytes = 4 * u64::from(u32::MAX);
    let limit = MachineOptions::default().memory_limit;
    assert_eq!(error.unwrap_err(), MachineError::Memory { what: "value `x`".into(), bytes, limit });
}
