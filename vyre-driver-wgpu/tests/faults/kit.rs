//! What a call finds before a fault strikes, and how calls fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use vyre_driver::optimizer::{DispatchError, OptimizerDispatcher, ResidentStaticBufferSet};
use vyre_driver::{BackendError, CompiledPipeline, DeviceBuffer, DispatchConfig, Resource, VyreBackend};
use vyre_driver_wgpu::{HostIngressStream, WgpuBackend, WgpuIR, WgpuPipeline};
use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;

/// Bytes of each buffer: 100 words.
pub(crate) const BYTES: usize = 400;

pub(crate) fn words(values: impl IntoIterator<Item = u32>) -> Vec<u8> {
    values.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// `target[i] = source[i] × factor + i`, of as many elements as the source has.
pub(crate) fn scaled(factor: u32) -> Checked<Program> {
    Kernel::build("scaled", |k| {
        let source = k.read_only::<u32>("source");
        let target = k.write_only::<u32>("target", source.len());
        k.domain([source.len()], |[i]| target.store(i, source.load(i) * factor + i));
    })
    .unwrap()
}

pub(crate) fn input() -> Vec<u8> {
    words(5..105)
}

/// What `scaled` makes of [`input`].
pub(crate) fn output(factor: u32) -> Vec<u8> {
    words((0..100).map(|i| (i + 5) * factor + i))
}

/// How a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    Memory,
    Lost,
    Timeout,
    ShutDown,
    /// A handle or pipeline of an earlier generation.
    Stale,
    Other(String),
}

impl From<BackendError> for Trouble {
    fn from(error: BackendError) -> Self {
        match error {
            BackendError::OutOfMemory { .. } => Self::Memory,
            BackendError::DeviceLost { .. } => Self::Lost,
            BackendError::Timeout { .. } => Self::Timeout,
            BackendError::ShutDown { .. } => Self::ShutDown,
            BackendError::BadHandle { problem: "stale", .. } => Self::Stale,
            BackendError::Chunk { error, .. } => Self::from(*error),
            other => Self::Other(other.to_string()),
        }
    }
}

impl From<DispatchError> for Trouble {
    fn from(error: DispatchError) -> Self {
        match error {
            DispatchError::Handle { problem: "stale", .. } => Self::Stale,
            ref other => match other.backend() {
                Some(source) => Self::from(source.clone()),
                None => Self::Other(other.to_string()),
            },
        }
    }
}

/// Of `dispatch_wgsl`, whose error is the text of a [`BackendError`].
impl From<String> for Trouble {
    fn from(text: String) -> Self {
        let starts = [
            ("the device is out of memory", Self::Memory),
            ("the device was lost", Self::Lost),
            ("the work did not end within", Self::Timeout),
            ("the backend `wgpu` was shut down", Self::ShutDown),
        ];
        let found = starts.into_iter().find(|(start, _)| text.starts_with(start));
        found.map_or(Self::Other(text), |(_, trouble)| trouble)
    }
}

/// What calls work on, made while nothing is wrong. A call may take things out, and free them.
pub(crate) struct Kit {
    pub(crate) factor: u32,
    /// What the calls compile themselves.
    pub(crate) program: Checked<Program>,
    /// Two residents, the first with the input, the second zeros. So are the next two pairs.
    pub(crate) pair: [Resource; 2],
    pub(crate) buffers: Vec<Box<dyn DeviceBuffer>>,
    pub(crate) handles: [u64; 2],
    pub(crate) statics: Option<ResidentStaticBufferSet>,
    /// The factor of what is compiled here.
    pub(crate) made_for: u32,
    pub(crate) compiled: WgpuIR,
    pub(crate) pipeline: Arc<dyn CompiledPipeline>,
    pub(crate) persistent: Arc<WgpuPipeline>,
    pub(crate) stream: Option<HostIngressStream>,
}

impl Kit {
    /// With programs of these factors.
    pub(crate) fn new(b: &WgpuBackend, factor: u32, made_for: u32) -> Self {
        Self::try_new(b, factor, made_for).unwrap()
    }

    pub(crate) fn try_new(b: &WgpuBackend, factor: u32, made_for: u32) -> Result<Self, Trouble> {
        let (made, config) = (scaled(made_for), DispatchConfig::default());
        let o: &dyn OptimizerDispatcher = b;
        let pair = [b.allocate_resident(BYTES)?, b.allocate_resident(BYTES)?];
        VyreBackend::upload_resident(b, &pair[0], &input())?;
        let mut buffers = vec![b.allocate_device_buffer(BYTES)?, b.allocate_device_buffer(BYTES)?];
        b.upload_device_buffer(&mut *buffers[0], &input())?;
        let handles = [o.alloc_resident(BYTES)?, o.alloc_resident(BYTES)?];
        o.upload_resident(handles[0], &input())?;
        Ok(Self {
            factor,
            program: scaled(factor),
            pair,
            buffers,
            handles,
            statics: Some(o.acquire_resident_static_uploads(1, &[&input()])?),
            made_for,
            compiled: b.compile(&made)?,
            pipeline: b.compile_native(&made, &config)?.unwrap(),
            persistent: b.compile_persistent(&made, &config)?,
            stream: Some(b.compile_streaming(&made, config)?),
        })
    }

    /// The bytes of every buffer that is still there.
    pub(crate) fn contents(&self, b: &WgpuBackend) -> Vec<Option<Vec<u8>>> {
        let o: &dyn OptimizerDispatcher = b;
        let residents = self.pair.iter().map(|resource| b.download_resident(resource).ok());
        let buffers = self.buffers.iter().map(|buffer| b.download_device_buffer(&**buffer).ok());
        let handles = self.handles.iter().map(|&handle| o.read_resident(handle).ok());
        residents.chain(buffers).chain(handles).collect()
    }

    /// Frees what is left. What a call has freed, or a loss has taken, is so already.
    pub(crate) fn free(self, b: &WgpuBackend) {
        let o: &dyn OptimizerDispatcher = b;
        self.pair.into_iter().for_each(|resource| drop(b.free(resource)));
        self.buffers.into_iter().for_each(|buffer| drop(b.free_device_buffer(buffer)));
        self.handles.into_iter().for_each(|handle| drop(o.free_resident(handle)));
        if let Some(set) = self.statics {
            drop(o.release_resident_static_uploads(set));
        }
    }
}

/// Counts a thread that has ended, also by a panic: whoever waits for it must not wait for ever.
pub(crate) struct Ends<'a>(pub(crate) &'a AtomicU32);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Release);
    }
}

/// Recovers, while the faults of others may strike the recovery as well.
pub(crate) fn recover(b: &WgpuBackend) {
    match b.try_recover().map_err(Trouble::from) {
        Ok(()) | Err(Trouble::Lost | Trouble::Memory | Trouble::Timeout) => {}
        Err(other) => panic!("{other:?}"),
    }
}

/// Requires a result to be that of the program.
pub(crate) fn must(kit: &Kit, bytes: &[u8]) {
    assert_eq!(bytes, output(kit.factor));
}

/// The same of what the kit has compiled.
pub(crate) fn must_made(kit: &Kit, bytes: &[u8]) {
    assert_eq!(bytes, output(kit.made_for));
}
