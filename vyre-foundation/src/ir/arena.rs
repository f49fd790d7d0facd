//! The one way to make a [`Program`]: tables in any order, brought to normal form by
//! [`Arena::finish`].

use super::hash::LookupMap;
use super::normal::{Renumbering, normalize};
use super::{
    Array, Buffer, BufferId, Count, Expr, ExprId, Extent, ExtentId, Launch, Node, NodeId, Param, ParamId,
    PrivateId, Program, RegionId, SharedId, Tile, TileId, VarId, Variable,
};

/// A program under construction.
///
/// Ids are those of the arena, not of the finished program: [`Renumbering`] relates them.
#[derive(Clone, Debug)]
pub struct Arena {
    program: Program,
    interned: LookupMap<Expr, ExprId>,
    interned_extents: LookupMap<Extent, ExtentId>,
}

/// What is wrong with an arena's structure, so that it is no program at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArenaError {
    /// An id names nothing.
    #[error("{what} {index} is referred to, but there are only {count}")]
    Dangling {
        /// Which table.
        what: &'static str,
        /// The id.
        index: u32,
        /// The table's size.
        count: u32,
    },
    /// An expression or extent reads itself, directly or not, or one made later.
    #[error("{what} {index} reads one that is not made before it")]
    Order {
        /// Which table.
        what: &'static str,
        /// The id.
        index: u32,
    },
    /// A node or region stands at more than one place, or holds itself.
    #[error("{what} {index} stands at more than one place")]
    Shared {
        /// Which table.
        what: &'static str,
        /// The id.
        index: u32,
    },
    /// A node that is in no region is read.
    #[error("node {0} is read but stands nowhere in the body")]
    Unplaced(u32),
    /// A table has more entries than a `u32` can number.
    #[error("there are more than 2^32 - 1 entries in the table of {0}s")]
    TooMany(&'static str),
}

macro_rules! pushes {
    ($($(#[$doc:meta])* $method:ident $table:ident $item:ty => $id:ident;)*) => {$(
        $(#[$doc])*
        pub fn $method(&mut self, item: $item) -> $id {
            self.program.$table.push(item);
            $id::new(self.program.$table.len() as u32 - 1)
        }
    )*};
}

impl Arena {
    /// An empty program of this name: a domain of one point and an empty body.
    pub fn new(name: impl Into<String>) -> Self {
        let one = ExtentId::new(0);
        let program = Program {
            name: name.into(),
            launch: Launch::Domain { extent: [one; 3], axes: 1 },
            buffers: Vec::new(),
            params: Vec::new(),
            shared: Vec::new(),
            privates: Vec::new(),
            tiles: Vec::new(),
            vars: Vec::new(),
            extents: vec![Extent::Literal(1)],
            exprs: Vec::new(),
            nodes: Vec::new(),
            regions: vec![Vec::new()],
        };
        Self {
            program,
            interned: LookupMap::default(),
            interned_extents: LookupMap::from_iter([(Extent::Literal(1), one)]),
        }
    }

    /// An arena that holds the program's declarations and launch, with an empty body: what an optimiser
    /// pass rebuilds into.
    pub fn with_declarations_of(program: &Program) -> Self {
        let declarations = Program {
            name: program.name.clone(),
            launch: program.launch,
            buffers: program.buffers.clone(),
            params: program.params.clone(),
            shared: program.shared.clone(),
            privates: program.privates.clone(),
            tiles: program.tiles.clone(),
            vars: program.vars.clone(),
            extents: program.extents.clone(),
            exprs: Vec::new(),
            nodes: Vec::new(),
            regions: vec![Vec::new()],
        };
        let extents = program.extents.iter().enumerate().map(|(i, &x)| (x, ExtentId::new(i as u32)));
        Self { interned: LookupMap::default(), interned_extents: extents.collect(), program: declarations }
    }

    /// Makes room for as many nodes, expressions and regions as the program has.
    pub(crate) fn reserve_for(&mut self, program: &Program) {
        self.program.nodes.reserve(program.nodes.len());
        self.program.exprs.reserve(program.exprs.len());
        self.program.regions.reserve(program.regions.len());
        self.interned.reserve(program.exprs.len());
    }

    /// The tables as they are, not in normal form.
    pub fn program(&self) -> &Program {
        &self.program
    }

    pushes! {
        /// Declares a buffer.
        buffer buffers Buffer => BufferId;
        /// Declares a parameter.
        param params Param => ParamId;
        /// Declares a workgroup-shared array.
        shared shared Array => SharedId;
        /// Declares a private array.
        private privates Array => PrivateId;
        /// Declares a tile.
        tile tiles Tile => TileId;
        /// Declares a variable; a [`Node::Declare`] says where.
        var vars Variable => VarId;
        /// Makes a node; [`Arena::place_node`] says where it stands.
        node nodes Node => NodeId;
    }

    /// Changes a buffer's count, for counts that refer to buffers declared later.
    pub fn set_count(&mut self, buffer: BufferId, count: Count) {
        if let Some(entry) = self.program.buffers.get_mut(buffer.index()) {
            entry.count = count;
        }
    }

    /// Makes a buffer coherent.
    pub fn set_coherent(&mut self, buffer: BufferId) {
        if let Some(entry) = self.program.buffers.get_mut(buffer.index()) {
            entry.coherent = true;
        }
    }

    /// Sets the launch.
    pub fn set_launch(&mut self, launch: Launch) {
        self.program.launch = launch;
    }

    /// An extent; equal ones are one.
    pub fn extent(&mut self, extent: Extent) -> ExtentId {
        let next = ExtentId::new(self.program.extents.len() as u32);
        let id = *self.interned_extents.entry(extent).or_insert(next);
        if id == next {
            self.program.extents.push(extent);
        }
        id
    }

    /// An expression; equal ones are one. Its operands exist.
    pub fn expr(&mut self, expr: Expr) -> ExprId {
        let next = ExprId::new(self.program.exprs.len() as u32);
        let id = *self.interned.entry(expr).or_insert(next);
        if id == next {
            self.program.exprs.push(expr);
        }
        id
    }

    /// A new, empty region.
    pub fn region(&mut self) -> RegionId {
        self.program.regions.push(Vec::new());
        RegionId::new(self.program.regions.len() as u32 - 1)
    }

    /// Puts a node at the end of a region.
    pub fn place_node(&mut self, region: RegionId, node: NodeId) {
        if let Some(nodes) = self.program.regions.get_mut(region.index()) {
            nodes.push(node);
        }
    }

    /// Makes a node at the end of a region.
    pub fn push(&mut self, region: RegionId, node: Node) -> NodeId {
        let id = self.node(node);
        self.place_node(region, id);
        id
    }

    /// Changes a node that was made before, for loops whose body refers to them.
    pub fn replace_node(&mut self, id: NodeId, node: Node) {
        if let Some(entry) = self.program.nodes.get_mut(id.index()) {
            *entry = node;
        }
    }

    /// The program in normal form.
    ///
    /// # Errors
    /// If ids dangle, expressions are not in order, or a node stands at two places.
    pub fn finish(self) -> Result<(Program, Renumbering), ArenaError> {
        normalize(self.program)
    }
}
