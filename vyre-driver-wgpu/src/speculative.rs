//! Speculative scans on this backend.

use vyre_driver::speculate::{
    AdaptiveSpeculator, SpeculationCounters, SpeculativeDispatchOutcome, SpeculativeDispatchPlan,
    dispatch_speculative,
};
use vyre_driver::{BackendError, DispatchConfig, OutputBuffers};

use crate::backend::WgpuBackend;

impl WgpuBackend {
    /// Runs a prefilter and confirmation scan on the path that `config.speculation` and the speculator choose:
    /// the plan's fused program, which confirms on the device, or its prefilter, whose outputs
    /// `confirm_serial` turns into the scan's. Both give the same bytes. [`vyre_driver::speculate`] says how
    /// the two programs go together; [`SpeculativeDispatchOutcome`] what was run and committed.
    ///
    /// # Errors
    /// Everything that a dispatch can fail with, [`BackendError::SpeculationTail`] if the counts of the fused
    /// program cannot be, and what `confirm_serial` returns.
    pub fn dispatch_speculative_prefilter_confirm<F>(
        &self,
        speculator: &AdaptiveSpeculator,
        plan: SpeculativeDispatchPlan<'_>,
        inputs: &[&[u8]],
        config: &DispatchConfig,
        confirm_serial: F,
    ) -> Result<SpeculativeDispatchOutcome, BackendError>
    where
        F: FnMut(OutputBuffers) -> Result<OutputBuffers, BackendError>,
    {
        dispatch_speculative(self, self.speculation(), speculator, plan, inputs, config, confirm_serial)
    }

    /// What speculative dispatches of this backend have done.
    pub(crate) fn speculation(&self) -> &SpeculationCounters {
        &self.interfaces().speculation
    }
}
