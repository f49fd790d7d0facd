//! Buffers that stay on the device: uploads, and downloads of just the ranges asked for.

use crate::{BackendError, BufferRef, CommandList, Resource, Span, VyreBackend};

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
    backend.submit(&list)?.visit(None, &mut fill(outputs)).map(|_| ())
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

/// A visitor that fills the caller's vectors, which are not allocated anew where they are large enough.
pub(crate) fn fill<'o>(
    outputs: &'o mut [&mut Vec<u8>],
) -> impl FnMut(usize, &[u8]) -> Result<(), BackendError> + 'o {
    |i, bytes| {
        if let Some(output) = outputs.get_mut(i) {
            output.clear();
            output.extend_from_slice(bytes);
        }
        Ok(())
    }
}
