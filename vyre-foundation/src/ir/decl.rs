//! Declarations: buffers, parameters, arrays, variables, extents and the launch.

use vyre_spec::{Access, DataType, TileType};

use super::{BufferId, ExtentId, ParamId};

/// A buffer: an array of elements that the host binds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Buffer {
    /// Its name, unique among the program's declarations.
    pub name: String,
    /// Its element type, laid out as in C on the host.
    pub element: DataType,
    /// How the program uses it.
    pub access: Access,
    /// How many elements it has.
    pub count: Count,
    /// Whether invocations that are ordered by fences and atomics see each other's plain stores to it while the
    /// program runs. Not of buffers that the program does not write.
    pub coherent: bool,
}

/// How many elements a buffer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Count {
    /// As many as the bound bytes hold. Not for [`Access::WriteOnly`].
    Bytes,
    /// The extent's value at launch.
    Extent(ExtentId),
}

/// A scalar passed with each dispatch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Param {
    /// Its name, unique among the program's declarations.
    pub name: String,
    /// Its type.
    pub ty: DataType,
    /// Whether its value is substituted before optimisation, and so belongs to the cache key.
    pub specialize: bool,
}

/// A workgroup-shared or private array; it reads as zero until written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Array {
    /// Its name, unique among the program's declarations.
    pub name: String,
    /// Its element type.
    pub element: DataType,
    /// Its number of elements, at least 1.
    pub len: u32,
}

/// A variable of an invocation, declared by one [`super::Node::Declare`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Variable {
    /// Its name, unique among the program's declarations.
    pub name: String,
    /// Its type.
    pub ty: DataType,
}

/// A small matrix that each subgroup of a workgroup launch holds together; its elements are zero at first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tile {
    /// Its name, unique among the program's declarations.
    pub name: String,
    /// Its role, element type and shape.
    pub ty: TileType,
}

/// Host arithmetic in `u64`, evaluated at launch; overflow and division by zero are errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// A constant.
    Literal(u64),
    /// A parameter's value; an integer, and not negative.
    Param(ParamId),
    /// A buffer's number of elements; its count is [`Count::Bytes`] or an extent without a cycle.
    Length(BufferId),
    /// Sum.
    Add(ExtentId, ExtentId),
    /// Difference.
    Sub(ExtentId, ExtentId),
    /// Product.
    Mul(ExtentId, ExtentId),
    /// Quotient, rounded up.
    CeilDiv(ExtentId, ExtentId),
    /// The smaller.
    Min(ExtentId, ExtentId),
    /// The larger.
    Max(ExtentId, ExtentId),
}

impl Extent {
    /// The operands, in order.
    pub fn operands(&self) -> Option<[ExtentId; 2]> {
        match *self {
            Self::Literal(_) | Self::Param(_) | Self::Length(_) => None,
            Self::Add(a, b)
            | Self::Sub(a, b)
            | Self::Mul(a, b)
            | Self::CeilDiv(a, b)
            | Self::Min(a, b)
            | Self::Max(a, b) => Some([a, b]),
        }
    }

    /// The extent with each operand replaced by what `f` gives for it.
    #[must_use]
    pub fn map_operands(mut self, mut f: impl FnMut(ExtentId) -> ExtentId) -> Self {
        match &mut self {
            Self::Literal(_) | Self::Param(_) | Self::Length(_) => {}
            Self::Add(a, b)
            | Self::Sub(a, b)
            | Self::Mul(a, b)
            | Self::CeilDiv(a, b)
            | Self::Min(a, b)
            | Self::Max(a, b) => {
                *a = f(*a);
                *b = f(*b);
            }
        }
        self
    }
}

/// Over what the body runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Launch {
    /// Once per point of an extent of one to three axes (the first `axes`; the others are 1). Workgroup
    /// shape belongs to the compiler.
    Domain {
        /// Points per axis.
        extent: [ExtentId; 3],
        /// How many axes the program names.
        axes: u8,
    },
    /// In workgroups of the author's size and count.
    Workgroups {
        /// Invocations per axis of a workgroup.
        size: [u32; 3],
        /// Workgroups per axis.
        count: [ExtentId; 3],
    },
    /// In workgroups of the author's size, as many per axis as the first three elements of a buffer say when the
    /// launch begins.
    Indirect {
        /// Invocations per axis of a workgroup.
        size: [u32; 3],
        /// A buffer of `u32` that the program does not write.
        counts: BufferId,
    },
}

impl Launch {
    /// The three extents: points of a domain, or workgroups; `None` if a buffer has the counts.
    pub const fn extents(&self) -> Option<[ExtentId; 3]> {
        match *self {
            Self::Domain { extent, .. } => Some(extent),
            Self::Workgroups { count, .. } => Some(count),
            Self::Indirect { .. } => None,
        }
    }

    /// The size of the author's workgroups; `None` of a domain.
    pub const fn workgroup_size(&self) -> Option<[u32; 3]> {
        match *self {
            Self::Domain { .. } => None,
            Self::Workgroups { size, .. } | Self::Indirect { size, .. } => Some(size),
        }
    }

    /// The launch with each extent replaced by what `f` gives for it.
    #[must_use]
    pub fn map_extents(self, mut f: impl FnMut(ExtentId) -> ExtentId) -> Self {
        match self {
            Self::Domain { extent, axes } => Self::Domain { extent: extent.map(&mut f), axes },
            Self::Workgroups { size, count } => Self::Workgroups { size, count: count.map(&mut f) },
            Self::Indirect { .. } => self,
        }
    }
}
