//! The one executor of command lists: one encoder, one submission, one readback.
//!
//! [`submit`] works in two phases. [`plan`](plan::Plan::new) checks the whole list and resolves it to steps
//! over wgpu objects, without an effect on any buffer; then everything is staged, encoded and submitted.

mod dispatch;
mod encode;
mod frame;
mod grid;
mod indirect;
mod plan;
mod remembered;
mod steps;
mod timer;
mod transfer;
mod work;

use std::sync::{Arc, Weak};
use std::time::Duration;

use vyre_driver::{BackendError, CommandList, OutputBuffers, Resource};

use crate::buffer::{Readback, Staging, UploadPart};
use crate::completion::{Ended, InFlight, PATIENCE};
use crate::core::Core;
use crate::trace;

use encode::encode;
use frame::Frame;
use plan::{Plan, Planned};
use remembered::Kept;
pub(crate) use remembered::Remembered;
use timer::Timer;
pub(crate) use work::Work;

/// Submits `list`. Host bytes have been taken when this returns.
pub(crate) fn submit(core: &Arc<Core>, list: &CommandList<'_>) -> Result<Work, BackendError> {
    let span = trace::submit(list);
    let _in = span.enter();
    let ready = core.remembered.ready(core, list)?;
    let ended = (!ready.readback.tells()).then(Ended::default);
    let submission = send(core, list.label(), std::slice::from_ref(&ready), ended.as_ref())?;
    let work = ready.work(core, submission, ended);
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
        match trace::submit(list).in_scope(|| Ready::new(core, list)) {
            Ok(one) => {
                ready.push(one);
                refused.push(None);
            }
            Err(error) => refused.push(Some(error)),
        }
    }
    let ended = Ended::default();
    let sent = send(core, label, &ready, Some(&ended));
    let mut ready = ready.into_iter();
    let each = refused.into_iter().map(|refused| match (refused, &sent) {
        (Some(error), _) => Err(error),
        (None, Err(error)) => Err(error.clone()),
        (None, Ok(submission)) => match ready.next() {
            Some(ready) => Ok(ready.work(core, submission.clone(), Some(ended.clone()))),
            None => Err(BackendError::Driver { doing: "submitting work", message: "a list is lost".into() }),
        },
    });
    let works = each.collect();
    core.sweep();
    works
}

/// A list with everything that its submission needs.
#[derive(Debug)]
pub(crate) struct Ready {
    frame: Arc<Frame>,
    staging: Staging,
    readback: Readback,
    timer: Option<Timer>,
    /// How many of the readbacks are the list's own.
    reads: usize,
    /// The plan that its memory goes back to.
    home: Option<Weak<Kept>>,
}

/// A list that has just been planned.
struct Parts {
    ready: Ready,
    /// What is staged of the host's bytes.
    parts: Vec<UploadPart>,
    /// The buffers of callers that the list names.
    residents: Vec<Resource>,
}

impl Ready {
    /// Everything about `list` that can be refused is refused here, and its host bytes have been taken.
    pub(crate) fn new(core: &Core, list: &CommandList<'_>) -> Result<Self, BackendError> {
        Self::parts(core, list).map(|parts| parts.ready)
    }

    fn parts(core: &Core, list: &CommandList<'_>) -> Result<Parts, BackendError> {
        let generation = &core.generation;
        generation.check()?;
        let Planned { mut frame, uploads, parts, residents } = Plan::new(core, list)?.finish();
        let timer = if list.is_timed() { Timer::new(core, &mut frame.reads)? } else { None };
        let staging = Staging::new(generation, &core.pool, &uploads, parts.clone())?;
        let readback = Readback::new(generation, &core.pool, &frame.reads)?;
        let frame = Arc::new(frame);
        let ready = Self { frame, staging, readback, timer, reads: list.reads(), home: None };
        Ok(Parts { ready, parts, residents })
    }

    fn encode(&self, encoder: &mut wgpu::CommandEncoder) {
        if let Some(timer) = &self.timer {
            timer.start(encoder);
        }
        encode(&self.frame, &self.staging, &self.readback, encoder);
        if let Some(timer) = &self.timer {
            timer.stop(encoder, &self.readback);
        }
        self.staging.recycle(encoder);
        self.readback.map(encoder);
    }

    /// After the submission. The frame's buffers go back to the pool here, unless its plan is kept.
    fn work(self, core: &Core, submission: wgpu::SubmissionIndex, ended: Option<Ended>) -> Work {
        let trap = self.frame.trap.map(|_| self.reads);
        let clock = self.timer.as_ref().map(|timer| timer.clock(core));
        let generation = Arc::clone(&core.generation);
        let in_flight = InFlight::new(generation, submission, ended, self.readback);
        let home = self.home.map(|home| (home, self.staging));
        Work::new(in_flight, self.reads, trap, clock, home)
    }

    /// Submits it once more, with other bytes in its uploads, waits, and copies its reads. It can be run again
    /// if this succeeds, or fails by a fault of the program; otherwise it must be dropped.
    pub(crate) fn run(
        self,
        core: &Core,
        label: Option<&str>,
        inputs: Option<&[&[u8]]>,
        timeout: Option<Duration>,
        outputs: &mut OutputBuffers,
    ) -> Result<(Self, Result<(), BackendError>), BackendError> {
        if let Some(inputs) = inputs {
            self.staging.fill(inputs, PATIENCE)?;
        }
        // Nobody asks whether it has ended but a wait with a timeout.
        let ended = (timeout.is_some() && !self.readback.tells()).then(Ended::default);
        let submission = core.generation.submit(label, |encoder| {
            self.encode(encoder);
            if let Some(ended) = &ended {
                ended.after(encoder);
            }
        })?;
        let Self { frame, staging, readback, timer, reads, home } = self;
        let in_flight = InFlight::new(Arc::clone(&core.generation), submission, ended, readback);
        let trap = frame.trap.map(|_| reads);
        let work = Work::new(in_flight, reads, trap, None, None);
        let result = work.copy(timeout, outputs);
        if !matches!(result, Ok(()) | Err(BackendError::Trap { .. } | BackendError::LoopLimit { .. })) {
            return Err(result.err().unwrap_or(BackendError::Timeout { timeout: PATIENCE }));
        }
        let readback = work.into_readback();
        readback.reset();
        Ok((Self { frame, staging, readback, timer, reads, home }, result))
    }
}

/// The one submission of whatever is ready, which sets `ended`.
fn send(
    core: &Core,
    label: Option<&str>,
    ready: &[Ready],
    ended: Option<&Ended>,
) -> Result<wgpu::SubmissionIndex, BackendError> {
    core.generation.submit(label, |encoder| {
        for one in ready {
            one.encode(encoder);
        }
        if let Some(ended) = ended {
            ended.after(encoder);
        }
    })
}
