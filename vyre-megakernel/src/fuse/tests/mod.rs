//! Fused, unfused and the reference machine give the same bytes.

mod epilogues;
mod graphs;
mod random;
mod shapes;

use std::collections::BTreeMap;

use vyre_foundation::graph::{Bindings, GraphValueId, ProgramGraph, Source, solve};
use vyre_foundation::machine::{MachineOptions, Schedule};
use vyre_foundation::testing::{Rng, random_value};
use vyre_spec::{DeviceProfile, Value};

use super::{Evaluated, Facts, Plan, SearchBudget, Step, evaluate, plan, unfused};

/// The plan that a default budget finds for a GPU.
fn planned(graph: &ProgramGraph) -> Plan {
    let profile = DeviceProfile { is_software: false, ..DeviceProfile::reference() };
    plan(graph, &profile, &Facts::new(), &SearchBudget::default()).unwrap()
}

/// Kernels of a plan.
fn kernels(plan: &Plan) -> usize {
    plan.steps.iter().filter(|step| matches!(step, Step::Run(_))).count()
}

/// Runs a plan with random inputs of a seed.
fn run(
    graph: &ProgramGraph,
    plan: &Plan,
    dims: &[(&str, u64)],
    params: &[(&str, Value)],
    seed: u64,
) -> Evaluated {
    let options = MachineOptions { schedule: Schedule::Seeded(seed), ..MachineOptions::default() };
    run_with(graph, plan, dims, params, (seed, &options))
}

/// The same, as the machine is told to.
fn run_with(
    graph: &ProgramGraph,
    plan: &Plan,
    dims: &[(&str, u64)],
    params: &[(&str, Value)],
    (seed, options): (u64, &MachineOptions),
) -> Evaluated {
    let mut bindings = Bindings::new();
    for &(name, value) in dims {
        bindings = bindings.dim(name, value);
    }
    for &(name, value) in params {
        bindings = bindings.param(name, value);
    }
    // Without bytes all symbols have to be given.
    let sized = |bindings: &Bindings| solve(graph, bindings);
    let mut all = bindings.clone();
    let first = sized(&bindings);
    let mut rng = Rng::with_seed(seed);
    let mut bound: BTreeMap<GraphValueId, Vec<u8>> = BTreeMap::new();
    let solved = match first {
        Ok(solved) => solved,
        Err(_) => {
            for id in graph.value_ids() {
                if matches!(graph.value(id).source, Source::Input | Source::Retained { .. }) {
                    let dims: u64 = graph.value(id).shape.iter().map(|&dim| size(graph, dim, dims)).product();
                    all = all.bytes(id, dims * u64::from(graph.value(id).element.size()));
                }
            }
            sized(&all).unwrap()
        }
    };
    for id in graph.value_ids() {
        if matches!(graph.value(id).source, Source::Input | Source::Retained { .. }) {
            let element = graph.value(id).element;
            let count = solved.elements(graph, id);
            let bytes = (0..count).flat_map(|_| {
                let value = random_value(element, true, &mut rng);
                value.bits().to_le_bytes().into_iter().take(element.size() as usize).collect::<Vec<u8>>()
            });
            bound.insert(id, bytes.collect());
        }
    }
    evaluate(graph, plan, &solved, &bound, options).unwrap()
}

fn size(graph: &ProgramGraph, dim: vyre_foundation::graph::DimId, dims: &[(&str, u64)]) -> u64 {
    use vyre_foundation::graph::Dim;
    match graph.dim(dim) {
        Dim::Literal(n) => *n,
        Dim::Symbol(name) => dims.iter().find(|(known, _)| known == name).map_or(1, |&(_, n)| n),
        other => panic!("the test's inputs have simple shapes, not {other:?}"),
    }
}

/// Asserts that the fused plan computes what the unfused one does, to the last bit, for several sizes; gives it.
fn same(graph: &ProgramGraph, sizes: &[&[(&str, u64)]]) -> Plan {
    let (fused, plain) = (planned(graph), unfused(graph));
    let slow = plan(graph, &DeviceProfile::reference(), &Facts::new(), &SearchBudget::default()).unwrap();
    if slow.steps != fused.steps {
        compare(graph, &slow, &plain, sizes);
    }
    compare(graph, &fused, &plain, sizes);
    fused
}

fn compare(graph: &ProgramGraph, fused: &Plan, plain: &Plan, sizes: &[&[(&str, u64)]]) {
    for (seed, dims) in sizes.iter().enumerate() {
        let want = run(graph, plain, dims, &[], seed as u64);
        let got = run(graph, fused, dims, &[], seed as u64);
        assert_eq!(want.outputs, got.outputs, "{dims:?} {}", shown(fused));
        assert_eq!(want.retained, got.retained, "{dims:?}");
    }
}

/// A plan's programs as text, and what was not fused.
fn shown(plan: &Plan) -> String {
    let mut text: String =
        plan.programs.iter().map(|program| vyre_foundation::text::print(program)).collect();
    for one in &plan.rejected {
        text.push_str(&format!("{:?} -> {:?}: {}\n", one.producer, one.consumer, one.reason));
    }
    text
}
