//! Work that has been submitted, and its results.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::buffer::{Readback, host_copy};
use crate::generation::Generation;
use vyre_driver::BackendError;

/// How long a finished submission's mapping may take to settle in another thread that runs the callback.
const PATIENCE: Duration = Duration::from_secs(10);

/// One submission under way. Dropping it abandons the results; what the device uses stays alive until the
/// device is done with it.
#[derive(Debug)]
pub(crate) struct InFlight {
    generation: Arc<Generation>,
    submission: wgpu::SubmissionIndex,
    submitted: Instant,
    readback: Readback,
}

impl InFlight {
    pub(crate) fn new(
        generation: Arc<Generation>,
        submission: wgpu::SubmissionIndex,
        readback: Readback,
    ) -> Self {
        Self { generation, submission, submitted: Instant::now(), readback }
    }

    /// Waits for the end of the work, until `timeout` after its submission at most.
    ///
    /// On a timeout the work goes on: waiting again is possible.
    pub(crate) fn wait(&self, timeout: Option<Duration>) -> Result<(), BackendError> {
        let left = timeout.map(|timeout| timeout.saturating_sub(self.submitted.elapsed()));
        match (self.generation.wait(Some(self.submission.clone()), left)?, timeout) {
            (false, Some(timeout)) => Err(BackendError::Timeout { timeout }),
            _ => Ok(()),
        }
    }

    /// Whether the work has ended, without waiting.
    pub(crate) fn is_done(&self) -> Result<bool, BackendError> {
        self.generation.wait(Some(self.submission.clone()), Some(Duration::ZERO))
    }

    /// How many readbacks there are.
    pub(crate) fn pieces(&self) -> usize {
        self.readback.len()
    }

    /// After [`Self::wait`]: shows the bytes of a readback to `look`, in mapped memory.
    pub(crate) fn piece<R>(&self, piece: usize, look: impl FnOnce(&[u8]) -> R) -> Result<R, BackendError> {
        self.readback.piece(piece, PATIENCE, look)
    }

    /// After [`Self::wait`]: copies the bytes of a readback.
    pub(crate) fn to_vec(&self, piece: usize) -> Result<Vec<u8>, BackendError> {
        let mut bytes = Vec::new();
        self.piece(piece, |mapped| host_copy::to_vec(&mut bytes, mapped))?;
        Ok(bytes)
    }
}
