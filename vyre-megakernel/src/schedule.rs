//! From an artifact and its bindings to the command list of one run.

use std::sync::Arc;

use vyre_driver::{Binding, BufferRef, Command, CommandList, CompiledPipeline, DispatchCommand, Span};
use vyre_foundation::ir::{Buffer, BufferId, Program};
use vyre_foundation::launch::resolve;

use crate::bindings::Bound;
use crate::{Artifact, BindingError, BindingSet};

/// The work of one run.
#[derive(Debug)]
pub struct Schedule<'a> {
    /// The commands.
    pub list: CommandList<'a>,
    /// The buffer of each of the list's reads, in their order.
    pub reads: Vec<BufferId>,
}

/// The command list that runs an artifact: uploads, one dispatch, and a read of each output that is not
/// resident. `pipeline` is the artifact's program, compiled with its options by the backend that will run it.
///
/// # Errors
/// If the bindings do not fit the program.
pub fn schedule<'a>(
    artifact: &Artifact,
    pipeline: &Arc<dyn CompiledPipeline>,
    bindings: &'a BindingSet<'_>,
) -> Result<Schedule<'a>, BindingError> {
    let program = artifact.program();
    if **pipeline.program() != **program {
        let (needs, got) = (program.name().to_owned(), pipeline.program().name().to_owned());
        return Err(BindingError::OtherProgram { needs, got });
    }
    let bound = by_declaration(program, bindings)?;
    let bytes: Vec<Option<u64>> = bound
        .iter()
        .map(|bound| match bound {
            Some(Bound::Host { bytes, .. }) => Some(bytes.len() as u64),
            Some(Bound::Resident(resource)) => Some(resource.len),
            None => None,
        })
        .collect();
    let resolved = resolve(program, &bindings.params, &bytes, bindings.counts)?;

    let mut list = CommandList::new().labeled(bindings.label.clone());
    let (mut places, mut read_back) = (Vec::new(), Vec::new());
    for (id, bound) in program.buffer_ids().zip(bound) {
        let len = resolved.byte_len(program, id);
        let buffer = match bound {
            Some(Bound::Resident(resource)) => BufferRef::Resident(*resource),
            Some(Bound::Host { bytes, .. }) => {
                let buffer = list.transient(len);
                list.upload(buffer, 0, bytes);
                buffer
            }
            None => {
                let buffer = list.transient(len);
                if !program.facts().stores_whole(id) {
                    list.push(Command::Fill { to: Span { buffer, offset: 0, len }, byte: 0 });
                }
                buffer
            }
        };
        places.push(Binding { buffer, len });
        if program.buffer(id).access.is_output() && matches!(buffer, BufferRef::Transient(_)) {
            read_back.push((id, Span { buffer, offset: 0, len }));
        }
    }
    let params = bindings.params.clone();
    let run = DispatchCommand::with(Arc::clone(pipeline), places, params, bindings.counts);
    list.push(Command::Dispatch(run));
    let read = |(id, span)| {
        list.read(span);
        id
    };
    let reads = read_back.into_iter().map(read).collect();
    Ok(Schedule { list, reads })
}

/// What is bound to each buffer of the program.
fn by_declaration<'a>(
    program: &Program,
    bindings: &'a BindingSet<'_>,
) -> Result<Vec<Option<&'a Bound<'a>>>, BindingError> {
    let mut bound: Vec<Option<&Bound<'_>>> = vec![None; program.buffers().len()];
    for (name, what) in &bindings.buffers {
        let position = program.buffers().iter().position(|buffer| buffer.name == *name);
        let slot = position.and_then(|at| bound.get_mut(at).zip(program.buffers().get(at)));
        let Some((slot, buffer)) = slot else {
            let known = program.buffers().iter().map(|buffer| buffer.name.clone()).collect();
            return Err(BindingError::UnknownBuffer { name: name.clone(), known });
        };
        if slot.is_some() {
            return Err(BindingError::Twice(name.clone()));
        }
        fits(buffer, what)?;
        *slot = Some(what);
    }
    for (buffer, bound) in program.buffers().iter().zip(&bound) {
        if bound.is_none() && buffer.access.is_input() {
            return Err(BindingError::Unbound { name: buffer.name.clone(), element: buffer.element });
        }
    }
    Ok(bound)
}

fn fits(buffer: &Buffer, bound: &Bound<'_>) -> Result<(), BindingError> {
    let name = || buffer.name.clone();
    match bound {
        Bound::Host { .. } if !buffer.access.is_input() => Err(BindingError::OutputOnly(name())),
        Bound::Host { element: Some(got), .. } if *got != buffer.element => {
            Err(BindingError::ElementType { name: name(), needs: buffer.element, got: *got })
        }
        _ => Ok(()),
    }
}
