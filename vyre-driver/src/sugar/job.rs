//! A dispatch worked out: what is run, on which bytes.

use std::sync::Arc;

use vyre_foundation::check::Checked;
use vyre_foundation::ir::{BufferId, Count, Program};
use vyre_foundation::launch::{self, LaunchError, ResolvedLaunch};

use crate::config::LaunchOptions;
use crate::{
    BackendError, Binding, BufferRef, Command, CommandList, CompiledPipeline, DispatchCommand,
    DispatchConfig, Resource, Span, VyreBackend, memo,
};

/// What one of a program's buffers is bound to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'a> {
    /// Host bytes, uploaded for this dispatch alone.
    Host(&'a [u8]),
    /// A buffer of the caller's: its leading bytes where an extent says how many, else all.
    Device(Resource),
    /// Zeros, as many as an extent says.
    Cleared,
}

/// A program compiled for a configuration, with its launch arithmetic done.
pub(crate) struct Job<'a> {
    pub(crate) launch: LaunchOptions,
    pipeline: Arc<dyn CompiledPipeline>,
    resolved: ResolvedLaunch,
    sources: Vec<Source<'a>>,
}

/// Where one of the outputs is once the dispatch has run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    pub(crate) span: Span,
    /// The caller's buffer that it is in, if it is in one.
    pub(crate) resource: Option<Resource>,
}

impl<'a> Job<'a> {
    /// Works a dispatch out, with one source for each of the program's buffers.
    pub(crate) fn new<B: VyreBackend + ?Sized>(
        backend: &B,
        program: &Checked<Program>,
        sources: Vec<Source<'a>>,
        config: &DispatchConfig,
    ) -> Result<Self, BackendError> {
        let (options, launch) = config.split(program, backend)?;
        let resolved = resolve(program, &sources, &launch)?;
        let pipeline = backend.compile_checked(&memo::prepared(program, &launch)?, &options)?;
        Ok(Self { launch, pipeline, resolved, sources })
    }

    /// Adds the dispatch and what goes before it. The outputs are in declaration order.
    pub(crate) fn push(self, list: &mut CommandList<'a>) -> Vec<Output> {
        let program = Arc::clone(&self.pipeline);
        let program = program.program();
        let mut bindings = Vec::with_capacity(self.sources.len());
        let (mut outputs, mut clears) = (Vec::new(), Vec::new());
        for (id, source) in program.buffer_ids().zip(self.sources) {
            let len = self.resolved.byte_len(program, id);
            let (buffer, resource) = match source {
                Source::Device(resource) => (BufferRef::Resident(resource), Some(resource)),
                Source::Host(_) | Source::Cleared => (list.transient(len), None),
            };
            let span = Span { buffer, offset: 0, len };
            match source {
                Source::Host(bytes) => list.push(Command::Upload { to: span, bytes }),
                Source::Cleared => clears.push(Command::Fill { to: span, byte: 0 }),
                Source::Device(_) => {}
            }
            bindings.push(Binding { buffer, len });
            if program.buffer(id).access.is_output() {
                outputs.push(Output { span, resource });
            }
        }
        let LaunchOptions { params, counts, iterations, .. } = self.launch;
        let run = DispatchCommand::with_resolved(self.pipeline, bindings, params, counts, self.resolved);
        let run = clears.into_iter().chain([Command::Dispatch(run)]);
        // Each run starts from cleared outputs, so that what an earlier one alone stored is not left.
        match iterations {
            1 => run.for_each(|command| list.push(command)),
            count => list.push(Command::Repeat { commands: run.collect(), count }),
        }
        outputs
    }
}

/// The launch arithmetic, with what it says of the lengths of the caller's buffers and of the outputs.
fn resolve(
    program: &Checked<Program>,
    sources: &[Source<'_>],
    launch: &LaunchOptions,
) -> Result<ResolvedLaunch, BackendError> {
    let bound = program.buffers().iter().zip(sources).map(|(buffer, source)| match source {
        Source::Host(bytes) => Some(bytes.len() as u64),
        Source::Device(resource) if buffer.count == Count::Bytes => Some(resource.len),
        Source::Device(_) | Source::Cleared => None,
    });
    let bound: Vec<_> = bound.collect();
    let resolved = launch::resolve(program, &launch.params, &bound, launch.counts)?;
    for (id, source) in program.buffer_ids().zip(sources) {
        if let Source::Device(resource) = source {
            fits(program, &resolved, id, resource.len)?;
        }
    }
    if let Some(limit) = launch.max_output_bytes {
        let needs = program.outputs().map(|id| resolved.byte_len(program, id)).fold(0, u64::saturating_add);
        if needs > limit {
            return Err(BackendError::OutputTooLarge { needs, limit });
        }
    }
    Ok(resolved)
}

fn fits(
    program: &Program,
    resolved: &ResolvedLaunch,
    id: BufferId,
    got_bytes: u64,
) -> Result<(), BackendError> {
    let needs_bytes = resolved.byte_len(program, id);
    if needs_bytes <= got_bytes {
        return Ok(());
    }
    let buffer = program.buffer(id);
    let needs = needs_bytes / u64::from(buffer.element.size());
    Err(LaunchError::BufferLength { buffer: buffer.name.clone(), needs, needs_bytes, got_bytes }.into())
}
