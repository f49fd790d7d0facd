//! Buffers that stay on the device: uploads, and downloads of just the ranges asked for.

use crate::{BackendError, BufferRef, CommandList, OutputBuffers, Resource, Span, VyreBackend};

/// A range of a resident.
pub(crate) fn span(resource: Resource, offset: usize, len: usize) -> Span {
    Span { buffer: BufferRef::Resident(resource), offset: offset as u64, len: len as u64 }
}

/// All of a resident.
pub(crate) fn whole(resource: Resource) -> Span {
    Span { buffer: BufferRef::Resident(resource), offset: 0, len: resource.len }
}

/// Uploads in one submission, in order. Does not wait: whatever is submitted later sees them.
pub(crate) fn upload<'a, B: VyreBackend + ?Sized>(
    backend: &B,
    uploads: impl IntoIterator<Item = (Resource, usize, &'a [u8])>,
) -> Result<(), BackendError> {
    let mut list = CommandList::new();
    for (resource, offset, bytes) in uploads {
        list.upload(BufferRef::Resident(resource), offset as u64, bytes);
    }
    backend.submit(&list).map(|_| ())
}

/// Reads spans in one submission and fills one vector each.
pub(crate) fn download<B: VyreBackend + ?Sized>(
    backend: &B,
    spans: impl IntoIterator<Item = Span>,
    outputs: &mut [&mut Vec<u8>],
) -> Result<(), BackendError> {
    let mut list = CommandList::new();
    for span in spans {
        list.read(span);
    }
    same_number(list.reads(), outputs.len())?;
    let completion = backend.submit(&list)?;
    lend(outputs, |outputs| completion.wait_into(None, outputs)).map(|_| ())
}

/// Reads one span.
pub(crate) fn download_one<B: VyreBackend + ?Sized>(
    backend: &B,
    span: Span,
) -> Result<Vec<u8>, BackendError> {
    let mut list = CommandList::new();
    list.read(span);
    Ok(backend.submit(&list)?.wait(None)?.pop().unwrap_or_default())
}

/// Refuses another number of vectors than there are ranges.
pub(crate) fn same_number(ranges: usize, outputs: usize) -> Result<(), BackendError> {
    if ranges == outputs {
        return Ok(());
    }
    let why = format!("there are {ranges} ranges, but {outputs} vectors for their bytes");
    Err(BackendError::Config { field: "outputs", why })
}

/// Lends the caller's vectors, so that those which are large enough are filled in place.
pub(crate) fn lend<R>(outputs: &mut [&mut Vec<u8>], fill: impl FnOnce(&mut OutputBuffers) -> R) -> R {
    let mut lent: OutputBuffers = outputs.iter_mut().map(|output| std::mem::take(*output)).collect();
    let result = fill(&mut lent);
    for (output, filled) in outputs.iter_mut().zip(lent) {
        **output = filled;
    }
    result
}
