//! The optimizer interface: its methods are those of `vyre-driver`, over this backend's command lists.

use vyre_driver::optimizer::{OptimizerDispatcher, ResidentHandles, ResidentHost, sealed};
use vyre_driver::speculate::SpeculationCounters;

use crate::backend::WgpuBackend;

/// What the interfaces above command lists keep for one opened backend, over all generations of its device.
#[derive(Debug, Default)]
pub(crate) struct Interfaces {
    handles: ResidentHandles,
    pub(crate) speculation: SpeculationCounters,
}

impl sealed::Sealed for WgpuBackend {}

impl OptimizerDispatcher for WgpuBackend {
    fn resident_host(&self) -> ResidentHost<'_> {
        ResidentHost { backend: self, handles: &self.interfaces().handles }
    }
}
