//! Submissions whose times are taken.

use std::time::{Duration, Instant};

use vyre_foundation::ir::Program;

use super::host;
use crate::{
    BackendError, CommandList, DispatchConfig, OutputBuffers, TimedDispatchResult, Timing, VyreBackend,
    checked,
};

/// [`VyreBackend::dispatch_borrowed_timed`].
pub(crate) fn host<B: VyreBackend + ?Sized>(
    backend: &B,
    program: &Program,
    inputs: &[&[u8]],
    config: &DispatchConfig,
) -> Result<TimedDispatchResult, BackendError> {
    let start = Instant::now();
    let list = host::list(host::check(backend, &checked(program)?, inputs, config)?);
    let mut outputs = OutputBuffers::new();
    let timing = run(backend, &list.timed(true), start, config.timeout, &mut outputs)?;
    Ok(TimedDispatchResult { outputs, timing })
}

/// Submits a list and fills the vectors with its reads. `start` is when the caller was called.
pub(crate) fn run<B: VyreBackend + ?Sized>(
    backend: &B,
    list: &CommandList<'_>,
    start: Instant,
    timeout: Option<Duration>,
    outputs: &mut OutputBuffers,
) -> Result<Timing, BackendError> {
    let named = |error: BackendError| error.labeled(list.label());
    let completion = backend.submit(list).map_err(named)?;
    let submit = start.elapsed();
    let finished = completion.wait_into(timeout, outputs).map_err(named)?;
    let wall = start.elapsed();
    Ok(Timing { wall, submit, wait: wall.saturating_sub(submit), device: finished.device_time })
}
