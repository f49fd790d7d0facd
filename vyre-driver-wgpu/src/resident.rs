//! The table of buffers that callers hold by handle.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use vyre_driver::{BackendError, BackendInstance, BufferRef, Command, CommandList, Resource};

use crate::buffer::Segments;
use crate::lifecycle::shut_down;

/// The allocated buffers of a backend, by slot. The table outlives the generations of the device; its
/// buffers do not.
#[derive(Debug)]
pub(crate) struct Residents {
    owner: BackendInstance,
    /// The generation whose buffers these are; 0 after a shutdown. Changes under the table's lock.
    generation: AtomicU64,
    table: RwLock<HashMap<u64, Resident>>,
    /// How many entries have a mirror.
    retained: AtomicUsize,
    /// Held while mirrors and their buffers change together.
    mirroring: Mutex<()>,
}

#[derive(Debug)]
struct Resident {
    resource: Resource,
    buffer: Arc<Segments>,
    /// The bytes that the host has put into a retained buffer: what a recovery restores.
    mirror: Option<Vec<u8>>,
}

/// Slots are never used again, not even in a later generation.
static NEXT_SLOT: AtomicU64 = AtomicU64::new(1);

impl Residents {
    pub(crate) fn new(owner: BackendInstance) -> Self {
        Self {
            owner,
            generation: AtomicU64::new(0),
            table: RwLock::default(),
            retained: AtomicUsize::new(0),
            mirroring: Mutex::default(),
        }
    }

    /// Enters a buffer of `len` bytes, all 0, of this generation, and returns its handle. A retained one is
    /// restored when the device is recovered.
    ///
    /// # Errors
    /// [`BackendError::OutOfMemory`] if the host has no memory for the copy of a retained buffer, or the loss
    /// of the buffer's device if that has been recovered meanwhile.
    pub(crate) fn insert(
        &self,
        buffer: Segments,
        generation: u64,
        len: u64,
        retain: bool,
    ) -> Result<Resource, BackendError> {
        let mirror = if retain { Some(zeros(len)?) } else { None };
        let slot = NEXT_SLOT.fetch_add(1, Ordering::Relaxed);
        let resource = Resource { owner: self.owner, generation, slot, len };
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        match self.generation.load(Ordering::Acquire) {
            0 => return Err(shut_down()),
            living if living != generation => {
                let reason = "it was recovered meanwhile".to_owned();
                return Err(BackendError::DeviceLost { generation, reason });
            }
            _ => {}
        }
        if retain {
            self.retained.fetch_add(1, Ordering::Release);
        }
        table.insert(slot, Resident { resource, buffer: Arc::new(buffer), mirror });
        Ok(resource)
    }

