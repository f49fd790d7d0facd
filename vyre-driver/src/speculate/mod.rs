//! Speculative scans: a prefilter finds candidates, and a confirmation decides on each.
//!
//! The *serial* path runs the prefilter on the device, reads the candidates back and has the caller confirm
//! them. The *speculative* path runs one fused program that confirms each candidate on the device at once,
//! before anyone knows whether it is worth it: a candidate that is confirmed is *committed*, one that is not is
//! *rolled back*, and the program's last output carries both counts. Where most candidates commit, the fused
//! program saves the round trip; where few do, it wastes the device. [`AdaptiveSpeculator`] chooses by what
//! earlier dispatches committed.
//!
//! Both paths give the same bytes: what the fused program leaves in its outputs, its counts taken off, is what
//! the confirmation makes of the prefilter's outputs. That is a promise of the plan's author, which tests of a
//! plan keep by comparing [`SpeculationMode::Force`] with [`SpeculationMode::Disable`].

mod adaptive;
mod counters;
mod tail;

pub use adaptive::{AdaptiveSpeculator, SpeculationPolicy};
pub use counters::{SpeculationCounters, SpeculationStats};
pub use tail::{CounterTail, TailProblem};

use vyre_foundation::ir::Program;

use crate::{BackendError, DispatchConfig, OutputBuffers, SpeculationMode, VyreBackend};

/// The programs of a speculative scan. Both take the inputs of the dispatch, in declaration order.
#[derive(Clone, Copy, Debug)]
pub struct SpeculativeDispatchPlan<'a> {
    /// Prefilter and confirmation in one program, whose outputs carry the counts.
    pub fused: &'a Program,
    /// The prefilter alone; its outputs go to the confirmation on the host.
    pub prefilter: &'a Program,
    /// Where the fused program has its counts.
    pub tail: CounterTail,
    /// The most candidates that these inputs can have, if the caller knows: counts that add up to more are
    /// refused.
    pub max_candidates: Option<u32>,
}

impl<'a> SpeculativeDispatchPlan<'a> {
    /// A plan whose counts are the last two words of the fused program's last output.
    pub fn new(fused: &'a Program, prefilter: &'a Program) -> Self {
        Self { fused, prefilter, tail: CounterTail::default(), max_candidates: None }
    }

    /// With the counts elsewhere.
    #[must_use]
    pub fn tail(mut self, tail: CounterTail) -> Self {
        self.tail = tail;
        self
    }

    /// With a bound on the candidates.
    #[must_use]
    pub fn max_candidates(mut self, candidates: u32) -> Self {
        self.max_candidates = Some(candidates);
        self
    }
}

/// How a scan was dispatched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpeculationPath {
    /// By the fused program.
    Fused,
    /// By the fused program, to measure while speculation is stopped.
    Probe,
    /// By the prefilter, and the caller's confirmation.
    Serial,
}

/// What a speculative scan gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpeculativeDispatchOutcome {
    /// The scan's outputs, the same on every path.
    pub outputs: OutputBuffers,
    /// How it was dispatched.
    pub path: SpeculationPath,
    /// Candidates that were committed on the device; 0 on the serial path.
    pub committed: u32,
    /// Candidates that were rolled back on the device; 0 on the serial path.
    pub rolled_back: u32,
}

/// Runs a scan on the path that `config.speculation` and, where that is unset or `Auto`, the speculator choose.
/// The other fields of `config` hold for whichever program is run; `max_output_bytes` counts the fused program's
/// tail. An error of one path is given to the caller: the other is not tried.
///
/// # Errors
/// Everything that a dispatch can fail with, [`BackendError::SpeculationTail`] if the fused program's counts
/// cannot be, and what the confirmation returns.
pub fn dispatch_speculative<B: VyreBackend + ?Sized>(
    backend: &B,
    counters: &SpeculationCounters,
    speculator: &AdaptiveSpeculator,
    plan: SpeculativeDispatchPlan<'_>,
    inputs: &[&[u8]],
    config: &DispatchConfig,
    confirm_serial: impl FnOnce(OutputBuffers) -> Result<OutputBuffers, BackendError>,
) -> Result<SpeculativeDispatchOutcome, BackendError> {
    let path = speculator.choose(config.speculation.unwrap_or(SpeculationMode::Auto));
    let plain = DispatchConfig { speculation: None, ..config.clone() };
    if path == SpeculationPath::Serial {
        let candidates = backend.dispatch_borrowed(plan.prefilter, inputs, &plain)?;
        let outputs = confirm_serial(candidates)?;
        counters.count(path, 0, 0);
        return Ok(SpeculativeDispatchOutcome { outputs, path, committed: 0, rolled_back: 0 });
    }
    let inputs = plan.tail.inputs(plan.fused, inputs)?;
    let mut outputs = backend.dispatch_borrowed(plan.fused, &inputs, &plain)?;
    let counts = plan.tail.take(plan.fused, plan.max_candidates, &mut outputs);
    let (committed, rolled_back) = counts.inspect_err(|_| counters.count_bad_tail())?;
    speculator.observe(committed, rolled_back);
    counters.count(path, committed, rolled_back);
    Ok(SpeculativeDispatchOutcome { outputs, path, committed, rolled_back })
}
