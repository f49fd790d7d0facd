//! The table behind the `u64` handles.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::DispatchError;
use crate::{BackendError, Resource};

/// Bits of a handle that number the buffer; those above tell tables apart.
const SLOT_BITS: u32 = 40;

/// What a static buffer is found by: its cache domain, and the BLAKE3 hash of its bytes.
pub(super) type Content = (u64, [u8; 32]);

/// The resident buffers of one [`OptimizerDispatcher`](super::OptimizerDispatcher), by handle. A handle says
/// which table it is of and is never given out twice, so that foreign and freed ones are told apart.
#[derive(Debug)]
pub struct ResidentHandles {
    tag: u64,
    state: Mutex<State>,
    /// Held while static buffers are acquired or released, so that equal payloads are uploaded once.
    pub(super) sharing: Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    last: u64,
    live: HashMap<u64, Held>,
    shared: HashMap<Content, u64>,
}

/// A buffer that a handle stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) resource: Resource,
    pub(super) shared: Option<Shared>,
}

/// What makes a buffer a static one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared {
    pub(super) content: Content,
    pub(super) users: u64,
}

impl Default for ResidentHandles {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let tag = NEXT.fetch_add(1, Ordering::Relaxed) << SLOT_BITS;
        Self { tag, state: Mutex::default(), sharing: Mutex::default() }
    }
}

impl ResidentHandles {
    /// What tells this table from all others of the process.
    pub(super) fn tag(&self) -> u64 {
        self.tag
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change is one insertion or removal, so a panic elsewhere leaves a good table.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a handle stands for.
    pub(super) fn get(&self, handle: u64) -> Result<Held, DispatchError> {
        let state = self.lock();
        state.live.get(&handle).copied().ok_or_else(|| self.unknown(&state, handle))
    }

    fn unknown(&self, state: &State, handle: u64) -> DispatchError {
        let slot = handle ^ self.tag;
        let given = (1..=state.last).contains(&slot);
        DispatchError::Handle { handle, problem: if given { "freed" } else { "foreign" } }
    }

    /// Gives a buffer a handle.
    pub(super) fn insert(&self, resource: Resource) -> Result<u64, DispatchError> {
        let mut state = self.lock();
        if (state.last + 1) >> SLOT_BITS != 0 {
            let (what, limit) = ("the number of resident handles given out".to_owned(), state.last);
            let source = BackendError::Limit { what, value: limit + 1, limit };
            return Err(DispatchError::Backend { doing: "allocating a resident buffer", source });
        }
        state.last += 1;
        let handle = self.tag | state.last;
        state.live.insert(handle, Held { resource, shared: None });
        Ok(handle)
    }

    /// Takes a buffer out that is no static one.
    pub(super) fn remove(&self, handle: u64) -> Result<Resource, DispatchError> {
        let mut state = self.lock();
        match state.live.get(&handle) {
            None => Err(self.unknown(&state, handle)),
            Some(Held { shared: Some(_), .. }) => {
                Err(DispatchError::Immutable { doing: "freeing a resident buffer", handle })
            }
            Some(&Held { resource, .. }) => {
                state.live.remove(&handle);
                Ok(resource)
            }
        }
    }

    /// The static buffer with this content.
    pub(super) fn find(&self, content: &Content) -> Option<u64> {
        self.lock().shared.get(content).copied()
    }

    /// Makes a buffer the static one of its content, or counts a further user.
    pub(super) fn share(&self, handle: u64, content: Content) {
        let mut state = self.lock();
        let Some(held) = state.live.get_mut(&handle) else { return };
        let users = held.shared.map_or(0, |shared| shared.users);
        held.shared = Some(Shared { content, users: users + 1 });
        state.shared.insert(content, handle);
    }

    /// Lets nobody find a static buffer by its content any more; who has it keeps it.
    pub(super) fn retire(&self, handle: u64) {
        self.lock().shared.retain(|_, found| *found != handle);
    }

    /// Counts a user of a static buffer down. Gives the buffer to free if it was the last.
    pub(super) fn unshare(&self, handle: u64, cache_domain: u64) -> Result<Option<Resource>, DispatchError> {
        let mut state = self.lock();
        let Some(&Held { resource, shared }) = state.live.get(&handle) else {
            return Err(self.unknown(&state, handle));
        };
        let Some(Shared { content, users }) = shared.filter(|shared| shared.content.0 == cache_domain) else {
            return Err(DispatchError::NotStatic { handle, cache_domain });
        };
        if users > 1 {
            let shared = Some(Shared { content, users: users - 1 });
            state.live.insert(handle, Held { resource, shared });
            return Ok(None);
        }
        state.live.remove(&handle);
        if state.shared.get(&content) == Some(&handle) {
            state.shared.remove(&content);
        }
        Ok(Some(resource))
    }
}
