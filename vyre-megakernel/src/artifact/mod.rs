//! The immutable result of compiling a request.

mod check;
mod decode;
mod encode;
mod error;

use std::fmt;
use std::sync::Arc;

use vyre_foundation::check::Checked;
use vyre_foundation::graph::{GraphNodeId, GraphValueId, ProgramGraph, Source};
use vyre_foundation::ir::Program;
use vyre_spec::CompileOptions;

pub use error::{ArtifactError, CompileError, PlanFault};

use crate::fuse::{self, Facts, Plan};
use crate::{ProfileDigest, ValidRequest};

const MAGIC: [u8; 8] = *b"VYREART\0";
const VERSION: u32 = 2;
const CONTEXT: &str = "vyre artifact";
const DIGEST: usize = 32;

/// The content id of an artifact.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArtifactId([u8; DIGEST]);

impl ArtifactId {
    /// The id as bytes.
    pub const fn as_bytes(&self) -> &[u8; DIGEST] {
        &self.0
    }
}

impl fmt::Display for ArtifactId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ArtifactId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A compiled request: the graph, and the plan by which it runs. Equal requests give equal bytes, on every machine.
/// docs/ARTIFACTS.md describes them.
#[derive(Clone, Debug)]
pub struct Artifact {
    graph: Arc<ProgramGraph>,
    options: CompileOptions,
    facts: Facts,
    profile: ProfileDigest,
    plan: Plan,
    rejected: Vec<Rejected>,
    bytes: Vec<u8>,
    id: ArtifactId,
}

/// Two nodes that were considered and not made one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// The node that computes a value.
    pub producer: GraphNodeId,
    /// The node that reads it, or that might have run beside it.
    pub consumer: GraphNodeId,
    /// Why not, in words.
    pub reason: String,
}

/// Compiles a request. The result depends on the request alone.
///
/// # Errors
/// [`CompileError::BudgetExceeded`] if the search took longer than the request allows, [`CompileError::SizeLimit`] if
/// the artifact would be larger, or why the graph has no plan.
pub fn compile(request: &ValidRequest) -> Result<Artifact, CompileError> {
    let graph = Arc::clone(&request.0.graph);
    let mut plan = fuse::plan(&graph, request.profile(), request.facts(), request.budget())?;
    let rejected = std::mem::take(&mut plan.rejected).into_iter().map(|rejection| Rejected {
        producer: rejection.producer,
        consumer: rejection.consumer,
        reason: rejection.reason.to_string(),
    });
    let rejected = rejected.collect();
    check::plan(&graph, &plan)?;
    let artifact = Artifact {
        graph,
        options: request.options().clone(),
        facts: request.facts().clone(),
        profile: ProfileDigest::of(request.profile()),
        plan,
        rejected,
        bytes: Vec::new(),
        id: ArtifactId([0; DIGEST]),
    };
    let artifact = artifact.encoded();
    let (bytes, limit) = (artifact.bytes.len() as u64, request.size_limit());
    if bytes > limit { Err(CompileError::SizeLimit { bytes, limit }) } else { Ok(artifact) }
}

impl Artifact {
    /// The most bytes that are read as an artifact.
    pub const MAX_BYTES: usize = 512 << 20;

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The content id.
    pub fn id(&self) -> ArtifactId {
        self.id
    }

    /// The graph that it computes.
    pub fn graph(&self) -> &ProgramGraph {
        &self.graph
    }

    /// How it computes it. Its rejections are [`Self::rejected`].
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The pairs of nodes that were considered and not made one kernel.
    pub fn rejected(&self) -> &[Rejected] {
        &self.rejected
    }

    /// The programs that a run dispatches, each once: what a target payload of this artifact holds.
    pub fn programs(&self) -> &[Checked<Program>] {
        &self.plan.programs
    }

    /// The options to compile the programs with.
    pub fn options(&self) -> &CompileOptions {
        &self.options
    }

    /// What every run promises.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The digest of the device profile that the artifact is for.
    pub fn profile(&self) -> ProfileDigest {
        self.profile
    }

    /// The constants of the graph, with their bytes.
    pub fn constants(&self) -> impl Iterator<Item = (GraphValueId, &[u8])> {
        self.graph.value_ids().filter_map(|id| match &self.graph.value(id).source {
            Source::Constant(bytes) => Some((id, &**bytes)),
            _ => None,
        })
    }

    /// The values that runs retain.
    pub fn retained(&self) -> impl Iterator<Item = GraphValueId> {
        let is_retained = |id: &GraphValueId| matches!(self.graph.value(*id).source, Source::Retained { .. });
        self.graph.value_ids().filter(is_retained)
    }
}
