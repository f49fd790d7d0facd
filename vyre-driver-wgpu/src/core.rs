//! Everything that belongs to one generation of the device.

use std::sync::{Arc, OnceLock};

use vyre_driver::{BackendError, BackendInstance};
use vyre_spec::DeviceProfile;

use crate::buffer::Pool;
use crate::builtin::Builtins;
use crate::cache::Lru;
use crate::compile::Keys;
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

/// A device with its caches, pools and tables.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) owner: BackendInstance,
    pub(crate) profile: DeviceProfile,
    pub(crate) generation: Arc<Generation>,
    pub(crate) pool: Pool,
    pub(crate) groups: BindGroups,
    pub(crate) pipelines: Lru<[u8; 32], Arc<WgpuPipeline>>,
    /// The cache keys of recent programs.
    pub(crate) keys: Keys,
    pub(crate) residents: Residents,
    builtins: OnceLock<Builtins>,
}

impl Core {
    pub(crate) fn new(owner: BackendInstance, generation: Arc<Generation>, profile: DeviceProfile) -> Self {
        let budget = if profile.is_software { SOFTWARE_IDLE_BUDGET } else { IDLE_BUDGET };
        Self {
            owner,
            pool: Pool::new(budget),
            groups: BindGroups::new(BIND_GROUPS),
            pipelines: Lru::new(PIPELINES),
            keys: Keys::default(),
            residents: Residents::new(owner, generation.number),
            builtins: OnceLock::new(),
            profile,
            generation,
        }
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
}
