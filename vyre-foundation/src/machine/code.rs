//! The dense form that the machine executes: flat instructions over 64-bit registers.

use vyre_spec::ops::{CollectiveOp, Columns1, Columns2, Columns3, SubgroupOp};
use vyre_spec::{BuiltIn, DataType, MemoryOrdering};

use super::tile::TileStep;
use crate::ir::{NodeId, Place};

/// A register: one 64-bit word of an invocation that holds a scalar's bits.
pub(super) type Reg = u32;

/// A position in the instruction list.
pub(super) type Pc = u32;

/// Where an array lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    Buffer,
    Shared,
    Private,
}

/// An array that instructions address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Array {
    pub(super) place: Place,
    pub(super) element: DataType,
    pub(super) len: u64,
    /// The first word in the workgroup's or invocation's memory; of a buffer, its position.
    pub(super) offset: usize,
}

/// An integer type, reduced to what arithmetic on its bits needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct IntType {
    signed: bool,
    /// Bits of a 64-bit word above the type's width.
    unused: u8,
}

impl IntType {
    pub(super) fn of(ty: DataType) -> Self {
        Self { signed: ty.is_signed_int(), unused: (64 - 8 * ty.size().min(8)) as u8 }
    }

    /// The number that the bits stand for.
    pub(super) fn number(self, bits: u64) -> i128 {
        if self.signed { i128::from((bits << self.unused) as i64 >> self.unused) } else { i128::from(bits) }
    }

    /// The position in an array of `len` elements, if it is one.
    #[inline]
    pub(super) fn position(self, bits: u64, len: u64) -> Option<usize> {
        let bits = if self.signed { ((bits << self.unused) as i64 >> self.unused) as u64 } else { bits };
        // A negative index is now above every length.
        (bits < len).then_some(bits as usize)
    }

    /// The trips of a loop from `start` while below `end`: none for a step of zero or less.
    #[inline]
    pub(super) fn trips(self, start: u64, end: u64, step: u64) -> u64 {
        let wide = |bits: u64| (bits << self.unused) as i64 >> self.unused;
        let (none, steps, step) = if self.signed {
            let (start, end, step) = (wide(start), wide(end), wide(step));
            // The distance of two 64-bit integers fits 64 bits without a sign.
            (step <= 0 || start >= end, end.wrapping_sub(start) as u64, step as u64)
        } else {
            (step == 0 || start >= end, end.wrapping_sub(start), step)
        };
        match (none, step) {
            (true, _) => 0,
            (false, 1) => steps,
            (false, _) => (steps - 1) / step + 1,
        }
    }

    /// The sum, wrapped to the type.
    #[inline]
    pub(super) fn wrapping_add(self, a: u64, b: u64) -> u64 {
        a.wrapping_add(b) << self.unused >> self.unused
    }
}

/// How an atomic finds its new value.
#[derive(Clone, Copy)]
pub(super) struct Modify {
    pub(super) f: fn(u64, u64) -> u64,
    pub(super) value: Reg,
    pub(super) expected: Option<Reg>,
}

