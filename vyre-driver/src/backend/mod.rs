//! The trait that a backend implements, and what its methods take.

mod step;

use std::any::Any;
use std::collections::HashSet;
use std::sync::Arc;

use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_spec::{CompileOptions, DataType, DeviceProfile};

use crate::sugar::{self, Sequence};
use crate::{
    BackendError, BackendInstance, CommandList, CompiledPipeline, Completion, DeviceBuffer, DispatchConfig,
    DispatchPreset, Feature, OpId, OutputBuffers, PendingDispatch, PipelineCacheSnapshot,
    ResidentSequenceTiming, Resource, TimedDispatchResult, checked,
};

/// Finds a linked backend; also at the crate's root, with the rest of the registry.
pub use crate::registry::backend_registration;
pub use step::{ResidentDispatchStep, ResidentReadRange};

/// A device that runs Vyre programs.
///
/// # What a backend implements
///
/// The methods without a body are the required core. Those of the second group have a body that is right
/// for a device that is never lost and keeps nothing; a backend overrides the ones that it has more for. All
/// others build a [`CommandList`] and submit it, and are not overridden.
///
/// # What holds for every method
///
/// - *Threads.* A backend is used from many threads at once, and no call waits for another's work.
/// - *Order.* Submissions take effect in the order in which `submit` was called for them, as one thread or
///   a happens-before relation between threads orders the calls. So an upload is seen by each dispatch that
///   is called after it returned, and a read sees what was submitted before it.
/// - *Ownership.* Host bytes are taken before a call returns. A resident belongs to its caller until it is
///   freed; work that was submitted before sees it to its end.
/// - *Errors.* A call that fails has no effect on any buffer that the caller can see, unless the fault came
///   from the running program or the device. Offsets and lengths are in bytes; none needs to be aligned.
///
/// A facet of a backend knows its own by downcast.
pub trait VyreBackend: Any + Send + Sync {
    /// The backend's id, such as `wgpu`; that of its registration. It is used in logs, certificates and
    /// adapter selection.
    fn id(&self) -> &'static str;

    /// The version of the backend's implementation.
    fn version(&self) -> &'static str;

    /// This opened backend's identity, which its handles carry.
    fn instance(&self) -> BackendInstance;

    /// What the opened device can do.
    fn profile(&self) -> &DeviceProfile;

    /// Compiles a program. The same program and options give the same code; a backend may answer from a
    /// cache.
    ///
    /// # Errors
    /// [`BackendError::Unsupported`] or [`BackendError::Limit`] if the device cannot run it.
    fn compile_checked(
        &self,
        program: &Checked<Program>,
        options: &CompileOptions,
    ) -> Result<Arc<dyn CompiledPipeline>, BackendError>;

    /// Allocates `len` bytes on the device, all 0. Zero bytes are fine.
    ///
    /// # Errors
    /// [`BackendError::OutOfMemory`], or [`BackendError::Limit`] above the device's buffer limit.
    fn allocate(&self, len: u64) -> Result<Resource, BackendError>;

    /// Frees a buffer. Work that was submitted before still sees it.
    ///
    /// # Errors
    /// [`BackendError::BadHandle`] if it is foreign, stale or already freed.
    fn free(&self, resource: Resource) -> Result<(), BackendError>;

