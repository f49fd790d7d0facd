//! Features that a backend has or lacks: a view of its [`DeviceProfile`].

use std::fmt;

use vyre_spec::{Capability, DeviceProfile};

/// Something that a caller may want to know of a backend before relying on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Feature {
    /// Subgroup ops with a fixed subgroup size.
    Subgroup,
    /// 16-bit floats in the device's own arithmetic.
    F16,
    /// bfloat16 in the device's own arithmetic.
    Bf16,
    /// Matrix engines, as tile ops.
    TensorCores,
    /// Copies and compute on independent queues.
    AsyncCompute,
    /// Workgroup counts from a device buffer.
    IndirectDispatch,
    /// Parameters substituted before compilation.
    SpecializationConstants,
    /// Speculative dispatch: prefilter and confirmation in one program.
    Speculation,
    /// Kernels that stay on the device and poll for work.
    PersistentThreads,
    /// Collectives between devices.
    Collectives,
    /// One program spread over several devices.
    Distributed,
    /// Grid barriers met inside one dispatch.
    GridSync,
    /// Grid barriers met by splitting a program into several kernels of one submission.
    GridSyncSplit,
    /// Buffers that stay on the device between dispatches.
    ResidentDispatch,
    /// Times taken by the device's own clock.
    Timestamps,
}

impl Feature {
    /// Every feature, in declaration order.
    pub const ALL: [Self; 15] = [
        Self::Subgroup,
        Self::F16,
        Self::Bf16,
        Self::TensorCores,
        Self::AsyncCompute,
        Self::IndirectDispatch,
        Self::SpecializationConstants,
        Self::Speculation,
        Self::PersistentThreads,
        Self::Collectives,
        Self::Distributed,
        Self::GridSync,
        Self::GridSyncSplit,
        Self::ResidentDispatch,
        Self::Timestamps,
    ];

    /// A stable name for messages and machine-readable output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Subgroup => "subgroup",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::TensorCores => "tensor_cores",
            Self::AsyncCompute => "async_compute",
            Self::IndirectDispatch => "indirect_dispatch",
            Self::SpecializationConstants => "specialization_constants",
            Self::Speculation => "speculation",
            Self::PersistentThreads => "persistent_threads",
            Self::Collectives => "collectives",
            Self::Distributed => "distributed",
            Self::GridSync => "grid_sync",
            Self::GridSyncSplit => "grid_sync_split",
            Self::ResidentDispatch => "resident_dispatch",
            Self::Timestamps => "timestamps",
        }
    }

    /// Why a device of this profile lacks the feature; `None` if it has it.
    pub fn missing_in(self, profile: &DeviceProfile) -> Option<String> {
        let needs = |capability: Capability| {
            let lacks = !profile.capabilities.contains(capability);
            lacks.then(|| format!("{} lacks the capability `{}`", profile.name, capability.name()))
        };
        let never = |why: &str| Some(why.to_owned());
        match self {
            Self::Subgroup => needs(Capability::Subgroup),
            Self::F16 => needs(Capability::F16),
            Self::Timestamps => needs(Capability::Timestamps),
            Self::Bf16 => never("no graphics API gives arithmetic on bfloat16; it is emulated through f32"),
            Self::TensorCores => needs(Capability::Tiles),
            Self::AsyncCompute => never("a device is used through one queue, in order"),
            Self::PersistentThreads => never(
                "no forward progress is promised between invocations, so that a kernel that waits may hang",
            ),
            Self::Collectives | Self::Distributed => never("a backend runs a program on one device"),
            Self::GridSync => never("no forward progress is promised between workgroups of one dispatch"),
            // What the contract itself gives every backend.
            Self::IndirectDispatch
            | Self::SpecializationConstants
            | Self::Speculation
            | Self::GridSyncSplit
            | Self::ResidentDispatch => None,
        }
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
