//! The opened backend.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use vyre_driver::BackendError;
use vyre_spec::DeviceProfile;
use wgpu::{AdapterInfo, Device, Limits, Queue};

use crate::acquire::{self, AdapterReport, Choice, Request};
use crate::cache::DEFAULT_LIMIT;
use crate::core::Core;
use crate::env::{DumpSettings, Settings};
use crate::generation::MemoryLimits;
use crate::lifecycle::{Lifecycle, Opening};
use crate::optimizer::Interfaces;
use crate::raw;
use crate::seam::{self, Fault, Site};
use crate::stats::WgpuBackendStats;

/// The id under which this backend is registered.
pub const WGPU_BACKEND_ID: &str = "wgpu";

/// A device opened through wgpu. Cloning gives another handle to the same one.
///
/// A lost device is a typed error at every call until `try_recover` opens the same adapter again: the next
/// *generation*. Pipelines and buffers of the old one are stale by type, except retained buffers, which are
/// restored. What the accessors give by reference is the same in all generations.
#[derive(Clone)]
pub struct WgpuBackend {
    inner: Arc<Inner>,
}

struct Inner {
    report: AdapterReport,
    choice: Choice,
    life: Lifecycle,
    interfaces: Interfaces,
}

/// What to ask of the adapter before opening it; unset, the environment decides.
#[derive(Clone, Debug, Default)]
pub struct WgpuBackendBuilder {
    adapter_index: Option<usize>,
    allow_software: Option<bool>,
    timestamps: Option<bool>,
    cache_dir: Option<PathBuf>,
    cache_limit: Option<u64>,
    dump_descriptors: Option<PathBuf>,
    dump_phases: Option<PathBuf>,
    capture_failures: Option<PathBuf>,
    limits: MemoryLimits,
}

impl WgpuBackendBuilder {
    /// Pins the adapter with this enumeration index, as `VYRE_ADAPTER_INDEX` does.
    #[must_use]
    pub fn adapter_index(mut self, index: usize) -> Self {
        self.adapter_index = Some(index);
        self
    }

    /// Whether software adapters may be chosen, as `VYRE_ALLOW_SOFTWARE` says otherwise.
    #[must_use]
    pub fn allow_software(mut self, allow: bool) -> Self {
        self.allow_software = Some(allow);
        self
    }

    /// Whether the device measures its own times where it can, as `VYRE_WGPU_TIMESTAMPS` says otherwise.
    #[must_use]
    pub fn timestamps(mut self, measure: bool) -> Self {
        self.timestamps = Some(measure);
        self
    }

