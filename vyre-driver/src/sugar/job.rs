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
    /// A buffer of the caller's: its leading `len` bytes, or as many as an extent says.
    Device {
        /// The buffer.
        resource: Resource,
        /// The bytes bound, for a buffer whose count follows from them.
        len: u64,
    },
    /// Zeros, as many as an extent says.
    Cleared,
}

impl Source<'_> {
    /// All of a buffer.
    pub(crate) fn device(resource: Resource) -> Self {
        Self::Device { resource, len: resource.len }
    }
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
        let work_out = || {
            let (options, launch) = config.split(program, backend)?;
            let resolved = resolve(program, &sources, &launch)?;
            let pipeline = backend.compile_checked(&memo::prepared(program, &launch)?, &options)?;
            Ok((launch, pipeline, resolved))
        };
        let (launch, pipeline, resolved) =
            work_out().map_err(|error: BackendError| error.labeled(config.label.as_deref()))?;
        Ok(Self { launch, pipeline, resolved, sources })
    }

    /// The same with a program that was compiled before, for the same options.
    pub(crate) fn of_pipeline<B: VyreBackend + ?Sized>(
        backend: &B,
        pipeline: &Arc<dyn CompiledPipeline>,
        sources: Vec<Source<'a>>,
        config: &DispatchConfig,
    ) -> Result<Self, BackendError> {
        let program = pipeline.program();
        let work_out = || {
            let (options, launch) = config.split(program, backend)?;
            if launch.workgroup.is_some() || pipeline.options().is_some_and(|compiled| *compiled != options) {
                let why = "the pipeline was compiled for another configuration".to_owned();
                let field = "workgroup, ulp_budget, profile or unoptimized";
                return Err(BackendError::Config { field, why });
            }
            memo::same_specialization(program, &launch.params)?;
            let resolved = resolve(program, &sources, &launch)?;
            Ok((launch, resolved))
        };
        let (launch, resolved) =
            work_out().map_err(|error: BackendError| error.labeled(config.label.as_deref()))?;
        Ok(Self { launch, pipeline: Arc::clone(pipeline), resolved, sources })
    }

    /// Adds the dispatch and what goes before it. The outputs are in declaration order.
    pub(crate) fn push(self, list: &mut CommandList<'a>) -> Vec<Output> {
        let Bound { bindings, outputs, clears } = self.bind(list);
        // Each run starts from cleared outputs, so that what an earlier one alone stored is not left.
        match self.launch.iterations {
            1 => {
                clears.into_iter().for_each(|clear| list.push(clear));
                list.push(self.run(bindings));
            }
            count => {
                let mut commands = clears;
                commands.push(self.run(bindings));
                list.push(Command::repeat(commands, count));
            }
        }
        outputs
    }

    /// The dispatch alone, of a job whose sources are all the caller's buffers.
    pub(crate) fn resident(self) -> Command<'a> {
        let Bound { bindings, .. } = self.bind(&mut CommandList::new());
        match self.launch.iterations {
            1 => self.run(bindings),
            count => Command::repeat(vec![self.run(bindings)], count),
        }
    }

    fn bind(&self, list: &mut CommandList<'a>) -> Bound<'a> {
        let program = self.pipeline.program();
        let mut bound = Bound {
            bindings: Vec::with_capacity(self.sources.len()),
            outputs: Vec::new(),
            clears: Vec::new(),
        };
        for (id, source) in program.buffer_ids().zip(&self.sources) {
            let len = self.resolved.byte_len(program, id);
            let (buffer, resource) = match *source {
                Source::Device { resource, .. } => (BufferRef::Resident(resource), Some(resource)),
                Source::Host(_) | Source::Cleared => (list.transient(len), None),
            };
            let span = Span { buffer, offset: 0, len };
            match source {
                Source::Host(bytes) => list.push(Command::Upload { to: span, bytes }),
                Source::Cleared if !program.facts().stores_whole(id) => {
                    bound.clears.push(Command::Fill { to: span, byte: 0 });
                }
                Source::Cleared | Source::Device { .. } => {}
            }
            bound.bindings.push(Binding { buffer, len });
            if program.buffer(id).access.is_output() {
                bound.outputs.push(Output { span, resource });
            }
        }
        bound
    }

    fn run(self, bindings: Vec<Binding>) -> Command<'a> {
        let LaunchOptions { params, counts, .. } = self.launch;
        let run = DispatchCommand::with_resolved(self.pipeline, bindings, params, counts, self.resolved);
        Command::Dispatch(run)
    }
}

/// A job's buffers.
struct Bound<'a> {
    bindings: Vec<Binding>,
    outputs: Vec<Output>,
    /// What goes before each run.
    clears: Vec<Command<'a>>,
}

/// The launch arithmetic, with what it says of the lengths of the caller's buffers and of the outputs.
fn resolve(
    program: &Checked<Program>,
    sources: &[Source<'_>],
    launch: &LaunchOptions,
) -> Result<ResolvedLaunch, BackendError> {
    let bound = program.buffers().iter().zip(sources).map(|(buffer, source)| match *source {
        Source::Host(bytes) => Some(bytes.len() as u64),
        Source::Device { len, .. } if buffer.count == Count::Bytes => Some(len),
        Source::Device { .. } | Source::Cleared => None,
    });
    let bound: Vec<_> = bound.collect();
    let resolved = launch::resolve(program, &launch.params, &bound, launch.counts)?;
    for (id, source) in program.buffer_ids().zip(sources) {
        if let Source::Device { len, .. } = *source {
            fits(program, &resolved, id, len)?;
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

/// Refuses a buffer of the caller's that is shorter than the program needs.
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
