//! What a device can do: one record from which every other capability view is made.

use crate::{DataType, TileProduct};

/// A device feature that some op or type needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Capability {
    /// Subgroup ops with a fixed subgroup size.
    Subgroup = 0,
    /// 16-bit floats.
    F16 = 1,
    /// 64-bit floats.
    F64 = 2,
    /// 64-bit integers.
    Int64 = 3,
    /// Atomics on 64-bit integers.
    AtomicInt64 = 4,
    /// Native atomic add on f32.
    AtomicFloat32 = 5,
    /// `coherent` storage buffers.
    CoherentStorage = 6,
    /// Launch data in immediates (push constants).
    Immediates = 7,
    /// Timestamps written by the device.
    Timestamps = 8,
    /// Emitted code is loaded with `NoContraction` on every float result: strict float semantics.
    StrictFloat = 9,
    /// Tiles: cooperative matrices whose products were found right.
    Tiles = 10,
    /// Fences that wait for nobody. (Metal's own wait for the workgroup, so they cannot stand in divergent flow.)
    Fence = 11,
}

impl Capability {
    /// Every capability.
    pub const ALL: [Self; 12] = [
        Self::Subgroup,
        Self::F16,
        Self::F64,
        Self::Int64,
        Self::AtomicInt64,
        Self::AtomicFloat32,
        Self::CoherentStorage,
        Self::Immediates,
        Self::Timestamps,
        Self::StrictFloat,
        Self::Tiles,
        Self::Fence,
    ];

    /// A stable name for messages and machine-readable output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Subgroup => "subgroup",
            Self::F16 => "f16",
            Self::F64 => "f64",
            Self::Int64 => "int64",
            Self::AtomicInt64 => "atomic_int64",
            Self::AtomicFloat32 => "atomic_float32",
            Self::CoherentStorage => "coherent_storage",
            Self::Immediates => "immediates",
            Self::Timestamps => "timestamps",
            Self::StrictFloat => "strict_float",
            Self::Tiles => "tiles",
            Self::Fence => "fence",
        }
    }
}

/// A set of capabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CapabilitySet(u32);

impl CapabilitySet {
    /// No capability.
    pub const EMPTY: Self = Self(0);

    /// The set with `capability` added.
    #[must_use]
    pub const fn with(self, capability: Capability) -> Self {
        Self(self.0 | 1 << capability as u32)
    }

    /// The set with `capability` added if `present`.
    #[must_use]
    pub const fn with_if(self, capability: Capability, present: bool) -> Self {
        if present { self.with(capability) } else { self }
    }

    /// Whether `capability` is in the set.
    pub const fn contains(self, capability: Capability) -> bool {
        self.0 & 1 << capability as u32 != 0
    }

    /// The members, in declaration order.
    pub fn iter(self) -> impl Iterator<Item = Capability> {
        Capability::ALL.into_iter().filter(move |c| self.contains(*c))
    }

    /// The set as bits, for digests.
    pub const fn bits(self) -> u32 {
        self.0
    }
}

/// Driver behaviour found by probes when the device was opened; legalisation acts on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Quirks {
    /// The driver ends all loops of an invocation together, silently, after this many iterations.
    /// The count is shared by the lanes of a subgroup.
    pub max_loop_iterations: Option<u32>,
    /// The driver folds float ops against IEEE 754 where it knows something of an operand: a literal zero, infinity
    /// or NaN, or that it was rounded to a whole number.
    pub folds_floats: bool,
    /// The driver's fused multiply-add rounds twice.
    pub splits_fma: bool,
    /// The driver takes a float for equal to itself even where it is NaN.
    pub folds_self_comparison: bool,
    /// The driver's float division gives 0 for divisors above 2^126.
    pub loses_large_divisors: bool,
    /// The driver's exponentials and logarithms give numbers for NaN, zero, infinity or below zero.
    pub loses_special_values: bool,
    /// The driver's conversions between f32 and f16 do not round to nearest even, or lose subnormals, infinity or
    /// NaN.
    pub loses_halves: bool,
    /// Conversions between floats and 64-bit integers, and divisions of those, may spoil other values of a kernel; so may any
    /// op on such integers where there are 64-bit floats.
    pub clobbers_wide: bool,
    /// The driver's compiler may crash on a `return` inside branches and loops.
    pub fails_on_returns: bool,
    /// The driver flushes subnormal f32 results or operands to zero.
    pub flushes_subnormals: bool,
}

