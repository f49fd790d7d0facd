//! Dispatch on memory that is the host's or the device's.

use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;

use super::host::sources;
use super::{Job, Source, settle};
use crate::{BackendError, CommandList, DispatchConfig, Memory, MemoryRef, VyreBackend};

/// As [`crate::Executable::dispatch`], of a program that is checked already.
///
/// # Errors
/// As [`crate::Executable::dispatch`], but that the program is wrong.
pub fn dispatch<B: VyreBackend + ?Sized>(
    backend: &B,
    program: &Checked<Program>,
    inputs: &[MemoryRef<'_>],
    config: &DispatchConfig,
) -> Result<Vec<Memory>, BackendError> {
    let inputs = inputs.iter().map(|input| match *input {
        MemoryRef::Host(bytes) => Source::Host(bytes),
        MemoryRef::Device(resource) => Source::device(resource),
    });
    let job = Job::new(backend, program, sources(program, inputs)?, config)?;
    let timeout = job.launch.timeout;
    let mut list = CommandList::new().labeled(job.launch.label.clone());
    let outputs = job.push(&mut list);
    for output in outputs.iter().filter(|output| output.resource.is_none()) {
        list.read(output.span);
    }
    let mut read = settle(backend, &list, timeout)?.into_iter();
    let memory = outputs.iter().map(|output| match output.resource {
        Some(resource) => Memory::Device(resource),
        None => Memory::Host(read.next().unwrap_or_default()),
    });
    Ok(memory.collect())
}
