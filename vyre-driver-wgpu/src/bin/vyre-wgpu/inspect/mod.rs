//! `inspect`: what is in an artifact.

mod summary;
mod text;

use std::fs;

use vyre_foundation::graph::{GraphNodeId, GraphValueId, ProgramGraph};
use vyre_megakernel::Artifact;
use vyre_megakernel::fuse::{Placement, Step};

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
        View::Text => crate::print(&text::text(&envelope, verified)),
        View::Json => crate::print(&format!("{:#}\n", summary::summary(&envelope, verified))),
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
