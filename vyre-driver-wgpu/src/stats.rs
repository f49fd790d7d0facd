//! Counters for dashboards.

use crate::cache::{Counters, DiskCacheStats};
use crate::lifecycle::Lifecycle;

/// What a cache has done and holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheStats {
    /// Requests that were answered from the cache.
    pub hits: u64,
    /// Requests that were not.
    pub misses: u64,
    /// Entries put in.
    pub insertions: u64,
    /// Entries that had to go.
    pub evictions: u64,
    /// Entries now.
    pub entries: u64,
}

impl From<Counters> for CacheStats {
    fn from(counters: Counters) -> Self {
        let Counters { hits, misses, insertions, evictions, entries } = counters;
        Self { hits, misses, insertions, evictions, entries }
    }
}

/// A snapshot of a backend's counters. Each group is exact at its own moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WgpuBackendStats {
    /// The adapter's name.
    pub adapter: String,
    /// The device generation.
    pub generation: u64,
    /// Compiled pipelines in memory.
    pub pipelines: CacheStats,
    /// The cache on disk, if one was asked for.
    pub disk: Option<DiskCacheStats>,
    /// The first dump that could not be written, and why.
    pub dump_failure: Option<String>,
    /// Buffers that callers hold by handle.
    pub residents: u64,
    /// Bind groups, of this generation; so are the buffer counters.
    pub bind_groups: CacheStats,
    /// Buffer requests that were served from the pool.
    pub buffers_reused: u64,
    /// Buffers created on the device.
    pub buffers_created: u64,
    /// Pooled buffers destroyed to stay within the budget.
    pub buffers_trimmed: u64,
    /// Bytes of all buffers that exist, in use or idle.
    pub buffer_bytes: u64,
    /// Bytes of the idle ones.
    pub idle_buffer_bytes: u64,
    /// Errors that wgpu reported outside this backend's own calls: those of users of the shared device.
    pub uncaptured_errors: u64,
}

impl WgpuBackendStats {
    pub(crate) fn of(life: &Lifecycle) -> Self {
        let mut stats = Self {
            adapter: life.profile.name.clone(),
            generation: life.latest().1,
            pipelines: life.lasting.pipeline_counters().into(),
            disk: life.lasting.disk_stats(),
            dump_failure: life.lasting.dumps.failure(),
            residents: life.lasting.residents.len() as u64,
            ..Self::default()
        };
        // After a shutdown there is nothing else.
        let Ok(core) = life.core() else { return stats };
        let pool = core.pool.counters();
        stats.bind_groups = core.groups.counters().into();
        stats.buffers_reused = pool.reused;
        stats.buffers_created = pool.created;
        stats.buffers_trimmed = pool.trimmed;
        stats.buffer_bytes = pool.live_bytes;
        stats.idle_buffer_bytes = pool.idle_bytes;
        stats.uncaptured_errors = core.generation.uncaptured_errors();
        stats
    }
}
