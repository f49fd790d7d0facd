//! The provided methods of [`VyreBackend`](crate::VyreBackend): each builds a command list and submits it.

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

/// The inputs as slices.
pub(crate) fn borrowed(inputs: &[Vec<u8>]) -> Vec<&[u8]> {
    inputs.iter().map(Vec::as_slice).collect()
}
