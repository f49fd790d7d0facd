//! The table of buffers that callers hold by handle.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use vyre_driver::{BackendError, BackendInstance, Resource};

use crate::buffer::PoolBuffer;

/// The allocated buffers of one generation, by slot.
#[derive(Debug)]
pub(crate) struct Residents {
    owner: BackendInstance,
    generation: u64,
    table: RwLock<HashMap<u64, (Resource, Arc<PoolBuffer>)>>,
}

/// Slots are never used again, not even in a later generation.
static NEXT_SLOT: AtomicU64 = AtomicU64::new(1);

impl Residents {
    pub(crate) fn new(owner: BackendInstance, generation: u64) -> Self {
        Self { owner, generation, table: RwLock::default() }
    }

    /// Enters a buffer of `len` bytes and returns its handle.
    pub(crate) fn insert(&self, buffer: PoolBuffer, len: u64) -> Resource {
        let slot = NEXT_SLOT.fetch_add(1, Ordering::Relaxed);
        let resource = Resource { owner: self.owner, generation: self.generation, slot, len };
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        table.insert(slot, (resource, Arc::new(buffer)));
        resource
    }

    /// The buffer of a handle. A handle with fields of another making is not accepted.
    pub(crate) fn get(&self, resource: Resource) -> Result<Arc<PoolBuffer>, BackendError> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        match table.get(&resource.slot) {
            Some((known, buffer)) if *known == resource => Ok(Arc::clone(buffer)),
            _ => Err(self.bad(resource)),
        }
    }

    /// Takes a buffer out. Work that holds it keeps it alive.
    pub(crate) fn remove(&self, resource: Resource) -> Result<(), BackendError> {
        self.get(resource)?;
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let removed = table.remove(&resource.slot);
        drop(table);
        removed.map(|_| ()).ok_or_else(|| self.bad(resource))
    }

    fn bad(&self, resource: Resource) -> BackendError {
        let problem = if resource.owner != self.owner {
            "foreign"
        } else if resource.generation != self.generation {
            "stale"
        } else {
            "freed"
        };
        BackendError::BadHandle { handle: resource.to_string(), problem }
    }
}
