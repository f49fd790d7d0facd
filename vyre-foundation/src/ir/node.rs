//! Nodes: everything whose effect or value depends on when it happens.

use vyre_spec::ops::{AtomicOp, CollectiveOp, SubgroupOp};
use vyre_spec::{FenceScope, MemoryOrdering};

use super::{BufferId, ExprId, PrivateId, RegionId, SharedId, TileAction, TileId, VarId};

/// An array that loads, stores and atomics address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// A buffer.
    Buffer(BufferId),
    /// A workgroup-shared array.
    Shared(SharedId),
    /// A private array.
    Private(PrivateId),
}

/// One step of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// Reads an element; 0 out of bounds. Gives the element.
    Load {
        /// The array.
        place: Place,
        /// The element's index, an integer; a negative one is out of bounds.
        index: ExprId,
    },
    /// Writes an element; dropped out of bounds.
    Store {
        /// The array.
        place: Place,
        /// The element's index, an integer.
        index: ExprId,
        /// The new element.
        value: ExprId,
    },
    /// Reads and changes an element at once; out of bounds changes nothing and gives 0. Gives the old
    /// element.
    Atomic {
        /// What is done.
        op: AtomicOp,
        /// A buffer or shared array.
        place: Place,
        /// The element's index, an integer.
        index: ExprId,
        /// The operand.
        value: ExprId,
        /// The expected old element, for the op that takes one.
        expected: Option<ExprId>,
    },
    /// Declares a variable for the rest of the region and stores its initial value, on each execution.
    Declare {
        /// The variable.
        var: VarId,
        /// Its initial value.
        init: ExprId,
    },
    /// Reads a variable. Gives its value.
    Get {
        /// The variable.
        var: VarId,
    },
    /// Writes a variable.
    Set {
        /// The variable.
        var: VarId,
        /// The new value.
        value: ExprId,
    },
    /// Runs one of two regions.
    If {
        /// A bool.
        condition: ExprId,
        /// Run where it holds.
        then: RegionId,
        /// Run where it does not.
        otherwise: RegionId,
    },
    /// Runs a region for `start`, `start + step`, … below `end`; bounds and step are evaluated once, and
    /// a step of zero or less means no trip. Gives the loop variable inside.
    For {
        /// The first value, an integer.
        start: ExprId,
        /// The bound, of the same type.
        end: ExprId,
        /// The increment, of the same type.
        step: ExprId,
        /// The body.
        body: RegionId,
    },
    /// Runs `head`, then, while `condition` holds, `body` and `head` again. The results of `head` are in
    /// scope in the condition and the body.
    While {
        /// Nodes that the condition needs.
        head: RegionId,
        /// A bool, evaluated after `head`.
        condition: ExprId,
        /// The body; `continue` goes to `head`.
        body: RegionId,
    },
    /// Leaves the innermost loop.
    Break,
    /// Goes to the next trip of the innermost loop.
    Continue,
    /// Ends the invocation.
    Return,
    /// The workgroup meets, and memory is ordered.
    Barrier {
        /// Which memory.
        ordering: MemoryOrdering,
    },
    /// Orders the invocation's accesses before it against those after it, as others see them; nobody waits. It may
    /// stand in any flow.
    Fence {
        /// Which memory; not `GridSync`, for which invocations would have to meet.
        ordering: MemoryOrdering,
        /// Among whom.
        scope: FenceScope,
    },
    /// Combines the values of the invocations with this index on all devices of the world. Gives this device's
    /// result. A world of one device is the identity.
    Collective {
        /// What is done.
        op: CollectiveOp,
        /// The operand.
        value: ExprId,
        /// The rank, a `u32`, for the ops that take one.
        rank: Option<ExprId>,
    },
    /// Combines the lanes of a subgroup. Gives this lane's result.
    Subgroup {
        /// What is done.
        op: SubgroupOp,
        /// The operand.
        value: ExprId,
        /// The lane or mask, a `u32`, for the ops that take one.
        lane: Option<ExprId>,
    },
    /// Records a fault for the host, which then returns an error instead of outputs; the first of a
    /// dispatch wins. The invocation goes on.
    Trap {
        /// The program's own code for the fault.
        code: u32,
        /// A `u32` that says where, such as an index.
        address: ExprId,
    },
    /// A subgroup makes, or stores, a tile.
    Tile {
        /// The tile that is made, or stored.
        tile: TileId,
        /// What is done.
        action: TileAction,
    },
}

