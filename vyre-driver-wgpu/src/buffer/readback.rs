//! Device bytes on their way to the host: copied by the command encoder into mappable buffers.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use wgpu::{CommandEncoder, MapMode};

use super::pool::{Kind, Pool, PoolBuffer};
use super::{Slot, pack, unmappable};
use crate::generation::Generation;
use vyre_driver::BackendError;

/// The readbacks of one submission.
#[derive(Debug)]
pub(crate) struct Readback {
    slots: Vec<Slot>,
    buffers: Vec<Arc<Landing>>,
}

/// One readback buffer. wgpu's callback owns a share of it, so that it goes back to the pool only when
/// the mapping has been settled, even if nobody waits any more.
#[derive(Debug)]
struct Landing {
    buffer: Mutex<Option<PoolBuffer>>,
    raw: wgpu::Buffer,
    state: Mutex<MapState>,
    settled: Condvar,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MapState {
    /// Not submitted: never mapped.
    Idle,
    Pending,
    Mapped,
    Failed,
}

impl Landing {
    fn settle(&self, state: MapState) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
        self.settled.notify_all();
    }

    /// Waits for the callback, which another thread's poll may just be running.
    fn wait(&self, patience: Duration) -> MapState {
        let deadline = Instant::now() + patience;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while *state == MapState::Pending {
            let Some(left) = deadline.checked_duration_since(Instant::now()) else { break };
            state = match self.settled.wait_timeout(state, left) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
        *state
    }
}

impl Drop for Landing {
    fn drop(&mut self) {
        let state = *self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let buffer = self.buffer.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        match (state, buffer) {
            (MapState::Mapped, Some(buffer)) => {
                buffer.buffer().unmap();
                drop(buffer);
            }
            (MapState::Idle, Some(buffer)) => drop(buffer),
            (MapState::Pending | MapState::Failed, Some(buffer)) => buffer.discard(),
            (_, None) => {}
        }
    }
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
            let buffer = pool.acquire(generation, Kind::Readback, size)?;
            buffers.push(Arc::new(Landing {
                raw: buffer.buffer().clone(),
                buffer: Mutex::new(Some(buffer)),
                state: Mutex::new(MapState::Idle),
                settled: Condvar::new(),
            }));
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
                &landing.raw,
                slot.offset,
                slot.copied(),
            );
        }
    }

    /// Has the memory mapped once the submission is done.
    pub(crate) fn map(&self, encoder: &CommandEncoder) {
        for landing in &self.buffers {
            landing.settle(MapState::Pending);
            let owner = Arc::clone(landing);
            encoder.map_buffer_on_submit(&landing.raw, MapMode::Read, .., move |result| {
                owner.settle(if result.is_ok() { MapState::Mapped } else { MapState::Failed });
            });
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
        if landing.wait(patience) != MapState::Mapped {
            return Err(unmappable("reading back"));
        }
        let view = landing.raw.get_mapped_range(..).map_err(|_| unmappable("reading back"))?;
        let start = (slot.offset + slot.skip) as usize;
        Ok(look(view.get(start..start + slot.len as usize).unwrap_or_default()))
    }
}
