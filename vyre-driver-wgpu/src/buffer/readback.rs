//! Device bytes on their way to the host: copied by the command encoder into mappable buffers.

use std::sync::Arc;
use std::time::Duration;

use wgpu::CommandEncoder;

use super::landing::{Landing, State};
use super::pool::{Kind, Pool};
use super::{Slot, host_copy, pack, unmappable};
use crate::generation::Generation;
use vyre_driver::BackendError;

/// What is read back: pieces, each of parts that lie in different buffers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reads {
    /// Offset in its buffer and length of each part.
    parts: Vec<(u64, u64)>,
    /// Where the parts of each piece end.
    ends: Vec<usize>,
}

impl Reads {
    /// Adds a piece, and says where its parts begin and which piece it is.
    pub(crate) fn push(&mut self, parts: impl IntoIterator<Item = (u64, u64)>) -> (usize, usize) {
        let first = self.parts.len();
        self.parts.extend(parts);
        self.ends.push(self.parts.len());
        (first, self.ends.len() - 1)
    }
}

/// The readbacks of one submission.
#[derive(Debug)]
pub(crate) struct Readback {
    /// Where each part lies.
    slots: Vec<Slot>,
    /// Where the parts of each piece end.
    ends: Vec<usize>,
    buffers: Vec<Arc<Landing>>,
}

impl Readback {
    /// Takes readback memory.
    pub(crate) fn new(generation: &Generation, pool: &Pool, reads: &Reads) -> Result<Self, BackendError> {
        let pieces = reads.parts.iter().map(|(offset, len)| (offset % wgpu::COPY_BUFFER_ALIGNMENT, *len));
        let (slots, sizes) = pack(pieces, generation.limits.max_buffer_size);
        let mut buffers = Vec::with_capacity(sizes.len());
        for size in sizes {
            if size == 0 {
                break;
            }
            buffers.push(Landing::new(pool.acquire(generation, Kind::Readback, size)?, State::Unmapped));
        }
        Ok(Self { slots, ends: reads.ends.clone(), buffers })
    }

    /// Encodes the copy of `source` from `offset` into part `part`, which was planned with that offset.
    pub(crate) fn copy(&self, encoder: &mut CommandEncoder, part: usize, source: &wgpu::Buffer, offset: u64) {
        let Some(slot) = self.slots.get(part) else { return };
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

    /// The bytes of its memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.buffers.iter().map(|landing| landing.raw().size()).sum()
    }

    /// Whether there is memory in it, which tells when the submission has ended.
    pub(crate) fn tells(&self) -> bool {
        !self.buffers.is_empty()
    }

    /// Whether the submission has ended that [`Self::map`] was for, if it [tells](Self::tells).
    pub(crate) fn is_settled(&self) -> bool {
        self.tells() && self.buffers.iter().all(|landing| landing.wait(Duration::ZERO) != State::Pending)
    }

    /// Makes it ready for another submission.
    pub(crate) fn reset(&self) {
        for landing in &self.buffers {
            landing.unmap();
        }
    }

    /// The parts of a piece.
    fn parts(&self, piece: usize) -> &[Slot] {
        let first = piece.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied());
        let range = first.zip(self.ends.get(piece).copied());
        range.and_then(|(first, end)| self.slots.get(first..end)).unwrap_or_default()
    }

    /// After the submission has ended: shows the bytes of piece `piece` to `look`, without a copy unless they are in
    /// several parts.
    pub(crate) fn piece<R>(
        &self,
        piece: usize,
        patience: Duration,
        look: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, BackendError> {
        match self.parts(piece) {
            [] => Ok(look(&[])),
            [slot] => self.slot(slot, patience, look),
            _ => {
                let mut bytes = Vec::new();
                self.copy_piece(piece, patience, &mut bytes)?;
                Ok(look(&bytes))
            }
        }
    }

    /// After the submission has ended: replaces the contents of `target` by the bytes of piece `piece`.
    pub(crate) fn copy_piece(
        &self,
        piece: usize,
        patience: Duration,
        target: &mut Vec<u8>,
    ) -> Result<(), BackendError> {
        let parts = self.parts(piece);
        if let [slot] = parts {
            return self.slot(slot, patience, |mapped| host_copy::to_vec(target, mapped));
        }
        let bytes: u64 = parts.iter().map(|slot| slot.len).sum();
        target.clear();
        let fits = usize::try_from(bytes).ok().filter(|&bytes| target.try_reserve_exact(bytes).is_ok());
        let Some(total) = fits else {
            return Err(BackendError::OutOfMemory { doing: "reading back", bytes: Some(bytes) });
        };
        target.resize(total, 0);
        let mut rest = target.as_mut_slice();
        for slot in parts {
            let (own, after) = rest.split_at_mut((slot.len as usize).min(rest.len()));
            self.slot(slot, patience, |mapped| host_copy::to_slice(own, mapped))?;
            rest = after;
        }
        Ok(())
    }

    fn slot<R>(
        &self,
        slot: &Slot,
        patience: Duration,
        look: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, BackendError> {
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
