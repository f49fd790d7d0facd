//! Host-visible buffers between host and device, and whether they are mapped.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use wgpu::{CommandEncoder, MapMode};

use super::pool::{Kind, PoolBuffer};

/// A host-visible buffer. wgpu's callback owns a share of it, so that it goes back to the pool only when the
/// mapping has been settled, even if nobody waits any more.
#[derive(Debug)]
pub(super) struct Landing {
    buffer: Mutex<Option<PoolBuffer>>,
    raw: wgpu::Buffer,
    kind: Kind,
    state: Mutex<State>,
    settled: Condvar,
}

/// Where a mapping stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// For the device.
    Unmapped,
    /// Asked for; the callback settles it.
    Pending,
    /// For the host.
    Mapped,
    /// It did not come about: the buffer is of no use any more.
    Failed,
}

impl Landing {
    /// `state` is that in which the pool holds buffers of this kind.
    pub(super) fn new(buffer: PoolBuffer, state: State) -> Arc<Self> {
        Arc::new(Self {
            raw: buffer.buffer().clone(),
            kind: buffer.kind(),
            buffer: Mutex::new(Some(buffer)),
            state: Mutex::new(state),
            settled: Condvar::new(),
        })
    }

    pub(super) fn raw(&self) -> &wgpu::Buffer {
        &self.raw
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self, state: State) {
        *self.lock() = state;
        self.settled.notify_all();
    }

    /// Has `encoder`'s submission map it when it has ended.
    pub(super) fn map_after(self: &Arc<Self>, encoder: &CommandEncoder) {
        self.settle(State::Pending);
        let owner = Arc::clone(self);
        let mode = if self.kind == Kind::Upload { MapMode::Write } else { MapMode::Read };
        encoder.map_buffer_on_submit(&self.raw, mode, .., move |result| {
            owner.settle(if result.is_ok() { State::Mapped } else { State::Failed });
        });
    }

    /// Gives it to the device.
    pub(super) fn unmap(&self) {
        let mut state = self.lock();
        if *state == State::Mapped {
            self.raw.unmap();
            *state = State::Unmapped;
        }
    }

    /// Waits for the callback, which another thread's poll may just be running.
    pub(super) fn wait(&self, patience: Duration) -> State {
        let mut state = self.lock();
        if *state != State::Pending {
            return *state;
        }
        let deadline = Instant::now() + patience;
        while *state == State::Pending {
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
        let Some(buffer) = self.buffer.get_mut().unwrap_or_else(PoisonError::into_inner).take() else {
            return;
        };
        // The pool holds upload buffers mapped and readback buffers unmapped.
        match (self.kind, state) {
            (Kind::Upload, State::Mapped) | (Kind::Readback, State::Unmapped) => drop(buffer),
            (Kind::Readback, State::Mapped) => {
                buffer.buffer().unmap();
                drop(buffer);
            }
            _ => buffer.discard(),
        }
    }
}
