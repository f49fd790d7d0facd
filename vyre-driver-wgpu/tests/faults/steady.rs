//! What does no device work: it answers the same whatever happens to the device.

use vyre_driver::optimizer::OptimizerDispatcher;
use vyre_driver::{BackendValidationCapabilities, VyreBackend};
use vyre_driver_wgpu::WgpuBackend;
use vyre_spec::DataType;

use crate::kit::scaled;

/// A method, and its answer as text.
type Row = (&'static str, fn(&WgpuBackend) -> String);

pub(crate) const STEADY: &[Row] = &[
    ("WgpuBackend::adapter_info", |b| format!("{:?}", b.adapter_info())),
    ("WgpuBackend::device_limits", |b| format!("{:?}", b.device_limits())),
    // Its device is another one after a recovery, with the same limits.
    ("WgpuBackend::device_queue", |b| format!("{:?}", b.device_queue().0.limits())),
    ("WgpuBackend::lower_to_backend_ir", |b| {
        let lowered = b.lower_to_backend_ir(&scaled(3)).unwrap();
        format!("{} {:?}", lowered.entry_point(), lowered.workgroup_size())
    }),
    ("WgpuBackend::lower_to_target", |b| {
        format!("{:?}", b.lower_to_target(&b.lower_to_backend_ir(&scaled(3)).unwrap()))
    }),
    ("WgpuBackend::adapter_caps", |b| format!("{:?}", b.adapter_caps())),
    ("WgpuBackend::device_profile", |b| format!("{:?}", WgpuBackend::device_profile(b))),
    // The counters move, and are there in every state.
    ("WgpuBackend::stats", |b| b.stats().adapter),
    ("BackendValidationCapabilities::backend_name", |b| b.backend_name().to_owned()),
    ("BackendValidationCapabilities::supports_cast_target", |b| {
        format!("{:?}", DataType::ALL.map(|ty| b.supports_cast_target(&ty)))
    }),
    ("BackendValidationCapabilities::supports_subgroup_ops", |b| {
        BackendValidationCapabilities::supports_subgroup_ops(b).to_string()
    }),
    ("BackendValidationCapabilities::supports_indirect_dispatch", |b| {
        BackendValidationCapabilities::supports_indirect_dispatch(b).to_string()
    }),
    ("BackendValidationCapabilities::supports_specialization_constants", |b| {
        b.supports_specialization_constants().to_string()
    }),
    ("BackendValidationCapabilities::supports_distributed_collectives", |b| {
        BackendValidationCapabilities::supports_distributed_collectives(b).to_string()
    }),
    ("BackendValidationCapabilities::backend_capabilities", |b| format!("{:?}", b.backend_capabilities())),
    ("Debug::fmt", |b| format!("{b:?}").chars().take_while(char::is_ascii_alphanumeric).collect()),
    ("OptimizerDispatcher::supports_persistent", |b| b.supports_persistent().to_string()),
    ("OptimizerDispatcher::device_feature_cache_key", |b| b.device_feature_cache_key().to_string()),
    ("VyreBackend::id", |b| b.id().to_owned()),
    ("VyreBackend::version", |b| b.version().to_owned()),
    ("VyreBackend::supported_ops", |b| b.supported_ops().len().to_string()),
    ("VyreBackend::pipeline_cache_snapshot", |b| b.pipeline_cache_snapshot().unwrap().capacity.to_string()),
    ("VyreBackend::backend_metric_snapshot", |b| {
        format!("{:?}", b.backend_metric_snapshot().iter().map(|(name, _)| *name).collect::<Vec<_>>())
    }),
    ("VyreBackend::supports_subgroup_ops", |b| VyreBackend::supports_subgroup_ops(b).to_string()),
    ("VyreBackend::supports_f16", |b| b.supports_f16().to_string()),
    ("VyreBackend::supports_bf16", |b| b.supports_bf16().to_string()),
    ("VyreBackend::supports_tensor_cores", |b| b.supports_tensor_cores().to_string()),
    ("VyreBackend::supports_async_compute", |b| b.supports_async_compute().to_string()),
    ("VyreBackend::supports_indirect_dispatch", |b| VyreBackend::supports_indirect_dispatch(b).to_string()),
    ("VyreBackend::supports_speculation", |b| b.supports_speculation().to_string()),
    ("VyreBackend::supports_persistent_thread_dispatch", |b| {
        b.supports_persistent_thread_dispatch().to_string()
    }),
    ("VyreBackend::is_distributed", |b| b.is_distributed().to_string()),
    ("VyreBackend::max_workgroup_size", |b| format!("{:?}", b.max_workgroup_size())),
    ("VyreBackend::max_compute_workgroups_per_dimension", |b| {
        b.max_compute_workgroups_per_dimension().to_string()
    }),
    ("VyreBackend::max_compute_invocations_per_workgroup", |b| {
        b.max_compute_invocations_per_workgroup().to_string()
    }),
    ("VyreBackend::subgroup_size", |b| format!("{:?}", b.subgroup_size())),
    ("VyreBackend::max_storage_buffer_bytes", |b| b.max_storage_buffer_bytes().to_string()),
    ("VyreBackend::device_profile", |b| format!("{:?}", VyreBackend::device_profile(b))),
    ("VyreBackend::supports_grid_sync", |b| b.supports_grid_sync().to_string()),
    ("VyreBackend::allows_host_grid_sync_split", |b| b.allows_host_grid_sync_split().to_string()),
    ("VyreBackend::supports_resident_dispatch", |b| b.supports_resident_dispatch().to_string()),
    ("VyreBackend::supports_distributed_collectives", |b| {
        VyreBackend::supports_distributed_collectives(b).to_string()
    }),
];

/// Every answer.
pub(crate) fn answers(b: &WgpuBackend) -> Vec<(&'static str, String)> {
    STEADY.iter().map(|(method, ask)| (*method, ask(b))).collect()
}
