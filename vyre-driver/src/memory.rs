//! Inputs and outputs that may be host bytes or stay on the device.

use crate::Resource;

/// The outputs of a dispatch: one vector of bytes for each `ReadWrite` and `WriteOnly` buffer, in
/// declaration order. Where a caller passes its own, vectors that are large enough are filled in place.
pub type OutputBuffers = Vec<Vec<u8>>;

/// One input of a dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryRef<'a> {
    /// Bytes of the host.
    Host(&'a [u8]),
    /// A buffer on the device, all of it. A program that writes its `ReadWrite` buffer does so in place.
    Device(Resource),
}

/// One output of a dispatch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Memory {
    /// Bytes of the host.
    Host(Vec<u8>),
    /// The device buffer that was passed for a `ReadWrite` buffer.
    Device(Resource),
}

impl Memory {
    /// The host's bytes, unless they stayed on the device.
    pub fn host(&self) -> Option<&[u8]> {
        match self {
            Self::Host(bytes) => Some(bytes),
            Self::Device(_) => None,
        }
    }
}
