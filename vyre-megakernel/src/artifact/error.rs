//! Why a request has no artifact, and why bytes are none.

use vyre_driver::codec::CodecError;
use vyre_foundation::diag::Diagnostic;
use vyre_foundation::graph::wire::GraphWireError;
use vyre_foundation::wire::WireError;

use crate::fuse::PlanError;

/// Why a request cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// The search took longer than the request allows.
    #[error(
        "compiling took longer than the request's budget of {limit:?}: allow more time, or fewer candidates"
    )]
    BudgetExceeded {
        /// The time allowed.
        limit: std::time::Duration,
    },
    /// The artifact would be larger than the request allows.
    #[error(
        "the artifact would take {bytes} bytes, above the request's limit of {limit}: raise it, or move constants to inputs"
    )]
    SizeLimit {
        /// Its bytes.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// The plan contradicts itself: a fault of the compiler's.
    #[error("the plan is wrong, which is a fault of this compiler: please report the graph: {0}")]
    Fault(#[from] PlanFault),
}

impl From<PlanError> for CompileError {
    fn from(error: PlanError) -> Self {
        let PlanError::Time { limit } = error;
        Self::BudgetExceeded { limit }
    }
}

/// How a plan contradicts its graph or itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct PlanFault {
    /// Where: a step, slot or value.
    pub place: String,
    /// What is wrong there.
    pub what: &'static str,
}

/// Why bytes are no artifact.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArtifactError {
    /// They do not begin as an artifact does.
    #[error("these bytes are no artifact: they do not begin with `VYREART`")]
    NotAnArtifact,
    /// They are of another version of the format.
    #[error("the artifact has format version {got}, but this release reads {known}: compile it again")]
    Version {
        /// The version that they have.
        got: u32,
        /// The version that this release reads.
        known: u32,
    },
    /// They are more than an artifact may be.
    #[error("the artifact has {bytes} bytes, above the limit of {most}")]
    TooLarge {
        /// How many there are.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// The digest does not fit: bytes were changed or lost.
    #[error(
        "the artifact is damaged: its bytes do not have the digest that it ends with; copy or compile it again"
    )]
    Damaged,
    /// They end too early.
    #[error("the artifact ends early: {needs} bytes are needed at byte {at}; copy it again, whole")]
    Truncated {
        /// Where.
        at: usize,
        /// How many bytes are missing there.
        needs: u64,
    },
    /// Something in them is not as compiling writes it.
    #[error("the artifact has {what} at byte {at}")]
    Malformed {
        /// Where.
        at: usize,
        /// What.
        what: &'static str,
    },
    /// The graph cannot be decoded.
    #[error("the artifact's graph, from byte {at}, cannot be decoded: {source}")]
    Graph {
        /// Where it begins.
        at: usize,
        /// Why.
        source: GraphWireError,
    },
    /// A program cannot be decoded.
    #[error("program {index} of the artifact, from byte {at}, cannot be decoded: {source}")]
    Wire {
        /// Its position.
        index: usize,
        /// Where it begins.
        at: usize,
        /// Why.
        source: WireError,
    },
    /// A program does not pass the checker.
    #[error("program {index} of the artifact is wrong: {}", diagnostics.first().map_or_else(String::new, ToString::to_string))]
    Program {
        /// Its position.
        index: usize,
        /// Every finding.
        diagnostics: Vec<Diagnostic>,
    },
    /// The plan contradicts the graph or itself.
    #[error("the artifact's plan is wrong: {0}")]
    Plan(#[from] PlanFault),
}

impl From<CodecError> for ArtifactError {
    fn from(error: CodecError) -> Self {
        match error {
            CodecError::Truncated { at, needs } => Self::Truncated { at, needs },
            CodecError::Malformed { at, what } => Self::Malformed { at, what },
        }
    }
}
