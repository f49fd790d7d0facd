//! The one executor of command lists: one encoder, one submission, one readback.
//!
//! [`submit`] works in two phases. [`plan`](plan::Plan::new) checks the whole list and resolves it to steps
//! over wgpu objects, without an effect on any buffer; then everything is staged, encoded and submitted.

mod dispatch;
mod encode;
mod plan;
mod steps;
mod transfer;
mod work;

use std::sync::Arc;

use vyre_driver::{BackendError, CommandList};

use crate::buffer::{Readback, Staging};
use crate::completion::{Ended, InFlight};
use crate::core::Core;

use encode::encode;
use plan::Plan;
pub(crate) use work::Work;

/// Submits `list`. Host bytes have been taken when this returns.
pub(crate) fn submit(core: &Arc<Core>, list: &CommandList<'_>) -> Result<Work, BackendError> {
    let generation = &core.generation;
    generation.check()?;
    let plan = Plan::new(core, list)?;
    let staging = Staging::new(generation, &core.pool, &plan.uploads)?;
    let readback = Readback::new(generation, &core.pool, plan.reads.iter().copied())?;
    let ended = Ended::default();
    let submission = generation.submit(list.label(), |encoder| {
        encode(&plan, &staging, &readback, encoder);
        staging.recycle(encoder);
        readback.map(encoder);
        ended.after(encoder);
    })?;
    let reads = list.reads();
    let work = Work::new(InFlight::new(Arc::clone(generation), submission, ended, readback), reads);
    // The plan's buffers go back to the pool here, after the submission that uses them.
    drop(plan);
    core.sweep();
    Ok(work)
}
