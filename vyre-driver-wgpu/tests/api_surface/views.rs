//! What the opened device has: `BackendValidationCapabilities` and the views of `VyreBackend`. What is offered is
//! used, and what is not is refused, in tests/capabilities.rs.

use vyre_driver::{BackendValidationCapabilities, Feature, VyreBackend};
use vyre_spec::DataType;

use crate::{config, double, open, words};

#[test]
fn validation_capabilities() {
    let b = open();
    assert_eq!(b.backend_name(), "wgpu");
    let value = b.backend_capabilities();
    for ty in DataType::ALL {
        assert_eq!(b.supports_cast_target(&ty), value.cast_targets.contains(&ty.name()), "{ty}");
    }
    assert!(b.supports_cast_target(&DataType::F32));
    let has = |feature: Feature| value.feature(feature.name()).unwrap();
    let validation: &dyn BackendValidationCapabilities = &b;
    assert_eq!(validation.supports_subgroup_ops(), has(Feature::Subgroup));
    assert_eq!(validation.supports_indirect_dispatch(), has(Feature::IndirectDispatch));
    assert_eq!(validation.supports_specialization_constants(), has(Feature::SpecializationConstants));
    assert!(!validation.supports_distributed_collectives());
}

#[test]
fn backend_features() {
    let b = open();
    let profile = VyreBackend::device_profile(&b);
    let backend: &dyn VyreBackend = &b;
    assert_eq!(backend.supports_subgroup_ops(), profile.subgroup_size.is_some());
    assert_eq!(backend.supports_f16(), b.missing(Feature::F16).is_none());
    assert_eq!(backend.supports_indirect_dispatch(), b.missing(Feature::IndirectDispatch).is_none());
    assert!(backend.supports_resident_dispatch());
    assert!(backend.supports_speculation() && backend.allows_host_grid_sync_split());
    // What neither wgpu nor naga has.
    assert!(!backend.supports_bf16());
    assert_eq!(backend.supports_tensor_cores(), !backend.profile().tiles.is_empty());
    assert!(!backend.supports_async_compute() && !backend.supports_persistent_thread_dispatch());
    assert!(!backend.is_distributed() && !backend.supports_distributed_collectives());
    assert!(!backend.supports_grid_sync());
    assert!(!backend.cooperative_grid_sync_fits(&double(), &[&words(&[1])], &config()).unwrap());
}

#[test]
fn backend_limits() {
    let b = open();
    let (profile, limits) = (VyreBackend::device_profile(&b), b.device_limits().clone());
    assert_eq!(b.max_workgroup_size()[2], limits.max_compute_workgroup_size_z);
    assert_eq!(b.max_compute_workgroups_per_dimension(), limits.max_compute_workgroups_per_dimension);
    assert_eq!(b.max_compute_invocations_per_workgroup(), limits.max_compute_invocations_per_workgroup);
    assert_eq!(b.max_storage_buffer_bytes(), limits.max_storage_buffer_binding_size);
    assert_eq!(b.subgroup_size(), profile.subgroup_size);
}
