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
    buffers: Vec<PoolBuffer>,
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
            let staging = pool.acquire(generation, Kind::Upload, size)?;
            let mapped = staging.buffer().get_mapped_range_mut(..size);
            let Ok(mut mapped) = mapped else {
                staging.discard();
                return Err(unmappable("staging an upload"));
            };
            for (slot, piece) in slots.iter().zip(pieces).filter(|(slot, _)| slot.buffer == index) {
                let (start, len) = (slot.offset as usize, piece.len());
                host_copy::to_mapped(mapped.slice(start..start + len), piece);
                // The pad is copied too, and must not carry what an earlier upload left there.
                mapped.slice(start + len..start + slot.copied() as usize).fill(0);
            }
            drop(mapped);
            staging.buffer().unmap();
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
        if let (Some(source), true) = (self.buffers.get(slot.buffer), slot.len > 0) {
            encoder.copy_buffer_to_buffer(source.buffer(), slot.offset, target, offset, slot.copied());
        }
    }

    /// Has the staging memory mapped again and given back once the submission is done with it.
    pub(crate) fn recycle(self, encoder: &CommandEncoder) {
        for staging in self.buffers {
            let buffer = staging.buffer().clone();
            encoder.map_buffer_on_submit(&buffer, MapMode::Write, .., move |result| match result {
                Ok(()) => drop(staging),
                Err(_) => staging.discard(),
            });
        }
    }
}
