//! Instructions and blocks.

use vyre_spec::ops::{AtomicOp, BinaryOp, CastOp, SubgroupOp, TernaryOp, UnaryOp};
use vyre_spec::{Axis, DataType, TileLayout, Value};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// The position in its table.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// An instruction, and the value that it gives.
    InstId;
    /// A block.
    BlockId;
    /// A mutable local.
    LocalId;
}

/// Instructions in order.
pub type Block = Vec<InstId>;

/// An instruction and the type of its value, if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Inst {
    /// What it does.
    pub op: Op,
    /// The type of its value.
    pub ty: Option<DataType>,
}

/// An array that an instruction addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// A binding, by number.
    Binding(u32),
    /// A shared array, by position.
    Shared(u32),
    /// A private array, by position.
    Private(u32),
}

/// Why an access is in bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Proof {
    /// An explicit guard before it makes it so; the text says what stands against a proof.
    Guarded(&'static str),
    /// It always is; the text says why.
    Proven(&'static str),
    /// It is where the launch keeps to those conditions of the kernel's contract whose bits are set.
    Contract(u64),
}

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A constant; a float is finite.
    Constant(Value),
    /// A word of launch data, by position, as the instruction's type: a 32-bit one, not bool.
    Launch(u32),
    /// The hardware's workgroup id.
    WorkgroupId(Axis),
    /// The invocation's id in its workgroup.
    LocalId(Axis),
    /// The invocation's linear index in its workgroup.
    LocalIndex,
    /// The invocation's lane in its subgroup.
    SubgroupLane,
    /// The subgroup's index in its workgroup.
    SubgroupId,
    /// The lanes of a subgroup.
    SubgroupSize,
    /// An op of one operand.
    Unary(UnaryOp, InstId),
    /// An op of two operands.
    Binary(BinaryOp, InstId, InstId),
    /// An op of three operands.
    Ternary(TernaryOp, InstId, InstId, InstId),
    /// A conversion to the instruction's type.
    Cast(CastOp, InstId),
    /// Reads an element in bounds.
    Load {
        /// The array.
        place: Place,
        /// The index, a u32.
        index: InstId,
        /// Why it is in bounds.
        proof: Proof,
    },
    /// Writes an element in bounds.
    Store {
        /// The array.
        place: Place,
        /// The index, a u32.
        index: InstId,
        /// The element.
        value: InstId,
        /// Why it is in bounds.
        proof: Proof,
    },
    /// Reads and changes an element in bounds; gives the old one. A compare-exchange never fails
    /// spuriously, and gives just the old element.
    Atomic {
        /// What is done.
        op: AtomicOp,
        /// A binding or shared array with atomic elements.
        place: Place,
        /// The index, a u32.
        index: InstId,
        /// The operand.
        value: InstId,
        /// The expected old element, for the op that takes one.
        expected: Option<InstId>,
        /// Why it is in bounds.
        proof: Proof,
    },
    /// Reads a whole vector in bounds, or at least inside the binding's memory. Its type is that of its
    /// elements; only [`Op::Part`] reads it.
    LoadVector {
        /// A binding or shared array that is one of vectors.
        place: Place,
        /// The vector's index, a u32.
        index: InstId,
        /// Why its elements are in bounds.
        proof: Proof,
    },
    /// An element of a vector that was loaded.
    Part {
        /// The vector.
        vector: InstId,
        /// Which element.
        part: u32,
    },
    /// Writes a whole vector in bounds.
    StoreVector {
        /// A binding or shared array that is one of vectors.
        place: Place,
        /// The vector's index, a u32.
        index: InstId,
        /// Its elements, of which the first `width` count.
        values: [InstId; 4],
        /// Elements of a vector of the array.
        width: u32,
        /// Why they are in bounds.
        proof: Proof,
    },
    /// The f16 in one half of a u32, as an f32; the lower half is part 0. A NaN stays one, with any payload.
    UnpackHalf {
        /// The u32.
        word: InstId,
        /// Which half.
        part: u32,
    },
    /// Two f32, each rounded to the nearest f16, ties to even, in the lower and the upper half of a u32. A NaN
    /// stays one, with any payload.
    PackHalves(InstId, InstId),
    /// Reads a local.
    Get(LocalId),
    /// Writes a local.
    Set(LocalId, InstId),
    /// Runs one of two blocks.
    If {
        /// A bool.
        condition: InstId,
        /// Where it holds.
        then: BlockId,
        /// Where it does not.
        otherwise: BlockId,
    },
    /// Runs `body` and `continuing` in turn until a [`Op::Break`]; `continue` in the body goes to
    /// `continuing`, which has neither break nor continue. Values of the body are not read there.
    Loop {
        /// The body.
        body: BlockId,
        /// What ends each trip.
        continuing: BlockId,
    },
    /// Leaves the innermost loop.
    Break,
    /// Goes to the innermost loop's continuing block.
    Continue,
    /// Ends the invocation.
    Return,
    /// The workgroup meets; the flags say which memory is ordered.
    Barrier {
        /// Buffers.
        storage: bool,
        /// Shared memory.
        workgroup: bool,
    },
    /// Orders the invocation's own accesses, without waiting.
    Fence {
        /// To buffers.
        storage: bool,
        /// To shared memory.
        workgroup: bool,
    },
    /// Combines the lanes of a subgroup.
    Subgroup {
        /// What is done.
        op: SubgroupOp,
        /// The operand.
        value: InstId,
        /// The lane, for shuffles.
        lane: Option<InstId>,
    },
    /// A subgroup makes, or stores, a tile.
    Tile {
        /// The tile, by position.
        tile: u32,
        /// What is done.
        op: TileOp,
    },
}

