//! Why bytes are no graph.

use crate::diag::Diagnostic;
use crate::graph::GraphDiagnostic;
use crate::wire::WireError;

/// Why bytes are no graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphWireError {
    /// The bytes do not begin as a graph does.
    #[error("the bytes are no encoded graph: they do not begin with `VYRG`")]
    Magic,
    /// Another version of the format.
    #[error(
        "the graph is encoded in version {found} of the format, but this build reads version {reads}: encode it again"
    )]
    Version {
        /// The version of the bytes.
        found: u32,
        /// The version that is read.
        reads: u32,
    },
    /// The content hash does not match.
    #[error("the content hash does not match the {len} bytes before it: the graph was damaged or cut short")]
    Checksum {
        /// How many bytes the hash is of.
        len: usize,
    },
    /// Something in the bytes is not what the format says.
    #[error(transparent)]
    Bytes(#[from] WireError),
    /// One of the programs is none; its offsets are from where it begins.
    #[error("program {index}, which begins at byte {offset}: {source}")]
    Program {
        /// Its position among the programs.
        index: u32,
        /// Where it begins.
        offset: usize,
        /// Why it is none.
        source: WireError,
    },
    /// One of the programs is refused by the checker.
    #[error("program {index}, `{name}`, is wrong: {}", first(findings))]
    WrongProgram {
        /// Its position among the programs.
        index: u32,
        /// Its name.
        name: String,
        /// Everything that is wrong with it.
        findings: Vec<Diagnostic>,
    },
    /// The bytes hold a graph that is wrong.
    #[error("the graph is wrong: {}", first(.0))]
    Wrong(Vec<GraphDiagnostic>),
    /// Bytes follow the graph.
    #[error("byte {offset}: {count} bytes follow the end of the graph")]
    Trailing {
        /// Where.
        offset: usize,
        /// How many.
        count: usize,
    },
    /// The bytes hold a graph, but are not its canonical encoding.
    #[error("byte {offset}: the graph is not in normal form: encode it with this crate")]
    NotCanonical {
        /// Where the canonical encoding differs first.
        offset: usize,
    },
}

/// The first finding, and how many there are.
fn first<S>(findings: &[Diagnostic<S>]) -> String {
    match findings {
        [] => String::new(),
        [only] => only.to_string(),
        [first, rest @ ..] => format!("{first}, and {} more", rest.len()),
    }
}
