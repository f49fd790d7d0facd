//! A bounded map that forgets what was used least recently, with exact counters.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

/// What a cache has done and holds. Exact under concurrency: all counters change under the cache's lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    pub(crate) insertions: u64,
    /// All that went.
    pub(crate) evictions: u64,
    /// Those of them that were removed by [`Lru::remove_if`].
    pub(crate) removals: u64,
    pub(crate) entries: u64,
}

/// A bounded, shared least-recently-used cache. Values are cheap to clone (handles).
#[derive(Debug)]
pub(crate) struct Lru<K, V> {
    capacity: usize,
    inner: Mutex<Inner<K, V>>,
}

#[derive(Debug)]
struct Inner<K, V> {
    entries: HashMap<K, Entry<V>>,
    /// Last use → key; uses are numbered, so the first is the oldest.
    by_use: BTreeMap<u64, K>,
    uses: u64,
    counters: Counters,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    used: u64,
}

impl<K: Clone + Eq + Hash, V: Clone> Lru<K, V> {
    /// An empty cache of at most `capacity` entries (at least one).
    pub(crate) fn new(capacity: usize) -> Self {
        let inner = Inner {
            entries: HashMap::new(),
            by_use: BTreeMap::new(),
            uses: 0,
            counters: Counters::default(),
        };
        Self { capacity: capacity.max(1), inner: Mutex::new(inner) }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner<K, V>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value of `key`, which becomes the most recently used.
    pub(crate) fn get<Q>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let inner = &mut *self.lock();
        let Some(entry) = inner.entries.get_mut(key) else {
            inner.counters.misses += 1;
            return None;
        };
        inner.counters.hits += 1;
        // The newest needs no move: the case of a repeated dispatch.
        if entry.used != inner.uses {
            inner.uses += 1;
            if let Some(key) = inner.by_use.remove(&entry.used) {
                inner.by_use.insert(inner.uses, key);
            }
            entry.used = inner.uses;
        }
        Some(entry.value.clone())
    }

    /// Stores `value` unless the key has one already, and returns what is stored: of several threads that
    /// made the same thing, all use the first.
    pub(crate) fn insert(&self, key: K, value: V) -> V {
        let inner = &mut *self.lock();
        if let Some(entry) = inner.entries.get(&key) {
            return entry.value.clone();
        }
        while inner.entries.len() >= self.capacity {
            let Some((_, oldest)) = inner.by_use.pop_first() else { break };
            inner.entries.remove(&oldest);
            inner.counters.evictions += 1;
        }
        inner.uses += 1;
        inner.by_use.insert(inner.uses, key.clone());
        inner.entries.insert(key, Entry { value: value.clone(), used: inner.uses });
        inner.counters.insertions += 1;
        value
    }

    /// Removes every entry for which `condemn` holds; says how many.
    pub(crate) fn remove_if(&self, mut condemn: impl FnMut(&K) -> bool) -> usize {
        let inner = &mut *self.lock();
        let before = inner.entries.len();
        let by_use = &mut inner.by_use;
        inner.entries.retain(|key, entry| {
            let keep = !condemn(key);
            if !keep {
                by_use.remove(&entry.used);
            }
            keep
        });
        let removed = before - inner.entries.len();
        inner.counters.evictions += removed as u64;
        inner.counters.removals += removed as u64;
        removed
    }

    /// The most entries.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// The counters at this moment.
    pub(crate) fn counters(&self) -> Counters {
        let inner = self.lock();
        Counters { entries: inner.entries.len() as u64, ..inner.counters }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_entry_goes_first() {
        let cache = Lru::new(2);
        cache.insert(1, "one");
        cache.insert(2, "two");
        assert_eq!(cache.get(&1), Some("one"));
        cache.insert(3, "three");
        assert_eq!(cache.get(&2), None);
        assert_eq!(cache.get(&1), Some("one"));
        assert_eq!(cache.get(&3), Some("three"));
        assert_eq!(
            cache.counters(),
            Counters { hits: 3, misses: 1, insertions: 3, evictions: 1, removals: 0, entries: 2 }
        );
    }

    #[test]
    fn repeated_use_of_one_entry_keeps_the_order_of_the_others() {
        let cache = Lru::new(3);
        for key in 0..3 {
            cache.insert(key, key);
        }
        for _ in 0..5 {
            assert_eq!(cache.get(&0), Some(0));
        }
        cache.insert(3, 3);
        assert_eq!(cache.get(&1), None);
        assert_eq!(cache.get(&2), Some(2));
    }

    #[test]
    fn the_first_of_two_insertions_stays() {
        let cache = Lru::new(2);
        assert_eq!(cache.insert(1, "first"), "first");
        assert_eq!(cache.insert(1, "second"), "first");
        assert_eq!(cache.counters().insertions, 1);
    }

    #[test]
    fn removal_by_condition_keeps_the_rest_usable() {
        let cache = Lru::new(4);
        for key in 0..4 {
            cache.insert(key, key);
        }
        assert_eq!(cache.remove_if(|key| key % 2 == 0), 2);
        assert_eq!(cache.get(&0), None);
        assert_eq!(cache.get(&1), Some(1));
        cache.insert(4, 4);
        cache.insert(5, 5);
        cache.insert(6, 6);
        // 3 was the least recently used of {3, 1, 4, 5} when 6 came.
        assert_eq!(cache.get(&3), None);
        assert_eq!(cache.get(&1), Some(1));
    }
}
