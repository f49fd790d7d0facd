//! Random graphs through their artifacts' bytes and schedules, fused and not, two runs each: the same bytes as on the
//! reference machine.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here fails the test")]

use vyre_driver::{BufferRef, CommandList, ReferenceBackend, Span, VyreBackend};
use vyre_foundation::graph::{Evaluation, evaluate};
use vyre_foundation::machine::MachineOptions;
use vyre_foundation::testing::{GeneratedGraph, GraphConfig, generate_graph};
use vyre_megakernel::{
    Artifact, BindingSet, CompileRequest, Held, Pipelines, Prepared, SearchBudget, compile,
};

/// Two runs of the graph by its meaning; the second without the retained values that the first was given.
fn meant(case: &GeneratedGraph) -> [Evaluation; 2] {
    let options = MachineOptions::default();
    let first = case.evaluate(&options).unwrap();
    let mut inputs = case.bindings();
    for (name, bytes) in &first.retained {
        inputs = inputs.value(name, bytes);
    }
    let second = evaluate(&case.graph, &inputs, &options).unwrap();
    [first, second]
}

fn bindings(case: &GeneratedGraph, is_first: bool) -> BindingSet<'_> {
    let retained = |name: &str| case.graph.value_named(name).unwrap();
    let mut bindings = BindingSet::new();
    for (name, bytes) in &case.inputs {
        let is_input =
            matches!(case.graph.value(retained(name)).source, vyre_foundation::graph::Source::Input);
        if is_first || is_input {
            bindings = bindings.bytes(name.as_str(), bytes);
        }
    }
    for param in case.graph.params() {
        bindings = bindings.param_value(param.name.as_str(), case.params.get(&param.name).unwrap());
    }
    case.dims.iter().fold(bindings, |bindings, (name, number)| bindings.dim(name, *number))
}

/// Two runs of an artifact with what it retains held on the backend.
fn run(case: &GeneratedGraph, artifact: &Artifact) -> [Evaluation; 2] {
    let backend = ReferenceBackend::new();
    let compile = |p| backend.compile_checked(p, artifact.options()).unwrap();
    let pipelines = Pipelines::new(artifact, artifact.programs().iter().map(compile).collect()).unwrap();
    let mut held = Held::new();
    [true, false].map(|is_first| {
        let bindings = bindings(case, is_first);
        let prepared = Prepared::new(artifact, &bindings, &held).unwrap();
        for id in artifact.retained() {
            held.entry(id).or_insert_with(|| backend.allocate(prepared.bytes_of(id)).unwrap());
        }
        let schedule = prepared.schedule(&pipelines, &held).unwrap();
        let outputs = backend.submit(&schedule.list).unwrap().wait(None).unwrap();
        let mut list = CommandList::new();
        for resource in held.values() {
            list.read(Span { buffer: BufferRef::Resident(*resource), offset: 0, len: resource.len });
        }
        let retained = backend.submit(&list).unwrap().wait(None).unwrap();
        let names = held.keys().map(|&id| artifact.graph().value(id).name.clone());
        Evaluation { outputs, retained: names.zip(retained).collect(), subnormals: false }
    })
}

#[test]
fn artifacts_of_random_graphs_compute_what_is_meant() {
    let config = GraphConfig { max_nodes: 60, max_elements: 64, ..GraphConfig::default() };
    let mut fused = 0;
    for seed in 1000..1060 {
        let case = generate_graph(seed, &config);
        let want = meant(&case);
        for budget in [SearchBudget::none(), SearchBudget::default()] {
            let profile = ReferenceBackend::new().profile().clone();
            let request = CompileRequest::graph(&case.graph, &profile).with_budget(budget);
            let artifact = compile(&request.validate().unwrap()).unwrap();
            let read = Artifact::from_bytes(artifact.bytes()).unwrap();
            assert_eq!(read.id(), artifact.id(), "seed {seed}");
            let got = run(&case, &read);
            assert!(got == want, "seed {seed}, {budget:?}");
            fused += artifact.plan().groups.len();
        }
    }
    assert!(fused > 100, "{fused}");
}
