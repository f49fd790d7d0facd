//! Device bytes on their way to the host: copied by the command encoder into mappable buffers.

use std::sync::Arc;
use std::time::Duration;

use wgpu::CommandEncoder;

use super::landing::{Landing, State};
use super::pool::{Kind, Pool};
use super::{Slot, pack, unmappable};
use crate::generation::Generation;
use vyre_driver::BackendError;

/// The readbacks of one submission.
#[derive(Debug)]
pub(crate) struct Readback {
    slots: Vec<Slot>,
    buffers: Vec<Arc<Landing>>,
}

impl Readback {
    /// Takes readback memory for pieces, given by offset in their buffer and length, in bytes.
    pub(crate) fn new(
        generation: &Generation,
        pool: &Pool,
        spans: impl IntoIterator<Item = (u64, u64)>,
    ) -> Result<Self, BackendError> {
        let pieces = spans.into_iter().map(|(offset, len)| (offset % wgpu::COPY_BUFFER_ALIGNMENT, len));
        let (slots, sizes) = pack(pieces, generation.limits.max_buffer_size);
        let mut buffers = Vec::with_capacity(sizes.len());
        for size in sizes {
            if size == 0 {
                break;
            }
            buffers.push(Landing::new(pool.acquire(generation, Kind::Readback, size)?, State::Unmapped));
        }
        Ok(Self { slots, buffers })
    }

    /// Encodes the copy of `source` from `offset` into piece `piece`, which was planned with that offset.
    pub(crate) fn copy(
        &self,
        encoder: &mut CommandEncoder,
        piece: usize,
        source: &wgpu::Buffer,
        offset: u64,
    ) {
        let Some(slot) = self.slots.get(piece) else { return };
        if let (Some(landing), true) = (self.buffers.get(slot.buffer), slot.len > 0) {
            encoder.copy_buffer_to_buffer(
                source,
                offset - slot.skip,
                landing.raw(),
                slot.offset,
                slot.copied(),
            );
        }
    }

    /// Has the memory mapped once the submission is done.
    pub(crate) fn map(&self, encoder: &CommandEncoder) {
        for landing in &self.buffers {
            landing.map_after(encoder);
        }
    }

    /// Makes it ready for another submission.
    pub(crate) fn reset(&self) {
        for landing in &self.buffers {
            landing.unmap();
        }
    }

    /// After the submission has ended: shows the bytes of piece `piece` to `look`, without a copy.
    pub(crate) fn piece<R>(
        &self,
        piece: usize,
        patience: Duration,
        look: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, BackendError> {
        let Some(slot) = self.slots.get(piece) else { return Ok(look(&[])) };
        // Pieces without bytes may have no buffer.
        let Some(landing) = self.buffers.get(slot.buffer) else { return Ok(look(&[])) };
        if landing.wait(patience) != State::Mapped {
            return Err(unmappable("reading back"));
        }
        let view = landing.raw().get_mapped_range(..).map_err(|_| unmappable("reading back"))?;
        let start = (slot.offset + slot.skip) as usize;
        Ok(look(view.get(start..start + slot.len as usize).unwrap_or_default()))
    }
}