/// The capability record of one opened device.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeviceProfile {
    /// The backend's id, such as `wgpu` or `reference`.
    pub backend: String,
    /// The device's name as its driver gives it.
    pub name: String,
    /// The driver's name and version.
    pub driver: String,
    /// The graphics API, such as `vulkan`, or empty.
    pub api: String,
    /// Whether the device is a software implementation.
    pub is_software: bool,
    /// What the device can do.
    pub capabilities: CapabilitySet,
    /// What the probes found.
    pub quirks: Quirks,
    /// The lanes of a subgroup, where fixed.
    pub subgroup_size: Option<u32>,
    /// Invocations per axis of a workgroup, at most.
    pub max_workgroup_size: [u32; 3],
    /// Invocations of a workgroup, at most.
    pub max_workgroup_invocations: u32,
    /// Workgroups per axis of a dispatch, at most.
    pub max_workgroups_per_axis: u32,
    /// Bytes of shared memory of a workgroup, at most.
    pub max_shared_bytes: u32,
    /// Bytes of one storage binding, at most.
    pub max_storage_binding_bytes: u64,
    /// Bytes of one buffer, at most.
    pub max_buffer_bytes: u64,
    /// Storage bindings of one kernel, at most.
    pub max_storage_bindings: u32,
    /// Bytes of immediates, 0 where there are none.
    pub max_immediate_bytes: u32,
    /// The products of tiles that the device's matrix engine was found to compute right.
    pub tiles: Vec<TileProduct>,
}

impl DeviceProfile {
    /// Bytes of a window, as which a part of a buffer is bound that is too large for one binding: the largest power
    /// of two that the device binds.
    pub const fn window_bytes(&self) -> u64 {
        match self.max_storage_binding_bytes {
            0 => 1,
            bytes => 1 << bytes.ilog2(),
        }
    }

    /// As how many windows so many bytes of a buffer are bound; 1 where they are one binding.
    pub const fn windows(&self, bytes: u64) -> u64 {
        if bytes <= self.max_storage_binding_bytes { 1 } else { bytes.div_ceil(self.window_bytes()) }
    }

    /// Square products that matrix engines have, of 16-bit floats and of both float widths.
    fn common_tiles() -> Vec<TileProduct> {
        let types =
            [(DataType::F16, DataType::F32), (DataType::F16, DataType::F16), (DataType::F32, DataType::F32)];
        let of = |side| {
            types.map(|(factor, sum)| TileProduct { rows: side, columns: side, depth: side, factor, sum })
        };
        [of(8), of(16)].concat()
    }

    /// The profile of the reference machine: every type, generous limits, no quirks.
    pub fn reference() -> Self {
        Self {
            backend: "reference".into(),
            name: "Vyre reference machine".into(),
            driver: env!("CARGO_PKG_VERSION").into(),
            api: String::new(),
            is_software: true,
            capabilities: CapabilitySet::EMPTY
                .with(Capability::Subgroup)
                .with(Capability::StrictFloat)
                .with(Capability::Fence)
                .with(Capability::CoherentStorage)
                .with(Capability::F16)
                .with(Capability::F64)
                .with(Capability::Int64)
                .with(Capability::AtomicInt64)
                .with(Capability::Tiles),
            quirks: Quirks::default(),
            subgroup_size: Some(32),
            max_workgroup_size: [1024, 1024, 64],
            max_workgroup_invocations: 1024,
            max_workgroups_per_axis: u32::MAX,
            max_shared_bytes: 64 << 10,
            max_storage_binding_bytes: u64::MAX,
            max_buffer_bytes: u64::MAX,
            max_storage_bindings: u32::MAX,
            max_immediate_bytes: 0,
            tiles: Self::common_tiles(),
        }
    }
}