    /// Submits a list as one piece of work and returns at once. Host bytes are taken before it returns.
    /// A list that is refused has no effect.
    ///
    /// # Errors
    /// A bad handle, range, binding or launch, or the device's own failure.
    fn submit(&self, list: &CommandList<'_>) -> Result<Box<dyn Completion>, BackendError>;

    // What a backend overrides where it has more than this.

    /// As [`Self::allocate`], for a buffer whose uploaded bytes the host keeps: after a loss,
    /// [`Self::try_recover`] gives it the contents of the last uploads again, and its handle stays good.
    /// What programs wrote to it is not kept.
    ///
    /// # Errors
    /// As [`Self::allocate`].
    fn allocate_retained(&self, len: u64) -> Result<Resource, BackendError> {
        self.allocate(len)
    }

    /// Whether the device was lost and not yet recovered.
    fn device_lost(&self) -> bool {
        false
    }

    /// Opens a lost device again, with its caches usable. Without a loss it does nothing. Handles of the old
    /// device are stale afterwards, except those of [`Self::allocate_retained`].
    ///
    /// # Errors
    /// [`BackendError::AdapterChanged`] if the device is not what it was, or whatever opening it and restoring
    /// what was retained fail with; the device then stays lost, and this can be called again.
    fn try_recover(&self) -> Result<(), BackendError> {
        self.flush()
    }

    /// Waits until everything that was submitted before has ended.
    ///
    /// # Errors
    /// Loss of the device.
    fn flush(&self) -> Result<(), BackendError> {
        self.submit(&CommandList::new())?.wait(None).map(|_| ())
    }

    /// Does now what the first dispatch would otherwise do: the backend's own kernels, its pools.
    ///
    /// # Errors
    /// The device's own failure.
    fn prepare(&self) -> Result<(), BackendError> {
        self.flush()
    }

    /// Waits for what was submitted and releases the device. Every later call that needs it fails with
    /// [`BackendError::ShutDown`]; a second `shutdown` does nothing.
    ///
    /// # Errors
    /// Loss of the device; it is shut down all the same.
    fn shutdown(&self) -> Result<(), BackendError> {
        self.flush()
    }

    /// The counters of the cache of compiled pipelines; `None` if there is none.
    fn pipeline_cache_snapshot(&self) -> Option<PipelineCacheSnapshot> {
        None
    }

    /// Numbers for monitoring, by name, sorted by name; cheap enough to poll. Counters since the backend was
    /// opened, but for names that end in `_now`.
    fn backend_metric_snapshot(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Why the opened device lacks a feature, naming what of its graphics layer or which limit is missing;
    /// `None` if it has it. Every `supports_` method is a view of this.
    fn missing(&self, feature: Feature) -> Option<String> {
        feature.missing_in(self.profile())
    }

    /// Why the opened device cannot take values of a type; `None` if it can.
    fn missing_type(&self, _ty: DataType) -> Option<String> {
        None
    }

    /// What [`DispatchConfig::profile`] may name.
    fn presets(&self) -> &'static [DispatchPreset] {
        DispatchPreset::STANDARD
    }

    // Dispatch on host bytes: one submission each.

    /// Runs a program on input bytes, one slice for each input buffer in declaration order, and returns one
    /// vector for each output buffer, in declaration order. Elements of a `WriteOnly` buffer that the
    /// program does not store come back 0.
    ///
    /// # Errors
    /// Everything that compiling and submitting can fail with, and the program's own traps.
    fn dispatch_checked(
        &self,
        program: &Checked<Program>,
        inputs: &[&[u8]],
        config: &DispatchConfig,
    ) -> Result<OutputBuffers, BackendError> {
        sugar::host::submit(self, program, inputs, config)?.wait()
    }

    /// As [`Self::dispatch_checked`], checking the program first; the check is remembered.
    ///
    /// # Errors
    /// As [`Self::dispatch_checked`], and [`BackendError::InvalidProgram`].
    fn dispatch_borrowed(
        &self,
        program: &Program,
        inputs: &[&[u8]],
        config: &DispatchConfig,
    ) -> Result<Vec<Vec<u8>>, BackendError> {
        self.dispatch_checked(&checked(program)?, inputs, config)
    }

    /// As [`Self::dispatch_borrowed`], with owned inputs.
    ///
    /// # Errors
    /// As [`Self::dispatch_borrowed`].
    fn dispatch(
        &self,
        program: &Program,
        inputs: &[Vec<u8>],
        config: &DispatchConfig,
    ) -> Result<Vec<Vec<u8>>, BackendError> {
        self.dispatch_borrowed(program, &sugar::borrowed(inputs), config)
    }

    /// As [`Self::dispatch_borrowed`], with the outputs in the caller's vectors: as many as there are output
    /// buffers, and none allocated anew that is large enough.
    ///
    /// # Errors
    /// As [`Self::dispatch_borrowed`]; the vectors then hold nothing of use.
    fn dispatch_borrowed_into(
        &self,
        program: &Program,
        inputs: &[&[u8]],
        config: &DispatchConfig,
        outputs: &mut OutputBuffers,
    ) -> Result<(), BackendError> {
        sugar::host::submit(self, &checked(program)?, inputs, config)?.await_into(outputs)
    }

    /// As [`Self::dispatch_borrowed`], with the times of the submission.
    ///
    /// # Errors
    /// As [`Self::dispatch_borrowed`].
    fn dispatch_borrowed_timed(
        &self,
        program: &Program,
        inputs: &[&[u8]],
        config: &DispatchConfig,
    ) -> Result<TimedDispatchResult, BackendError> {
        sugar::timed::host(self, program, inputs, config)
    }

    /// As [`Self::dispatch`], without waiting. The inputs have been taken when this returns.
    ///
    /// # Errors
    /// As [`Self::dispatch`]; those of the running program come from the result's `wait`.
    fn dispatch_async(
        &self,
        program: &Program,
        inputs: &[Vec<u8>],
        config: &DispatchConfig,
    ) -> Result<Box<dyn PendingDispatch>, BackendError> {
        self.dispatch_borrowed_async(program, &sugar::borrowed(inputs), config)
    }

    /// As [`Self::dispatch_borrowed`], without waiting. The inputs have been taken when this returns.
    ///
    /// # Errors
    /// As [`Self::dispatch_async`].
    fn dispatch_borrowed_async(
        &self,
        program: &Program,
        inputs: &[&[u8]],
        config: &DispatchConfig,
    ) -> Result<Box<dyn PendingDispatch>, BackendError> {
        Ok(sugar::host::submit(self, &checked(program)?, inputs, config)?)
    }

    // Programs compiled once.

    /// Compiles a program for dispatches with this configuration, whose parameters marked `specialize` are
    /// substituted. Every backend gives a pipeline; `None` is for those that would have none.
    ///
    /// # Errors
    /// As [`Self::compile_checked`], [`BackendError::InvalidProgram`], and what [`DispatchConfig::split`]
    /// refuses.
    fn compile_native(
        &self,
        program: &Program,
        config: &DispatchConfig,
    ) -> Result<Option<Arc<dyn CompiledPipeline>>, BackendError> {
        sugar::pipeline::compile(self, &checked(program)?, config).map(Some)
    }

    /// As [`Self::compile_native`], for a program that the caller shares.
    ///
    /// # Errors
    /// As [`Self::compile_native`].
    fn compile_native_shared(
        &self,
        program: Arc<Program>,
        config: &DispatchConfig,
    ) -> Result<Option<Arc<dyn CompiledPipeline>>, BackendError> {
        self.compile_native(&program, config)
    }

    /// As [`Self::dispatch_borrowed_into`], with a pipeline of this backend: nothing is checked or looked up
    /// again but the inputs' lengths.
    ///
    /// # Errors
    /// As [`Self::dispatch_checked`], and [`BackendError::Config`] if the pipeline was compiled for another
    /// configuration.
    fn dispatch_pipeline_into(
        &self,
        pipeline: &Arc<dyn CompiledPipeline>,
        inputs: &[&[u8]],
        config: &DispatchConfig,
        outputs: &mut OutputBuffers,
    ) -> Result<(), BackendError> {
        sugar::pipeline::submit(self, pipeline, inputs, config)?.await_into(outputs)
    }

    // Device buffers as objects. They are residents: either set of methods takes them.

    /// Allocates `byte_len` bytes on the device, all 0.
    ///
    /// # Errors
    /// As [`Self::allocate`].
    fn allocate_device_buffer(&self, byte_len: usize) -> Result<Box<dyn DeviceBuffer>, BackendError> {
        Ok(Box::new(self.allocate(byte_len as u64)?))
    }

    /// Writes bytes at the start of a buffer; the rest keeps its contents. Does not wait.
    ///
    /// # Errors
    /// [`BackendError::OutOfRange`] if there are more bytes than the buffer has, or
    /// [`BackendError::BadHandle`].
    fn upload_device_buffer(&self, buffer: &mut dyn DeviceBuffer, bytes: &[u8]) -> Result<(), BackendError> {
        self.upload_resident(&buffer.resource(), bytes)
    }

    /// Reads all of a buffer.
    ///
    /// # Errors
    /// [`BackendError::BadHandle`], or the device's own failure.
    fn download_device_buffer(&self, buffer: &dyn DeviceBuffer) -> Result<Vec<u8>, BackendError> {
        self.download_resident(&buffer.resource())
    }

    /// Frees a buffer. Dropping one does not.
    ///
    /// # Errors
    /// As [`Self::free`].
    fn free_device_buffer(&self, buffer: Box<dyn DeviceBuffer>) -> Result<(), BackendError> {
        self.free(buffer.resource())
    }

    /// Runs a program on device buffers, with one of `inputs` for each `ReadOnly`, `Uniform` and `ReadWrite`
    /// buffer and one of `outputs` for each `ReadWrite` and `WriteOnly` buffer, in declaration order.
    ///
    /// The contents of a `ReadWrite` input are copied to its output first, unless both are one buffer.
    /// Elements that the program does not store keep their value. Waits for the end.
    ///
    /// # Errors
    /// As [`Self::dispatch_resident_timed`]; [`BackendError::Aliasing`] also for an input of a `ReadWrite`
    /// buffer that is the output of another.
    fn dispatch_with_device_buffers(
        &self,
        program: &Program,
        inputs: &[&dyn DeviceBuffer],
        outputs: &mut [&mut dyn DeviceBuffer],
        config: &DispatchConfig,
    ) -> Result<(), BackendError> {
        sugar::device_buffer::dispatch(self, &checked(program)?, inputs, outputs, config)
    }

    // Residents: buffers by handle.

    /// Allocates `byte_len` bytes on the device, all 0.
    ///
    /// # Errors
    /// As [`Self::allocate`].
    fn allocate_resident(&self, byte_len: usize) -> Result<Resource, BackendError> {
        self.allocate(byte_len as u64)
    }

    /// Writes bytes at the start of a resident; the rest keeps its contents. Does not wait.
    ///
    /// # Errors
    /// [`BackendError::OutOfRange`] if there are more bytes than the resident has, or
    /// [`BackendError::BadHandle`].
    fn upload_resident(&self, resource: &Resource, bytes: &[u8]) -> Result<(), BackendError> {
        sugar::resident::upload(self, [(*resource, 0, bytes)])
    }

    /// As [`Self::upload_resident`] for several, in order: all or, with an error, none.
    ///
    /// # Errors
    /// As [`Self::upload_resident`].
    fn upload_resident_many(&self, uploads: &[(&Resource, &[u8])]) -> Result<(), BackendError> {
        sugar::resident::upload(self, uploads.iter().map(|&(resource, bytes)| (*resource, 0, bytes)))
    }

    /// Writes bytes at an offset of a resident; all others keep their contents. Does not wait.
    ///
    /// # Errors
    /// As [`Self::upload_resident`].
    fn upload_resident_at(
        &self,
        resource: &Resource,
        dst_offset_bytes: usize,
        bytes: &[u8],
    ) -> Result<(), BackendError> {
        sugar::resident::upload(self, [(*resource, dst_offset_bytes, bytes)])
    }

    /// As [`Self::upload_resident_at`] for several, in order: all or, with an error, none.
    ///
    /// # Errors
    /// As [`Self::upload_resident`].
    fn upload_resident_at_many(&self, uploads: &[(&Resource, usize, &[u8])]) -> Result<(), BackendError> {
        sugar::resident::upload(self, uploads.iter().map(|&(resource, at, bytes)| (*resource, at, bytes)))
    }

    /// Reads all of a resident.
    ///
    /// # Errors
    /// [`BackendError::BadHandle`], or the device's own failure.
    fn download_resident(&self, resource: &Resource) -> Result<Vec<u8>, BackendError> {
        sugar::resident::download_one(self, sugar::resident::whole(*resource))
    }

    /// As [`Self::download_resident`], into the caller's vector, which is not allocated anew if it is large
    /// enough.
    ///
    /// # Errors
    /// As [`Self::download_resident`].
    fn download_resident_into(&self, resource: &Resource, out: &mut Vec<u8>) -> Result<(), BackendError> {
        sugar::resident::download(self, [sugar::resident::whole(*resource)], &mut [out])
    }

    /// Reads bytes of a resident.
    ///
    /// # Errors
    /// [`BackendError::OutOfRange`] if they reach beyond it, or as [`Self::download_resident`].
    fn download_resident_range(
        &self,
        resource: &Resource,
        byte_offset: usize,
        byte_len: usize,
    ) -> Result<Vec<u8>, BackendError> {
        sugar::resident::download_one(self, sugar::resident::span(*resource, byte_offset, byte_len))
    }

    /// As [`Self::download_resident_range`], into the caller's vector.
    ///
    /// # Errors
    /// As [`Self::download_resident_range`].
    fn download_resident_range_into(
        &self,
        resource: &Resource,
        byte_offset: usize,
        byte_len: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), BackendError> {
        self.download_resident_ranges_into(&[(resource, byte_offset, byte_len)], &mut [out])
    }

    /// Reads ranges (resident, first byte, bytes) in one submission, into one vector each.
    ///
    /// # Errors
    /// As [`Self::download_resident_range`], and [`BackendError::Config`] if there are more or fewer vectors
    /// than ranges.
    fn download_resident_ranges_into(
        &self,
        ranges: &[(&Resource, usize, usize)],
        outputs: &mut [&mut Vec<u8>],
    ) -> Result<(), BackendError> {
        let spans = ranges.iter().map(|&(resource, at, len)| sugar::resident::span(*resource, at, len));
        sugar::resident::download(self, spans, outputs)
    }

    /// Frees a resident. Work that was submitted before still sees it.
    ///
    /// # Errors
    /// As [`Self::free`].
    fn free_resident(&self, resource: Resource) -> Result<(), BackendError> {
        self.free(resource)
    }

    /// Runs a program on residents, one for each of its buffers in declaration order, and waits. Nothing is
    /// read back: the result's outputs are empty. Elements that the program does not store keep their value.
    ///
    /// # Errors
    /// Everything that compiling and submitting can fail with, and the program's own traps. One resident
    /// for two buffers of which one is written is [`BackendError::Aliasing`], with their names.
    fn dispatch_resident_timed(
        &self,
        program: &Program,
        resources: &[Resource],
        config: &DispatchConfig,
    ) -> Result<TimedDispatchResult, BackendError> {
        let step = ResidentDispatchStep { program, resources, config };
        let timing = self.dispatch_resident_sequence_read_ranges_timed_into(&[step], &[], &mut [])?.timing;
        Ok(TimedDispatchResult { outputs: OutputBuffers::new(), timing })
    }

    /// Runs steps in order and reads ranges, one into each vector: one submission. Each step sees what those
    /// before it wrote.
    ///
    /// # Errors
    /// As [`Self::dispatch_resident_timed`] and [`Self::download_resident_ranges_into`].
    fn dispatch_resident_sequence_read_ranges_into(
        &self,
        steps: &[ResidentDispatchStep<'_>],
        read_ranges: &[ResidentReadRange<'_>],
        outputs: &mut [&mut Vec<u8>],
    ) -> Result<(), BackendError> {
        let sequence = Sequence { prefix: steps, reads: read_ranges, ..Sequence::default() };
        sugar::sequence::run(self, sequence, outputs).map(|_| ())
    }

    /// As [`Self::dispatch_resident_sequence_read_ranges_into`], with the times of the submission.
    ///
    /// # Errors
    /// As [`Self::dispatch_resident_sequence_read_ranges_into`].
    fn dispatch_resident_sequence_read_ranges_timed_into(
        &self,
        steps: &[ResidentDispatchStep<'_>],
        read_ranges: &[ResidentReadRange<'_>],
        outputs: &mut [&mut Vec<u8>],
    ) -> Result<ResidentSequenceTiming, BackendError> {
        let sequence = Sequence { prefix: steps, reads: read_ranges, timed: true, ..Sequence::default() };
        sugar::sequence::run(self, sequence, outputs)
    }

    /// Runs `prefix_steps`, then `repeated_steps` all in order `repeat_count` times, and reads ranges, one
    /// into each vector: one submission.
    ///
    /// # Errors
    /// As [`Self::dispatch_resident_sequence_read_ranges_into`].
    fn dispatch_resident_repeated_sequence_read_ranges_into(
        &self,
        prefix_steps: &[ResidentDispatchStep<'_>],
        repeated_steps: &[ResidentDispatchStep<'_>],
        repeat_count: u32,
        read_ranges: &[ResidentReadRange<'_>],
        outputs: &mut [&mut Vec<u8>],
    ) -> Result<(), BackendError> {
        let (prefix, repeated, reads) = (prefix_steps, repeated_steps, read_ranges);
        sugar::sequence::run(self, Sequence { prefix, repeated, repeat_count, reads, timed: false }, outputs)
            .map(|_| ())
    }

    /// Whether a launch of this program could be resident on the device as a whole, which a grid barrier
    /// inside one dispatch needs. `false` where [`Self::supports_grid_sync`] is; [`Self::missing`] gives the
    /// reason.
    ///
    /// # Errors
    /// As [`Self::dispatch_borrowed`], before anything is run.
    fn cooperative_grid_sync_fits(
        &self,
        program: &Program,
        inputs: &[&[u8]],
        config: &DispatchConfig,
    ) -> Result<bool, BackendError> {
        sugar::host::check(self, &checked(program)?, inputs, config)?;
        Ok(self.supports_grid_sync())
    }

    // What the device has: views of `missing` and of `profile`.

    /// The ops of the tables that the backend runs.
    fn supported_ops(&self) -> &HashSet<OpId> {
        OpId::set(self.missing(Feature::Subgroup).is_none())
    }

    /// Whether subgroup ops run with a fixed subgroup size.
    fn supports_subgroup_ops(&self) -> bool {
        self.missing(Feature::Subgroup).is_none()
    }

    /// Whether 16-bit floats are the device's own rather than emulated through `f32`.
    fn supports_f16(&self) -> bool {
        self.missing(Feature::F16).is_none()
    }

    /// Whether bfloat16 arithmetic is the device's own rather than emulated through `f32`.
    fn supports_bf16(&self) -> bool {
        self.missing(Feature::Bf16).is_none()
    }

    /// Whether tile ops run on matrix engines.
    fn supports_tensor_cores(&self) -> bool {
        self.missing(Feature::TensorCores).is_none()
    }

    /// Whether copies and compute overlap on independent queues.
    fn supports_async_compute(&self) -> bool {
        self.missing(Feature::AsyncCompute).is_none()
    }

    /// Whether workgroup counts may come from a device buffer.
    fn supports_indirect_dispatch(&self) -> bool {
        self.missing(Feature::IndirectDispatch).is_none()
    }

    /// Whether speculative dispatch is offered.
    fn supports_speculation(&self) -> bool {
        self.missing(Feature::Speculation).is_none()
    }

    /// Whether a kernel may stay on the device and poll for work.
    fn supports_persistent_thread_dispatch(&self) -> bool {
        self.missing(Feature::PersistentThreads).is_none()
    }

    /// Whether a program is spread over more than one device.
    fn is_distributed(&self) -> bool {
        self.missing(Feature::Distributed).is_none()
    }

    /// Whether every invocation of a grid can meet inside one dispatch, with every write before visible to all
    /// after.
    fn supports_grid_sync(&self) -> bool {
        self.missing(Feature::GridSync).is_none()
    }

    /// Whether a program with grid barriers may be split into several kernels, in one submission.
    fn allows_host_grid_sync_split(&self) -> bool {
        self.missing(Feature::GridSyncSplit).is_none()
    }

    /// Whether buffers stay on the device between dispatches.
    fn supports_resident_dispatch(&self) -> bool {
        self.missing(Feature::ResidentDispatch).is_none()
    }

    /// Whether collectives between devices are lowered.
    fn supports_distributed_collectives(&self) -> bool {
        self.missing(Feature::Collectives).is_none()
    }

    /// Invocations per axis of a workgroup, x y z, at most.
    fn max_workgroup_size(&self) -> [u32; 3] {
        self.profile().max_workgroup_size
    }

    /// Workgroups per axis of one dispatch of the device, at most. Programs may have more: the compiler folds them
    /// into further axes.
    fn max_compute_workgroups_per_dimension(&self) -> u32 {
        self.profile().max_workgroups_per_axis
    }

    /// Invocations of a workgroup, at most.
    fn max_compute_invocations_per_workgroup(&self) -> u32 {
        self.profile().max_workgroup_invocations
    }

    /// The lanes of a subgroup, where fixed.
    fn subgroup_size(&self) -> Option<u32> {
        self.profile().subgroup_size
    }

    /// Bytes of one storage buffer as a kernel sees it, at most.
    fn max_storage_buffer_bytes(&self) -> u64 {
        self.profile().max_storage_binding_bytes
    }

    /// What the opened device can do, as a value of the caller's own.
    fn device_profile(&self) -> DeviceProfile {
        self.profile().clone()
    }
}
