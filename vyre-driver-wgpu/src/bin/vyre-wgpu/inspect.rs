//! `inspect`: what is in an artifact.

use std::fmt::Write as _;
use std::fs;

use serde_json::{Value, json};
use vyre_foundation::graph::{Dim, GraphNodeId, GraphValueId, ProgramGraph};
use vyre_foundation::ir::{Launch, Program};
use vyre_megakernel::fuse::{Placement, Step};
use vyre_megakernel::{Artifact, ArtifactEnvelope};

use crate::args::{Inspect, View};
use crate::artifact;
use crate::drawing::{self, Drawing};
use crate::error::CliError;

pub(crate) fn run(arguments: &Inspect) -> Result<(), CliError> {
    let envelope = artifact::load(&arguments.file)?;
    let key = arguments.key_file.as_deref().map(artifact::key).transpose()?;
    if let Some(key) = &key {
        envelope.verify(key)?;
        for payload in envelope.payloads() {
            payload.verify(key).map_err(vyre_driver::BackendError::from)?;
        }
    }
    let verified = key.is_some();
    let drawings = || [Drawing::before(envelope.artifact().graph()), Drawing::after(envelope.artifact())];
    match &arguments.view {
        View::Text => crate::print(&text(&envelope, verified)),
        View::Json => crate::print(&format!("{:#}\n", summary(&envelope, verified))),
        View::Dot => crate::print(&drawing::dot(&drawings())),
        View::Svg(path) => fs::write(path, drawing::svg(&drawings()))
            .map_err(|source| CliError::Write { path: path.clone(), source }),
    }
}

/// What is said of an artifact, in the order in which it is printed.
struct Report<'a> {
    artifact: &'a Artifact,
    graph: &'a ProgramGraph,
    /// The first and last step that uses each value, if one does.
    lives: Vec<Option<(usize, usize)>>,
}

impl<'a> Report<'a> {
    fn new(artifact: &'a Artifact) -> Self {
        let graph = artifact.graph();
        let mut lives: Vec<Option<(usize, usize)>> = vec![None; graph.values().len()];
        for (number, step) in artifact.plan().steps.iter().enumerate() {
            let used: Vec<GraphValueId> = match step {
                Step::Copy { from, to } => vec![*from, *to],
                Step::Run(run) => run.buffers.iter().flat_map(|u| [u.input, u.output]).flatten().collect(),
            };
            for value in used {
                if let Some(life) = lives.get_mut(value.index()) {
                    *life = Some((life.map_or(number, |(first, _)| first), number));
                }
            }
        }
        Self { artifact, graph, lives }
    }

    fn node(&self, id: GraphNodeId) -> &'a str {
        &self.graph.node(id).name
    }

    fn nodes(&self, ids: &[GraphNodeId]) -> Vec<&'a str> {
        ids.iter().map(|&id| self.node(id)).collect()
    }

    fn value(&self, id: GraphValueId) -> &'a str {
        &self.graph.value(id).name
    }

    fn values(&self, ids: impl IntoIterator<Item = GraphValueId>) -> Vec<&'a str> {
        ids.into_iter().map(|id| self.value(id)).collect()
    }

    /// Where a value is in a run.
    fn place(&self, id: GraphValueId) -> String {
        match self.artifact.plan().places.get(id.index()) {
            Some(Placement::Input) => "bound by each run".to_owned(),
            Some(Placement::Constant) => "uploaded once".to_owned(),
            Some(Placement::Retained) => "stays from run to run".to_owned(),
            Some(Placement::Output) => "memory of its own".to_owned(),
            Some(Placement::Slot(slot)) => format!("slot {}", slot.index()),
            Some(Placement::Fused) | None => "registers".to_owned(),
        }
    }

    fn life(&self, id: GraphValueId) -> Option<(usize, usize)> {
        self.lives.get(id.index()).copied().flatten()
    }

    fn facts(&self) -> Vec<String> {
        let facts = self.artifact.facts();
        let dims = facts.dims.iter().map(|(name, number)| format!("{name} = {number}"));
        dims.chain(facts.params.iter().map(|(name, value)| format!("{name} = {value:?}"))).collect()
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

fn text(envelope: &ArtifactEnvelope, verified: bool) -> String {
    let artifact = envelope.artifact();
    let report = Report::new(artifact);
    let (graph, plan) = (report.graph, artifact.plan());
    let mut out = String::new();
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
    let _ = writeln!(out, "\nnodes");
    for id in graph.node_ids() {
        let node = graph.node(id);
        let (inputs, outputs) = (report.values(node.inputs.clone()), report.values(node.outputs.clone()));
        let program = graph.program_of(id).name();
        let _ = writeln!(out, "  {} = {program}({}) -> {}", node.name, inputs.join(", "), list(&outputs));
    }
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
    for (number, slot) in plan.slots.iter().enumerate() {
        if number == 0 {
            let _ = writeln!(out, "\nshared memory of intermediate values");
        }
        let _ =
            writeln!(out, "  slot {number}: {}", report.values(slot.values.iter().copied()).join(", then "));
    }
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
    let seal = match (envelope.is_sealed(), verified) {
        (_, true) => "sealed, and verified",
        (true, false) => "sealed; `--key-file` verifies it",
        (false, false) => "not sealed",
    };
    let _ = writeln!(out, "{seal}");
    out
}

fn summary(envelope: &ArtifactEnvelope, verified: bool) -> Value {
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
