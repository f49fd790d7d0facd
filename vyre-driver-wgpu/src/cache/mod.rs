//! Caches: of pipelines and of bind groups.

mod lru;

pub(crate) use lru::{Counters, Lru};
