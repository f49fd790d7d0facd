//! Which payloads this process compiled.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

/// How many are remembered. A payload that is forgotten is one from elsewhere.
const REMEMBERED: usize = 4096;

#[derive(Default)]
struct Known {
    digests: HashSet<[u8; 32]>,
    order: VecDeque<[u8; 32]>,
}

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

fn with<R>(look: impl FnOnce(&mut Known) -> R) -> R {
    look(KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

/// Remembers that this process compiled the payload with this digest.
pub(super) fn remember(digest: [u8; 32]) {
    with(|known| {
        if !known.digests.insert(digest) {
            return;
        }
        known.order.push_back(digest);
        if known.order.len() > REMEMBERED {
            if let Some(oldest) = known.order.pop_front() {
                known.digests.remove(&oldest);
            }
        }
    });
}

/// Whether this process compiled the payload with this digest.
pub(super) fn is_known(digest: &[u8; 32]) -> bool {
    with(|known| known.digests.contains(digest))
}

/// As after the start of the process.
#[cfg(test)]
pub(super) fn forget(digest: &[u8; 32]) {
    with(|known| known.digests.remove(digest));
}