/// What is done with a tile; other tiles are named by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TileOp {
    /// Every element becomes zero.
    Zero,
    /// It is read from an array.
    Load(TileMemory),
    /// It is written to an array.
    Store(TileMemory),
    /// It becomes the first times the second plus the third.
    MultiplyAdd(u32, u32, u32),
    /// It becomes the elementwise sum of both.
    Add(u32, u32),
    /// It becomes the elementwise difference of both.
    Subtract(u32, u32),
    /// It becomes the other, each element times a number: an f32, also where elements are f16.
    Scale(u32, InstId),
}

/// Where a tile lies, all of it in bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TileMemory {
    /// A binding or shared array of the tile's element type.
    pub place: Place,
    /// The first element, a u32.
    pub index: InstId,
    /// Elements from one row, or column, to the next: a u32.
    pub stride: InstId,
    /// Whether rows or columns are contiguous.
    pub layout: TileLayout,
    /// Why it is in bounds.
    pub proof: Proof,
}

impl Op {
    /// The values that the op reads.
    pub fn operands(&self) -> impl Iterator<Item = InstId> + use<> {
        let (a, b, c) = match *self {
            Self::StoreVector { index, values: [a, b, c, d], width, .. } => {
                let (c, d) = if width > 2 { (Some(c), Some(d)) } else { (None, None) };
                return [Some(index), Some(a), Some(b), c, d].into_iter().flatten();
            }
            Self::LoadVector { index, .. } => (Some(index), None, None),
            Self::Part { vector, .. } => (Some(vector), None, None),
            Self::UnpackHalf { word, .. } => (Some(word), None, None),
            Self::PackHalves(a, b) => (Some(a), Some(b), None),
            Self::Unary(_, a) | Self::Cast(_, a) | Self::Set(_, a) => (Some(a), None, None),
            Self::Binary(_, a, b) => (Some(a), Some(b), None),
            Self::Ternary(_, a, b, c) => (Some(a), Some(b), Some(c)),
            Self::Load { index, .. } => (Some(index), None, None),
            Self::Store { index, value, .. } => (Some(index), Some(value), None),
            Self::Atomic { index, value, expected, .. } => (Some(index), Some(value), expected),
            Self::If { condition, .. } => (Some(condition), None, None),
            Self::Subgroup { value, lane, .. } => (Some(value), lane, None),
            Self::Tile { op, .. } => match op {
                TileOp::Load(memory) | TileOp::Store(memory) => {
                    (Some(memory.index), Some(memory.stride), None)
                }
                TileOp::Scale(_, factor) => (Some(factor), None, None),
                TileOp::Zero | TileOp::MultiplyAdd(..) | TileOp::Add(..) | TileOp::Subtract(..) => {
                    (None, None, None)
                }
            },
            Self::Constant(_)
            | Self::Launch(_)
            | Self::WorkgroupId(_)
            | Self::LocalId(_)
            | Self::LocalIndex
            | Self::SubgroupLane
            | Self::SubgroupId
            | Self::SubgroupSize
            | Self::Get(_)
            | Self::Loop { .. }
            | Self::Break
            | Self::Continue
            | Self::Return
            | Self::Barrier { .. }
            | Self::Fence { .. } => (None, None, None),
        };
        [a, b, c, None, None].into_iter().flatten()
    }
}
