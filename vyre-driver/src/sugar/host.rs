//! Dispatch on host bytes.

use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
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
    let sources = sources(program, inputs.iter().map(|bytes| Source::Host(bytes)))?;
    let job = Job::new(backend, program, sources, config)?;
    let timeout = job.launch.timeout;
    let mut list = CommandList::new().labeled(job.launch.label.clone());
    for output in job.push(&mut list) {
        list.read(output.span);
    }
    Ok(Box::new(Submitted { completion: backend.submit(&list)?, timeout }))
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
    let source = |buffer: &vyre_foundation::ir::Buffer| {
        let input = if buffer.access.is_input() { inputs.next() } else { None };
        input.unwrap_or(Source::Cleared)
    };
    Ok(program.buffers().iter().map(source).collect())
}
