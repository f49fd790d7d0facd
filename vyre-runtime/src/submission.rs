//! Runs under way.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use vyre_driver::{BackendError, Completion};
use vyre_megakernel::ReadBack;

use crate::SessionError;
use crate::outputs::{Output, Outputs};
use crate::retained::{Ticket, is_fault};

/// A run that was submitted: wait for it, look in on it, or `.await` it.
///
/// Dropping it abandons its outputs, not its work.
#[derive(Debug)]
pub struct Submission {
    /// Until it is waited for.
    completion: Option<Box<dyn Completion>>,
    reads: Vec<ReadBack>,
    /// Of a run that updates retained values.
    ticket: Option<Ticket>,
    since: Instant,
}

/// What [`Submission::try_wait`] found.
#[derive(Debug)]
pub enum Progress {
    /// The run has ended; its outputs.
    Ready(Outputs),
    /// The run goes on.
    Pending(Submission),
}

impl Submission {
    pub(crate) fn new(completion: Box<dyn Completion>, reads: Vec<ReadBack>, ticket: Option<Ticket>) -> Self {
        Self { completion: Some(completion), reads, ticket, since: Instant::now() }
    }

    /// Whether the run has ended. Does not block.
    pub fn is_finished(&self) -> bool {
        self.completion.as_ref().is_none_or(|completion| completion.is_finished())
    }

    /// Waits for the run and gives its outputs. `timeout` counts from submission; a run that has not ended by then
    /// goes on, and its outputs are abandoned.
    ///
    /// # Errors
    /// A fault of a program, a timeout, the device's own failure, or [`SessionError::RetainedLost`] if the run went on
    /// with retained values of one that faulted.
    pub fn wait(mut self, timeout: Option<Duration>) -> Result<Outputs, SessionError> {
        let reads = std::mem::take(&mut self.reads);
        let (Some(completion), ticket) = (self.completion.take(), self.ticket.take()) else {
            // Only waiting takes it, and that takes all.
            return Ok(Outputs { buffers: Vec::new() });
        };
        let bytes = match (completion.wait(timeout), ticket) {
            (Ok(bytes), Some(ticket)) => {
                ticket.end()?;
                bytes
            }
            (Err(error), Some(ticket)) if is_fault(&error) => {
                ticket.fault();
                return Err(error.into());
            }
            (result, _) => result?,
        };
        let output = |(read, bytes): (ReadBack, _)| Output { name: read.name, element: read.element, bytes };
        Ok(Outputs { buffers: reads.into_iter().zip(bytes).map(output).collect() })
    }

    /// The outputs if the run has ended, and otherwise the run again. Does not block for the run.
    ///
    /// # Errors
    /// As [`Self::wait`]; [`BackendError::Timeout`] once `timeout` has passed since submission and the run has not
    /// ended.
    pub fn try_wait(self, timeout: Option<Duration>) -> Result<Progress, SessionError> {
        // Before the run is looked at: if it ends in between, its outputs are given.
        let late = timeout.filter(|&timeout| self.since.elapsed() > timeout);
        match (self.is_finished(), late) {
            (true, _) => Ok(Progress::Ready(self.wait(None)?)),
            (false, Some(timeout)) => Err(BackendError::Timeout { timeout }.into()),
            (false, None) => Ok(Progress::Pending(self)),
        }
    }
}

impl Drop for Submission {
    fn drop(&mut self) {
        if let (Some(completion), Some(ticket)) = (self.completion.take(), self.ticket.take()) {
            ticket.leave(completion);
        }
    }
}

impl IntoFuture for Submission {
    type Output = Result<Outputs, SessionError>;
    type IntoFuture = Running;

    fn into_future(self) -> Running {
        Running { state: State::Submitted(self) }
    }
}

/// The future of a [`Submission`], for any executor. While a poll has found the run unfinished, a thread of the
/// session's waits for it, and wakes the task.
#[derive(Debug)]
pub struct Running {
    state: State,
}

#[derive(Debug)]
enum State {
    Submitted(Submission),
    Waiting(Arc<Mutex<Shared>>),
    Taken,
}

#[derive(Debug, Default)]
struct Shared {
    /// Until the thread takes it.
    submission: Option<Submission>,
    result: Option<Result<Outputs, SessionError>>,
    waker: Option<Waker>,
}

impl Future for Running {
    type Output = Result<Outputs, SessionError>;

    /// After it was ready once, it is pending for ever.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match std::mem::replace(&mut self.state, State::Taken) {
            State::Taken => Poll::Pending,
            State::Submitted(submission) if submission.is_finished() => Poll::Ready(submission.wait(None)),
            State::Submitted(submission) => {
                let waker = Some(context.waker().clone());
                let shared =
                    Arc::new(Mutex::new(Shared { submission: Some(submission), result: None, waker }));
                let theirs = Arc::clone(&shared);
                let spawned =
                    thread::Builder::new().name("vyre-session-wait".to_owned()).spawn(move || wait(&theirs));
                if spawned.is_err() {
                    // No thread to be had: then this one waits.
                    wait(&shared);
                    let result = lock(&shared).result.take();
                    return result.map_or(Poll::Pending, Poll::Ready);
                }
                self.state = State::Waiting(shared);
                Poll::Pending
            }
            State::Waiting(shared) => {
                let mut held = lock(&shared);
                if let Some(result) = held.result.take() {
                    return Poll::Ready(result);
                }
                held.waker = Some(context.waker().clone());
                drop(held);
                self.state = State::Waiting(shared);
                Poll::Pending
            }
        }
    }
}

fn lock(shared: &Mutex<Shared>) -> std::sync::MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wait(shared: &Mutex<Shared>) {
    let Some(submission) = lock(shared).submission.take() else { return };
    let result = submission.wait(None);
    let waker = {
        let mut held = lock(shared);
        held.result = Some(result);
        held.waker.take()
    };
    if let Some(waker) = waker {
        waker.wake();
    }
}
