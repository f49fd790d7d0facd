//! The memory model's vocabulary: buffer access, barrier orderings and built-in values.

use std::fmt;

/// How a program uses a buffer, and so whether it is an input, an output or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Access {
    /// An input that the program only loads.
    ReadOnly = 0,
    /// An input and output.
    ReadWrite = 1,
    /// An output; loading it is refused, and elements not stored come back 0 from a host dispatch.
    WriteOnly = 2,
    /// A small input that every invocation reads alike.
    Uniform = 3,
}

impl Access {
    /// Every access, in wire-tag order.
    pub const ALL: [Self; 4] = [Self::ReadOnly, Self::ReadWrite, Self::WriteOnly, Self::Uniform];

    /// The name in text form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "readonly",
            Self::ReadWrite => "readwrite",
            Self::WriteOnly => "writeonly",
            Self::Uniform => "uniform",
        }
    }

    /// Whether a dispatch takes bytes for the buffer.
    pub const fn is_input(self) -> bool {
        !matches!(self, Self::WriteOnly)
    }

    /// Whether a dispatch gives bytes back for the buffer.
    pub const fn is_output(self) -> bool {
        matches!(self, Self::ReadWrite | Self::WriteOnly)
    }
}

/// Which memory a barrier orders, and among whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum MemoryOrdering {
    /// The workgroup meets; its accesses to shared memory before are visible after.
    Workgroup = 0,
    /// The workgroup meets; its accesses to buffers before are visible to it after.
    Storage = 1,
    /// The workgroup meets; both kinds of memory.
    WorkgroupAndStorage = 2,
    /// Every invocation of the grid meets, and every write before is visible to all after.
    GridSync = 3,
}

impl MemoryOrdering {
    /// Every ordering, in wire-tag order.
    pub const ALL: [Self; 4] = [Self::Workgroup, Self::Storage, Self::WorkgroupAndStorage, Self::GridSync];

    /// The name in text form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Workgroup => "workgroup",
            Self::Storage => "storage",
            Self::WorkgroupAndStorage => "workgroup_and_storage",
            Self::GridSync => "grid_sync",
        }
    }
}

/// Among whom a fence orders memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum FenceScope {
    /// The invocations of the workgroup.
    Workgroup = 0,
    /// Every invocation on the device.
    Device = 1,
}

impl FenceScope {
    /// Every scope, in wire-tag order.
    pub const ALL: [Self; 2] = [Self::Workgroup, Self::Device];

    /// The name in text form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Workgroup => "workgroup",
            Self::Device => "device",
        }
    }
}

/// The trap code of a loop that passed its trip limit; programs' own codes are below.
pub const TRAP_LOOP_LIMIT: u32 = 0xFFFF_FFFF;

/// An axis of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Axis {
    /// The first, fastest-varying axis.
    X = 0,
    /// The second axis.
    Y = 1,
    /// The third axis.
    Z = 2,
}

impl Axis {
    /// Every axis.
    pub const ALL: [Self; 3] = [Self::X, Self::Y, Self::Z];

    /// The name in text form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::X => "x",
            Self::Y => "y",
            Self::Z => "z",
        }
    }

    /// The axis as an array index.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// A value that the launch gives each invocation; all are `u32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BuiltIn {
    /// The point of a domain launch.
    Point(Axis),
    /// The domain's extent.
    Extent(Axis),
    /// The invocation's id over the whole launch: workgroup id × size + local id.
    GlobalId(Axis),
    /// The invocation's id in its workgroup.
    LocalId(Axis),
    /// The invocation's linear index in its workgroup, x fastest.
    LocalIndex,
    /// The workgroup's id.
    WorkgroupId(Axis),
    /// The number of workgroups.
    WorkgroupCount(Axis),
    /// The invocation's lane in its subgroup.
    SubgroupLane,
    /// The subgroup's index in its workgroup.
    SubgroupId,
    /// The number of lanes of a subgroup.
    SubgroupSize,
}

impl BuiltIn {
    /// Every built-in value; the position is the wire tag.
    pub const ALL: [Self; 22] = {
        use Axis::{X, Y, Z};
        [
            Self::Point(X),
            Self::Point(Y),
            Self::Point(Z),
            Self::Extent(X),
            Self::Extent(Y),
            Self::Extent(Z),
            Self::GlobalId(X),
            Self::GlobalId(Y),
            Self::GlobalId(Z),
            Self::LocalId(X),
            Self::LocalId(Y),
            Self::LocalId(Z),
            Self::LocalIndex,
            Self::WorkgroupId(X),
            Self::WorkgroupId(Y),
            Self::WorkgroupId(Z),
            Self::WorkgroupCount(X),
            Self::WorkgroupCount(Y),
            Self::WorkgroupCount(Z),
            Self::SubgroupLane,
            Self::SubgroupId,
            Self::SubgroupSize,
        ]
    };

    /// The name in text form, and the axis that follows it after a dot, if any.
    pub const fn name(self) -> (&'static str, Option<Axis>) {
        match self {
            Self::Point(axis) => ("point", Some(axis)),
            Self::Extent(axis) => ("extent", Some(axis)),
            Self::GlobalId(axis) => ("global_id", Some(axis)),
            Self::LocalId(axis) => ("local_id", Some(axis)),
            Self::LocalIndex => ("local_index", None),
            Self::WorkgroupId(axis) => ("workgroup_id", Some(axis)),
            Self::WorkgroupCount(axis) => ("workgroup_count", Some(axis)),
            Self::SubgroupLane => ("subgroup_lane", None),
            Self::SubgroupId => ("subgroup_id", None),
            Self::SubgroupSize => ("subgroup_size", None),
        }
    }

    /// Whether a domain launch offers it (the others belong to workgroup launches).
    pub const fn in_domain(self) -> bool {
        matches!(self, Self::Point(_) | Self::Extent(_))
    }
}

impl fmt::Display for BuiltIn {
    /// As in text form, such as `global_id.x`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, axis) = self.name();
        f.write_str(name)?;
        axis.map_or(Ok(()), |axis| write!(f, ".{}", axis.name()))
    }
}