impl Node {
    /// The expressions that the node reads, in the order of its fields.
    pub fn operands(&self) -> impl Iterator<Item = ExprId> + use<> {
        let (a, b, c) = match *self {
            Self::Load { index, .. } => (Some(index), None, None),
            Self::Store { index, value, .. } => (Some(index), Some(value), None),
            Self::Atomic { index, value, expected, .. } => (Some(index), Some(value), expected),
            Self::Declare { init, .. } => (Some(init), None, None),
            Self::Set { value, .. } => (Some(value), None, None),
            Self::If { condition, .. } | Self::While { condition, .. } => (Some(condition), None, None),
            Self::For { start, end, step, .. } => (Some(start), Some(end), Some(step)),
            Self::Subgroup { value, lane, .. } => (Some(value), lane, None),
            Self::Collective { value, rank, .. } => (Some(value), rank, None),
            Self::Trap { address, .. } => (Some(address), None, None),
            Self::Tile { action, .. } => {
                let [a, b] = action.operands();
                (a, b, None)
            }
            Self::Get { .. }
            | Self::Break
            | Self::Continue
            | Self::Return
            | Self::Barrier { .. }
            | Self::Fence { .. } => (None, None, None),
        };
        [a, b, c].into_iter().flatten()
    }

    /// The node with each operand replaced by what `f` gives for it.
    #[must_use]
    pub fn map_operands(self, mut f: impl FnMut(ExprId) -> ExprId) -> Self {
        match self {
            Self::Load { place, index } => Self::Load { place, index: f(index) },
            Self::Store { place, index, value } => {
                let index = f(index);
                Self::Store { place, index, value: f(value) }
            }
            Self::Atomic { op, place, index, value, expected } => {
                let (index, value) = (f(index), f(value));
                Self::Atomic { op, place, index, value, expected: expected.map(f) }
            }
            Self::Declare { var, init } => Self::Declare { var, init: f(init) },
            Self::Set { var, value } => Self::Set { var, value: f(value) },
            Self::If { condition, then, otherwise } => Self::If { condition: f(condition), then, otherwise },
            Self::For { start, end, step, body } => {
                let (start, end) = (f(start), f(end));
                Self::For { start, end, step: f(step), body }
            }
            Self::While { head, condition, body } => Self::While { head, condition: f(condition), body },
            Self::Subgroup { op, value, lane } => {
                let value = f(value);
                Self::Subgroup { op, value, lane: lane.map(f) }
            }
            Self::Collective { op, value, rank } => {
                let value = f(value);
                Self::Collective { op, value, rank: rank.map(f) }
            }
            Self::Trap { code, address } => Self::Trap { code, address: f(address) },
            Self::Tile { tile, action } => Self::Tile { tile, action: action.map_operands(f) },
            leaf @ (Self::Get { .. }
            | Self::Break
            | Self::Continue
            | Self::Return
            | Self::Barrier { .. }
            | Self::Fence { .. }) => leaf,
        }
    }

    /// The regions that the node holds, in order.
    pub fn regions(&self) -> impl DoubleEndedIterator<Item = RegionId> + use<> {
        let (a, b) = match *self {
            Self::If { then, otherwise, .. } => (Some(then), Some(otherwise)),
            Self::For { body, .. } => (Some(body), None),
            Self::While { head, body, .. } => (Some(head), Some(body)),
            _ => (None, None),
        };
        [a, b].into_iter().flatten()
    }

    /// The node with each region replaced by what `f` gives for it.
    #[must_use]
    pub fn map_regions(mut self, mut f: impl FnMut(RegionId) -> RegionId) -> Self {
        match &mut self {
            Self::If { then, otherwise, .. } => {
                *then = f(*then);
                *otherwise = f(*otherwise);
            }
            Self::For { body, .. } => *body = f(*body),
            Self::While { head, body, .. } => {
                *head = f(*head);
                *body = f(*body);
            }
            _ => {}
        }
        self
    }

    /// Whether [`super::Expr::Result`] may read the node.
    pub const fn has_result(&self) -> bool {
        matches!(
            self,
            Self::Load { .. }
                | Self::Atomic { .. }
                | Self::Get { .. }
                | Self::Subgroup { .. }
                | Self::Collective { .. }
        )
    }

    /// The array that the node addresses.
    pub const fn place(&self) -> Option<Place> {
        match *self {
            Self::Load { place, .. } | Self::Store { place, .. } | Self::Atomic { place, .. } => Some(place),
            Self::Tile { action, .. } => action.place(),
            _ => None,
        }
    }

    /// The array that the node addresses, to be changed.
    pub fn place_mut(&mut self) -> Option<&mut Place> {
        match self {
            Self::Load { place, .. } | Self::Store { place, .. } | Self::Atomic { place, .. } => Some(place),
            Self::Tile { action, .. } => action.place_mut(),
            _ => None,
        }
    }

    /// The variable that the node declares, reads or sets.
    pub const fn var(&self) -> Option<VarId> {
        match *self {
            Self::Declare { var, .. } | Self::Get { var } | Self::Set { var, .. } => Some(var),
            _ => None,
        }
    }

    /// The variable that the node declares, reads or sets, to be changed.
    pub const fn var_mut(&mut self) -> Option<&mut VarId> {
        match self {
            Self::Declare { var, .. } | Self::Get { var } | Self::Set { var, .. } => Some(var),
            _ => None,
        }
    }
}
