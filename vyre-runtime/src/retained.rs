//! The retained values of an instance, and what becomes of them when a run faults or the device is lost.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vyre_driver::{BackendError, Completion, VyreBackend};
use vyre_megakernel::Held;

use crate::SessionError;
use crate::ready::Ready;

/// The retained values of an instance.
pub(crate) struct State {
    pub(crate) backend: Arc<dyn VyreBackend>,
    pub(crate) held: Held,
    /// The device generation of `held`.
    pub(crate) generation: u64,
    /// What came between the values and their next run.
    pub(crate) lost: Option<Lost>,
    /// Since the values began anew: the number of the first run that is known to have faulted.
    pub(crate) faulted: Arc<AtomicU64>,
    /// Runs that were submitted.
    pub(crate) runs: u64,
    /// Runs that were dropped before anybody saw how they ended.
    pub(crate) unseen: Vec<(Box<dyn Completion>, Place)>,
}

/// Where a run stands among those that hand the values on.
pub(crate) struct Place {
    pub(crate) number: u64,
    /// That of the state when it was submitted.
    pub(crate) faulted: Arc<AtomicU64>,
}

impl Place {
    /// Whether a run before it faulted, of those that hand on values to it.
    fn is_after_fault(&self) -> bool {
        self.faulted.load(Ordering::Relaxed) < self.number
    }
}

/// No run has faulted.
pub(crate) fn no_fault() -> Arc<AtomicU64> {
    Arc::new(AtomicU64::new(u64::MAX))
}

/// Why retained values are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lost {
    /// The device was lost.
    Device,
    /// A run that should have updated them faulted.
    Fault,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Device => "with the device",
            Self::Fault => "in a run that faulted",
        })
    }
}

impl State {
    pub(crate) fn free(&mut self) {
        for (_, resource) in std::mem::take(&mut self.held) {
            // What a loss has taken is free already.
            let _ = self.backend.free(resource);
        }
        self.faulted = no_fault();
    }

    /// Takes note of a new generation of the device.
    pub(crate) fn meet(&mut self, ready: &Ready) {
        if self.generation != ready.generation() {
            self.generation = ready.generation();
            if !self.held.is_empty() {
                self.lost = Some(Lost::Device);
            }
            self.free();
        }
    }

    /// Notes that a run faulted, after which the values are not what they should be; unless they began anew since.
    fn fault(&mut self, place: &Place) {
        place.faulted.fetch_min(place.number, Ordering::Relaxed);
        if Arc::ptr_eq(&place.faulted, &self.faulted) {
            self.lost = Some(Lost::Fault);
            self.free();
        }
    }

    /// Looks at how dropped runs ended, of those that have.
    pub(crate) fn look(&mut self) {
        let all = std::mem::take(&mut self.unseen).into_iter();
        let (ended, unseen): (Vec<_>, _) = all.partition(|(run, _)| run.is_finished());
        self.unseen = unseen;
        for (run, place) in ended {
            if run.wait(None).is_err_and(|error| is_fault(&error)) {
                self.fault(&place);
            }
        }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.free();
    }
}

/// What a run that updates retained values has to tell if it faults.
pub(crate) struct Ticket {
    pub(crate) state: Arc<Mutex<State>>,
    pub(crate) place: Place,
    /// The first retained value that the run took as the runs before had left it, if it did.
    pub(crate) takes: Option<String>,
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("run", &self.place.number).finish_non_exhaustive()
    }
}

impl Ticket {
    pub(crate) fn fault(self) {
        lock(&self.state).fault(&self.place);
    }

    /// The run has ended without a fault of its own.
    ///
    /// # Errors
    /// If one before it, whose values it went on with, had one.
    pub(crate) fn end(self) -> Result<(), SessionError> {
        lock(&self.state).look();
        match self.takes {
            Some(name) if self.place.is_after_fault() => {
                Err(SessionError::RetainedLost { name, why: Lost::Fault })
            }
            _ => Ok(()),
        }
    }

    /// Nobody waits for the run.
    pub(crate) fn leave(self, run: Box<dyn Completion>) {
        lock(&self.state).unseen.push((run, self.place));
    }
}

/// Whether a run that ended so may have stored what it should not have.
pub(crate) fn is_fault(error: &BackendError) -> bool {
    !matches!(error, BackendError::Timeout { .. } | BackendError::DeviceLost { .. })
}

pub(crate) fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
