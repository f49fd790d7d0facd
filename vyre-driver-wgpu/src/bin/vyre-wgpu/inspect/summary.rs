//! An artifact as JSON.

use serde_json::{Value, json};
use vyre_megakernel::ArtifactEnvelope;
use vyre_megakernel::fuse::Step;

use super::Report;

/// What is in an envelope.
pub(super) fn summary(envelope: &ArtifactEnvelope, verified: bool) -> Value {
    let artifact = envelope.artifact();
    let report = Report::new(artifact);
    let (graph, plan) = (report.graph, artifact.plan());
    let values: Vec<_> = graph
        .value_ids()
        .map(|id| {
            json!({ "name": report.value(id), "type": graph.type_text(id), "lifetime": graph.value(id).lifetime().name(),
                    "place": report.place(id), "steps": report.life(id).map(|(first, last)| [first, last]) })
        })
        .collect();
    let nodes: Vec<_> = graph
        .node_ids()
        .map(|id| {
            let node = graph.node(id);
            json!({ "name": node.name, "program": graph.program_of(id).name(),
                    "inputs": report.values(node.inputs.clone()), "outputs": report.values(node.outputs.clone()) })
        })
        .collect();
    let steps: Vec<_> = plan
        .steps
        .iter()
        .map(|step| match step {
            Step::Copy { from, to } => json!({ "copy": report.value(*from), "for": report.value(*to) }),
            Step::Run(run) => {
                let program = plan.programs.get(run.program as usize).map(|program| program.name());
                json!({ "kernel": program, "nodes": report.nodes(&run.nodes),
                        "reads": report.values(run.buffers.iter().filter_map(|used| used.input)),
                        "writes": report.values(run.buffers.iter().filter_map(|used| used.output)) })
            }
        })
        .collect();
    let groups: Vec<_> = plan
        .groups
        .iter()
        .map(|group| {
            let how: Vec<_> = group.how.iter().map(ToString::to_string).collect();
            json!({ "nodes": report.nodes(&group.nodes), "how": how, "bytes": group.cost.bytes,
                    "operations": group.cost.operations })
        })
        .collect();
    let rejected: Vec<_> = artifact
        .rejected()
        .iter()
        .map(|pair| {
            json!({ "producer": report.node(pair.producer), "consumer": report.node(pair.consumer),
                    "reason": pair.reason })
        })
        .collect();
    let slots: Vec<_> = plan.slots.iter().map(|slot| report.values(slot.values.iter().copied())).collect();
    let payloads: Vec<_> = envelope
        .payloads()
        .iter()
        .map(|p| json!({ "backend": p.backend, "format": p.format, "device": p.device }))
        .collect();
    let outputs: Vec<_> =
        graph.outputs().iter().map(|o| json!({ "name": o.name, "value": report.value(o.value) })).collect();
    json!({
        "graph": graph.name(),
        "artifact": artifact.id().to_string(),
        "profile": artifact.profile().to_string(),
        "facts": report.facts(),
        "values": values,
        "outputs": outputs,
        "nodes": nodes,
        "steps": steps,
        "fused": groups,
        "rejected": rejected,
        "slots": slots,
        "payloads": payloads,
        "sealed": envelope.is_sealed(),
        "verified": verified,
    })
}
