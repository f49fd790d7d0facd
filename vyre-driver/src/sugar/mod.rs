//! The provided methods of [`VyreBackend`](crate::VyreBackend): each builds a command list and submits it.

pub(crate) mod host;
mod job;
pub(crate) mod memory;

pub(crate) use job::{Job, Source};

/// The inputs as slices.
pub(crate) fn borrowed(inputs: &[Vec<u8>]) -> Vec<&[u8]> {
    inputs.iter().map(Vec::as_slice).collect()
}
