//! The provided methods of [`VyreBackend`](crate::VyreBackend): each builds a command list and submits it.

use std::time::Duration;

use crate::{BackendError, CommandList, OutputBuffers, VyreBackend};

pub(crate) mod device_buffer;
pub(crate) mod host;
mod job;
pub(crate) mod memory;
pub(crate) mod pipeline;
pub(crate) mod resident;
pub(crate) mod sequence;
pub(crate) mod timed;

pub(crate) use job::{Job, Source};
pub(crate) use sequence::Sequence;

/// Submits a list, waits, and gives its reads. Its label names the errors.
pub(crate) fn settle<B: VyreBackend + ?Sized>(
    backend: &B,
    list: &CommandList<'_>,
    timeout: Option<Duration>,
) -> Result<OutputBuffers, BackendError> {
    let done = backend.submit(list).and_then(|completion| completion.wait(timeout));
    done.map_err(|error| error.labeled(list.label()))
}

/// The inputs as slices.
pub(crate) fn borrowed(inputs: &[Vec<u8>]) -> Vec<&[u8]> {
    inputs.iter().map(Vec::as_slice).collect()
}
