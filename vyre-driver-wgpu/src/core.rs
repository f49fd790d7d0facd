//! Everything that belongs to one generation of the device, and what outlives it.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use vyre_driver::{BackendError, BackendInstance};
use vyre_spec::DeviceProfile;

use crate::buffer::Pool;
use crate::builtin::Builtins;
use crate::cache::{Counters, Disk, DiskCacheStats, Lru};
use crate::compile::Keys;
use crate::dump::Dumps;
use crate::exec::Remembered;
use crate::generation::Generation;
use crate::kernel::BindGroups;
use crate::pipeline::WgpuPipeline;
use crate::resident::Residents;

/// Bytes of unused buffers that are kept for reuse.
const IDLE_BUDGET: u64 = 2 << 30;
/// The same for software devices, whose memory is the host's.
const SOFTWARE_IDLE_BUDGET: u64 = 512 << 20;
const PIPELINES: usize = 512;
const BIND_GROUPS: usize = 4096;

/// What an opened backend keeps from one generation of its device to the next.
#[derive(Debug)]
pub(crate) struct Lasting {
    pub(crate) owner: BackendInstance,
    pub(crate) residents: Residents,
    /// Compiled pipelines, by the number of their generation and their cache key.
    pipelines: Lru<(u64, [u8; 32]), Arc<WgpuPipeline>>,
    /// The cache keys of recent programs.
    pub(crate) keys: Keys,
    /// The cache on disk, or why the directory that was asked for is not used; `None` if none was.
    pub(crate) disk: Option<Result<Disk, String>>,
    pub(crate) dumps: Dumps,
}

impl Lasting {
    /// Without a cache on disk and without dumps.
    pub(crate) fn new() -> Arc<Self> {
        Self::with_files(None, Dumps::default())
    }

    pub(crate) fn with_files(disk: Option<Result<Disk, String>>, dumps: Dumps) -> Arc<Self> {
        let owner = BackendInstance::next();
        Arc::new(Self {
            owner,
            residents: Residents::new(owner),
            pipelines: Lru::new(PIPELINES),
            keys: Keys::default(),
            disk,
            dumps,
        })
    }

    /// The cache on disk, if there is one.
    pub(crate) fn disk(&self) -> Option<&Disk> {
        self.disk.as_ref()?.as_ref().ok()
    }

    /// What the cache on disk has done.
    pub(crate) fn disk_stats(&self) -> Option<DiskCacheStats> {
        self.disk.as_ref().map(|disk| match disk {
            Ok(disk) => disk.stats(),
            Err(why) => DiskCacheStats { refused: Some(why.clone()), ..DiskCacheStats::default() },
        })
    }

    /// What the pipeline cache has done and holds.
    pub(crate) fn pipeline_counters(&self) -> Counters {
        self.pipelines.counters()
    }

    /// Forgets the pipelines with these cache keys.
    pub(crate) fn forget_keys(&self, keys: &BTreeSet<[u8; 32]>) {
        self.pipelines.remove_if(|(_, key)| keys.contains(key));
    }

    /// The most pipelines that are kept.
    pub(crate) fn pipeline_capacity(&self) -> u64 {
        self.pipelines.capacity() as u64
    }

    /// Forgets the pipelines of every generation but `living`.
    pub(crate) fn forget_pipelines(&self, living: Option<u64>) {
        self.pipelines.remove_if(|(generation, _)| Some(*generation) != living);
    }
}

/// A device with its caches, pools and tables.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) lasting: Arc<Lasting>,
    pub(crate) profile: DeviceProfile,
    pub(crate) generation: Arc<Generation>,
    pub(crate) pool: Pool,
    pub(crate) groups: BindGroups,
    /// The plans of lists that come again.
    pub(crate) remembered: Remembered,
    /// Kernels compiled because a launch broke the contract of another.
    pub(crate) guarded_variants: AtomicU64,
    /// Kernels compiled once more because their launch data stayed the same.
    pub(crate) steady_variants: AtomicU64,
    builtins: OnceLock<Builtins>,
}

impl Core {
    pub(crate) fn new(lasting: Arc<Lasting>, generation: Arc<Generation>, profile: DeviceProfile) -> Self {
        let budget = if profile.is_software { SOFTWARE_IDLE_BUDGET } else { IDLE_BUDGET };
        Self {
            lasting,
            pool: Pool::new(budget),
            groups: BindGroups::new(BIND_GROUPS),
            remembered: Remembered::default(),
            guarded_variants: AtomicU64::new(0),
            steady_variants: AtomicU64::new(0),
            builtins: OnceLock::new(),
            profile,
            generation,
        }
    }

    /// The pipeline that was made under `key` in this generation.
    pub(crate) fn known_pipeline(&self, key: [u8; 32]) -> Option<Arc<WgpuPipeline>> {
        self.lasting.pipelines.get(&(self.generation.number, key))
    }

    /// Keeps a pipeline under `key`, and returns the one that is kept: that of the first thread.
    pub(crate) fn keep_pipeline(&self, key: [u8; 32], pipeline: WgpuPipeline) -> Arc<WgpuPipeline> {
        self.lasting.pipelines.insert((self.generation.number, key), Arc::new(pipeline))
    }

    /// The backend's own kernels, compiled when first needed.
    pub(crate) fn builtins(&self) -> Result<&Builtins, BackendError> {
        if let Some(builtins) = self.builtins.get() {
            return Ok(builtins);
        }
        let made = Builtins::new(&self.generation)?;
        Ok(self.builtins.get_or_init(|| made))
    }

    /// Drops cached bind groups of buffers that the pool has destroyed.
    pub(crate) fn sweep(&self) {
        if let Some(destroyed) = self.pool.take_destroyed() {
            self.groups.forget(&destroyed);
        }
    }

    /// Drops everything that is only kept for reuse.
    pub(crate) fn drop_caches(&self) {
        self.lasting.forget_pipelines(None);
        self.remembered.clear();
        self.groups.clear();
        self.pool.trim();
    }
}
