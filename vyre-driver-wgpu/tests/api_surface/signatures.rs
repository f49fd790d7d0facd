//! Every documented method of `WgpuBackend` with its documented signature: what this file says is checked when it
//! is compiled.

#![allow(clippy::type_complexity, reason = "the types are the documented ones")]

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use vyre_driver::optimizer::{DispatchError, OptimizerDispatcher, ResidentStaticBufferSet};
use vyre_driver::speculate::{AdaptiveSpeculator, SpeculativeDispatchOutcome, SpeculativeDispatchPlan};
use vyre_driver::{
    AdapterCaps, BackendCapabilities, BackendError, BackendValidationCapabilities, CompiledPipeline,
    DeviceBuffer, DispatchConfig, Executable, Memory, MemoryRef, OpId, OutputBuffers, PendingDispatch,
    PipelineCacheSnapshot, ResidentSequenceTiming, Resource, TimedDispatchResult, VyreBackend, backend,
    optimizer,
};
use vyre_driver_wgpu::{
    HostIngressStream, LoweringError, UnOp, WgpuBackend, WgpuBackendStats, WgpuIR, WgpuPipeline, WgpuProgram,
    naga, wgpu,
};
use vyre_foundation::ir::Program;
use vyre_spec::{DataType, DeviceProfile};

/// Looks at an output.
type Visit<T> = fn(usize, &[T]) -> Result<(), BackendError>;
/// Confirms candidates.
type Confirm = fn(OutputBuffers) -> Result<OutputBuffers, BackendError>;

// Of no trait.
const _: fn(&WgpuBackend) -> &wgpu::AdapterInfo = WgpuBackend::adapter_info;
const _: fn(&WgpuBackend) -> &wgpu::Limits = WgpuBackend::device_limits;
const _: fn() -> Result<WgpuBackend, BackendError> = WgpuBackend::acquire;
const _: fn(usize) -> Result<WgpuBackend, BackendError> = WgpuBackend::acquire_adapter;
const _: fn(&WgpuBackend) -> Arc<(wgpu::Device, wgpu::Queue)> = WgpuBackend::device_queue;
const _: fn(&WgpuBackend) -> Result<(), BackendError> = WgpuBackend::force_device_lost;
const _: fn(
    &WgpuBackend,
    &[u32],
    &[u32],
    &[u32],
    &[u32],
    u32,
    u32,
    &[u32],
    &[[u8; 32]],
) -> Result<(), BackendError> = WgpuBackend::invalidate_impacted_pipeline_cache;
const _: fn(&WgpuBackend, u32, &[u32], &[[u8; 32]]) -> Result<(), BackendError> =
    WgpuBackend::invalidate_pipeline_cache_for_changed_op;
const _: fn(
    &WgpuBackend,
    &[u32],
    &[u32],
    &[u32],
    &[u32],
    u32,
    u32,
    &[u32],
    &[String],
) -> Result<(), BackendError> = WgpuBackend::invalidate_impacted_disk_cache;
const _: fn() -> Result<WgpuBackend, BackendError> = WgpuBackend::new;
const _: fn() -> Result<Arc<WgpuBackend>, BackendError> = WgpuBackend::shared;
const _: fn(&WgpuBackend, &Program, &[&[u8]], &DispatchConfig, Visit<u8>) -> Result<(), BackendError> =
    WgpuBackend::dispatch_borrowed_for_each_mapped_output::<Visit<u8>>;
const _: fn(&WgpuBackend, &Program, &[&[u8]], &DispatchConfig, Visit<u32>) -> Result<(), BackendError> =
    WgpuBackend::dispatch_borrowed_for_each_pod_output::<u32, Visit<u32>>;
const _: fn(
    &WgpuBackend,
    &AdaptiveSpeculator,
    SpeculativeDispatchPlan<'_>,
    &[&[u8]],
    &DispatchConfig,
    Confirm,
) -> Result<SpeculativeDispatchOutcome, BackendError> =
    WgpuBackend::dispatch_speculative_prefilter_confirm::<Confirm>;
