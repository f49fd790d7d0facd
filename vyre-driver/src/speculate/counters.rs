//! What speculative dispatches have done.

use std::sync::{Mutex, PoisonError};

use super::SpeculationPath;

/// The speculative dispatches of one opened backend, for its metrics.
#[derive(Debug, Default)]
pub struct SpeculationCounters(Mutex<SpeculationStats>);

/// A snapshot of [`SpeculationCounters`], exact at one moment. Dispatches that failed are not counted, but for
/// those with a bad tail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpeculationStats {
    /// Dispatches of the fused program, probes aside.
    pub fused: u64,
    /// Dispatches of the fused program that measured while speculation was stopped.
    pub probes: u64,
    /// Dispatches of the prefilter, confirmed by the caller.
    pub serial: u64,
    /// Candidates that the fused program committed.
    pub committed: u64,
    /// Candidates that it rolled back.
    pub rolled_back: u64,
    /// Dispatches of the fused program that were refused for their tail.
    pub bad_tails: u64,
}

impl SpeculationStats {
    /// The numbers by name, sorted by name, for
    /// [`VyreBackend::backend_metric_snapshot`](crate::VyreBackend::backend_metric_snapshot).
    pub fn metrics(&self) -> [(&'static str, u64); 6] {
        [
            ("speculation_bad_tails", self.bad_tails),
            ("speculation_committed", self.committed),
            ("speculation_fused", self.fused),
            ("speculation_probes", self.probes),
            ("speculation_rolled_back", self.rolled_back),
            ("speculation_serial", self.serial),
        ]
    }
}

impl SpeculationCounters {
    /// The counters at this moment.
    pub fn stats(&self) -> SpeculationStats {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut SpeculationStats)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Counts a dispatch that gave outputs.
    pub(super) fn count(&self, path: SpeculationPath, committed: u32, rolled_back: u32) {
        self.change(|stats| {
            match path {
                SpeculationPath::Fused => stats.fused += 1,
                SpeculationPath::Probe => stats.probes += 1,
                SpeculationPath::Serial => stats.serial += 1,
            }
            stats.committed += u64::from(committed);
            stats.rolled_back += u64::from(rolled_back);
        });
    }

    /// Counts a dispatch with a bad tail.
    pub(super) fn count_bad_tail(&self) {
        self.change(|stats| stats.bad_tails += 1);
    }
}
