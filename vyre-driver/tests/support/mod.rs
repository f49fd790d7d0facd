//! What the tests of the contract share.

use vyre_driver::{BufferRef, Resource, Span};
use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;

pub(crate) fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// `x[i] *= 2`.
pub(crate) fn double() -> Checked<Program> {
    Kernel::build("double", |k| {
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| x.store(i, x.load(i) * 2));
    })
    .unwrap()
}

pub(crate) fn whole(resource: Resource) -> Span {
    Span { buffer: BufferRef::Resident(resource), offset: 0, len: resource.len }
}
