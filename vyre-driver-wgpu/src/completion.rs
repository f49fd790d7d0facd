//! Work that has been submitted, and its results.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use vyre_driver::BackendError;

use crate::buffer::Readback;
use crate::generation::{Generation, until};

/// How long a finished submission's mapping may take to settle in another thread that runs the callback.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Set by the device's callback when a submission has ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ended(Arc<AtomicBool>);

impl Ended {
    /// Has `encoder`'s submission set it.
    pub(crate) fn after(&self, encoder: &wgpu::CommandEncoder) {
        let flag = Arc::clone(&self.0);
        encoder.on_submitted_work_done(move || flag.store(true, Ordering::Release));
    }
}

/// One submission under way. Dropping it abandons the results; what the device uses stays alive until the
/// device is done with it.
#[derive(Debug)]
pub(crate) struct InFlight {
    generation: Arc<Generation>,
    submission: wgpu::SubmissionIndex,
    submitted: Instant,
    /// `None` if the readback tells, or nobody will ask before the end.
    ended: Option<Ended>,
    readback: Readback,
}

impl InFlight {
    pub(crate) fn new(
        generation: Arc<Generation>,
        submission: wgpu::SubmissionIndex,
        ended: Option<Ended>,
        readback: Readback,
    ) -> Self {
        Self { generation, submission, submitted: Instant::now(), ended, readback }
    }

    /// Waits for the end of the work, until `timeout` after its submission at most.
    ///
    /// On a timeout the work goes on: waiting again is possible.
    pub(crate) fn wait(&self, timeout: Option<Duration>) -> Result<(), BackendError> {
        // A timeout beyond the clock's range is none.
        let timed = timeout.and_then(|timeout| Some((timeout, self.submitted.checked_add(timeout)?)));
        let Some((timeout, deadline)) = timed else {
            return self.generation.wait(self.submission.clone());
        };
        match until(deadline, || self.is_done())? {
            true => Ok(()),
            false => {
                self.generation.note_overdue();
                Err(BackendError::Timeout { timeout })
            }
        }
    }

    /// Whether the work has ended, without waiting.
    pub(crate) fn is_done(&self) -> Result<bool, BackendError> {
        let ended = || {
            let noted = match &self.ended {
                Some(ended) => ended.0.load(Ordering::Acquire),
                None => self.readback.is_settled(),
            };
            noted && !self.generation.hangs()
        };
        if ended() {
            return Ok(true);
        }
        self.generation.poll_once()?;
        Ok(ended())
    }

    /// After [`Self::wait`]: the readback, for another submission.
    pub(crate) fn into_readback(self) -> Readback {
        self.readback
    }

    /// After [`Self::wait`]: shows the bytes of a readback to `look`, in mapped memory.
    pub(crate) fn piece<R>(&self, piece: usize, look: impl FnOnce(&[u8]) -> R) -> Result<R, BackendError> {
        let bytes = self.readback.piece(piece, PATIENCE, look);
        // A lost device also fails to map; the loss is what the caller must hear of.
        bytes.map_err(|error| self.generation.check().err().unwrap_or(error))
    }

    /// After [`Self::wait`]: copies the bytes of a readback, in place of what `target` holds.
    pub(crate) fn copy_piece(&self, piece: usize, target: &mut Vec<u8>) -> Result<(), BackendError> {
        let copied = self.readback.copy_piece(piece, PATIENCE, target);
        copied.map_err(|error| self.generation.check().err().unwrap_or(error))
    }

    /// After [`Self::wait`]: copies the bytes of a readback.
    #[cfg(test)]
    pub(crate) fn to_vec(&self, piece: usize) -> Result<Vec<u8>, BackendError> {
        let mut bytes = Vec::new();
        self.copy_piece(piece, &mut bytes)?;
        Ok(bytes)
    }
}
