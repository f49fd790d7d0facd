//! Content ids: equal programs and equal graphs have equal ids, on every platform and in every run.

use std::fmt;

use crate::graph::ProgramGraph;
use crate::ir::Program;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name([u8; 32]);

        impl $name {
            /// The hash.
            pub const fn as_bytes(&self) -> &[u8; 32] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }
    )*};
}

ids! {
    /// The BLAKE3 hash of a program's wire bytes.
    ProgramId;
    /// The BLAKE3 hash of a graph's wire bytes.
    GraphId;
}

impl Program {
    /// The program's content id; it takes time linear in the program.
    pub fn id(&self) -> ProgramId {
        ProgramId(*blake3::hash(&crate::wire::encode_unsealed(self)).as_bytes())
    }
}

impl ProgramGraph {
    /// The graph's content id; it takes time linear in the graph, its constants included.
    pub fn id(&self) -> GraphId {
        GraphId(*blake3::hash(&crate::graph::wire::encode_unsealed(self)).as_bytes())
    }
}
