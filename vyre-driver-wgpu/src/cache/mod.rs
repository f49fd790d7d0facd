//! What is kept for the next time, in memory and on disk.

mod disk;
mod key;
mod lru;
mod private;
mod record;

pub use disk::DiskCacheStats;
pub(crate) use disk::{DEFAULT_LIMIT, Disk, hex};
pub(crate) use key::key;
pub(crate) use lru::{Counters, Lru};
