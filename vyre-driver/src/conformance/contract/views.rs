//! Capabilities: every view says what the one record says.

use vyre_spec::DataType;

use super::{Case, Check, Problem, bytes, kernels};
use crate::{
    AdapterCaps, BackendCapabilities, BackendValidationCapabilities, DispatchConfig, Feature, OpId,
    VyreBackend,
};

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("features", features),
    ("limits", limits),
    ("capabilities for validation", validation),
    ("ops", ops),
    ("grid barriers", grid_sync),
    ("counters", counters),
];

fn features(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    for (feature, says) in [
        (Feature::Subgroup, VyreBackend::supports_subgroup_ops(backend)),
        (Feature::F16, backend.supports_f16()),
        (Feature::Bf16, backend.supports_bf16()),
        (Feature::TensorCores, backend.supports_tensor_cores()),
        (Feature::AsyncCompute, backend.supports_async_compute()),
        (Feature::IndirectDispatch, VyreBackend::supports_indirect_dispatch(backend)),
        (Feature::Speculation, backend.supports_speculation()),
        (Feature::PersistentThreads, backend.supports_persistent_thread_dispatch()),
        (Feature::Distributed, backend.is_distributed()),
        (Feature::Collectives, VyreBackend::supports_distributed_collectives(backend)),
        (Feature::GridSync, backend.supports_grid_sync()),
        (Feature::GridSyncSplit, backend.allows_host_grid_sync_split()),
        (Feature::ResidentDispatch, backend.supports_resident_dispatch()),
    ] {
        let missing = backend.missing(feature);
        case.equal(feature, &says, &missing.is_none())?;
        case.equal((feature, "a reason"), &missing.is_some_and(|why| why.trim().is_empty()), &false)?;
    }
    // What this suite itself has used.
    case.equal("residents", &backend.supports_resident_dispatch(), &true)
}

fn limits(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let profile = backend.profile();
    case.equal("profile", &backend.device_profile(), profile)?;
    case.equal("workgroup", &backend.max_workgroup_size(), &profile.max_workgroup_size)?;
    let per_axis = backend.max_compute_workgroups_per_dimension();
    case.equal("workgroups", &per_axis, &profile.max_workgroups_per_axis)?;
    let invocations = backend.max_compute_invocations_per_workgroup();
    case.equal("invocations", &invocations, &profile.max_workgroup_invocations)?;
    case.equal("subgroup", &backend.subgroup_size(), &profile.subgroup_size)?;
    let storage = backend.max_storage_buffer_bytes();
    case.equal("storage", &storage, &profile.max_storage_binding_bytes)?;
    let caps = AdapterCaps::of(profile);
    case.equal("caps", &(caps.backend == backend.id(), caps.subgroup_size), &(true, profile.subgroup_size))
}

fn validation(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    case.equal("name", backend.backend_name(), backend.id())?;
    for ty in DataType::ALL {
        case.equal(ty, &backend.supports_cast_target(&ty), &backend.missing_type(ty).is_none())?;
    }
    let whole = backend.backend_capabilities();
    case.equal("version", &whole.version, &BackendCapabilities::VERSION)?;
    for feature in Feature::ALL {
        let known = whole.feature(feature.name());
        case.equal(feature, &known, &Some(backend.missing(feature).is_none()))?;
    }
    let specialises = BackendValidationCapabilities::supports_specialization_constants(backend);
    case.equal("specialisation", &whole.feature("specialization_constants"), &Some(specialises))?;
    let indirect = BackendValidationCapabilities::supports_indirect_dispatch(backend);
    case.equal("indirect", &whole.feature("indirect_dispatch"), &Some(indirect))?;
    let subgroups = BackendValidationCapabilities::supports_subgroup_ops(backend);
    case.equal("subgroups", &whole.feature("subgroup"), &Some(subgroups))?;
    let collectives = BackendValidationCapabilities::supports_distributed_collectives(backend);
    case.equal("collectives", &whole.feature("collectives"), &Some(collectives))?;
    case.equal("buffer", &whole.limit("buffer_bytes"), &Some(backend.profile().max_buffer_bytes))?;
    case.equal("unknown", &(whole.feature("wings"), whole.limit("wings")), &(None, None))
}

fn ops(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let subgroups = VyreBackend::supports_subgroup_ops(backend);
    for op in OpId::all() {
        let known = backend.supported_ops().contains(&op);
        case.equal(op, &known, &(subgroups || !matches!(op, OpId::Subgroup(_))))?;
    }
    Ok(())
}

fn grid_sync(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let (config, input) = (DispatchConfig::default(), bytes(&[1]));
    let fits = backend.cooperative_grid_sync_fits(&*kernels::count()?, &[&input], &config)?;
    case.equal("fits", &fits, &backend.supports_grid_sync())?;
    let run = backend.cooperative_grid_sync_fits(&*kernels::count()?, &[], &config);
    case.refused("no input", run, |error| matches!(error, crate::BackendError::Launch(_)))
}

fn counters(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let metrics = backend.backend_metric_snapshot();
    case.equal("sorted, each name once", &metrics.windows(2).all(|pair| pair[0].0 < pair[1].0), &true)?;
    let Some(before) = backend.pipeline_cache_snapshot() else { return Ok(()) };
    let config = DispatchConfig::default();
    // A program that no other check uses, twice.
    for _ in 0..2 {
        backend.compile_native(&*kernels::step(0x5EED)?, &config)?;
    }
    let after = backend.pipeline_cache_snapshot().unwrap_or_default();
    case.equal("a miss and a hit", &(after.misses > before.misses, after.hits > before.hits), &(true, true))
}
