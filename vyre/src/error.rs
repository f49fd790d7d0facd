//! One error for a program that builds and runs kernels.

use std::fmt;

use vyre_driver::BackendError;
use vyre_foundation::build::BuildError;
use vyre_foundation::diag::Diagnostic;
use vyre_foundation::graph::GraphError;
use vyre_megakernel::RequestError;
use vyre_runtime::SessionError;
use vyre_spec::PartialElement;

/// What can go wrong from building a kernel to reading its results; `?` converts to it.
///
/// `Debug` prints the message and the remedy, so that `fn main() -> Result<(), vyre::Error>` is readable.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A kernel does not pass the checker.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A program that was not built here does not pass the checker.
    #[error("the program is wrong: {}", list(.0))]
    Check(Vec<Diagnostic>),
    /// Opening a backend, compiling or running failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// A graph is wrong.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A request cannot be carried out by its device.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// A session cannot be opened, or a run of it failed.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// Bytes are no whole number of elements.
    #[error(transparent)]
    Bytes(#[from] PartialElement),
}

impl Error {
    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::Build(_) | Self::Check(_) | Self::Graph(_) => "mend each finding".into(),
            Self::Request(_) => "use a device that has what the message names, or ask for less".into(),
            Self::Session(error) if error.is_loss() => "call `rematerialize` on the session".into(),
            Self::Backend(error) | Self::Session(SessionError::Backend(error)) => error.help(),
            Self::Session(_) => {
                "bind what the message names; `artifact().graph()` has the names and shapes".into()
            }
            Self::Bytes(_) => "read the bytes as the element type that the buffer has".into(),
        }
    }
}

impl From<Vec<Diagnostic>> for Error {
    fn from(diagnostics: Vec<Diagnostic>) -> Self {
        Self::Check(diagnostics)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}\nhelp: {}", self.help())
    }
}

fn list(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(|d| format!("\n  {d}")).collect()
}
