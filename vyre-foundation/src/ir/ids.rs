//! Typed `u32` ids: one kind cannot be used for another, and none can dangle into another program's
//! table by accident of type.

use std::fmt;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u32);

        impl $name {
            /// The id with this position in its table.
            pub const fn new(index: u32) -> Self {
                Self(index)
            }

            /// The position as `u32`.
            pub const fn raw(self) -> u32 {
                self.0
            }

            /// The position in its table.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    )*};
}

pub(crate) use ids;

ids! {
    /// A buffer of a program.
    BufferId "buffer";
    /// A parameter of a program.
    ParamId "param";
    /// A workgroup-shared array.
    SharedId "shared";
    /// A private array.
    PrivateId "private";
    /// A variable.
    VarId "var";
    /// A tile.
    TileId "tile";
    /// A pure expression.
    ExprId "e";
    /// A node, and the result that it gives.
    NodeId "n";
    /// A sequence of nodes.
    RegionId "r";
    /// A host-side extent.
    ExtentId "x";
}
