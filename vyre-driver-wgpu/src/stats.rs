//! Counters for dashboards.

use std::sync::atomic::Ordering;

use vyre_driver::{PipelineCacheSnapshot, ValidationCacheSnapshot, validation_cache_snapshot};

use crate::cache::{Counters, DiskCacheStats};
use crate::core::Lasting;
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
    /// Entries that went: for others, or because something they depend on changed. `insertions - evictions`
    /// entries are there.
    pub evictions: u64,
    /// Entries now.
    pub entries: u64,
}

impl From<Counters> for CacheStats {
    fn from(counters: Counters) -> Self {
        let Counters { hits, misses, insertions, evictions, removals: _, entries } = counters;
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
    /// Proofs of checked programs, for the whole process.
    pub validation: ValidationCacheSnapshot,
    /// Kernels with every guard, compiled because a launch broke the contract of the first.
    pub guarded_variants: u64,
    /// Kernels compiled once more, with launch data in memory, because these stayed the same.
    pub steady_variants: u64,
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
    /// Bytes of those that are only kept for reuse.
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
            validation: validation_cache_snapshot(),
            ..Self::default()
        };
        // After a shutdown there is nothing else.
        let Ok(core) = life.core() else { return stats };
        let (kept, pool) = core.remembered.idle_bytes(|| core.pool.counters());
        stats.guarded_variants = core.guarded_variants.load(Ordering::Relaxed);
        stats.steady_variants = core.steady_variants.load(Ordering::Relaxed);
        stats.bind_groups = core.groups.counters().into();
        stats.buffers_reused = pool.reused;
        stats.buffers_created = pool.created;
        stats.buffers_trimmed = pool.trimmed;
        stats.buffer_bytes = pool.live_bytes;
        stats.idle_buffer_bytes = pool.idle_bytes + kept;
        stats.uncaptured_errors = core.generation.uncaptured_errors();
        stats
    }
}

/// The counters of the pipeline cache, as the contract names them.
pub(crate) fn pipeline_snapshot(lasting: &Lasting) -> PipelineCacheSnapshot {
    let counters = lasting.pipeline_counters();
    let disk = lasting.disk_stats().unwrap_or_default();
    PipelineCacheSnapshot {
        hits: counters.hits,
        misses: counters.misses,
        disk_hits: disk.hits,
        disk_rejected: disk.rejected,
        entries: counters.entries,
        capacity: lasting.pipeline_capacity(),
        evictions: counters.evictions - counters.removals,
        invalidations: counters.removals,
    }
}

/// Every number of the statistics by name.
pub(crate) fn metrics(life: &Lifecycle) -> Vec<(&'static str, u64)> {
    let stats = WgpuBackendStats::of(life);
    let pipelines = pipeline_snapshot(&life.lasting);
    let disk = stats.disk.unwrap_or_default();
    vec![
        ("bind_group_entries_now", stats.bind_groups.entries),
        ("bind_group_hits", stats.bind_groups.hits),
        ("bind_group_misses", stats.bind_groups.misses),
        ("buffer_bytes_idle_now", stats.idle_buffer_bytes),
        ("buffer_bytes_now", stats.buffer_bytes),
        ("buffers_created", stats.buffers_created),
        ("buffers_reused", stats.buffers_reused),
        ("buffers_trimmed", stats.buffers_trimmed),
        ("disk_evictions", disk.evictions),
        ("disk_hits", disk.hits),
        ("disk_invalidations", disk.invalidations),
        ("disk_misses", disk.misses),
        ("disk_read_errors", disk.read_errors),
        ("disk_rejected", disk.rejected),
        ("disk_write_errors", disk.write_errors),
        ("disk_writes", disk.writes),
        ("generation_now", stats.generation),
        ("pipeline_entries_now", pipelines.entries),
        ("pipeline_evictions", pipelines.evictions),
        ("pipeline_hits", pipelines.hits),
        ("pipeline_invalidations", pipelines.invalidations),
        ("pipeline_misses", pipelines.misses),
        ("residents_now", stats.residents),
        ("uncaptured_errors", stats.uncaptured_errors),
        ("validation_entries_now", stats.validation.entries),
        ("validation_evictions", stats.validation.evictions),
        ("validation_hits", stats.validation.hits),
        ("validation_misses", stats.validation.misses),
    ]
}
