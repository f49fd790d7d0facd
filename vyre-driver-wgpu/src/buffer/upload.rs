//! Host bytes on their way to the device: staged in mapped buffers, copied by the command encoder.

use std::sync::Arc;
use std::time::Duration;

use wgpu::CommandEncoder;

use super::landing::{Landing, State};
use super::pool::{Kind, Pool};
use super::{Slot, host_copy, pack, unmappable};
use crate::generation::Generation;
use vyre_driver::BackendError;

/// A part of one of the host's pieces that goes to one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UploadPart {
    /// Which piece.
    pub(crate) piece: usize,
    /// Where in it, in bytes.
    pub(crate) start: usize,
    pub(crate) len: usize,
}

impl UploadPart {
    fn of<'a>(&self, pieces: &[&'a [u8]]) -> &'a [u8] {
        let bytes = pieces.get(self.piece).copied().unwrap_or_default();
        let end = self.start.saturating_add(self.len).min(bytes.len());
        bytes.get(self.start..end).unwrap_or_default()
    }
}

/// The uploads of one submission, or of several after one another with pieces of the same lengths.
#[derive(Debug)]
pub(crate) struct Staging {
    parts: Vec<UploadPart>,
    /// Where each part lies.
    slots: Vec<Slot>,
    /// The buffers, and how many bytes of each are used.
    buffers: Vec<(Arc<Landing>, u64)>,
}

impl Staging {
    /// Copies `parts` of `pieces` into staging memory.
    pub(crate) fn new(
        generation: &Generation,
        pool: &Pool,
        pieces: &[&[u8]],
        parts: Vec<UploadPart>,
    ) -> Result<Self, BackendError> {
        let lens = parts.iter().map(|part| (0, part.len as u64));
        let (slots, sizes) = pack(lens, generation.limits.max_buffer_size);
        let mut buffers = Vec::with_capacity(sizes.len());
        // A size of 0 has nothing but empty pieces: there is nothing to copy from it either.
        for size in sizes.into_iter().take_while(|size| *size > 0) {
            let landing = Landing::new(pool.acquire(generation, Kind::Upload, size)?, State::Mapped);
            buffers.push((landing, size));
        }
        let staging = Self { parts, slots, buffers };
        staging.fill(pieces, Duration::ZERO)?;
        Ok(staging)
    }

    /// Copies `pieces`, of the lengths that it was made for, into staging memory. After a submission, waits up
    /// to `patience` until the memory is the host's again.
    pub(crate) fn fill(&self, pieces: &[&[u8]], patience: Duration) -> Result<(), BackendError> {
        for (index, (landing, size)) in self.buffers.iter().enumerate() {
            if landing.wait(patience) != State::Mapped {
                return Err(unmappable("staging an upload"));
            }
            let mapped = landing.raw().get_mapped_range_mut(..*size);
            let mut mapped = mapped.map_err(|_| unmappable("staging an upload"))?;
            for (slot, part) in self.slots.iter().zip(&self.parts).filter(|(slot, _)| slot.buffer == index) {
                let bytes = part.of(pieces);
                let (start, len) = (slot.offset as usize, bytes.len());
                host_copy::to_mapped(mapped.slice(start..start + len), bytes);
                // The pad is copied too, and must not carry what an earlier upload left there.
                mapped.slice(start + len..start + slot.copied() as usize).fill(0);
            }
            drop(mapped);
            landing.unmap();
        }
        Ok(())
    }

    /// Encodes the copy of part `part` to `target` at `offset`, a multiple of 4. Up to three bytes after
    /// the part become zero.
    pub(crate) fn copy(&self, encoder: &mut CommandEncoder, part: usize, target: &wgpu::Buffer, offset: u64) {
        let Some(slot) = self.slots.get(part) else { return };
        if let (Some((landing, _)), true) = (self.buffers.get(slot.buffer), slot.len > 0) {
            encoder.copy_buffer_to_buffer(landing.raw(), slot.offset, target, offset, slot.copied());
        }
    }

    /// The bytes of its memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.buffers.iter().map(|(landing, _)| landing.raw().size()).sum()
    }

    /// Has the staging memory mapped again once the submission is done with it. If nobody keeps this until
    /// then, the memory goes back to the pool.
    pub(crate) fn recycle(&self, encoder: &CommandEncoder) {
        for (landing, _) in &self.buffers {
            landing.map_after(encoder);
        }
    }
}
