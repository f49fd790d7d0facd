//! The reference machine: what a program means, executably.
//!
//! It runs any checked program on the CPU with the scalar functions of the op rows, and every backend is
//! tested against it. With [`MachineOptions::sanitize`] it also reports what the program's author hardly
//! meant: out-of-bounds accesses, data races, reads of unwritten shared memory, divergent barriers.
//!
//! A program is compiled to flat code over registers, which invocations execute in lock step: a register is a
//! column of values, and an instruction computes a whole column, so that what it costs to find out what to do
//! is shared. Teams of invocations are resumable, so that barriers need no threads.

mod access;
mod bank;
mod code;
mod compile;
mod exec;
mod group;
mod mask;
mod memory;
mod observe;
mod report;
mod rng;
mod sanitize;
mod schedule;
mod shadow;
mod shape;
mod team;
#[cfg(test)]
mod tests;
mod tile;

pub use report::{Finding, Report};

use crate::check::Checked;
use crate::ir::{ExprId, Launch, NodeId, Program};
use crate::launch::{self, LaunchError, Params};

/// The order in which invocations run. The result of a program without races and without order-dependent
/// atomics does not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Schedule {
    /// Workgroups by their linear index, and within one, node by node, each for all invocations by their
    /// index. (Points of a domain go by some hundreds at a time; so do invocations that never wait.)
    #[default]
    InOrder,
    /// In small steps in the random order of this seed, several workgroups at a time, each in teams of
    /// random size.
    Seeded(u64),
}

/// How the machine runs a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineOptions {
    /// Replaces the workgroup counts of a workgroup launch.
    pub counts: Option<[u32; 3]>,
    /// Lanes of a subgroup; at least 1.
    pub subgroup_size: u32,
    /// The order of invocations.
    pub schedule: Schedule,
    /// Whether to watch for faults; slower, on one thread.
    pub sanitize: bool,
    /// Instructions of the machine's own code that all invocations of the launch together may execute.
    pub step_budget: Option<u64>,
    /// Trips of a `while`, beyond which it is left with a trap.
    pub loop_limit: u32,
    /// Threads to use at most; 0 for as many as there are cores.
    pub threads: usize,
    /// Whether to note if a float op meets a subnormal, which devices may flush; slower.
    pub watch_subnormals: bool,
    /// Bytes of memory that buffers may take in the machine, which holds an element in 8 bytes.
    pub memory_limit: u64,
}

impl Default for MachineOptions {
    fn default() -> Self {
        Self {
            counts: None,
            subgroup_size: 32,
            schedule: Schedule::InOrder,
            sanitize: false,
            step_budget: None,
            loop_limit: u32::MAX,
            threads: 0,
            watch_subnormals: false,
            memory_limit: 8 << 30,
        }
    }
}

/// A fault that the program recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TrapRecord {
    /// The program's own code, or [`vyre_spec::TRAP_LOOP_LIMIT`].
    pub code: u32,
    /// The linear index of the invocation: of a domain, x fastest; of workgroups, the workgroup's linear
    /// index × invocations per workgroup + the local index.
    pub invocation: u64,
    /// The program's own address; 0 for a loop limit.
    pub address: u32,
}

/// What a run gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The bytes of each `ReadWrite` and `WriteOnly` buffer, in declaration order.
    pub outputs: Vec<Vec<u8>>,
    /// What the sanitizer found, each place once; empty without it.
    pub reports: Vec<Report>,
    /// The first trap in the order of execution, if there was one.
    pub trap: Option<TrapRecord>,
    /// With [`MachineOptions::watch_subnormals`], whether a float op took or gave a subnormal: then a device
    /// may rightly give another result.
    pub subnormals: bool,
}

/// Why a program could not be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MachineError {
    /// The launch's host arithmetic, parameters or inputs are wrong.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// A row of the workgroup is no multiple of the subgroup.
    #[error(
        "a workgroup of {invocations} invocations along x is no whole number of subgroups of {subgroup_size} lanes: \
         change the workgroup size"
    )]
    SubgroupSize {
        /// Invocations of the workgroup along x.
        invocations: u64,
        /// Lanes of a subgroup.
        subgroup_size: u32,
    },
    /// The machine would need too much memory.
    #[error(
        "{what} takes {bytes} bytes in the reference machine, above its limit of {limit}: raise `memory_limit`"
    )]
    Memory {
        /// What needs it.
        what: String,
        /// How much.
        bytes: u64,
        /// The limit for all together.
        limit: u64,
    },
    /// The budget of instructions was spent. (With the sanitizer on, that is a report instead.)
    #[error("the budget of {budget} instructions was spent in invocation {invocation}, at node {node:?}")]
    StepBudget {
        /// The budget.
        budget: u64,
        /// Where it was spent.
        node: NodeId,
        /// In which invocation.
        invocation: u64,
    },
    /// An op's row refuses the types of its operands; the checker does so first.
    #[error("expression {expr:?} has operands of types that its op refuses")]
    Refused {
        /// The expression.
        expr: ExprId,
    },
}

/// Where a budget was spent.
#[derive(Clone, Copy, Debug)]
struct Overrun {
    node: NodeId,
    invocation: u64,
}

/// Launches with less work than this, in invocations × instructions, run on one thread.
const PARALLEL_WORK: u64 = 1 << 20;

/// Runs a program.
///
/// `inputs` has the bytes of each `ReadOnly`, `Uniform` and `ReadWrite` buffer in declaration order.
///
/// The result is the same each time, but for programs with data races where no seed, budget or sanitizer
/// asks for one thread.
///
/// # Errors
/// If the launch cannot be carried out, or the budget is spent.
pub fn run(
    program: &Checked<Program>,
    params: &Params,
    inputs: &[&[u8]],
    options: &MachineOptions,
) -> Result<Outcome, MachineError> {
    launch::bind_inputs(program, inputs)?;
    let mut inputs = inputs.iter().copied();
    let contents: Vec<_> =
        program.buffers().iter().map(|b| b.access.is_input().then(|| inputs.next()).flatten()).collect();
    run_bound(program, params, &contents, options)
}

