//! From handles to one command list.

use super::handles::{Held, ResidentHandles};
use super::{DispatchError, ResidentDispatchStep, ResidentReadRange};
use crate::sugar::{Job, Source};
use crate::{BackendError, BufferRef, Command, CommandList, DispatchConfig, Span, VyreBackend, checked};

/// What one submission does, in this order.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work<'a> {
    /// Leading bytes to set: how many, and to what.
    pub(super) fills: &'a [(u64, usize, u8)],
    /// Bytes to write from offset 0 on.
    pub(super) uploads: &'a [(u64, &'a [u8])],
    /// Programs to run.
    pub(super) steps: &'a [ResidentDispatchStep<'a>],
    /// Bytes to read once they have run.
    pub(super) reads: &'a [ResidentReadRange],
}

/// A backend with the handles of its optimizer interface: what every method of
/// [`OptimizerDispatcher`](super::OptimizerDispatcher) works on.
#[derive(Clone, Copy)]
pub struct ResidentHost<'a> {
    /// The backend.
    pub backend: &'a dyn VyreBackend,
    /// Its handles.
    pub handles: &'a ResidentHandles,
}

impl std::fmt::Debug for ResidentHost<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResidentHost").field("backend", &self.backend.id()).finish_non_exhaustive()
    }
}

impl ResidentHost<'_> {
    /// Submits the work as one list, and hands what was read to `outputs`: one vector for each read, whose
    /// memory is used again. With an error their content is unspecified. Waits for the end, unless all that
    /// is done is to set bytes, which whatever is submitted later sees.
    pub(super) fn run(&self, work: Work<'_>, outputs: &mut Vec<Vec<u8>>) -> Result<(), DispatchError> {
        let mut list = CommandList::new();
        for &(handle, len, byte) in work.fills {
            let to = self.span("filling a resident buffer", true, handle, 0, len as u64)?;
            list.push(Command::Fill { to, byte });
        }
        for &(handle, bytes) in work.uploads {
            let to = self.span("uploading to a resident buffer", true, handle, 0, bytes.len() as u64)?;
            list.push(Command::Upload { to, bytes });
        }
        for (step, dispatch) in work.steps.iter().enumerate() {
            let failed = |source| {
                let program = dispatch.program.name().to_owned();
                DispatchError::Step { step, program, source }
            };
            self.push_step(&mut list, dispatch, failed)?;
        }
        for &ResidentReadRange { handle, byte_offset, byte_len } in work.reads {
            let (offset, bytes) = (byte_offset as u64, byte_len as u64);
            let from = self.span("reading a resident buffer", false, handle, offset, bytes)?;
            list.push(Command::Read { from });
        }
        outputs.resize_with(work.reads.len(), Vec::new);
        if list.commands().is_empty() {
            return Ok(());
        }
        let submitted = self.backend.submit(&list).map_err(|source| self.blame(&work, source))?;
        if work.steps.is_empty() && work.reads.is_empty() {
            return Ok(());
        }
        let done = submitted.visit(None, &mut |read, bytes| {
            if let Some(output) = outputs.get_mut(read) {
                output.clear();
                output.extend_from_slice(bytes);
            }
            Ok(())
        });
        done.map(|_| ()).map_err(|source| self.blame(&work, source))
    }

    /// As [`Self::run`], into new vectors.
    pub(super) fn read(&self, work: Work<'_>) -> Result<Vec<Vec<u8>>, DispatchError> {
        let mut outputs = Vec::new();
        self.run(work, &mut outputs)?;
        Ok(outputs)
    }

    /// The whole of each buffer.
    pub(super) fn whole(&self, handles: &[u64]) -> Result<Vec<ResidentReadRange>, DispatchError> {
        let whole = |&handle: &u64| {
            let byte_len = self.handles.get(handle)?.resource.len as usize;
            Ok(ResidentReadRange { handle, byte_offset: 0, byte_len })
        };
        handles.iter().map(whole).collect()
    }

    fn span(
        &self,
        doing: &'static str,
        is_change: bool,
        handle: u64,
        offset: u64,
        bytes: u64,
    ) -> Result<Span, DispatchError> {
        let Held { resource, shared } = self.handles.get(handle)?;
        if is_change && shared.is_some() {
            return Err(DispatchError::Immutable { doing, handle });
        }
        let len = resource.len;
        if offset.checked_add(bytes).is_none_or(|end| end > len) {
            return Err(DispatchError::Range { doing, handle, offset, bytes, len });
        }
        Ok(Span { buffer: BufferRef::Resident(resource), offset, len: bytes })
    }

    /// Adds a step: its program checked and compiled, and each buffer bound.
    fn push_step(
        &self,
        list: &mut CommandList<'_>,
        step: &ResidentDispatchStep<'_>,
        failed: impl Fn(BackendError) -> DispatchError,
    ) -> Result<(), DispatchError> {
        let program = checked(step.program).map_err(&failed)?;
        let (needs, got) = (program.buffers().len(), step.handles.len());
        if needs != got {
            return Err(failed(BackendError::BindingCount { needs, got }));
        }
        let mut sources = Vec::with_capacity(needs);
        for (&handle, buffer) in step.handles.iter().zip(program.buffers()) {
            let Held { resource, shared } = self.handles.get(handle)?;
            if shared.is_some() && buffer.access.is_output() {
                return Err(DispatchError::Immutable { doing: "binding a writable buffer", handle });
            }
            sources.push(Source::device(resource));
        }
        let config = DispatchConfig { grid: step.grid_override, ..DispatchConfig::default() };
        let command = Job::new(self.backend, &program, sources, &config).map_err(&failed)?.resident();
        command.check().map_err(failed)?;
        list.push(command);
        Ok(())
    }

    /// Names the handle that the backend complains about, where it complains about one.
    fn blame(&self, work: &Work<'_>, source: BackendError) -> DispatchError {
        if let BackendError::BadHandle { handle: name, problem } = &source {
            let fills = work.fills.iter().map(|fill| fill.0);
            let uploads = work.uploads.iter().map(|upload| upload.0);
            let steps = work.steps.iter().flat_map(|step| step.handles.iter().copied());
            let reads = work.reads.iter().map(|read| read.handle);
            let named =
                |&handle: &u64| self.handles.get(handle).is_ok_and(|held| held.resource.to_string() == *name);
            if let Some(handle) = fills.chain(uploads).chain(steps).chain(reads).find(named) {
                return DispatchError::Handle { handle, problem };
            }
        }
        DispatchError::Backend { doing: "running a command list", source }
    }
}