    /// The buffer of a handle. A handle with fields of another making is not accepted.
    pub(crate) fn get(&self, resource: Resource) -> Result<Arc<Segments>, BackendError> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        match table.get(&resource.slot) {
            Some(known) if known.resource == resource => Ok(Arc::clone(&known.buffer)),
            _ => Err(self.bad(resource)),
        }
    }

    /// Whether every one of these handles is good.
    pub(crate) fn has_all(&self, resources: &[Resource]) -> bool {
        if resources.is_empty() {
            return true;
        }
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        resources
            .iter()
            .all(|resource| table.get(&resource.slot).is_some_and(|known| known.resource == *resource))
    }

    /// Takes a buffer out. Work that holds it keeps it alive.
    pub(crate) fn remove(&self, resource: Resource) -> Result<(), BackendError> {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        match table.get(&resource.slot) {
            Some(known) if known.resource == resource => {}
            _ => return Err(self.bad(resource)),
        }
        let removed = table.remove(&resource.slot);
        if removed.as_ref().is_some_and(|resident| resident.mirror.is_some()) {
            self.retained.fetch_sub(1, Ordering::Release);
        }
        // The buffer goes back to its pool without our lock.
        drop(table);
        drop(removed);
        Ok(())
    }

    /// How many buffers there are.
    pub(crate) fn len(&self) -> usize {
        self.table.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn bad(&self, resource: Resource) -> BackendError {
        let problem = if resource.owner != self.owner {
            "foreign"
        } else if resource.generation != self.generation.load(Ordering::Acquire) {
            "stale"
        } else {
            "freed"
        };
        BackendError::BadHandle { handle: resource.to_string(), problem }
    }

    /// What has to be held while `list` is submitted, if it writes host bytes into retained buffers: lists
    /// are then mirrored in the order in which they are submitted, and none is lost in a recovery.
    pub(crate) fn mirroring<'a>(&'a self, list: &CommandList<'_>) -> Option<Mirroring<'a>> {
        if self.retained.load(Ordering::Acquire) == 0 {
            return None;
        }
        let concerned = {
            let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
            host_writes(list).any(|(resource, ..)| {
                table.get(&resource.slot).is_some_and(|resident| resident.mirror.is_some())
            })
        };
        concerned.then(|| Mirroring {
            residents: self,
            _held: self.mirroring.lock().unwrap_or_else(PoisonError::into_inner),
        })
    }

    /// Makes this the table of a new generation: `restore` makes the buffers of the retained entries anew
    /// from their bytes, all others are forgotten and their handles stale. If one cannot be restored,
    /// nothing changes.
    pub(crate) fn renew(
        &self,
        generation: u64,
        mut restore: impl FnMut(&[u8]) -> Result<Segments, BackendError>,
    ) -> Result<(), BackendError> {
        let _mirroring = self.mirroring.lock().unwrap_or_else(PoisonError::into_inner);
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let mut restored = HashMap::new();
        for (slot, resident) in table.iter() {
            if let Some(mirror) = &resident.mirror {
                restored.insert(*slot, Arc::new(restore(mirror)?));
            }
        }
        let old: Vec<_> = table
            .values_mut()
            .filter_map(|resident| {
                let buffer = restored.remove(&resident.resource.slot)?;
                Some(std::mem::replace(&mut resident.buffer, buffer))
            })
            .collect();
        let (kept, gone): (HashMap<_, _>, HashMap<_, _>) =
            std::mem::take(&mut *table).into_iter().partition(|(_, resident)| resident.mirror.is_some());
        *table = kept;
        self.generation.store(generation, Ordering::Release);
        drop(table);
        drop((old, gone));
        Ok(())
    }

    /// Forgets every buffer, for good.
    pub(crate) fn clear(&self) {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let gone = std::mem::take(&mut *table);
        self.generation.store(0, Ordering::Release);
        self.retained.store(0, Ordering::Release);
        drop(table);
        drop(gone);
    }
}

/// Held while a list that writes retained buffers is submitted.
pub(crate) struct Mirroring<'a> {
    residents: &'a Residents,
    _held: MutexGuard<'a, ()>,
}

impl Mirroring<'_> {
    /// Notes the host bytes that the list, now submitted, puts into retained buffers. What kernels and
    /// copies write there is not known here.
    pub(crate) fn note(self, list: &CommandList<'_>) {
        let mut table = self.residents.table.write().unwrap_or_else(PoisonError::into_inner);
        for (resource, offset, len, write) in host_writes(list) {
            let mirror = table.get_mut(&resource.slot).and_then(|resident| resident.mirror.as_mut());
            let start = usize::try_from(offset).unwrap_or(usize::MAX);
            let end = start.saturating_add(usize::try_from(len).unwrap_or(usize::MAX));
            let Some(target) = mirror.and_then(|mirror| mirror.get_mut(start..end)) else { continue };
            match write {
                Write::Bytes(bytes) => target.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from),
                Write::Fill(byte) => target.fill(byte),
            }
        }
    }
}

/// What the host writes.
enum Write<'a> {
    Bytes(&'a [u8]),
    Fill(u8),
}

/// A resident that a list writes from the host, offset and length in bytes, and what is written.
type HostWrite<'a> = (Resource, u64, u64, Write<'a>);

/// The host's writes of a list in order, those of a repetition once: the last time makes the same again.
fn host_writes<'l>(list: &'l CommandList<'_>) -> impl Iterator<Item = HostWrite<'l>> {
    let mut open = vec![list.commands().iter()];
    std::iter::from_fn(move || {
        loop {
            let Some(command) = open.last_mut()?.next() else {
                open.pop();
                continue;
            };
            let (to, write) = match command {
                Command::Upload { to, bytes } => (to, Write::Bytes(bytes)),
                Command::Fill { to, byte } => (to, Write::Fill(*byte)),
                Command::Repeat { commands, count } if *count > 0 => {
                    open.push(commands.iter());
                    continue;
                }
                _ => continue,
            };
            if let BufferRef::Resident(resource) = to.buffer {
                return Some((resource, to.offset, to.len, write));
            }
        }
    })
}

fn zeros(len: u64) -> Result<Vec<u8>, BackendError> {
    let refused = BackendError::OutOfMemory { doing: "keeping a host copy of a buffer", bytes: Some(len) };
    let Ok(wanted) = usize::try_from(len) else { return Err(refused) };
    let mut bytes = Vec::new();
    if bytes.try_reserve_exact(wanted).is_err() {
        return Err(refused);
    }
    bytes.resize(wanted, 0);
    Ok(bytes)
}