    /// Where the driver's compiled kernels are kept for the next process, as `VYRE_CACHE_DIR` says otherwise.
    #[must_use]
    pub fn cache_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.cache_dir = Some(dir.into());
        self
    }

    /// The most bytes that the cache directory may hold; the oldest entries go first. Default 512 MiB.
    #[must_use]
    pub fn cache_limit(mut self, bytes: u64) -> Self {
        self.cache_limit = Some(bytes);
        self
    }

    /// Where the descriptor of every compiled kernel is written, as `VYRE_DUMP_KDESC` says otherwise.
    #[must_use]
    pub fn dump_descriptors(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dump_descriptors = Some(dir.into());
        self
    }

    /// Where the text of every stage of each compilation is written, as `VYRE_DUMP_PHASES` says otherwise.
    #[must_use]
    pub fn dump_phases(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dump_phases = Some(dir.into());
        self
    }

    /// Where the error and the descriptor of every failed compilation are written, as
    /// `VYRE_CAPTURE_FAILED_DESCRIPTOR` says otherwise.
    #[must_use]
    pub fn capture_failures(mut self, dir: impl Into<PathBuf>) -> Self {
        self.capture_failures = Some(dir.into());
        self
    }

    /// Opens the device with lower limits than its adapter has, in bytes: for tests of what happens at them, where
    /// memory is short.
    #[doc(hidden)]
    #[must_use]
    pub fn limit_memory(mut self, max_buffer_bytes: u64, max_storage_binding_bytes: u64) -> Self {
        self.limits = MemoryLimits { buffer: max_buffer_bytes, binding: max_storage_binding_bytes };
        self
    }

    /// Opens the adapter.
    ///
    /// # Errors
    /// [`BackendError::NoDevice`] with every adapter that was probed and why it was refused, or
    /// [`BackendError::Environment`], also for a directory of dumps that cannot be made.
    pub fn open(self) -> Result<WgpuBackend, BackendError> {
        let settings = Settings::from_env()?;
        let request = Request {
            adapter_index: self.adapter_index.or(settings.adapter_index),
            allow_software: self.allow_software.unwrap_or(settings.allow_software),
        };
        let opening = Opening {
            timestamps: self.timestamps.unwrap_or(settings.timestamps),
            cache_dir: self.cache_dir.or(settings.cache_dir),
            cache_limit: self.cache_limit.unwrap_or(DEFAULT_LIMIT),
            limits: self.limits,
            dumps: DumpSettings {
                descriptors: self.dump_descriptors.or(settings.dumps.descriptors),
                phases: self.dump_phases.or(settings.dumps.phases),
                failures: self.capture_failures.or(settings.dumps.failures),
            },
        };
        WgpuBackend::open(&request, &opening)
    }
}

impl WgpuBackend {
    /// Opens the best adapter that the environment permits: hardware before software.
    ///
    /// # Errors
    /// [`BackendError::NoDevice`] with every adapter that was probed and why it was refused, or
    /// [`BackendError::Environment`].
    pub fn acquire() -> Result<Self, BackendError> {
        Self::builder().open()
    }

    /// The same as [`WgpuBackend::acquire`].
    ///
    /// # Errors
    /// As [`WgpuBackend::acquire`].
    pub fn new() -> Result<Self, BackendError> {
        Self::acquire()
    }

    /// Opens the adapter with this enumeration index.
    ///
    /// # Errors
    /// As [`WgpuBackend::acquire`], also if there is no such adapter.
    pub fn acquire_adapter(index: usize) -> Result<Self, BackendError> {
        Self::builder().adapter_index(index).open()
    }

    /// The process-wide backend, opened by the first call. A failure is not remembered: the next call
    /// tries again, and opens another one after a shutdown.
    ///
    /// # Errors
    /// As [`WgpuBackend::acquire`].
    pub fn shared() -> Result<Arc<Self>, BackendError> {
        static SHARED: Mutex<Option<Arc<WgpuBackend>>> = Mutex::new(None);
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(backend) = shared.as_ref().filter(|backend| backend.core().is_ok()) {
            return Ok(Arc::clone(backend));
        }
        let backend = Arc::new(Self::acquire()?);
        *shared = Some(Arc::clone(&backend));
        Ok(backend)
    }

    /// Chooses the adapter step by step.
    pub fn builder() -> WgpuBackendBuilder {
        WgpuBackendBuilder::default()
    }

    /// Every adapter of this machine, with the reason where the environment's settings refuse it. Opens
    /// none.
    ///
    /// # Errors
    /// [`BackendError::Environment`].
    pub fn adapters() -> Result<Vec<AdapterReport>, BackendError> {
        let settings = Settings::from_env()?;
        Ok(acquire::enumerate(settings.allow_software)
            .into_iter()
            .map(|candidate| candidate.report)
            .collect())
    }

    fn open(request: &Request, opening: &Opening) -> Result<Self, BackendError> {
        let (candidate, choice, others) = acquire::select(request)?;
        let life = Lifecycle::open(&candidate, opening).map_err(|error| match error {
            BackendError::NoDevice { mut probed, remedy } => {
                probed.extend(others);
                BackendError::NoDevice { probed, remedy }
            }
            other => other,
        })?;
        let interfaces = Interfaces::default();
        Ok(Self { inner: Arc::new(Inner { report: candidate.report, choice, life, interfaces }) })
    }

