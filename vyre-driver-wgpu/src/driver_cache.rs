//! The driver's own pipeline cache, one object per kernel, from and to the cache on disk.

use vyre_driver::BackendError;
use wgpu::Features;

use crate::cache::Disk;
use crate::generation::Generation;
use crate::trusted;

/// The driver's cache for one kernel that is about to be compiled.
pub(crate) struct DriverCache<'d> {
    disk: &'d Disk,
    key: [u8; 32],
    code: [u8; 32],
    object: wgpu::PipelineCache,
    found: bool,
}

impl<'d> DriverCache<'d> {
    /// Looks for what the driver made of this very code before, for the program with this key. `None` if there
    /// is no cache on disk or the driver has none of its own.
    pub(crate) fn open(
        disk: Option<&'d Disk>,
        generation: &Generation,
        key: [u8; 32],
        words: &[u32],
    ) -> Result<Option<Self>, BackendError> {
        let Some(disk) = disk.filter(|_| generation.has(Features::PIPELINE_CACHE)) else { return Ok(None) };
        let code = *blake3::hash(bytemuck::cast_slice(words)).as_bytes();
        let blob = disk.load(&key, &code);
        let object = generation.scoped("opening the driver's pipeline cache", |device| {
            trusted::pipeline_cache(device, blob.as_deref())
        })?;
        Ok(Some(Self { disk, key, code, object, found: blob.is_some() }))
    }

    /// What pipelines are made with.
    pub(crate) fn object(&self) -> &wgpu::PipelineCache {
        &self.object
    }

    /// Whether the disk had it.
    pub(crate) fn found(&self) -> bool {
        self.found
    }

    /// After the pipeline was made: keeps what the driver made, unless it came from the disk.
    pub(crate) fn keep(self) {
        if let Some(blob) = self.object.get_data().filter(|_| !self.found) {
            self.disk.store(&self.key, &self.code, &blob);
        }
    }
}
