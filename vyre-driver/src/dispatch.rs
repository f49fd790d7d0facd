//! Host dispatch, built on command lists.

use vyre_foundation::check::Checked;
use vyre_foundation::ir::{BufferId, Program};
use vyre_foundation::launch;

use crate::command::{Binding, Command, Span};
use crate::{BackendError, CommandList, DispatchCommand, DispatchConfig, VyreBackend, memo};

/// [`VyreBackend::dispatch_checked`].
pub(crate) fn dispatch_checked<B: VyreBackend + ?Sized>(
    backend: &B,
    program: &Checked<Program>,
    inputs: &[&[u8]],
    config: &DispatchConfig,
) -> Result<Vec<Vec<u8>>, BackendError> {
    let (options, launch) = config.split(program)?;
    let bound = launch::bind_inputs(program, inputs)?;
    let resolved = launch::resolve(program, &launch.params, &bound, launch.counts)?;
    let needs = program.outputs().map(|id| resolved.byte_len(program, id)).sum();
    if let Some(limit) = launch.max_output_bytes.filter(|&limit| needs > limit) {
        return Err(BackendError::OutputTooLarge { needs, limit });
    }
    let pipeline = backend.compile_checked(&memo::specialized(program, &launch.params)?, &options)?;
    let mut list = CommandList::new().labeled(launch.label);
    let mut bindings = Vec::with_capacity(program.buffers().len());
    let mut inputs = inputs.iter();
    for id in program.buffer_ids() {
        let len = resolved.byte_len(program, id);
        let buffer = list.transient(len);
        bindings.push(Binding { buffer, len });
        if program.buffer(id).access.is_input() {
            list.upload(buffer, 0, inputs.next().copied().unwrap_or_default());
        } else {
            list.push(Command::Fill { to: Span { buffer, offset: 0, len }, byte: 0 });
        }
    }
    let outputs: Vec<_> =
        program.outputs().filter_map(|id: BufferId| bindings.get(id.index()).copied()).collect();
    list.push(Command::Dispatch(DispatchCommand {
        pipeline,
        bindings,
        params: launch.params,
        counts: launch.counts,
    }));
    for Binding { buffer, len } in outputs {
        list.read(Span { buffer, offset: 0, len });
    }
    backend.submit(&list)?.wait(launch.timeout)
}
