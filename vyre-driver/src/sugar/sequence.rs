//! Sequences of resident dispatches: one submission each, however many steps.

use std::time::{Duration, Instant};

use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;

use super::resident::{lend, same_number, span};
use super::{Job, Source, timed};
use crate::backend::{ResidentDispatchStep, ResidentReadRange};
use crate::{
    BackendError, Command, CommandList, DispatchConfig, ResidentSequenceTiming, Resource, VyreBackend,
    checked,
};

/// A sequence: steps, then steps that are repeated, then reads.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sequence<'a> {
    pub(crate) prefix: &'a [ResidentDispatchStep<'a>],
    pub(crate) repeated: &'a [ResidentDispatchStep<'a>],
    pub(crate) repeat_count: u32,
    pub(crate) reads: &'a [ResidentReadRange<'a>],
    /// Whether the device's time is asked for.
    pub(crate) timed: bool,
}

/// A sequence as a list, and what its steps' configurations say of the whole.
struct Encoder<'a, 'b, B: ?Sized> {
    backend: &'b B,
    known: Vec<Known<'a>>,
    label: Option<String>,
    timeout: Option<Duration>,
}

/// A step that was worked out, for those after it that are the same.
struct Known<'a> {
    step: ResidentDispatchStep<'a>,
    program: Checked<Program>,
    command: Command<'a>,
}

/// How many of the latest different steps are compared with a new one.
const REMEMBERED: usize = 8;

/// Runs a sequence and fills one vector for each range.
pub(crate) fn run<B: VyreBackend + ?Sized>(
    backend: &B,
    sequence: Sequence<'_>,
    outputs: &mut [&mut Vec<u8>],
) -> Result<ResidentSequenceTiming, BackendError> {
    let start = Instant::now();
    same_number(sequence.reads.len(), outputs.len())?;
    let mut encoder = Encoder { backend, known: Vec::new(), label: None, timeout: None };
    let prefix = encoder.steps(sequence.prefix)?;
    let repeated = encoder.steps(sequence.repeated)?;
    let mut list = CommandList::new().labeled(encoder.label.take()).timed(sequence.timed);
    prefix.into_iter().for_each(|command| list.push(command));
    match sequence.repeat_count {
        0 => {}
        1 => repeated.into_iter().for_each(|command| list.push(command)),
        count => list.push(Command::repeat(repeated, count)),
    }
    for read in sequence.reads {
        list.read(span(*read.resource, read.byte_offset, read.byte_len));
    }
    let timing = lend(outputs, |outputs| timed::run(backend, &list, start, encoder.timeout, outputs))?;
    Ok(ResidentSequenceTiming {
        timing,
        dispatches: runs(sequence.repeated)
            .saturating_mul(sequence.repeat_count.into())
            .saturating_add(runs(sequence.prefix)),
        read_bytes: sequence.reads.iter().map(|read| read.byte_len as u64).sum(),
    })
}

/// How often programs run in the steps, once through.
fn runs(steps: &[ResidentDispatchStep<'_>]) -> u64 {
    steps.iter().map(|step| u64::from(step.config.fixpoint_iterations.unwrap_or(1))).sum()
}

/// One source for each of a program's buffers: the residents.
pub(crate) fn residents(
    program: &Program,
    resources: &[Resource],
) -> Result<Vec<Source<'static>>, BackendError> {
    let (needs, got) = (program.buffers().len(), resources.len());
    if needs != got {
        return Err(BackendError::BindingCount { needs, got });
    }
    Ok(resources.iter().map(|&resource| Source::device(resource)).collect())
}

impl<'a, B: VyreBackend + ?Sized> Encoder<'a, '_, B> {
    fn steps(&mut self, steps: &[ResidentDispatchStep<'a>]) -> Result<Vec<Command<'a>>, BackendError> {
        steps.iter().map(|step| self.step(step)).collect()
    }

    fn step(&mut self, step: &ResidentDispatchStep<'a>) -> Result<Command<'a>, BackendError> {
        let latest = || self.known.iter().rev().take(REMEMBERED);
        if let Some(known) = latest().find(|known| same(&known.step, step)) {
            return Ok(known.command.clone());
        }
        // The caller lends the program for the whole call, so one address is one program.
        let program = match latest().find(|known| std::ptr::eq(known.step.program, step.program)) {
            Some(known) => known.program.clone(),
            None => checked(step.program)?,
        };
        let job = Job::new(self.backend, &program, residents(&program, step.resources)?, step.config)?;
        let DispatchConfig { label, timeout, .. } = step.config;
        if self.label.is_none() {
            self.label.clone_from(label);
        }
        self.timeout = [self.timeout, *timeout].into_iter().flatten().min();
        let command = job.resident();
        self.known.push(Known { step: *step, program, command: command.clone() });
        Ok(command)
    }
}

/// Whether two steps come to the same command.
fn same(a: &ResidentDispatchStep<'_>, b: &ResidentDispatchStep<'_>) -> bool {
    std::ptr::eq(a.program, b.program)
        && a.resources == b.resources
        && (std::ptr::eq(a.config, b.config) || a.config == b.config)
}
