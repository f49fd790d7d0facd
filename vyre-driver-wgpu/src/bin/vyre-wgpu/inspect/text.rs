//! An artifact as text.

use std::fmt::Write as _;

use vyre_foundation::graph::Dim;
use vyre_foundation::ir::{Launch, Program};
use vyre_megakernel::ArtifactEnvelope;
use vyre_megakernel::fuse::Step;

use super::Report;

/// What is in an envelope, a section after the other.
pub(super) fn text(envelope: &ArtifactEnvelope, verified: bool) -> String {
    let report = Report::new(envelope.artifact());
    let mut out = String::new();
    header(&mut out, &report);
    values(&mut out, &report);
    nodes(&mut out, &report);
    kernels(&mut out, &report);
    fusion(&mut out, &report);
    slots(&mut out, &report);
    payloads(&mut out, envelope);
    let seal = match (envelope.is_sealed(), verified) {
        (_, true) => "sealed, and verified",
        (true, false) => "sealed; `--key-file` verifies it",
        (false, false) => "not sealed",
    };
    let _ = writeln!(out, "{seal}");
    out
}

fn header(out: &mut String, report: &Report<'_>) {
    let (artifact, graph) = (report.artifact, report.graph);
    let _ = writeln!(
        out,
        "graph `{}`\nartifact {}\nfor a device with the profile {}",
        graph.name(),
        artifact.id(),
        artifact.profile()
    );
    let symbols: Vec<&str> = graph
        .dims()
        .iter()
        .filter_map(|dim| match dim {
            Dim::Symbol(name) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    if !symbols.is_empty() {
        let _ = writeln!(out, "dimensions: {}", symbols.join(", "));
    }
    for param in graph.params() {
        let _ = writeln!(out, "parameter {}: {}", param.name, param.ty);
    }
    let facts = report.facts();
    if !facts.is_empty() {
        let _ = writeln!(out, "every run has {}", facts.join(", "));
    }
}

fn values(out: &mut String, report: &Report<'_>) {
    let graph = report.graph;
    let _ = writeln!(out, "\nvalues");
    for id in graph.value_ids() {
        let lives = report.life(id).map_or_else(
            || ", used by no step".to_owned(),
            |(first, last)| {
                if first == last { format!(", step {first}") } else { format!(", steps {first} to {last}") }
            },
        );
        let role = graph.value(id).lifetime().name();
        let _ = writeln!(
            out,
            "  {}: {}, {role}: {}{lives}",
            report.value(id),
            graph.type_text(id),
            report.place(id)
        );
    }
    for output in graph.outputs() {
        let _ = writeln!(out, "  output {} = {}", output.name, report.value(output.value));
    }
}

fn nodes(out: &mut String, report: &Report<'_>) {
    let graph = report.graph;
    let _ = writeln!(out, "\nnodes");
    for id in graph.node_ids() {
        let node = graph.node(id);
        let (inputs, outputs) = (report.values(node.inputs.clone()), report.values(node.outputs.clone()));
        let program = graph.program_of(id).name();
        let _ = writeln!(out, "  {} = {program}({}) -> {}", node.name, inputs.join(", "), list(&outputs));
    }
}

fn kernels(out: &mut String, report: &Report<'_>) {
    let plan = report.artifact.plan();
    let _ = writeln!(out, "\nkernels");
    for (number, step) in plan.steps.iter().enumerate() {
        match step {
            Step::Copy { from, to } => {
                let _ = writeln!(out, "  {number} copy {} for {}", report.value(*from), report.value(*to));
            }
            Step::Run(run) => {
                let Some(program) = plan.programs.get(run.program as usize) else { continue };
                let inputs = report.values(run.buffers.iter().filter_map(|used| used.input));
                let outputs = report.values(run.buffers.iter().filter_map(|used| used.output));
                let _ = writeln!(
                    out,
                    "  {number} {} of {}: {}, reads {}, writes {}",
                    program.name(),
                    list(&report.nodes(&run.nodes)),
                    launch(program),
                    list(&inputs),
                    list(&outputs)
                );
            }
        }
    }
}

fn fusion(out: &mut String, report: &Report<'_>) {
    let artifact = report.artifact;
    let plan = artifact.plan();
    if !plan.groups.is_empty() {
        let _ = writeln!(out, "\nfused");
    }
    for group in &plan.groups {
        let how: Vec<_> = group.how.iter().map(ToString::to_string).collect();
        let _ = writeln!(
            out,
            "  {}: {}; by the model {} bytes moved and {} operations",
            report.nodes(&group.nodes).join(" + "),
            how.join(", "),
            group.cost.bytes,
            group.cost.operations
        );
    }
    if !artifact.rejected().is_empty() {
        let _ = writeln!(out, "\nnot fused");
    }
    for pair in artifact.rejected() {
        let (producer, consumer) = (report.node(pair.producer), report.node(pair.consumer));
        let _ = writeln!(out, "  {producer} and {consumer}: {}", pair.reason);
    }
}

fn slots(out: &mut String, report: &Report<'_>) {
    let plan = report.artifact.plan();
    for (number, slot) in plan.slots.iter().enumerate() {
        if number == 0 {
            let _ = writeln!(out, "\nshared memory of intermediate values");
        }
        let _ =
            writeln!(out, "  slot {number}: {}", report.values(slot.values.iter().copied()).join(", then "));
    }
}

fn payloads(out: &mut String, envelope: &ArtifactEnvelope) {
    let _ = writeln!(out, "\npayloads");
    for payload in envelope.payloads() {
        let bytes: usize = payload.programs.iter().flat_map(|p| &p.kernels).map(|k| k.code.len()).sum();
        let _ = writeln!(
            out,
            "  {} ({}) for {}: {bytes} bytes of code",
            payload.backend, payload.format, payload.device
        );
    }
    if envelope.payloads().is_empty() {
        let _ = writeln!(out, "  none");
    }
}

/// What a kernel launches, in a word or two.
fn launch(program: &Program) -> String {
    match program.launch() {
        Launch::Domain { .. } => "a domain".to_owned(),
        Launch::Workgroups { size: [x, y, z], .. } => format!("workgroups of {x} × {y} × {z}"),
        Launch::Indirect { size: [x, y, z], .. } => {
            format!("workgroups of {x} × {y} × {z}, counts in a buffer")
        }
    }
}

fn list(items: &[&str]) -> String {
    if items.is_empty() { "nothing".to_owned() } else { items.join(", ") }
}
