//! Device memory and the traffic between it and the host.

use vyre_driver::BackendError;

pub(crate) mod host_copy;
mod landing;
mod pool;
mod readback;
mod segments;
mod upload;

pub(crate) use pool::{Kind, Pool, PoolBuffer};
pub(crate) use readback::{Readback, Reads};
pub(crate) use segments::{Layout, Segments};
pub(crate) use upload::{Staging, UploadPart};

/// Buffers end on a multiple of this, so that a vector load may overhang the last element.
pub(crate) const PADDING: u64 = 16;

/// The error of a host mapping that did not come about.
fn unmappable(doing: &'static str) -> BackendError {
    BackendError::Driver { doing, message: "the staging memory could not be mapped".to_owned() }
}

/// `bytes` rounded up to the padding; the least buffer is one unit of it.
pub(crate) fn padded(bytes: u64) -> u64 {
    bytes.max(1).next_multiple_of(PADDING)
}

/// Where one piece of a packed transfer lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    /// Which of the transfer's buffers.
    buffer: usize,
    /// Where in it, in bytes: a multiple of 16, so that mapped pieces are aligned for every scalar.
    offset: u64,
    /// Bytes before the piece that are only transferred for the sake of alignment, below 4.
    skip: u64,
    /// The exact length of the piece in bytes.
    len: u64,
}

impl Slot {
    /// The length that is copied, from the skipped bytes on: a multiple of wgpu's copy alignment.
    fn copied(self) -> u64 {
        (self.skip + self.len).next_multiple_of(wgpu::COPY_BUFFER_ALIGNMENT)
    }
}

/// Packs pieces, given by the bytes to skip and their lengths, into as few buffers of at most `limit` bytes
/// as their order allows, usually one. Returns the slots and the size of each buffer.
fn pack(pieces: impl IntoIterator<Item = (u64, u64)>, limit: u64) -> (Vec<Slot>, Vec<u64>) {
    let mut slots = Vec::new();
    let mut sizes: Vec<u64> = Vec::new();
    for (skip, len) in pieces {
        let mut slot = Slot { buffer: sizes.len(), offset: 0, skip, len };
        let offset = sizes.last().map_or(0, |size| size.next_multiple_of(PADDING));
        match sizes.last_mut() {
            Some(size) if offset + slot.copied() <= limit => {
                slot.buffer -= 1;
                slot.offset = offset;
                *size = offset + slot.copied();
            }
            _ => sizes.push(slot.copied()),
        }
        slots.push(slot);
    }
    (slots, sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_packed_in_order_on_aligned_offsets() {
        let (slots, sizes) = pack([(0, 3), (0, 0), (0, 8), (2, 5)], 40);
        let at = |buffer, offset, skip, len| Slot { buffer, offset, skip, len };
        assert_eq!(slots, [at(0, 0, 0, 3), at(0, 16, 0, 0), at(0, 16, 0, 8), at(0, 32, 2, 5)]);
        assert_eq!(sizes, [40]);
        let (slots, sizes) = pack([(0, 12), (0, 12), (3, 2)], 28);
        assert_eq!(slots, [at(0, 0, 0, 12), at(0, 16, 0, 12), at(1, 0, 3, 2)]);
        assert_eq!(sizes, [28, 8]);
    }

    #[test]
    fn padding_is_sixteen_bytes_and_never_zero() {
        assert_eq!([0, 1, 16, 17].map(padded), [16, 16, 16, 32]);
    }
}
