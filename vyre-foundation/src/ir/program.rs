//! A program: the tables of its declarations, expressions, nodes and regions, in normal form.

use std::fmt;

use super::{
    Array, Buffer, BufferId, Expr, ExprId, Extent, ExtentId, Launch, Node, NodeId, Param, ParamId, PrivateId,
    RegionId, SharedId, Tile, TileId, VarId, Variable,
};

/// A compute kernel as data.
///
/// A program is made by the builder, the text parser, the wire decoder or an optimiser pass, all through
/// [`super::Arena`], and is always in normal form: nodes and regions numbered in the order of the text,
/// variables and expressions by first use, operands before users, nothing unused. So equal programs are equal values,
/// with equal text and wire bytes. It may still be wrong: [`crate::check::check`] decides.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Program {
    pub(super) name: String,
    pub(super) launch: Launch,
    pub(super) buffers: Vec<Buffer>,
    pub(super) params: Vec<Param>,
    pub(super) shared: Vec<Array>,
    pub(super) privates: Vec<Array>,
    pub(super) tiles: Vec<Tile>,
    pub(super) vars: Vec<Variable>,
    pub(super) extents: Vec<Extent>,
    pub(super) exprs: Vec<Expr>,
    pub(super) nodes: Vec<Node>,
    pub(super) regions: Vec<Vec<NodeId>>,
}

macro_rules! tables {
    ($($(#[$doc:meta])* $all:ident $one:ident $id:ident $item:ty;)*) => {$(
        $(#[$doc])*
        pub fn $all(&self) -> &[$item] {
            &self.$all
        }

        /// The entry with this id, which is of this program.
        #[allow(clippy::indexing_slicing, reason = "ids of a program are in range: Arena::finish checks")]
        pub fn $one(&self, id: $id) -> &$item {
            &self.$all[id.index()]
        }
    )*};
}

impl Program {
    /// The program's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Over what the body runs.
    pub fn launch(&self) -> Launch {
        self.launch
    }

    /// The outermost region.
    pub fn body(&self) -> RegionId {
        RegionId::new(0)
    }

    tables! {
        /// The buffers, in declaration order.
        buffers buffer BufferId Buffer;
        /// The parameters, in declaration order.
        params param ParamId Param;
        /// The workgroup-shared arrays.
        shared shared_array SharedId Array;
        /// The private arrays.
        privates private_array PrivateId Array;
        /// The tiles.
        tiles tile TileId Tile;
        /// The variables, in declaration order.
        vars var VarId Variable;
        /// The extents, operands before users.
        extents extent ExtentId Extent;
        /// The expressions, operands before users.
        exprs expr ExprId Expr;
        /// The nodes, in text order.
        nodes node NodeId Node;
        /// The regions, in text order; each lists its nodes.
        regions region RegionId Vec<NodeId>;
    }

    /// The ids of the buffers, in declaration order.
    pub fn buffer_ids(&self) -> impl ExactSizeIterator<Item = BufferId> + use<> {
        (0..self.buffers.len() as u32).map(BufferId::new)
    }

    /// The input buffers' ids, in declaration order: one byte slice each at dispatch.
    pub fn inputs(&self) -> impl Iterator<Item = BufferId> + '_ {
        self.buffer_ids().filter(|&id| self.buffer(id).access.is_input())
    }

    /// The output buffers' ids, in declaration order: one byte vector each from a dispatch.
    pub fn outputs(&self) -> impl Iterator<Item = BufferId> + '_ {
        self.buffer_ids().filter(|&id| self.buffer(id).access.is_output())
    }

    /// The name and element type of an array.
    pub fn place(&self, place: super::Place) -> (&str, vyre_spec::DataType) {
        match place {
            super::Place::Buffer(id) => (&self.buffer(id).name, self.buffer(id).element),
            super::Place::Shared(id) => (&self.shared_array(id).name, self.shared_array(id).element),
            super::Place::Private(id) => (&self.private_array(id).name, self.private_array(id).element),
        }
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The tables are flat, so this does not recurse however deep the program is.
        f.debug_struct("Program")
            .field("name", &self.name)
            .field("launch", &self.launch)
            .field("buffers", &self.buffers)
            .field("params", &self.params)
            .field("shared", &self.shared)
            .field("privates", &self.privates)
            .field("tiles", &self.tiles)
            .field("vars", &self.vars)
            .field("extents", &self.extents)
            .field("exprs", &self.exprs)
            .field("nodes", &self.nodes)
            .field("regions", &self.regions)
            .finish()
    }
}
