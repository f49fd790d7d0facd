//! Programs compiled once and dispatched often.

use std::sync::Arc;

use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;

use super::{Job, Source, host};
use crate::pending::Submitted;
use crate::{BackendError, CompiledPipeline, DispatchConfig, VyreBackend, memo};

/// Compiles a program as a dispatch with this configuration would.
pub(crate) fn compile<B: VyreBackend + ?Sized>(
    backend: &B,
    program: &Checked<Program>,
    config: &DispatchConfig,
) -> Result<Arc<dyn CompiledPipeline>, BackendError> {
    let compile = || {
        let (options, launch) = config.split(program, backend)?;
        let prepared = memo::prepared(program, &launch)?;
        let pipeline = backend.compile_checked(&prepared, &options)?;
        memo::compiled_as(program, &launch, &prepared, pipeline.program())?;
        Ok(pipeline)
    };
    compile().map_err(|error: BackendError| error.labeled(config.label.as_deref()))
}

/// Submits a dispatch of a pipeline on transient buffers, whose outputs are the reads.
pub(crate) fn submit<B: VyreBackend + ?Sized>(
    backend: &B,
    pipeline: &Arc<dyn CompiledPipeline>,
    inputs: &[&[u8]],
    config: &DispatchConfig,
) -> Result<Box<Submitted>, BackendError> {
    let sources = host::sources(pipeline.program(), inputs.iter().map(|bytes| Source::Host(bytes)))?;
    host::submit_job(backend, Job::of_pipeline(backend, pipeline, sources, config)?)
}
