//! The kernel descriptor: flat SSA in structured regions, the only form that emitters read.
//!
//! Every check that the semantics ask for stands here as ordinary instructions: an emitter adds nothing.
//! Ops are the device's own: division has a divisor that is not zero, a shift amount is below the width,
//! an index is in bounds. Lowering makes that so, and the verifier checks the rest.

mod grid;
mod op;
mod print;
mod verify;

pub use crate::contract::Contract;
pub use grid::{Grid, GridRule};
pub use op::{Block, BlockId, Inst, InstId, LocalId, Op, Place, Proof, TileMemory, TileOp};
pub use verify::{VerifiedKernel, VerifyError, verify};

use std::collections::BTreeMap;

use vyre_foundation::ir::{BufferId, ParamId};
use vyre_spec::{Access, Axis, CapabilitySet, DataType, TileType};

/// Everything that a backend needs to build one pipeline.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelDescriptor {
    /// The entry point's name.
    pub name: String,
    /// Invocations per axis of a workgroup.
    pub workgroup_size: [u32; 3],
    /// How a launch's extent becomes a grid of workgroups.
    pub grid: GridRule,
    /// The bindings of group 0, dense: the position is the binding number.
    pub bindings: Vec<Binding>,
    /// What the host passes with each launch.
    pub launch: LaunchData,
    /// Workgroup-shared arrays.
    pub shared: Vec<ArrayDecl>,
    /// Private arrays.
    pub privates: Vec<ArrayDecl>,
    /// Tiles: matrices of each subgroup, zero at first.
    pub tiles: Vec<TileType>,
    /// Mutable locals: values with several reaching definitions.
    pub locals: Vec<DataType>,
    /// The instructions; each stands in at most one block.
    pub insts: Vec<Inst>,
    /// The blocks; block 0 is the body.
    pub blocks: Vec<Block>,
    /// Divisions and shifts whose second operand needs no guard, and why.
    pub unguarded: BTreeMap<InstId, Proof>,
    /// What must hold of a launch for the kernel to be right.
    pub contract: Contract,
    /// What the device must be able to do.
    pub needs: CapabilitySet,
    /// What is not done in vectors, and why; for people.
    pub notes: Vec<Note>,
    /// Whether every float result must be kept from contraction and reassociation.
    pub strict_float: bool,
}

/// Why invocations of a domain compute single points, or why an access of theirs meets single elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// The array of the access; none if it is about the whole body.
    pub place: Option<Place>,
    /// The reason.
    pub why: &'static str,
}

/// One binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Its name, for readable output.
    pub name: String,
    /// What is bound.
    pub role: Role,
    /// The type of its elements as the kernel addresses them: never bool, which is a u32 word in memory,
    /// and u32 for f32 with atomics that are not native. Elements of f16 are loaded and stored as f32.
    pub element: DataType,
    /// Whether the kernel may write it.
    pub access: Access,
    /// Whether the elements are atomic; plain loads and stores of them are atomic, too.
    pub atomic: bool,
    /// Whether other invocations see plain stores to it while the kernel runs, as fences and atomics order them.
    pub coherent: bool,
    /// Elements of the vectors that it is declared as an array of: 1, 2, or 4 of at most 4 bytes. Its memory is
    /// whole vectors; single elements of it are addressed as ever.
    pub vector: u32,
    /// The part of the buffer that is bound, if it is not all of it. The windows of a buffer are bindings one
    /// after the other.
    pub window: Option<Window>,
}

/// A part of a buffer that is too large to be bound whole. Indices of accesses to it count from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// Which one, from 0.
    pub index: u32,
    /// Bytes of each window of the buffer but the last, which has what is left: a power of two.
    pub bytes: u64,
}

impl Window {
    /// Where it starts in the buffer, in bytes.
    pub const fn start(self) -> u64 {
        self.bytes.saturating_mul(self.index as u64)
    }
}

/// What a binding is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// A buffer of the program.
    Buffer(BufferId),
    /// Launch data, where they do not fit immediates: a uniform buffer of `u32` words.
    LaunchData,
    /// The workgroup counts of an indirect launch: three `u32` words, within the device's limits.
    Counts,
    /// Words that live across grid barriers: see [`crate::grid_sync::Scratch`].
    Scratch,
    /// The trap record: see [`TRAP_WORDS`].
    Trap,
}

/// The words of the trap record, all 0 before a dispatch: a flag that the first fault sets to 1, its code, the
/// linear id of its invocation modulo 2^32, and its address: the program's own, or for a loop that passed
/// its limit the loop's node.
pub const TRAP_WORDS: u32 = 4;

pub use vyre_spec::TRAP_LOOP_LIMIT;

/// The layout of launch data: `u32` words in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchData {
    /// The words.
    pub fields: Vec<LaunchField>,
    /// Whether the words are immediates; otherwise they are a binding of [`Role::LaunchData`].
    pub immediates: bool,
}

/// One word of launch data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LaunchField {
    /// A parameter's bits, zero-extended; of a wider one the lower 32.
    Param(ParamId),
    /// The upper 32 bits of a parameter of 64.
    ParamHigh(ParamId),
    /// A buffer's number of elements.
    Length(BufferId),
    /// Points of the domain.
    Extent(Axis),
    /// Workgroups, as the program counts them.
    WorkgroupCount(Axis),
    /// Workgroups per axis of the folded grid that is really dispatched.
    GridCount(Axis),
    /// The variable of a loop that the host unrolls, by the loop's number.
    LoopVar(u32),
    /// The upper 32 bits of one of 64.
    LoopVarHigh(u32),
    /// Zero, opaque to the driver's folding.
    Zero,
}

/// An array of shared or private memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayDecl {
    /// Its name, for readable output.
    pub name: String,
    /// The type of its elements as the kernel addresses them.
    pub element: DataType,
    /// Its number of elements.
    pub len: u32,
    /// Whether the elements are atomic; plain loads and stores of them are atomic, too.
    pub atomic: bool,
    /// Whether the emitter initialises it with zeros. Private arrays only: a kernel zeroes its shared
    /// arrays by instructions.
    pub zero: bool,
    /// Elements of the vectors that it is declared as an array of, 1 or 4: 4 in shared memory only, where
    /// `len` is a multiple of it. Single elements are addressed as ever.
    pub vector: u32,
}