const _: fn(
    &WgpuBackend,
    &[(&Program, &[&[u8]], &DispatchConfig)],
) -> Result<Vec<Result<OutputBuffers, BackendError>>, BackendError> = WgpuBackend::dispatch_borrowed_batch;
const _: fn(
    &WgpuBackend,
    &[(&Program, &[&[u8]], &DispatchConfig)],
    &mut [OutputBuffers],
) -> Result<Vec<Result<(), BackendError>>, BackendError> = WgpuBackend::dispatch_borrowed_batch_into;
const _: fn(
    &WgpuBackend,
    &[(Program, Vec<Vec<u8>>, DispatchConfig)],
) -> Result<Vec<Result<OutputBuffers, BackendError>>, BackendError> = WgpuBackend::dispatch_batch;
const _: fn(&WgpuBackend, &Program, DispatchConfig) -> Result<HostIngressStream, BackendError> =
    WgpuBackend::compile_streaming;
const _: fn(&WgpuBackend, &Program, &DispatchConfig) -> Result<Arc<WgpuPipeline>, BackendError> =
    WgpuBackend::compile_persistent;
const _: fn(&WgpuBackend, usize) -> Result<Box<dyn DeviceBuffer>, BackendError> =
    WgpuBackend::allocate_wgpu_device_buffer;
const _: fn(&WgpuBackend, &mut dyn DeviceBuffer, &[u8]) -> Result<(), BackendError> =
    WgpuBackend::upload_wgpu_device_buffer;
const _: fn(&WgpuBackend, &dyn DeviceBuffer) -> Result<Vec<u8>, BackendError> =
    WgpuBackend::download_wgpu_device_buffer;
const _: fn(&WgpuBackend, Box<dyn DeviceBuffer>) -> Result<(), BackendError> =
    WgpuBackend::free_wgpu_device_buffer;
