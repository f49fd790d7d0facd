//! Random graphs of 20 to 200 programs: unfused and fused on the device, against what the graph means.

use std::sync::Arc;

use vyre_driver::{BackendError, CompiledPipeline, VyreBackend};
use vyre_driver_wgpu::WgpuBackend;
use vyre_foundation::machine::MachineOptions;
use vyre_foundation::testing::{GeneratedGraph, GraphConfig, generate_graph};
use vyre_foundation::text;
use vyre_megakernel::{
    Artifact, BindingSet, CompileRequest, Facts, Held, Pipelines, SearchBudget, compile, schedule,
};
use vyre_spec::Comparison;

use crate::supervisor::Outcome;

/// What came of a seed.
#[derive(Default)]
pub(crate) struct Report {
    /// Runs of the graph.
    pub(crate) runs: u64,
    /// Elements that were compared.
    pub(crate) compared: u64,
    /// Runs that the device cannot do.
    pub(crate) refused: u64,
    /// What is wrong.
    pub(crate) failures: Vec<String>,
}

fn case(seed: u64) -> GeneratedGraph {
    generate_graph(seed, &GraphConfig::default())
}

/// The kernels of a seed's fused plan, as text.
pub(crate) fn show(backend: &WgpuBackend, seed: u64) -> Outcome<String> {
    let case = case(seed);
    let artifact = artifact(backend, &case, SearchBudget::default())?;
    Ok(artifact.programs().iter().map(|program| text::print(program)).collect())
}

/// Runs the graph of a seed.
pub(crate) fn run(backend: &WgpuBackend, seed: u64) -> Report {
    let case = case(seed);
    let mut report = Report::default();
    let want = match case.evaluate(&MachineOptions::default()) {
        Ok(want) => want.outputs,
        Err(error) => {
            report.failures.push(format!("graph {seed}: the reference machine: {error}"));
            return report;
        }
    };
    for (name, budget) in [("unfused", SearchBudget::none()), ("fused", SearchBudget::default())] {
        match outputs(backend, &case, budget) {
            Ok(Some(got)) => {
                report.runs += 1;
                let outputs = case.graph.outputs().iter();
                for ((output, want), got) in outputs.zip(&want).zip(&got) {
                    let element = case.graph.value(output.value).element;
                    report.compared += (want.len() / element.size() as usize) as u64;
                    if let Err(mismatch) = Comparison::EXACT.outputs(element, want, got) {
                        report
                            .failures
                            .push(format!("graph {seed}, {name}, `{}`: {mismatch:?}", output.name));
                    }
                }
            }
            Ok(None) => report.refused += 1,
            Err(error) => report.failures.push(format!("graph {seed}, {name}: {error}")),
        }
    }
    report
}

fn artifact(backend: &WgpuBackend, case: &GeneratedGraph, budget: SearchBudget) -> Outcome<Artifact> {
    let mut facts = Facts::new();
    if case.seed % 2 == 1 {
        // The kernels of this very size.
        facts.dims.clone_from(&case.dims);
    }
    let request = CompileRequest::graph(&case.graph, backend.profile()).with_budget(budget).with_facts(facts);
    Ok(compile(&request.validate()?)?)
}

/// The outputs of a run; nothing if the device lacks what a kernel needs.
fn outputs(
    backend: &WgpuBackend,
    case: &GeneratedGraph,
    budget: SearchBudget,
) -> Outcome<Option<Vec<Vec<u8>>>> {
    let artifact = artifact(backend, case, budget)?;
    let mut pipelines: Vec<Arc<dyn CompiledPipeline>> = Vec::new();
    for program in artifact.programs() {
        match backend.compile_checked(program, artifact.options()) {
            Ok(pipeline) => pipelines.push(pipeline),
            Err(BackendError::Unsupported { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    let pipelines = Pipelines::new(&artifact, pipelines)?;
    let mut bindings = BindingSet::new();
    for (name, bytes) in &case.inputs {
        bindings = bindings.bytes(name.as_str(), bytes);
    }
    for (name, value) in &case.dims {
        bindings = bindings.dim(name.as_str(), *value);
    }
    for param in case.graph.params() {
        if let Some(value) = case.params.get(&param.name) {
            bindings = bindings.param_value(param.name.as_str(), value);
        }
    }
    let schedule = schedule(&artifact, &pipelines, &bindings, &Held::default())?;
    Ok(Some(backend.submit(&schedule.list)?.wait(None)?))
}
