//! What the checker proved; later stages demand these.

use std::ops::Deref;
use std::sync::Arc;

use vyre_spec::DataType;

use crate::ir::{BufferId, ExprId, NodeId, Place, Program, RegionId};

/// Something that the checker can prove, and what the proof holds.
pub trait Checkable {
    /// What was proved.
    type Facts;
}

impl Checkable for Program {
    type Facts = Facts;
}

/// A value with the checker's proof. There is no other way to make one than [`super::check`], so a stage
/// that takes it cannot be given unchecked input. Cloning is cheap.
#[derive(Debug)]
pub struct Checked<T: Checkable> {
    inner: Arc<(T, T::Facts)>,
}

impl<T: Checkable> Checked<T> {
    pub(crate) fn new(value: T, facts: T::Facts) -> Self {
        Self { inner: Arc::new((value, facts)) }
    }

    /// What was proved.
    pub fn facts(&self) -> &T::Facts {
        &self.inner.1
    }

    /// Whether both are the same proof of the same value, not just equal ones.
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// What tells the proof from every other that lives.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.inner) as usize
    }

    /// Whether somebody else holds a clone of it.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.inner) > 1
    }
}

impl<T: Checkable> Clone for Checked<T> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<T: Checkable> Deref for Checked<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.inner.0
    }
}

/// Over which invocations a value, or the flow that reaches a node, is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Uniformity {
    /// The whole launch.
    Launch,
    /// Each workgroup.
    Workgroup,
    /// Each subgroup.
    Subgroup,
    /// Not even a subgroup.
    Divergent,
}

/// How a program uses an array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Some node loads it.
    pub loaded: bool,
    /// Some node stores it.
    pub stored: bool,
    /// Some node uses it atomically.
    pub atomic: bool,
}

/// The facts of a checked program. Tables are parallel to the program's.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The type of each expression.
    pub(crate) expr_types: Vec<DataType>,
    /// The home of each expression: the deepest region whose nodes' results or loop variable it reads.
    pub(crate) expr_homes: Vec<RegionId>,
    /// The uniformity of each expression.
    pub(crate) expr_uniformity: Vec<Uniformity>,
    /// The region of each node.
    pub(crate) node_regions: Vec<RegionId>,
    /// The uniformity of the flow that reaches each node.
    pub(crate) node_flow: Vec<Uniformity>,
    /// The node that holds each region, and the region that dominates it: the node's own, but for the body
    /// of a `while`, which its head dominates. `None` for the outermost region.
    pub(crate) region_parents: Vec<Option<(NodeId, RegionId)>>,
    /// How each buffer is used.
    pub(crate) buffer_usage: Vec<Usage>,
    /// Whether each buffer is sure to be stored whole.
    pub(crate) buffer_stored_whole: Vec<bool>,
    /// How each shared array is used.
    pub(crate) shared_usage: Vec<Usage>,
    /// How each private array is used.
    pub(crate) private_usage: Vec<Usage>,
    /// Whether the program has a barrier, a subgroup op, a trap.
    pub(crate) has_barrier: bool,
    pub(crate) has_subgroup: bool,
    pub(crate) has_trap: bool,
    /// Whether the program has tile ops; they count as subgroup ops, too.
    pub(crate) has_tiles: bool,
}

#[allow(clippy::indexing_slicing, reason = "facts are parallel to the tables of the program they are of")]
impl Facts {
    /// The type of an expression.
    pub fn type_of(&self, expr: ExprId) -> DataType {
        self.expr_types[expr.index()]
    }

    /// The deepest region whose nodes' results or loop variable the expression reads.
    pub fn home(&self, expr: ExprId) -> RegionId {
        self.expr_homes[expr.index()]
    }

    /// Over which invocations an expression has one value.
    pub fn uniformity(&self, expr: ExprId) -> Uniformity {
        self.expr_uniformity[expr.index()]
    }

    /// The region that a node stands in.
    pub fn region_of(&self, node: NodeId) -> RegionId {
        self.node_regions[node.index()]
    }

    /// Over which invocations the flow that reaches a node is the same.
    pub fn flow(&self, node: NodeId) -> Uniformity {
        self.node_flow[node.index()]
    }

    /// The node that holds a region and the region that dominates it; `None` for the outermost.
    pub fn parent(&self, region: RegionId) -> Option<(NodeId, RegionId)> {
        self.region_parents[region.index()]
    }

    /// How an array is used.
    pub fn usage(&self, place: Place) -> Usage {
        match place {
            Place::Buffer(id) => self.buffer_usage[id.index()],
            Place::Shared(id) => self.shared_usage[id.index()],
            Place::Private(id) => self.private_usage[id.index()],
        }
    }

    /// Whether every launch that succeeds stores every element of a buffer, whatever the inputs are. If not,
    /// it may still do so: this is what was proved.
    pub fn stores_whole(&self, buffer: BufferId) -> bool {
        self.buffer_stored_whole[buffer.index()]
    }

    /// Whether the program has a barrier.
    pub fn has_barrier(&self) -> bool {
        self.has_barrier
    }

    /// Whether the program has a subgroup op or tile op, or reads a subgroup id.
    pub fn has_subgroup(&self) -> bool {
        self.has_subgroup
    }

    /// Whether the program has tile ops.
    pub fn has_tiles(&self) -> bool {
        self.has_tiles
    }

    /// Whether the program has a trap.
    pub fn has_trap(&self) -> bool {
        self.has_trap
    }
}