const _: fn(&WgpuBackend, &Program) -> Result<WgpuProgram, LoweringError> = WgpuBackend::lower_to_backend_ir;
const _: for<'a> fn(&WgpuBackend, &'a WgpuProgram) -> &'a naga::Module = WgpuBackend::lower_to_target;
const _: fn(&WgpuBackend, &Program) -> Result<WgpuIR, BackendError> = WgpuBackend::compile;
const _: fn(&WgpuBackend, &WgpuIR, &[MemoryRef<'_>], &DispatchConfig) -> Result<Vec<Memory>, BackendError> =
    WgpuBackend::dispatch_compiled;
const _: fn(&WgpuBackend, &str, &[u8], usize, u32) -> Result<Vec<u8>, String> = WgpuBackend::dispatch_wgsl;
const _: fn(&WgpuBackend, UnOp, &[u8]) -> Result<Vec<u8>, BackendError> = WgpuBackend::probe_op;
const _: fn(&WgpuBackend, UnOp, &[f32]) -> Result<Vec<f32>, BackendError> = WgpuBackend::probe_op_many;
const _: fn(&WgpuBackend) -> AdapterCaps = WgpuBackend::adapter_caps;
const _: fn(&WgpuBackend) -> DeviceProfile = WgpuBackend::device_profile;
const _: fn(&WgpuBackend) -> WgpuBackendStats = WgpuBackend::stats;

// BackendValidationCapabilities.
const _: fn(&WgpuBackend) -> &'static str = <WgpuBackend as BackendValidationCapabilities>::backend_name;
const _: fn(&WgpuBackend, &DataType) -> bool =
    <WgpuBackend as BackendValidationCapabilities>::supports_cast_target;
const _: fn(&WgpuBackend) -> bool = <WgpuBackend as BackendValidationCapabilities>::supports_subgroup_ops;
const _: fn(&WgpuBackend) -> bool =
    <WgpuBackend as BackendValidationCapabilities>::supports_indirect_dispatch;
const _: fn(&WgpuBackend) -> bool =
    <WgpuBackend as BackendValidationCapabilities>::supports_specialization_constants;
const _: fn(&WgpuBackend) -> bool =
    <WgpuBackend as BackendValidationCapabilities>::supports_distributed_collectives;
const _: fn(&WgpuBackend) -> BackendCapabilities =
    <WgpuBackend as BackendValidationCapabilities>::backend_capabilities;

// Clone.
const _: fn(&WgpuBackend) -> WgpuBackend = <WgpuBackend as Clone>::clone;
const _: fn(&mut WgpuBackend, &WgpuBackend) = <WgpuBackend as Clone>::clone_from;

// Debug.
const _: fn(&WgpuBackend, &mut fmt::Formatter<'_>) -> fmt::Result = <WgpuBackend as fmt::Debug>::fmt;

// Executable.
const _: fn(&WgpuBackend, &Program, &[MemoryRef<'_>], &DispatchConfig) -> Result<Vec<Memory>, BackendError> =
    <WgpuBackend as Executable>::dispatch;

// OptimizerDispatcher.
const _: fn(&WgpuBackend, &Program, &[Vec<u8>], Option<[u32; 3]>) -> Result<Vec<Vec<u8>>, DispatchError> =
    <WgpuBackend as OptimizerDispatcher>::dispatch;
const _: fn(&WgpuBackend) -> bool = <WgpuBackend as OptimizerDispatcher>::supports_persistent;
const _: fn(&WgpuBackend) -> u64 = <WgpuBackend as OptimizerDispatcher>::device_feature_cache_key;
const _: fn(&WgpuBackend, usize) -> Result<u64, DispatchError> =
    <WgpuBackend as OptimizerDispatcher>::alloc_resident;
const _: fn(&WgpuBackend, &[usize]) -> Result<Vec<u64>, DispatchError> =
    <WgpuBackend as OptimizerDispatcher>::alloc_resident_many;
const _: fn(&WgpuBackend, u64, &[u8]) -> Result<(), DispatchError> =
    <WgpuBackend as OptimizerDispatcher>::upload_resident;
const _: fn(&WgpuBackend, &[(u64, &[u8])]) -> Result<(), DispatchError> =
    <WgpuBackend as OptimizerDispatcher>::upload_resident_many;
const _: fn(&WgpuBackend, u64, &[&[u8]]) -> Result<ResidentStaticBufferSet, DispatchError> =
    <WgpuBackend as OptimizerDispatcher>::acquire_resident_static_uploads;
const _: fn(&WgpuBackend, ResidentStaticBufferSet) -> Result<(), DispatchError> =
    <WgpuBackend as OptimizerDispatcher>::release_resident_static_uploads;
const _: fn(&WgpuBackend, u64) -> Result<Vec<u8>, DispatchError> =
    <WgpuBackend as OptimizerDispatcher>::read_resident;
const _: fn(&WgpuBackend, &[u64]) -> Result<Vec<Vec<u8>>, DispatchError> =
    <WgpuBackend as OptimizerDispatcher>::read_resident_many;
const _: fn(&WgpuBackend, &[optimizer::ResidentReadRange]) -> Result<Vec<Vec<u8>>, DispatchError> =
    <WgpuBackend as OptimizerDispatcher>::read_resident_ranges;
const _: fn(&WgpuBackend, &[optimizer::ResidentReadRange], &mut Vec<Vec<u8>>) -> Result<(), DispatchError> =
    <WgpuBackend as OptimizerDispatcher>::read_resident_ranges_into;
const _: fn(&WgpuBackend, u64) -> Result<(), DispatchError> =
    <WgpuBackend as OptimizerDispatcher>::free_resident;
const _: fn(&WgpuBackend, &Program, &[u64], Option<[u32; 3]>) -> Result<(), DispatchError> =
    <WgpuBackend as OptimizerDispatcher>::dispatch_resident;
const _: fn(&WgpuBackend, &[optimizer::ResidentDispatchStep<'_>]) -> Result<(), DispatchError> =
    <WgpuBackend as OptimizerDispatcher>::dispatch_resident_sequence;
const _: fn(
    &WgpuBackend,
    &[optimizer::ResidentDispatchStep<'_>],
    &[u64],
) -> Result<Vec<Vec<u8>>, DispatchError> =
    <WgpuBackend as OptimizerDispatcher>::dispatch_resident_sequence_read_many;
const _: fn(
    &WgpuBackend,
    &[optimizer::ResidentDispatchStep<'_>],
    &[optimizer::ResidentReadRange],
) -> Result<Vec<Vec<u8>>, DispatchError> =
    <WgpuBackend as OptimizerDispatcher>::dispatch_resident_sequence_read_ranges;
const _: fn(
    &WgpuBackend,
    &[(u64, &[u8])],
    &[optimizer::ResidentDispatchStep<'_>],
    &[u64],
) -> Result<Vec<Vec<u8>>, DispatchError> =
    <WgpuBackend as OptimizerDispatcher>::upload_resident_many_sequence_read_many;
const _: fn(
    &WgpuBackend,
    &[(u64, &[u8])],
    &[optimizer::ResidentDispatchStep<'_>],
    &[optimizer::ResidentReadRange],
) -> Result<Vec<Vec<u8>>, DispatchError> =
    <WgpuBackend as OptimizerDispatcher>::upload_resident_many_sequence_read_ranges;
const _: fn(
    &WgpuBackend,
    &[(u64, &[u8])],
    &[optimizer::ResidentDispatchStep<'_>],
    &[u64],
    &mut Vec<Vec<u8>>,
) -> Result<(), DispatchError> =
    <WgpuBackend as OptimizerDispatcher>::upload_resident_many_sequence_read_many_into;
const _: fn(
    &WgpuBackend,
    &[(u64, usize)],
    &[(u64, &[u8])],
    &[optimizer::ResidentDispatchStep<'_>],
    &[u64],
    &mut Vec<Vec<u8>>,
) -> Result<(), DispatchError> =
    <WgpuBackend as OptimizerDispatcher>::clear_upload_resident_many_sequence_read_many_into;
const _: fn(
    &WgpuBackend,
    &[(u64, usize, u8)],
    &[(u64, &[u8])],
    &[optimizer::ResidentDispatchStep<'_>],
    &[u64],
    &mut Vec<Vec<u8>>,
) -> Result<(), DispatchError> =
    <WgpuBackend as OptimizerDispatcher>::fill_upload_resident_many_sequence_read_many_into;
const _: fn(
    &WgpuBackend,
    &[(u64, usize, u8)],
    &[(u64, &[u8])],
    &[optimizer::ResidentDispatchStep<'_>],
    &[optimizer::ResidentReadRange],
    &mut Vec<Vec<u8>>,
) -> Result<(), DispatchError> =
    <WgpuBackend as OptimizerDispatcher>::fill_upload_resident_many_sequence_read_ranges_into;
const _: fn(
    &WgpuBackend,
    &[(u64, &[u8])],
    &[optimizer::ResidentDispatchStep<'_>],
    &[optimizer::ResidentReadRange],
    &mut Vec<Vec<u8>>,
) -> Result<(), DispatchError> =
    <WgpuBackend as OptimizerDispatcher>::upload_resident_many_sequence_read_ranges_into;

// VyreBackend.
const _: fn(&WgpuBackend) -> &'static str = <WgpuBackend as VyreBackend>::id;
const _: fn(&WgpuBackend) -> &'static str = <WgpuBackend as VyreBackend>::version;
const _: fn(&WgpuBackend) -> &HashSet<OpId> = <WgpuBackend as VyreBackend>::supported_ops;
const _: fn(&WgpuBackend, &Program, &[Vec<u8>], &DispatchConfig) -> Result<Vec<Vec<u8>>, BackendError> =
    <WgpuBackend as VyreBackend>::dispatch;
const _: fn(&WgpuBackend, &Program, &[&[u8]], &DispatchConfig) -> Result<Vec<Vec<u8>>, BackendError> =
    <WgpuBackend as VyreBackend>::dispatch_borrowed;
const _: fn(
    &WgpuBackend,
    &Program,
    &[&[u8]],
    &DispatchConfig,
    &mut OutputBuffers,
) -> Result<(), BackendError> = <WgpuBackend as VyreBackend>::dispatch_borrowed_into;
const _: fn(&WgpuBackend, &Program, &[&[u8]], &DispatchConfig) -> Result<TimedDispatchResult, BackendError> =
    <WgpuBackend as VyreBackend>::dispatch_borrowed_timed;
const _: fn(
    &WgpuBackend,
    &Program,
    &[Vec<u8>],
    &DispatchConfig,
) -> Result<Box<dyn PendingDispatch>, BackendError> = <WgpuBackend as VyreBackend>::dispatch_async;
const _: fn(
    &WgpuBackend,
    &Program,
    &[&[u8]],
    &DispatchConfig,
) -> Result<Box<dyn PendingDispatch>, BackendError> = <WgpuBackend as VyreBackend>::dispatch_borrowed_async;
const _: fn(
    &WgpuBackend,
    &Program,
    &DispatchConfig,
) -> Result<Option<Arc<dyn CompiledPipeline>>, BackendError> = <WgpuBackend as VyreBackend>::compile_native;
const _: fn(&WgpuBackend, usize) -> Result<Box<dyn DeviceBuffer>, BackendError> =
    <WgpuBackend as VyreBackend>::allocate_device_buffer;
const _: fn(&WgpuBackend, &mut dyn DeviceBuffer, &[u8]) -> Result<(), BackendError> =
    <WgpuBackend as VyreBackend>::upload_device_buffer;
const _: fn(&WgpuBackend, &dyn DeviceBuffer) -> Result<Vec<u8>, BackendError> =
    <WgpuBackend as VyreBackend>::download_device_buffer;
const _: fn(&WgpuBackend, Box<dyn DeviceBuffer>) -> Result<(), BackendError> =
    <WgpuBackend as VyreBackend>::free_device_buffer;
const _: fn(&WgpuBackend, usize) -> Result<Resource, BackendError> =
    <WgpuBackend as VyreBackend>::allocate_resident;
const _: fn(&WgpuBackend, &Resource, &[u8]) -> Result<(), BackendError> =
    <WgpuBackend as VyreBackend>::upload_resident;
const _: fn(&WgpuBackend, &[(&Resource, &[u8])]) -> Result<(), BackendError> =
    <WgpuBackend as VyreBackend>::upload_resident_many;
const _: fn(&WgpuBackend, &Resource, usize, &[u8]) -> Result<(), BackendError> =
    <WgpuBackend as VyreBackend>::upload_resident_at;
const _: fn(&WgpuBackend, &[(&Resource, usize, &[u8])]) -> Result<(), BackendError> =
    <WgpuBackend as VyreBackend>::upload_resident_at_many;
const _: fn(&WgpuBackend, &Resource) -> Result<Vec<u8>, BackendError> =
    <WgpuBackend as VyreBackend>::download_resident;
const _: fn(&WgpuBackend, &Resource, &mut Vec<u8>) -> Result<(), BackendError> =
    <WgpuBackend as VyreBackend>::download_resident_into;
const _: fn(&WgpuBackend, &Resource, usize, usize) -> Result<Vec<u8>, BackendError> =
    <WgpuBackend as VyreBackend>::download_resident_range;
const _: fn(&WgpuBackend, &Resource, usize, usize, &mut Vec<u8>) -> Result<(), BackendError> =
    <WgpuBackend as VyreBackend>::download_resident_range_into;
const _: fn(&WgpuBackend, &[(&Resource, usize, usize)], &mut [&mut Vec<u8>]) -> Result<(), BackendError> =
    <WgpuBackend as VyreBackend>::download_resident_ranges_into;
const _: fn(&WgpuBackend, Resource) -> Result<(), BackendError> = <WgpuBackend as VyreBackend>::free_resident;
const _: fn(
    &WgpuBackend,
    &Program,
    &[Resource],
    &DispatchConfig,
) -> Result<TimedDispatchResult, BackendError> = <WgpuBackend as VyreBackend>::dispatch_resident_timed;
const _: fn(
    &WgpuBackend,
    &Program,
    &[&dyn DeviceBuffer],
    &mut [&mut dyn DeviceBuffer],
    &DispatchConfig,
) -> Result<(), BackendError> = <WgpuBackend as VyreBackend>::dispatch_with_device_buffers;
const _: fn(&WgpuBackend) -> Option<PipelineCacheSnapshot> =
    <WgpuBackend as VyreBackend>::pipeline_cache_snapshot;
const _: fn(&WgpuBackend) -> bool = <WgpuBackend as VyreBackend>::supports_subgroup_ops;
const _: fn(&WgpuBackend) -> bool = <WgpuBackend as VyreBackend>::supports_f16;
const _: fn(&WgpuBackend) -> bool = <WgpuBackend as VyreBackend>::supports_bf16;
const _: fn(&WgpuBackend) -> bool = <WgpuBackend as VyreBackend>::supports_tensor_cores;
const _: fn(&WgpuBackend) -> bool = <WgpuBackend as VyreBackend>::supports_async_compute;
const _: fn(&WgpuBackend) -> bool = <WgpuBackend as VyreBackend>::supports_indirect_dispatch;
const _: fn(&WgpuBackend) -> bool = <WgpuBackend as VyreBackend>::supports_speculation;
const _: fn(&WgpuBackend) -> bool = <WgpuBackend as VyreBackend>::supports_persistent_thread_dispatch;
const _: fn(&WgpuBackend) -> bool = <WgpuBackend as VyreBackend>::is_distributed;
const _: fn(&WgpuBackend) -> [u32; 3] = <WgpuBackend as VyreBackend>::max_workgroup_size;
const _: fn(&WgpuBackend) -> u32 = <WgpuBackend as VyreBackend>::max_compute_workgroups_per_dimension;
const _: fn(&WgpuBackend) -> u32 = <WgpuBackend as VyreBackend>::max_compute_invocations_per_workgroup;
const _: fn(&WgpuBackend) -> Option<u32> = <WgpuBackend as VyreBackend>::subgroup_size;
const _: fn(&WgpuBackend) -> u64 = <WgpuBackend as VyreBackend>::max_storage_buffer_bytes;
const _: fn(&WgpuBackend) -> DeviceProfile = <WgpuBackend as VyreBackend>::device_profile;
const _: fn(&WgpuBackend) -> Result<(), BackendError> = <WgpuBackend as VyreBackend>::flush;
const _: fn(&WgpuBackend) -> bool = <WgpuBackend as VyreBackend>::device_lost;
const _: fn(&WgpuBackend) -> Result<(), BackendError> = <WgpuBackend as VyreBackend>::try_recover;
const _: fn(
    &WgpuBackend,
    &[backend::ResidentDispatchStep<'_>],
    &[backend::ResidentReadRange<'_>],
    &mut [&mut Vec<u8>],
) -> Result<(), BackendError> = <WgpuBackend as VyreBackend>::dispatch_resident_sequence_read_ranges_into;
const _: fn(
    &WgpuBackend,
    &[backend::ResidentDispatchStep<'_>],
    &[backend::ResidentReadRange<'_>],
    &mut [&mut Vec<u8>],
) -> Result<ResidentSequenceTiming, BackendError> =
    <WgpuBackend as VyreBackend>::dispatch_resident_sequence_read_ranges_timed_into;
const _: fn(
    &WgpuBackend,
    &[backend::ResidentDispatchStep<'_>],
    &[backend::ResidentDispatchStep<'_>],
    u32,
    &[backend::ResidentReadRange<'_>],
    &mut [&mut Vec<u8>],
) -> Result<(), BackendError> =
    <WgpuBackend as VyreBackend>::dispatch_resident_repeated_sequence_read_ranges_into;
const _: fn(
    &WgpuBackend,
    Arc<Program>,
    &DispatchConfig,
) -> Result<Option<Arc<dyn CompiledPipeline>>, BackendError> =
    <WgpuBackend as VyreBackend>::compile_native_shared;
const _: fn(&WgpuBackend) -> Vec<(&'static str, u64)> = <WgpuBackend as VyreBackend>::backend_metric_snapshot;
const _: fn(&WgpuBackend) -> bool = <WgpuBackend as VyreBackend>::supports_grid_sync;
const _: fn(&WgpuBackend, &Program, &[&[u8]], &DispatchConfig) -> Result<bool, BackendError> =
    <WgpuBackend as VyreBackend>::cooperative_grid_sync_fits;
const _: fn(&WgpuBackend) -> bool = <WgpuBackend as VyreBackend>::allows_host_grid_sync_split;
const _: fn(&WgpuBackend) -> bool = <WgpuBackend as VyreBackend>::supports_resident_dispatch;
const _: fn(&WgpuBackend) -> bool = <WgpuBackend as VyreBackend>::supports_distributed_collectives;
const _: fn(&WgpuBackend) -> Result<(), BackendError> = <WgpuBackend as VyreBackend>::prepare;
const _: fn(&WgpuBackend) -> Result<(), BackendError> = <WgpuBackend as VyreBackend>::shutdown;
