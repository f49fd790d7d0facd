//! The capability record of an opened device.

use vyre_spec::{Capability, CapabilitySet, DeviceProfile, Quirks, TileProduct};
use wgpu::Features;

use crate::acquire::{driver, is_software};
use crate::backend::WGPU_BACKEND_ID;
use crate::generation::Generation;
use crate::kernel::takes_spirv;
use crate::tiles;

/// The profile of the device of `generation`, of which the probes found `quirks`.
pub(crate) fn profile_of(generation: &Generation, quirks: Quirks) -> DeviceProfile {
    let (info, limits) = (&generation.info, &generation.limits);
    let has = |features| generation.has(features);
    // Where the driver may choose the width anew for each kernel, nothing can be planned with it.
    let subgroup_size = (info.subgroup_min_size == info.subgroup_max_size).then_some(info.subgroup_min_size);
    let capabilities = CapabilitySet::EMPTY
        .with_if(Capability::Subgroup, has(Features::SUBGROUP) && subgroup_size.is_some())
        .with_if(Capability::F16, has(Features::SHADER_F16))
        .with_if(Capability::F64, has(Features::SHADER_F64))
        .with_if(Capability::Int64, has(Features::SHADER_INT64))
        .with_if(Capability::AtomicInt64, has(Features::SHADER_INT64 | Features::SHADER_INT64_ATOMIC_ALL_OPS))
        .with_if(Capability::AtomicFloat32, has(Features::SHADER_FLOAT32_ATOMIC))
        .with_if(Capability::CoherentStorage, has(Features::MEMORY_DECORATION_COHERENT))
        .with_if(Capability::Immediates, has(Features::IMMEDIATES))
        .with_if(
            Capability::Timestamps,
            has(Features::TIMESTAMP_QUERY | Features::TIMESTAMP_QUERY_INSIDE_ENCODERS),
        )
        .with_if(Capability::StrictFloat, takes_spirv(generation))
        .with_if(Capability::Fence, matches!(info.backend, wgpu::Backend::Vulkan | wgpu::Backend::Dx12));
    DeviceProfile {
        backend: WGPU_BACKEND_ID.to_owned(),
        name: info.name.clone(),
        driver: driver(info),
        api: info.backend.to_string(),
        is_software: is_software(info),
        capabilities,
        quirks,
        subgroup_size,
        max_workgroup_size: [
            limits.max_compute_workgroup_size_x,
            limits.max_compute_workgroup_size_y,
            limits.max_compute_workgroup_size_z,
        ],
        max_workgroup_invocations: limits.max_compute_invocations_per_workgroup,
        max_workgroups_per_axis: limits.max_compute_workgroups_per_dimension,
        max_shared_bytes: limits.max_compute_workgroup_storage_size,
        max_storage_binding_bytes: limits.max_storage_buffer_binding_size,
        max_buffer_bytes: limits.max_buffer_size,
        max_storage_bindings: limits.max_storage_buffers_per_shader_stage,
        max_immediate_bytes: if has(Features::IMMEDIATES) { limits.max_immediate_size } else { 0 },
        tiles: Vec::new(),
    }
}

/// The profile with the products of tiles that the probe found right, if the device was opened for them.
pub(crate) fn with_tiles(
    profile: DeviceProfile,
    generation: &Generation,
    right: Vec<TileProduct>,
) -> DeviceProfile {
    let usable = generation.has(tiles::FEATURES)
        && profile.capabilities.contains(Capability::Subgroup)
        && !right.is_empty();
    let capabilities = profile.capabilities.with_if(Capability::Tiles, usable);
    DeviceProfile { capabilities, tiles: if usable { right } else { Vec::new() }, ..profile }
}
