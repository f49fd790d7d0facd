//! Dispatch on host bytes.

use vyre_foundation::check::Checked;
use vyre_foundation::ir::{Buffer, Program};
use vyre_foundation::launch::LaunchError;

use super::{Job, Source};
use crate::pending::Submitted;
use crate::{BackendError, CommandList, DispatchConfig, VyreBackend};

/// Submits a dispatch on transient buffers, whose outputs are the reads.
pub(crate) fn submit<B: VyreBackend + ?Sized>(
    backend: &B,
    program: &Checked<Program>,
    inputs: &[&[u8]],
    config: &DispatchConfig,
) -> Result<Box<Submitted>, BackendError> {
    submit_job(backend, check(backend, program, inputs, config)?)
}

/// A dispatch worked out, and nothing done on the device.
pub(crate) fn check<'a, B: VyreBackend + ?Sized>(
    backend: &B,
    program: &Checked<Program>,
    inputs: &[&'a [u8]],
    config: &DispatchConfig,
) -> Result<Job<'a>, BackendError> {
    Job::new(backend, program, sources(program, inputs.iter().map(|bytes| Source::Host(bytes)))?, config)
}

/// Submits a job, whose outputs are the reads.
pub(super) fn submit_job<B: VyreBackend + ?Sized>(
    backend: &B,
    job: Job<'_>,
) -> Result<Box<Submitted>, BackendError> {
    let timeout = job.launch.timeout;
    let list = list(job);
    let completion = backend.submit(&list).map_err(|error| error.labeled(list.label()))?;
    Ok(Box::new(Submitted::new(completion, timeout, list.label())))
}

/// The list of a dispatch on host bytes, whose reads are its outputs in declaration order: for a backend that
/// submits it in a way of its own. The program is compiled, nothing else is done on the device. The
/// configuration's timeout is the caller's to keep.
///
/// # Errors
/// As [`VyreBackend::dispatch_checked`], as far as they come before the submission.
pub fn host_list<'a, B: VyreBackend + ?Sized>(
    backend: &B,
    program: &Checked<Program>,
    inputs: &[&'a [u8]],
    config: &DispatchConfig,
) -> Result<CommandList<'a>, BackendError> {
    Ok(list(check(backend, program, inputs, config)?))
}

/// A job with reads of its outputs.
pub(super) fn list(job: Job<'_>) -> CommandList<'_> {
    let mut list = CommandList::new().labeled(job.launch.label.clone());
    for output in job.push(&mut list) {
        list.read(output.span);
    }
    list
}

/// The source of each of a program's buffers: the inputs in turn, and zeros for the others.
pub(super) fn sources<'a>(
    program: &Program,
    mut inputs: impl ExactSizeIterator<Item = Source<'a>>,
) -> Result<Vec<Source<'a>>, BackendError> {
    let (needs, got) = (program.inputs().count(), inputs.len());
    if needs != got {
        let names: Vec<_> = program.inputs().map(|id| program.buffer(id).name.as_str()).collect();
        return Err(LaunchError::InputCount { needs, names: names.join(", "), got }.into());
    }
    let source = |buffer: &Buffer| {
        let input = if buffer.access.is_input() { inputs.next() } else { None };
        input.unwrap_or(Source::Cleared)
    };
    Ok(program.buffers().iter().map(source).collect())
}
