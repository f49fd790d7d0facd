//! Handles of device buffers.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// One opened backend of this process; handles carry it, so that a foreign one is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BackendInstance(u64);

impl BackendInstance {
    /// A new identity, unlike every other of this process.
    pub fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A buffer that lives on a backend's device: its owner, the device generation it belongs to, a slot that
/// is never used again, and its size in bytes. It is freed by `VyreBackend::free`, not by dropping the
/// handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Resource {
    /// The backend that allocated it.
    pub owner: BackendInstance,
    /// The device generation it was allocated in.
    pub generation: u64,
    /// Its slot, unique in the owner.
    pub slot: u64,
    /// Its bytes.
    pub len: u64,
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "#{} of backend {} (generation {}, {} bytes)",
            self.slot, self.owner.0, self.generation, self.len
        )
    }
}
