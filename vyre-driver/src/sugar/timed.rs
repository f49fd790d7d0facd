//! Submissions whose times are taken.

use std::time::{Duration, Instant};

use vyre_foundation::ir::Program;

use super::host;
use crate::{
    BackendError, CommandList, DispatchConfig, OutputBuffers, TimedDispatchResult, Timing, Visitor,
    VyreBackend, checked,
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
    let mut outputs = OutputBuffers::with_capacity(list.reads());
    let timing = run(backend, list, start, config.timeout, &mut |_, bytes| {
        outputs.push(bytes.to_vec());
        Ok(())
    })?;
    Ok(TimedDispatchResult { outputs, timing })
}

/// Submits a list and hands its reads over. `start` is when the caller was called.
pub(crate) fn run<B: VyreBackend + ?Sized>(
    backend: &B,
    list: CommandList<'_>,
    start: Instant,
    timeout: Option<Duration>,
    visitor: &mut Visitor<'_>,
) -> Result<Timing, BackendError> {
    let completion = backend.submit(&list.timed(true))?;
    let submit = start.elapsed();
    let finished = completion.visit(timeout, visitor)?;
    let wall = start.elapsed();
    Ok(Timing { wall, submit, wait: wall.saturating_sub(submit), device: finished.device_time })
}
