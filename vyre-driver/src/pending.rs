//! Dispatches that have been submitted, and whose outputs are taken later.

use std::fmt;
use std::time::{Duration, Instant};

use crate::{BackendError, Completion, OutputBuffers};

/// A dispatch under way. Dropping it abandons its outputs, not its work.
pub trait PendingDispatch: Send + fmt::Debug {
    /// Whether the work has ended. Does not block.
    fn is_ready(&self) -> bool;

    /// The outputs if the work has ended, and otherwise the dispatch again. Does not block for the work.
    ///
    /// # Errors
    /// As [`PendingDispatch::wait`]; [`BackendError::Timeout`] once the time is over and the work is not.
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
    completion: Box<dyn Completion>,
    timeout: Option<Duration>,
    label: Option<String>,
    since: Instant,
}

impl Submitted {
    /// Of work that has just been submitted, which may take this long and whose errors have this label.
    pub(crate) fn new(
        completion: Box<dyn Completion>,
        timeout: Option<Duration>,
        label: Option<&str>,
    ) -> Self {
        Self { completion, timeout, label: label.map(str::to_owned), since: Instant::now() }
    }
}

impl PendingDispatch for Submitted {
    fn is_ready(&self) -> bool {
        self.completion.is_finished()
    }

    fn try_wait(self: Box<Self>) -> Result<TryWait, BackendError> {
        // Before the work is looked at: if it ends in between, its outputs are given.
        let late = self.timeout.filter(|&timeout| self.since.elapsed() > timeout);
        match (self.is_ready(), late) {
            (true, _) => Ok(TryWait::Ready(self.wait()?)),
            (false, Some(timeout)) => Err(BackendError::Timeout { timeout }.labeled(self.label.as_deref())),
            (false, None) => Ok(TryWait::Pending(self)),
        }
    }

    fn wait(self: Box<Self>) -> Result<OutputBuffers, BackendError> {
        let Self { completion, timeout, label, .. } = *self;
        completion.wait(timeout).map_err(|error| error.labeled(label.as_deref()))
    }

    fn await_into(self: Box<Self>, outputs: &mut OutputBuffers) -> Result<(), BackendError> {
        let Self { completion, timeout, label, .. } = *self;
        completion.wait_into(timeout, outputs).map(drop).map_err(|error| error.labeled(label.as_deref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Finished, Visitor};

    /// Work that never ends.
    #[derive(Debug)]
    struct Endless;

    impl Completion for Endless {
        fn is_finished(&self) -> bool {
            false
        }

        fn visit(
            self: Box<Self>,
            timeout: Option<Duration>,
            _: &mut Visitor<'_>,
        ) -> Result<Finished, BackendError> {
            Err(BackendError::Timeout { timeout: timeout.unwrap_or_default() })
        }
    }

    #[test]
    fn who_polls_work_that_does_not_end_gets_the_timeout_too() {
        let timeout = Duration::from_millis(1);
        let mut pending: Box<dyn PendingDispatch> =
            Box::new(Submitted::new(Box::new(Endless), Some(timeout), None));
        let error = loop {
            match pending.try_wait() {
                Ok(TryWait::Pending(again)) => pending = again,
                Ok(TryWait::Ready(outputs)) => panic!("{outputs:?}"),
                Err(error) => break error,
            }
        };
        assert_eq!(error, BackendError::Timeout { timeout });
        for timeout in [None, Some(Duration::MAX)] {
            let pending = Box::new(Submitted::new(Box::new(Endless), timeout, None));
            assert!(matches!(pending.try_wait(), Ok(TryWait::Pending(_))));
        }
    }
}
