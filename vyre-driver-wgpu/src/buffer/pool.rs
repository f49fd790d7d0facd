//! Buffers by size class, kept for reuse.
//!
//! A buffer goes back when its last owner drops it, even while the device still works on it: whatever
//! uses it next is submitted later, and the queue runs submissions in order. (Host-mapped buffers are
//! another matter; see the staging modules.)

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use wgpu::BufferUsages;

use super::{PADDING, padded};
use crate::generation::Generation;
use vyre_driver::BackendError;

/// What a buffer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    /// Used by kernels.
    Device,
    /// Written by the host. Mapped whenever it lies in the pool.
    Upload,
    /// Read by the host. Unmapped whenever it lies in the pool.
    Readback,
}

impl Kind {
    fn usage(self) -> BufferUsages {
        match self {
            Self::Device => {
                BufferUsages::STORAGE
                    | BufferUsages::UNIFORM
                    | BufferUsages::COPY_SRC
                    | BufferUsages::COPY_DST
                    | BufferUsages::INDIRECT
                    | BufferUsages::QUERY_RESOLVE
            }
            Self::Upload => BufferUsages::MAP_WRITE | BufferUsages::COPY_SRC,
            Self::Readback => BufferUsages::MAP_READ | BufferUsages::COPY_DST,
        }
    }

    fn doing(self) -> &'static str {
        match self {
            Self::Device => "allocating a buffer",
            Self::Upload => "allocating staging memory for an upload",
            Self::Readback => "allocating staging memory for a readback",
        }
    }
}

/// The smallest class.
const LEAST_CLASS: u64 = 256;

/// The size class of `bytes`: at most an eighth larger, and never above `limit` when `bytes` is not.
pub(crate) fn class_of(bytes: u64, limit: u64) -> u64 {
    let bytes = padded(bytes);
    if bytes <= LEAST_CLASS {
        return LEAST_CLASS.min(limit);
    }
    let step = (1_u64 << bytes.ilog2()) / 8;
    let class = bytes.next_multiple_of(step.max(PADDING));
    if class > limit { bytes } else { class }
}

/// One wgpu buffer, and who it is.
#[derive(Debug)]
struct Raw {
    buffer: wgpu::Buffer,
    /// Never given twice, so that caches can name a buffer by it.
    id: u64,
    kind: Kind,
    class: u64,
}

/// A buffer from the pool. Dropping it gives it back.
#[derive(Debug)]
pub(crate) struct PoolBuffer {
    raw: Option<Raw>,
    buffer: wgpu::Buffer,
    kind: Kind,
    id: u64,
    /// Whether it has just been created, and so is all zero.
    fresh: bool,
    home: Weak<Shared>,
}

impl PoolBuffer {
    pub(crate) fn buffer(&self) -> &wgpu::Buffer {
        &self.buffer
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// Its identity; no other buffer of the process ever has the same.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Whether all its bytes are known to be 0: nobody has had it before.
    pub(crate) fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// Destroys it instead of giving it back: its state is unknown.
    pub(crate) fn discard(mut self) {
        if let (Some(raw), Some(home)) = (self.raw.take(), self.home.upgrade()) {
            home.lock().live_bytes -= raw.class;
        }
    }
}

impl Drop for PoolBuffer {
    fn drop(&mut self) {
        if let (Some(raw), Some(home)) = (self.raw.take(), self.home.upgrade()) {
            home.give_back(raw);
        }
    }
}

/// What the pool has done and holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PoolCounters {
    /// Requests served from the pool.
    pub(crate) reused: u64,
    /// Buffers created.
    pub(crate) created: u64,
    /// Buffers destroyed to stay within the budget.
    pub(crate) trimmed: u64,
    /// Bytes of all buffers that exist, idle or in use.
    pub(crate) live_bytes: u64,
    /// Bytes of the idle ones.
    pub(crate) idle_bytes: u64,
}

#[derive(Debug)]
struct Shared {
    inner: Mutex<Inner>,
    /// Whether `destroyed` has entries. Changes under the lock.
    swept: AtomicBool,
}

#[derive(Debug)]
struct Inner {
    /// Idle buffers by kind and class: the last in is the next out, the front is the oldest.
    idle: BTreeMap<(Kind, u64), VecDeque<(u64, Raw)>>,
    /// Counts returns: orders idle buffers by age.
    returns: u64,
    idle_budget: u64,
    live_bytes: u64,
    idle_bytes: u64,
    reused: u64,
    created: u64,
    trimmed: u64,
    /// Identities of destroyed buffers, for the caches that name them.
    destroyed: Vec<u64>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Destroys idle buffers, oldest first, until at most `budget` bytes lie idle; says how many.
    fn trim_to(&self, mut inner: MutexGuard<'_, Inner>, budget: u64) -> usize {
        let dropped = inner.trim_to(budget);
        if !dropped.is_empty() {
            self.swept.store(true, Ordering::Relaxed);
        }
        drop(inner);
        // wgpu's destructors run without our lock.
        dropped.len()
    }

    fn give_back(&self, raw: Raw) {
        let mut inner = self.lock();
        inner.returns += 1;
        let age = inner.returns;
        inner.idle_bytes += raw.class;
        inner.idle.entry((raw.kind, raw.class)).or_default().push_back((age, raw));
        let budget = inner.idle_budget;
        self.trim_to(inner, budget);
    }
}

