//! What a timed dispatch tells.

use std::time::Duration;

use crate::OutputBuffers;

/// Where the time of one submission went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// From the call until every byte that was asked for had been handed over.
    pub wall: Duration,
    /// The host's part before the device had the work: checking, encoding, staging, submitting.
    pub submit: Duration,
    /// The rest: waiting for the device, and taking the bytes over.
    pub wait: Duration,
    /// From the first command to the last by the device's own clock; `None` where it has none.
    pub device: Option<Duration>,
}

/// The outputs of a dispatch, and its times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimedDispatchResult {
    /// One for each output buffer, in declaration order. Empty for a resident dispatch, whose outputs stay
    /// on the device.
    pub outputs: OutputBuffers,
    /// Its times.
    pub timing: Timing,
}

/// The times of a sequence of resident dispatches, which is one submission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResidentSequenceTiming {
    /// Its times.
    pub timing: Timing,
    /// Programs run: every step, as often as it was repeated.
    pub dispatches: u64,
    /// Bytes read back.
    pub read_bytes: u64,
}
