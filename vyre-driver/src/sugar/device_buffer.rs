//! Dispatch on device buffers, with inputs and outputs apart.

use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;

use super::resident::span;
use super::{Job, Source, host, settle};
use crate::{BackendError, Command, CommandList, DeviceBuffer, DispatchConfig, Resource, VyreBackend};

/// A `ReadWrite` buffer whose input and output are two buffers: its bytes are copied first.
struct Move<'p> {
    from: Resource,
    to: Resource,
    name: &'p str,
}

/// [`VyreBackend::dispatch_with_device_buffers`].
pub(crate) fn dispatch<B: VyreBackend + ?Sized>(
    backend: &B,
    program: &Checked<Program>,
    inputs: &[&dyn DeviceBuffer],
    outputs: &[&mut dyn DeviceBuffer],
    config: &DispatchConfig,
) -> Result<(), BackendError> {
    let inputs: Vec<_> = inputs.iter().map(|input| input.resource()).collect();
    let outputs: Vec<_> = outputs.iter().map(|output| output.resource()).collect();
    let (sources, moves) = place(program, &inputs, &outputs)?;
    let mut list = CommandList::new().labeled(config.label.clone());
    for Move { from, to, name } in moves {
        // A later copy would find what an earlier one has overwritten.
        if outputs.contains(&from) {
            return Err(BackendError::Aliasing { first: name.to_owned(), second: "an output".to_owned() });
        }
        let len = from.len as usize;
        list.push(Command::Copy { from: span(from, 0, len), to: span(to, 0, len) });
    }
    let job = Job::new(backend, program, sources, config)?;
    let timeout = job.launch.timeout;
    job.push(&mut list);
    settle(backend, &list, timeout).map(drop)
}

/// What each of the program's buffers is bound to, and the copies that go before.
fn place<'p>(
    program: &'p Program,
    inputs: &[Resource],
    outputs: &[Resource],
) -> Result<(Vec<Source<'static>>, Vec<Move<'p>>), BackendError> {
    let (needs, got) = (program.outputs().count(), outputs.len());
    if needs != got {
        let why = format!("the program has {needs} output buffers, but {got} were passed");
        return Err(BackendError::Config { field: "outputs", why });
    }
    let mut sources = host::sources(program, inputs.iter().map(|&input| Source::device(input)))?;
    let (mut outputs, mut moves) = (outputs.iter(), Vec::new());
    for (source, buffer) in sources.iter_mut().zip(program.buffers()) {
        let output = if buffer.access.is_output() { outputs.next() } else { None };
        let Some(&to) = output else { continue };
        *source = match *source {
            Source::Device { resource: from, len } => {
                if from != to {
                    moves.push(Move { from, to, name: &buffer.name });
                }
                Source::Device { resource: to, len }
            }
            Source::Host(_) | Source::Cleared => Source::device(to),
        };
    }
    Ok((sources, moves))
}