impl Inner {
    /// Takes idle buffers out, oldest first, until at most `budget` bytes lie idle.
    fn trim_to(&mut self, budget: u64) -> Vec<Raw> {
        let mut dropped = Vec::new();
        while self.idle_bytes > budget {
            let oldest = self
                .idle
                .iter()
                .filter_map(|(key, queue)| queue.front().map(|(age, _)| (*age, *key)))
                .min()
                .map(|(_, key)| key);
            let Some(key) = oldest else { break };
            let Some(queue) = self.idle.get_mut(&key) else { break };
            if let Some((_, raw)) = queue.pop_front() {
                self.idle_bytes -= raw.class;
                self.live_bytes -= raw.class;
                self.trimmed += 1;
                self.destroyed.push(raw.id);
                dropped.push(raw);
            }
            if queue.is_empty() {
                self.idle.remove(&key);
            }
        }
        dropped
    }
}

/// The pool of one generation.
#[derive(Debug)]
pub(crate) struct Pool {
    shared: Arc<Shared>,
}

impl Pool {
    /// A pool that keeps at most `idle_budget` bytes of unused buffers.
    pub(crate) fn new(idle_budget: u64) -> Self {
        let inner = Inner {
            idle: BTreeMap::new(),
            returns: 0,
            idle_budget,
            live_bytes: 0,
            idle_bytes: 0,
            reused: 0,
            created: 0,
            trimmed: 0,
            destroyed: Vec::new(),
        };
        Self { shared: Arc::new(Shared { inner: Mutex::new(inner), swept: AtomicBool::new(false) }) }
    }

    /// A buffer of at least `bytes`, padded. Its contents are whatever was there before.
    pub(crate) fn acquire(
        &self,
        generation: &Generation,
        kind: Kind,
        bytes: u64,
    ) -> Result<PoolBuffer, BackendError> {
        let limit = generation.limits.max_buffer_size;
        if padded(bytes) > limit {
            let what = "the size of a buffer in bytes".to_owned();
            return Err(BackendError::Limit { what, value: bytes, limit });
        }
        generation.check()?;
        let class = class_of(bytes, limit);
        {
            let mut inner = self.shared.lock();
            if let Some(queue) = inner.idle.get_mut(&(kind, class)) {
                if let Some((_, raw)) = queue.pop_back() {
                    inner.idle_bytes -= class;
                    inner.reused += 1;
                    drop(inner);
                    return Ok(self.lend(raw, false));
                }
            }
        }
        let buffer = match create(generation, kind, class) {
            Err(BackendError::OutOfMemory { .. }) if self.trim() => {
                // Memory of destroyed buffers comes back when the device has been looked at.
                generation.poll_once()?;
                create(generation, kind, class)?
            }
            other => other?,
        };
        let mut inner = self.shared.lock();
        inner.created += 1;
        inner.live_bytes += class;
        drop(inner);
        Ok(self.lend(Raw { buffer, id: next_id(), kind, class }, true))
    }

    fn lend(&self, raw: Raw, fresh: bool) -> PoolBuffer {
        PoolBuffer {
            buffer: raw.buffer.clone(),
            kind: raw.kind,
            id: raw.id,
            fresh,
            raw: Some(raw),
            home: Arc::downgrade(&self.shared),
        }
    }

    /// Destroys all idle buffers; says whether there were any.
    pub(crate) fn trim(&self) -> bool {
        self.shared.trim_to(self.shared.lock(), 0) > 0
    }

    /// The identities of buffers destroyed since the last call, if any were.
    pub(crate) fn take_destroyed(&self) -> Option<Vec<u64>> {
        if !self.shared.swept.load(Ordering::Relaxed) {
            return None;
        }
        let mut inner = self.shared.lock();
        self.shared.swept.store(false, Ordering::Relaxed);
        Some(std::mem::take(&mut inner.destroyed))
    }

    pub(crate) fn counters(&self) -> PoolCounters {
        let inner = self.shared.lock();
        PoolCounters {
            reused: inner.reused,
            created: inner.created,
            trimmed: inner.trimmed,
            live_bytes: inner.live_bytes,
            idle_bytes: inner.idle_bytes,
        }
    }
}

fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn create(generation: &Generation, kind: Kind, class: u64) -> Result<wgpu::Buffer, BackendError> {
    generation.allocate(kind.doing(), class, |device| {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: class,
            usage: kind.usage(),
            mapped_at_creation: kind == Kind::Upload,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_waste_at_most_an_eighth_and_respect_the_limit() {
        let limit = u64::from(u32::MAX >> 1);
        assert_eq!(class_of(0, limit), 256);
        assert_eq!(class_of(256, limit), 256);
        assert_eq!(class_of(257, limit), 288);
        assert_eq!(class_of(1024, limit), 1024);
        assert_eq!(class_of(1025, limit), 1152);
        for bytes in [300_u64, 4097, 1 << 20, (1 << 20) + 1, 123_456_789, limit - 15] {
            let class = class_of(bytes, limit);
            assert!(class >= bytes && class <= limit, "{bytes} → {class}");
            assert!(class <= padded(bytes) + padded(bytes) / 8, "{bytes} → {class}");
            assert_eq!(class % 16, 0);
        }
    }
}
