//! Programs with grid barriers: several kernels, and the schedule that runs them in one submission.
//!
//! No API has a barrier that a whole grid passes, so the program is cut there: `split` makes the parts and
//! the [`Schedule`], `live` finds what crosses from part to part, `scratch` writes the instructions that carry
//! it. The order of dispatches is the barrier. Each invocation keeps its own values, so that a grid may be larger
//! than what the device runs at once, and a branch that the device decides needs no value that others wrote.

mod host;
pub(crate) mod live;
mod schedule;
pub(crate) mod scratch;
pub(crate) mod split;

pub use host::HostExpr;
pub use schedule::{MAX_SCHEDULE_STEPS, Schedule, ScheduleTooLong, Scratch};

use vyre_foundation::check::Facts;
use vyre_foundation::ir::{ExprId, Program};

use crate::error::LowerError;

/// The parts of a program, what crosses between them, and their order.
pub(crate) struct Split {
    pub(crate) parts: Vec<split::Part>,
    pub(crate) crossings: Vec<live::Crossing>,
    pub(crate) layout: live::Layout,
    pub(crate) shape: split::Shape,
    pub(crate) schedule: Schedule,
}

impl Split {
    /// Splits a program; one without grid barriers is one part. `inits` has the initial value of each variable
    /// that is never set.
    pub(crate) fn new(
        program: &Program,
        facts: &Facts,
        inits: &[Option<ExprId>],
    ) -> Result<Self, LowerError> {
        let shape = split::Shape::of(program, facts);
        let cut = split::cut(program, facts, inits, &shape)?;
        let (layout, crossings) = live::layout(program, facts, &shape, &cut.parts)?;
        let schedule = Schedule { steps: cut.steps, vars: cut.vars, scratch: layout.scratch };
        Ok(Self { parts: cut.parts, crossings, layout, shape, schedule })
    }
}
