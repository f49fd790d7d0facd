//! Random graphs of 20 to 200 programs: the graph's meaning, its unfused plan and its fused ones.

use std::collections::BTreeMap;

use vyre_foundation::graph::{Bindings, GraphValueId, solve};
use vyre_foundation::machine::{MachineOptions, Schedule};
use vyre_foundation::testing::{GeneratedGraph, GraphConfig, generate_graph};
use vyre_spec::{Comparison, DataType, DeviceProfile, TypeSet};

use super::{kernels, shown};
use crate::fuse::{Evaluated, Facts, Plan, SearchBudget, evaluate, plan, unfused};

/// The first run of a plan, with invocations in an order of the case's own.
fn run(case: &GeneratedGraph, plan: &Plan) -> Evaluated {
    let options = MachineOptions { schedule: Schedule::Seeded(case.seed), ..MachineOptions::default() };
    let mut bindings = Bindings::new().params(case.params.clone());
    for (name, value) in &case.dims {
        bindings = bindings.dim(name, *value);
    }
    let mut bound: BTreeMap<GraphValueId, Vec<u8>> = BTreeMap::new();
    for (name, bytes) in &case.inputs {
        let id = case.graph.value_named(name).unwrap();
        bindings = bindings.bytes(id, bytes.len() as u64);
        bound.insert(id, bytes.clone());
    }
    let solved = solve(&case.graph, &bindings).unwrap();
    evaluate(&case.graph, plan, &solved, &bound, &options).unwrap()
}

/// `VYRE_GRAPH_SEEDS=N` tries N graphs instead of some, from `VYRE_GRAPH_FIRST` on.
#[test]
fn fused_and_unfused_plans_give_what_the_graph_means() {
    let number = |name| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let seeds = number("VYRE_GRAPH_SEEDS").unwrap_or(60);
    let first = number("VYRE_GRAPH_FIRST").unwrap_or(0);
    let gpu = DeviceProfile { is_software: false, ..DeviceProfile::reference() };
    let (mut nodes, mut fused) = (0, 0);
    for seed in first..first + seeds {
        // Every third graph is of values of every numeric type.
        let types: Vec<_> = DataType::ALL.into_iter().filter(|ty| *ty != DataType::Bool).collect();
        let all = GraphConfig { types: TypeSet::of(&types), ..GraphConfig::default() };
        let config = if seed % 3 == 2 { all } else { GraphConfig::default() };
        let case = generate_graph(seed, &config);
        let want = case.evaluate(&MachineOptions::default()).unwrap();
        let mut facts = Facts::new();
        if seed % 2 == 0 {
            facts.dims = case.dims.clone();
        }
        let plans = [
            unfused(&case.graph),
            plan(&case.graph, &gpu, &facts, &SearchBudget::default()).unwrap(),
            plan(&case.graph, &DeviceProfile::reference(), &facts, &SearchBudget::default()).unwrap(),
        ];
        nodes += case.graph.nodes().len();
        fused += kernels(&plans[1]);
        for (which, plan) in plans.iter().enumerate() {
            let got = run(&case, plan);
            let outputs = case.graph.outputs().iter().map(|output| output.value);
            for ((value, want), got) in outputs.zip(&want.outputs).zip(&got.outputs) {
                let element = case.graph.value(value).element;
                let same = Comparison::EXACT.outputs(element, want, got);
                assert!(same.is_ok(), "seed {seed}, plan {which}, {value:?}: {same:?}\n{}", shown(plan));
            }
            for (name, want) in &want.retained {
                let id = case.graph.value_named(name).unwrap();
                let element = case.graph.value(id).element;
                let same = Comparison::EXACT.outputs(element, want, &got.retained[&id]);
                assert!(same.is_ok(), "seed {seed}, plan {which}, {name}: {same:?}");
            }
        }
    }
    println!("{fused} kernels of {nodes} nodes");
    assert!(fused < nodes, "{fused} kernels of {nodes} nodes");
}
