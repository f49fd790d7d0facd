//! Dispatches that have been submitted, and whose outputs are taken later.

use std::fmt;
use std::time::Duration;

use crate::{BackendError, Completion, OutputBuffers};

/// A dispatch under way. Dropping it abandons its outputs, not its work.
pub trait PendingDispatch: Send + fmt::Debug {
    /// Whether the work has ended. Does not block.
    fn is_ready(&self) -> bool;

    /// The outputs if the work has ended, and otherwise the dispatch again. Does not block for the work.
    ///
    /// # Errors
    /// As [`PendingDispatch::wait`].
    fn try_wait(self: Box<Self>) -> Result<TryWait, BackendError>;

    /// Waits for the work and gives its outputs, in declaration order.
    ///
    /// # Errors
    /// A fault of the program, loss of the device, or [`BackendError::Timeout`] by the dispatch's own
    /// configuration, counted from submission.
    fn wait(self: Box<Self>) -> Result<OutputBuffers, BackendError>;

    /// Waits for the work and fills the caller's vectors, which are not allocated anew where they are large
    /// enough.
    ///
    /// # Errors
    /// As [`PendingDispatch::wait`]; the vectors then hold nothing of use.
    fn await_into(self: Box<Self>, outputs: &mut OutputBuffers) -> Result<(), BackendError>;
}

/// What [`PendingDispatch::try_wait`] found.
#[derive(Debug)]
pub enum TryWait {
    /// The outputs.
    Ready(OutputBuffers),
    /// The work goes on.
    Pending(Box<dyn PendingDispatch>),
}

/// A submitted list whose reads are the outputs.
#[derive(Debug)]
pub(crate) struct Submitted {
    pub(crate) completion: Box<dyn Completion>,
    pub(crate) timeout: Option<Duration>,
}

impl PendingDispatch for Submitted {
    fn is_ready(&self) -> bool {
        self.completion.is_finished()
    }

    fn try_wait(self: Box<Self>) -> Result<TryWait, BackendError> {
        Ok(if self.is_ready() { TryWait::Ready(self.wait()?) } else { TryWait::Pending(self) })
    }

    fn wait(self: Box<Self>) -> Result<OutputBuffers, BackendError> {
        self.completion.wait(self.timeout)
    }

    fn await_into(self: Box<Self>, outputs: &mut OutputBuffers) -> Result<(), BackendError> {
        self.completion.wait_into(self.timeout, outputs).map(|_| ())
    }
}