    /// The living device with its caches.
    pub(crate) fn core(&self) -> Result<Arc<Core>, BackendError> {
        self.inner.life.core()
    }

    pub(crate) fn life(&self) -> &Lifecycle {
        &self.inner.life
    }

    /// Marks the device as lost, for tests: every call fails as after a real loss until `try_recover`, and
    /// what was cached for this generation is dropped.
    ///
    /// # Errors
    /// [`BackendError::ShutDown`].
    pub fn force_device_lost(&self) -> Result<(), BackendError> {
        self.life().declare_lost()
    }

    /// Has `fault` happen at the call at `site` that comes after `skip` others: for tests of what programs do
    /// about it.
    #[doc(hidden)]
    pub fn arm_fault(&self, site: Site, skip: u32, fault: Fault) {
        self.life().seam.arm(site, skip, fault);
    }

    /// Has `fault` happen at the call at `site` that comes after `skip` others of the next backend that this
    /// thread opens, from its opening on. What is known of the adapter is probed again, so that faults can
    /// strike there.
    #[doc(hidden)]
    pub fn arm_next_open(site: Site, skip: u32, fault: Fault) {
        seam::arm_next(site, skip, fault);
    }

    /// Forgets every armed fault, and says how many had not struck.
    #[doc(hidden)]
    pub fn disarm_faults(&self) -> usize {
        self.life().seam.disarm()
    }

    /// Destroys all buffers that are only kept for reuse. They are kept within a budget anyway; this gives
    /// the memory to others at once.
    pub fn trim(&self) {
        if let Ok(core) = self.core() {
            core.remembered.clear();
            core.pool.trim();
            core.sweep();
        }
    }

    /// What the interfaces above command lists keep.
    pub(crate) fn interfaces(&self) -> &Interfaces {
        &self.inner.interfaces
    }

    /// Which adapter was chosen, and why.
    pub fn chosen(&self) -> (&AdapterReport, Choice) {
        (&self.inner.report, self.inner.choice)
    }

    /// The adapter.
    pub fn adapter_info(&self) -> &AdapterInfo {
        &self.inner.life.info
    }

    /// The limits of the opened device: all that the adapter has.
    pub fn device_limits(&self) -> &Limits {
        &self.inner.life.limits
    }

    /// The device and queue of the latest generation. Whoever keeps them must not drop them last with work
    /// in flight: wgpu then waits without limit.
    pub fn device_queue(&self) -> Arc<(Device, Queue)> {
        self.life().latest().0
    }

    /// What the opened device can do.
    pub fn device_profile(&self) -> DeviceProfile {
        self.life().profile.clone()
    }

    /// Cache and memory counters. Cheap enough to poll.
    pub fn stats(&self) -> WgpuBackendStats {
        WgpuBackendStats::of(self.life())
    }

    /// Runs a raw WGSL compute shader, fully checked by wgpu: entry point `main`, group 0, binding 0 the
    /// input words (read-only storage), binding 1 the output words (storage, zero at first), as many
    /// workgroups as cover the output words. `workgroup_size` must be the shader's.
    ///
    /// # Errors
    /// The text of a [`BackendError`]; for shaders that do not compile, with naga's excerpt of the source.
    pub fn dispatch_wgsl(
        &self,
        wgsl: &str,
        input: &[u8],
        output_size: usize,
        workgroup_size: u32,
    ) -> Result<Vec<u8>, String> {
        self.core()
            .and_then(|core| raw::dispatch(&core, wgsl, input, output_size, workgroup_size))
            .map_err(|error| error.to_string())
    }
}

impl fmt::Debug for WgpuBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WgpuBackend")
            .field("adapter", &self.inner.report.name)
            .field("generation", &self.life().latest().1)
            .finish_non_exhaustive()
    }
}