/// One instruction. Each is executed by the active lanes of a team; those that only compute may compute for
/// the others too.
#[derive(Clone, Copy)]
pub(super) enum Instr {
    /// Reads a variable.
    Get {
        dst: Reg,
        src: Reg,
    },
    /// Writes a variable: other lanes keep their value.
    Set {
        dst: Reg,
        src: Reg,
    },
    /// `one` computes for one lane, `all` for every lane.
    Unary {
        one: fn(u64) -> u64,
        all: Columns1,
        dst: Reg,
        a: Reg,
    },
    Binary {
        one: fn(u64, u64) -> u64,
        all: Columns2,
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Ternary {
        one: fn(u64, u64, u64) -> u64,
        all: Columns3,
        dst: Reg,
        a: Reg,
        b: Reg,
        c: Reg,
    },
    Load {
        spot: Addressed,
        dst: Reg,
    },
    Store {
        spot: Addressed,
        value: Reg,
    },
    /// `modify` is a position in the table of those.
    Atomic {
        spot: Addressed,
        dst: Reg,
        modify: u32,
    },
    /// Notes whether a float is subnormal, or parts of it may have been.
    Watch {
        ty: DataType,
        a: Reg,
        parts: bool,
    },
    /// Parts the lanes; goes to `otherwise`, which is an `Else` or an `EndIf`, if none takes the first arm.
    If {
        condition: Reg,
        otherwise: Pc,
    },
    /// Goes from the first arm to the other, or to the `EndIf` if no lane takes it.
    Else {
        end: Pc,
    },
    EndIf,
    /// Computes the trips of a counted loop and goes to its `EndLoop` if no lane makes one. The loop's
    /// registers are at a position in the table of those.
    ForEnter {
        counted: u32,
        end: Pc,
    },
    /// Goes to the next trip, if a lane makes one.
    ForNext {
        counted: u32,
        body: Pc,
    },
    WhileEnter,
    /// Lets lanes leave whose condition does not hold.
    WhileTest {
        condition: Reg,
        end: Pc,
    },
    /// Before a trip: leaves the loop with a trap if it would pass the limit.
    WhileGuard {
        end: Pc,
    },
    /// After a trip: counts it and goes to the head, if a lane goes on.
    WhileNext {
        head: Pc,
    },
    /// Where lanes that left a loop meet.
    EndLoop,
    /// Leaves the loop that is open `up` levels above; `to` is where the innermost open branch or loop goes on.
    Break {
        up: u32,
        to: Pc,
    },
    Continue {
        up: u32,
        to: Pc,
    },
    /// Ends the invocations.
    Return {
        to: Pc,
    },
    Barrier {
        ordering: MemoryOrdering,
    },
    /// `subgroup` is a position in the table of those.
    Subgroup {
        subgroup: u32,
    },
    /// A collective of one device; `rank` is read where the op takes one.
    Collective {
        op: CollectiveOp,
        ty: DataType,
        dst: Reg,
        value: Reg,
        rank: Reg,
    },
    /// `step` is a position in the table of tile steps.
    Tile {
        step: u32,
    },
    Trap {
        code: u32,
        address: Reg,
    },
    End,
}

/// The element that an instruction addresses.
#[derive(Clone, Copy)]
pub(super) struct Addressed {
    pub(super) space: Space,
    pub(super) int: IntType,
    /// A position in the table of arrays.
    pub(super) array: u32,
    pub(super) index: Reg,
}

/// The registers of a counted loop.
#[derive(Clone, Copy)]
pub(super) struct Counted {
    pub(super) int: IntType,
    pub(super) start: Reg,
    pub(super) end: Reg,
    pub(super) step: Reg,
    pub(super) var: Reg,
    /// Trips to make.
    pub(super) trips: Reg,
}

/// A subgroup op and its registers.
#[derive(Clone, Copy)]
pub(super) struct Subgroup {
    pub(super) op: SubgroupOp,
    pub(super) ty: DataType,
    pub(super) dst: Reg,
    pub(super) value: Reg,
    pub(super) lane: Option<Reg>,
}

/// A program in dense form.
pub(super) struct Code {
    pub(super) instrs: Vec<Instr>,
    /// The node that each instruction belongs to; of the prologue, the first node.
    pub(super) sites: Vec<NodeId>,
    pub(super) modifies: Vec<Modify>,
    pub(super) counted: Vec<Counted>,
    pub(super) subgroups: Vec<Subgroup>,
    pub(super) tiles: Vec<TileStep>,
    /// The elements of the tiles of a subgroup.
    pub(super) tile_words: usize,
    pub(super) subgroup_size: usize,
    pub(super) arrays: Vec<Array>,
    /// The registers as an invocation finds them: what the launch fixes is already computed.
    pub(super) template: Vec<u64>,
    /// What each invocation sets by itself.
    pub(super) built_ins: Vec<(Reg, BuiltIn)>,
    pub(super) shared_words: usize,
    pub(super) private_words: usize,
    /// Whether the invocations of a workgroup wait for one another.
    pub(super) suspends: bool,
    /// Whether the lanes of subgroups look at one another.
    pub(super) has_subgroup: bool,
    pub(super) grid_sync: bool,
    /// Whether a watched value that the launch fixes is subnormal.
    pub(super) subnormals: bool,
    /// Whether workgroups may see one another's atomics.
    pub(super) buffer_atomics: bool,
}

impl Code {
    pub(super) fn site(&self, pc: Pc) -> NodeId {
        self.sites.get(pc as usize).copied().unwrap_or(NodeId::new(0))
    }
}
