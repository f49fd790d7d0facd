//! The one executor of command lists: one encoder, one submission, one readback.
//!
//! [`submit`] works in two phases. [`plan`](plan::Plan::new) checks the whole list and resolves it to steps
//! over wgpu objects, without an effect on any buffer; then everything is staged, encoded and submitted.

mod dispatch;
mod encode;
mod plan;
mod steps;
mod timer;
mod transfer;
mod work;

use std::sync::Arc;

use vyre_driver::{BackendError, CommandList};

use crate::buffer::{Readback, Staging};
use crate::completion::{Ended, InFlight};
use crate::core::Core;
use crate::trace;

use encode::encode;
use plan::Plan;
use timer::Timer;
pub(crate) use work::Work;

/// Submits `list`. Host bytes have been taken when this returns.
pub(crate) fn submit(core: &Arc<Core>, list: &CommandList<'_>) -> Result<Work, BackendError> {
    let span = trace::submit(list);
    let _in = span.enter();
    let mut ready = Ready::new(core, list)?;
    let (submission, ended) = send(core, list.label(), std::slice::from_mut(&mut ready))?;
    let work = ready.work(core, submission, &ended);
    core.sweep();
    Ok(work)
}

/// Submits several lists as one piece of work: each with its own transients, trap record and results. A list
/// that is refused leaves the others alone; if the submission fails, all do.
pub(crate) fn submit_each(
    core: &Arc<Core>,
    label: Option<&str>,
    lists: &[CommandList<'_>],
) -> Vec<Result<Work, BackendError>> {
    let mut ready = Vec::with_capacity(lists.len());
    let mut refused = Vec::with_capacity(lists.len());
    for list in lists {
        match Ready::new(core, list) {
            Ok(one) => {
                ready.push(one);
                refused.push(None);
            }
            Err(error) => refused.push(Some(error)),
        }
    }
    let sent = send(core, label, &mut ready);
    let mut ready = ready.into_iter();
    let each = refused.into_iter().map(|refused| match (refused, &sent) {
        (Some(error), _) => Err(error),
        (None, Err(error)) => Err(error.clone()),
        (None, Ok((submission, ended))) => match ready.next() {
            Some(ready) => Ok(ready.work(core, submission.clone(), ended)),
            None => Err(BackendError::Driver { doing: "submitting work", message: "a list is lost".into() }),
        },
    });
    let works = each.collect();
    core.sweep();
    works
}

/// A list with everything that its submission needs.
#[derive(Debug)]
struct Ready<'p> {
    plan: Plan<'p>,
    staging: Staging,
    readback: Readback,
    timer: Option<Timer>,
    reads: usize,
}

impl<'p> Ready<'p> {
    fn new(core: &'p Core, list: &'p CommandList<'_>) -> Result<Self, BackendError> {
        let generation = &core.generation;
        generation.check()?;
        let mut plan = Plan::new(core, list)?;
        let timer = if list.is_timed() { Timer::new(core, &mut plan.reads)? } else { None };
        let staging = Staging::new(generation, &core.pool, &plan.uploads)?;
        let readback = Readback::new(generation, &core.pool, plan.reads.iter().copied())?;
        Ok(Self { plan, staging, readback, timer, reads: list.reads() })
    }

    fn encode(&mut self, encoder: &mut wgpu::CommandEncoder) {
        if let Some(timer) = &self.timer {
            timer.start(encoder);
        }
        encode(&self.plan, &self.staging, &self.readback, encoder);
        if let Some(timer) = &self.timer {
            timer.stop(encoder, &self.readback);
        }
        self.staging.recycle(encoder);
        self.readback.map(encoder);
    }

    /// After the submission. The plan's buffers go back to the pool here.
    fn work(self, core: &Core, submission: wgpu::SubmissionIndex, ended: &Ended) -> Work {
        let trap = self.plan.trap_record().map(|_| self.reads);
        let clock = self.timer.as_ref().map(|timer| timer.clock(core));
        let generation = Arc::clone(&core.generation);
        Work::new(
            InFlight::new(generation, submission, ended.clone(), self.readback),
            self.reads,
            trap,
            clock,
        )
    }
}

/// The one submission of whatever is ready.
fn send(
    core: &Core,
    label: Option<&str>,
    ready: &mut [Ready<'_>],
) -> Result<(wgpu::SubmissionIndex, Ended), BackendError> {
    let ended = Ended::default();
    let submission = core.generation.submit(label, |encoder| {
        for one in ready {
            one.encode(encoder);
        }
        ended.after(encoder);
    })?;
    Ok((submission, ended))
}