/// Runs a program on whole buffers: `contents` has the bytes of each buffer in declaration order, also of
/// `WriteOnly` ones, whose elements keep their value where the program does not store; `None` stands for
/// zeros, as many as the buffer's count asks for.
///
/// # Errors
/// If the launch cannot be carried out, or the budget is spent.
pub fn run_bound(
    program: &Checked<Program>,
    params: &Params,
    contents: &[Option<&[u8]>],
    options: &MachineOptions,
) -> Result<Outcome, MachineError> {
    let bound: Vec<_> = contents.iter().map(|bytes| bytes.map(|b| b.len() as u64)).collect();
    let counts = options.counts.or_else(|| found_counts(program.launch(), contents));
    let resolved = launch::resolve(program, params, &bound, counts)?;
    let size = program.launch().workgroup_size();
    let subgroup_size = options.subgroup_size.max(1);
    let shape = shape::Shape::new(&resolved, size, subgroup_size).ok_or_else(|| LaunchError::TooLarge {
        what: "the launch's number of invocations".into(),
        value: u64::MAX,
        limit: u64::MAX - 1,
    })?;
    let row = size.map_or(1, |size| size[0]);
    if program.facts().has_subgroup() && !row.is_multiple_of(subgroup_size) {
        return Err(MachineError::SubgroupSize { invocations: u64::from(row), subgroup_size });
    }
    let code = compile::compile(program, &resolved, subgroup_size, options.watch_subnormals)?;
    let held = held_words(options, &code, &shape).saturating_mul(8);
    let left = options.memory_limit.checked_sub(held).ok_or_else(|| MachineError::Memory {
        what: "the state of invocations".into(),
        bytes: held,
        limit: options.memory_limit,
    })?;
    let buffers = memory::Buffers::new(program.buffers(), &resolved.lengths, contents, left)?;
    let machine = exec::Machine {
        code: &code,
        buffers: &buffers,
        while_limit: u64::from(options.loop_limit),
        subgroup_size: shape.subgroup_size as usize,
    };
    let fuel = options.step_budget.unwrap_or(u64::MAX);

    let threads = threads(options, &code, &shape);
    let (trap, reports, subnormals) = if options.sanitize {
        let mut thread = exec::Thread::new(sanitize::Sanitizer::new(&code, &shape), fuel);
        if let Err(over) = schedule::run(&machine, &shape, options.schedule, &mut thread) {
            let finding = Finding::StepBudget { budget: fuel };
            thread.observer.report(over.node, over.invocation, finding);
        }
        (thread.trap, thread.observer.into_reports(), thread.subnormals)
    } else if threads > 1 {
        (schedule::run_parallel(&machine, &shape, threads), Vec::new(), false)
    } else {
        let mut thread = exec::Thread::new(observe::Blind, fuel);
        schedule::run(&machine, &shape, options.schedule, &mut thread).map_err(|over| {
            MachineError::StepBudget { budget: fuel, node: over.node, invocation: over.invocation }
        })?;
        (thread.trap, Vec::new(), thread.subnormals)
    };
    let outputs = program.outputs().map(|id| buffers.bytes(id.index(), program.buffer(id).element)).collect();
    let trap = trap.map(|(_, trap)| trap);
    Ok(Outcome { outputs, reports, trap, subnormals: subnormals || code.subnormals })
}

/// The workgroup counts that a buffer has; elements that it lacks are 0.
fn found_counts(launch: Launch, contents: &[Option<&[u8]>]) -> Option<[u32; 3]> {
    let Launch::Indirect { counts, .. } = launch else { return None };
    let mut found = [0; 3];
    let bytes = contents.get(counts.index()).copied().flatten().unwrap_or_default();
    for (count, word) in found.iter_mut().zip(bytes.chunks_exact(4)) {
        *count = word.try_into().map_or(0, u32::from_le_bytes);
    }
    Some(found)
}

/// Words that invocations and workgroups take at a time.
fn held_words(options: &MachineOptions, code: &code::Code, shape: &shape::Shape) -> u64 {
    let seeded = options.schedule != Schedule::InOrder;
    let lane = (code.template.len() + code.private_words) as u64;
    let lanes =
        if code.suspends || seeded { shape.most_lanes() as u64 } else { schedule::batch(code, shape) as u64 };
    let groups = match (code.grid_sync, seeded) {
        (true, _) => shape.groups,
        (false, true) => schedule::WINDOW as u64,
        (false, false) => 1,
    };
    let tiles = u64::from(shape.lanes).div_ceil(u64::from(shape.subgroup_size.max(1)));
    let tiles = tiles.saturating_mul(code.tile_words as u64);
    let group = (code.shared_words as u64).saturating_add(tiles);
    groups.saturating_mul(lane.saturating_mul(lanes).saturating_add(group))
}

/// How many threads may run the launch without any program being able to tell.
fn threads(options: &MachineOptions, code: &code::Code, shape: &shape::Shape) -> usize {
    let ordered = options.sanitize
        || options.watch_subnormals
        || options.step_budget.is_some()
        || options.schedule != Schedule::InOrder
        || code.grid_sync
        || code.buffer_atomics;
    if ordered || shape.total.saturating_mul(code.instrs.len() as u64) < PARALLEL_WORK {
        return 1;
    }
    match options.threads {
        0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        threads => threads,
    }
}
