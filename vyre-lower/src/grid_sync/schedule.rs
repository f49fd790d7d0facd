//! What the host dispatches, in which order: the part of a program's control flow around its grid barriers.

use vyre_foundation::launch::ResolvedLaunch;
use vyre_spec::{DataType, Value};

use super::host::HostExpr;

/// Kernels and trips of unrolled loops that one launch may take, at most. Each is a command of its own for the
/// host, so that a launch above this would take seconds to record.
pub const MAX_SCHEDULE_STEPS: u64 = 1 << 20;

/// The order in which a program's kernels run.
///
/// A program without grid barriers has one kernel that runs once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    pub(super) steps: Vec<Step>,
    /// The types of the variables of unrolled loops.
    pub(super) vars: Vec<DataType>,
    pub(super) scratch: Scratch,
}

/// One step; the next one follows, unless it says otherwise. Targets are positions of steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Runs a kernel.
    Run { kernel: u32 },
    /// Begins a counted loop: goes on if it has a trip, else at `after`.
    Loop { var: u32, start: HostExpr, end: HostExpr, step: HostExpr, after: usize },
    /// Ends a trip of the innermost loop: goes to `body` if there is another trip.
    Next { body: usize },
    /// Goes to `target` unless the condition holds.
    Unless { condition: HostExpr, target: usize },
    /// Goes to `target`.
    Jump { target: usize },
}

/// Device memory that carries values across grid barriers, in `u32` words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scratch {
    /// Words of each invocation.
    pub invocation_words: u32,
    /// Words of each workgroup.
    pub workgroup_words: u32,
    /// Whether it must be zero when the first kernel begins.
    pub zero: bool,
}

impl Scratch {
    /// The words that a launch needs, at most 2^60. Kernels address them by `u32`, so a launch that needs more
    /// than 2^32 - 1 cannot be made.
    pub fn words(&self, workgroups: [u32; 3], workgroup_size: [u32; 3]) -> u64 {
        let product = |of: [u32; 3]| of.iter().fold(1u64, |all, &n| all.saturating_mul(u64::from(n)));
        let groups = product(workgroups);
        let invocations = groups.saturating_mul(product(workgroup_size));
        let own = invocations.saturating_mul(u64::from(self.invocation_words));
        let shared = groups.saturating_mul(u64::from(self.workgroup_words));
        own.saturating_add(shared).min(1 << 60)
    }
}

/// A launch would take more than [`MAX_SCHEDULE_STEPS`] kernels and loop trips.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the loops around grid barriers take more than {MAX_SCHEDULE_STEPS} kernels and trips in this launch"
)]
pub struct ScheduleTooLong;

/// A loop that the host is in.
struct Trip {
    var: usize,
    ty: DataType,
    /// The variable, the bound and the increment.
    at: i128,
    end: i128,
    step: i128,
}

impl Schedule {
    /// Whether one kernel runs once.
    pub fn is_trivial(&self) -> bool {
        matches!(*self.steps, [Step::Run { kernel: 0 }])
    }

    /// The scratch memory that the kernels share.
    pub fn scratch(&self) -> Scratch {
        self.scratch
    }

    /// Gives `run` each kernel, by position, with the values of the unrolled loops' variables, in the order in
    /// which they must run. Each must see what the ones before it wrote.
    ///
    /// # Errors
    /// What `run` gives, or [`ScheduleTooLong`].
    pub fn run<E: From<ScheduleTooLong>>(
        &self,
        launch: &ResolvedLaunch,
        workgroups: [u32; 3],
        mut run: impl FnMut(usize, &[Value]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut vars: Vec<Value> = self.vars.iter().map(|&ty| Value::zero(ty)).collect();
        let mut trips: Vec<Trip> = Vec::new();
        let (mut at, mut taken) = (0, 0u64);
        while let Some(step) = self.steps.get(at) {
            at += 1;
            match step {
                Step::Run { kernel } => {
                    count(&mut taken)?;
                    run(*kernel as usize, &vars)?;
                }
                Step::Loop { var, start, end, step, after } => {
                    let value = |x: &HostExpr| x.value(launch, workgroups, &vars);
                    let first = value(start);
                    let int = |x: Value| x.as_int().unwrap_or(0);
                    let trip = Trip {
                        var: *var as usize,
                        ty: first.ty(),
                        at: int(first),
                        end: int(value(end)),
                        step: int(value(step)),
                    };
                    if trip.step <= 0 || trip.at >= trip.end {
                        at = *after;
                        continue;
                    }
                    enter(&trip, &mut vars);
                    trips.push(trip);
                }
                Step::Next { body } => {
                    count(&mut taken)?;
                    let Some(trip) = trips.last_mut() else { continue };
                    trip.at += trip.step;
                    if trip.at < trip.end {
                        enter(trip, &mut vars);
                        at = *body;
                    } else {
                        trips.pop();
                    }
                }
                Step::Unless { condition, target } => {
                    if condition.value(launch, workgroups, &vars).bits() == 0 {
                        at = *target;
                    }
                }
                Step::Jump { target } => at = *target,
            }
        }
        Ok(())
    }
}

fn count(taken: &mut u64) -> Result<(), ScheduleTooLong> {
    *taken += 1;
    if *taken > MAX_SCHEDULE_STEPS { Err(ScheduleTooLong) } else { Ok(()) }
}

/// Sets a loop's variable to its value in this trip.
fn enter(trip: &Trip, vars: &mut [Value]) {
    if let Some(var) = vars.get_mut(trip.var) {
        // Two's complement: the low bits are the value's, whatever its width and sign.
        *var = Value::from_bits(trip.ty, trip.at as u64);
    }
}
