//! Host bytes on their way to the device: staged in mapped buffers, copied by the command encoder.

use wgpu::{CommandEncoder, MapMode};

use super::pool::{Kind, Pool, PoolBuffer};
use super::{Slot, host_copy, pack, unmappable};
use crate::generation::Generation;
use vyre_driver::BackendError;

/// The uploads of one submission, written to host-visible memory.
#[derive(Debug)]
pub(crate) struct Staging {
    slots: Vec<Slot>,
    buffers: Vec<Unmapped>,
}

impl Staging {
    /// Copies all `pieces` into staging memory.
    pub(crate) fn new(generation: &Generation, pool: &Pool, pieces: &[&[u8]]) -> Result<Self, BackendError> {
        let lens = pieces.iter().map(|piece| (0, piece.len() as u64));
        let (slots, sizes) = pack(lens, generation.limits.max_buffer_size);
        let mut buffers = Vec::with_capacity(sizes.len());
        for (index, size) in sizes.into_iter().enumerate() {
            if size == 0 {
                // Nothing but empty pieces: there is nothing to copy from it either.
                break;
            }
            let staging = Unmapped { buffer: Some(pool.acquire(generation, Kind::Upload, size)?) };
            let Some(raw) = staging.raw() else { continue };
            let mapped = raw.get_mapped_range_mut(..size);
            let mut mapped = mapped.map_err(|_| unmappable("staging an upload"))?;
            for (slot, piece) in slots.iter().zip(pieces).filter(|(slot, _)| slot.buffer == index) {
                let (start, len) = (slot.offset as usize, piece.len());
                host_copy::to_mapped(mapped.slice(start..start + len), piece);
                // The pad is copied too, and must not carry what an earlier upload left there.
                mapped.slice(start + len..start + slot.copied() as usize).fill(0);
            }
            drop(mapped);
            raw.unmap();
            buffers.push(staging);
        }
        Ok(Self { slots, buffers })
    }

    /// Encodes the copy of piece `piece` to `target` at `offset`, a multiple of 4. Up to three bytes after
    /// the piece become zero.
    pub(crate) fn copy(
        &self,
        encoder: &mut CommandEncoder,
        piece: usize,
        target: &wgpu::Buffer,
        offset: u64,
    ) {
        let Some(slot) = self.slots.get(piece) else { return };
        let source = self.buffers.get(slot.buffer).and_then(Unmapped::raw);
        if let (Some(source), true) = (source, slot.len > 0) {
            encoder.copy_buffer_to_buffer(source, slot.offset, target, offset, slot.copied());
        }
    }

    /// Has the staging memory mapped again and given back once the submission is done with it.
    pub(crate) fn recycle(&mut self, encoder: &CommandEncoder) {
        for staging in self.buffers.drain(..) {
            let Some(raw) = staging.raw().cloned() else { continue };
            encoder.map_buffer_on_submit(&raw, MapMode::Write, .., move |result| {
                if result.is_ok() {
                    staging.give_back();
                }
            });
        }
    }
}

/// A staging buffer that is not mapped now. The pool holds mapped ones only, so it is destroyed unless it is
/// given back: also where a submission fails, or a callback is dropped without a call.
#[derive(Debug)]
struct Unmapped {
    /// `None` once it has been given back.
    buffer: Option<PoolBuffer>,
}

impl Unmapped {
    fn raw(&self) -> Option<&wgpu::Buffer> {
        self.buffer.as_ref().map(PoolBuffer::buffer)
    }

    /// Gives it back, mapped again.
    fn give_back(mut self) {
        drop(self.buffer.take());
    }
}

impl Drop for Unmapped {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            buffer.discard();
        }
    }
}
