//! The intermediate representation.
//!
//! A [`Program`] is a set of flat tables with typed `u32` ids. Everything whose value depends on when it
//! is evaluated is a [`Node`] with a result; everything else is a pure [`Expr`], hash-consed and total.
//! Only variables cross regions. Nothing here recurses, so a program may be as deep as memory allows.

mod arena;
mod decl;
mod expr;
mod extent;
mod hash;
mod ids;
mod node;
mod normal;
mod program;
mod tile;

pub use arena::{Arena, ArenaError};
pub use decl::{Array, Buffer, Count, Extent, Launch, Param, Tile, Variable};
pub use expr::Expr;
pub(crate) use extent::ExtentOp;
pub(crate) use hash::LookupMap;
pub(crate) use ids::ids;
pub use ids::{BufferId, ExprId, ExtentId, NodeId, ParamId, PrivateId, RegionId, SharedId, TileId, VarId};
pub use node::{Node, Place};
pub use normal::Renumbering;
pub use program::Program;
pub use tile::TileAction;
