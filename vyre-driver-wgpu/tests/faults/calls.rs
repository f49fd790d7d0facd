//! Every call that can meet a fault, by the method that it is of.

use vyre_driver::DispatchConfig;
use vyre_driver_wgpu::WgpuBackend;

use crate::kit::{Kit, Trouble};
use crate::{backend_calls, inherent_calls, optimizer_calls, resident_calls};

/// What a call needs of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing: it works on the host, and also while the device is lost.
    Host,
    /// Compiles, and submits nothing.
    Compiles,
    /// Moves bytes.
    Moves,
    /// Compiles a program and runs it.
    Runs,
    /// Runs what was compiled before.
    Reruns,
}

/// A call of one method, which checks its own result. The configuration is for those that take one.
pub(crate) type Call = fn(&WgpuBackend, &mut Kit, &DispatchConfig) -> Result<(), Trouble>;

/// The method, what it needs, the call.
pub(crate) type Row = (&'static str, Kind, Call);

/// Every call.
pub(crate) fn all() -> impl Iterator<Item = &'static Row> {
    let tables = [backend_calls::CALLS, resident_calls::CALLS, inherent_calls::CALLS, optimizer_calls::CALLS];
    tables.into_iter().flatten()
}
