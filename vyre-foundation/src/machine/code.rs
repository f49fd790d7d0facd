//! The dense form that the machine executes: flat instructions over 64-bit registers.

use vyre_spec::ops::SubgroupOp;
use vyre_spec::{BuiltIn, DataType, MemoryOrdering};

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

    /// The sum, wrapped to the type.
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

/// One instruction.
#[derive(Clone, Copy)]
pub(super) enum Instr {
    Copy {
        dst: Reg,
        src: Reg,
    },
    Unary {
        f: fn(u64) -> u64,
        dst: Reg,
        a: Reg,
    },
    Binary {
        f: fn(u64, u64) -> u64,
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Ternary {
        f: fn(u64, u64, u64) -> u64,
        dst: Reg,
        a: Reg,
        b: Reg,
        c: Reg,
    },
    Load {
        space: Space,
        int: IntType,
        dst: Reg,
        array: u32,
        index: Reg,
    },
    Store {
        space: Space,
        int: IntType,
        array: u32,
        index: Reg,
        value: Reg,
    },
    /// `modify` is a position in the table of those.
    Atomic {
        space: Space,
        int: IntType,
        dst: Reg,
        array: u32,
        index: Reg,
        modify: u32,
    },
    /// Notes whether a float is subnormal.
    Watch {
        ty: DataType,
        a: Reg,
    },
    Jump {
        to: Pc,
    },
    /// Jumps where the condition is false.
    Unless {
        condition: Reg,
        to: Pc,
    },
    /// Computes the trips of a counted loop and jumps past it if there are none. The loop's registers
    /// are at a position in the table of those.
    ForEnter {
        counted: u32,
        exit: Pc,
    },
    /// Goes to the next trip, if there is one.
    ForNext {
        counted: u32,
        body: Pc,
    },
    /// Zeroes the trips of a `while`.
    WhileEnter {
        trips: Reg,
    },
    /// Before a trip: leaves the loop with a trap if it would pass the limit.
    WhileGuard {
        trips: Reg,
        exit: Pc,
    },
    /// After a trip: counts it and goes to the head.
    WhileNext {
        trips: Reg,
        head: Pc,
        exit: Pc,
    },
    Barrier {
        ordering: MemoryOrdering,
    },
    /// `subgroup` is a position in the table of those.
    Subgroup {
        subgroup: u32,
    },
    Trap {
        code: u32,
        address: Reg,
    },
    End,
}

/// The registers of a counted loop.
#[derive(Clone, Copy)]
pub(super) struct Counted {
    pub(super) int: IntType,
    pub(super) start: Reg,
    pub(super) end: Reg,
    pub(super) step: Reg,
    pub(super) var: Reg,
    /// Trips left.
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
    pub(super) arrays: Vec<Array>,
    /// The registers as an invocation finds them: what the launch fixes is already computed.
    pub(super) template: Vec<u64>,
    /// What each invocation sets by itself.
    pub(super) built_ins: Vec<(Reg, BuiltIn)>,
    pub(super) shared_words: usize,
    pub(super) private_words: usize,
    /// Whether invocations wait for one another.
    pub(super) suspends: bool,
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
