//! Text forms: WGSL, MSL and HLSL through naga's writers.
//!
//! Lowering made the checks that the semantics ask for, so the writers' own are off where they can be
//! turned off.

use naga::ShaderStage;
use naga::back::{hlsl, msl, wgsl};

use crate::spirv::UNCHECKED;
use crate::stack::with_stack;
use crate::{Emitted, WriteError};

/// Writes a module as WGSL.
///
/// # Errors
///
/// [`WriteError::Wgsl`] if WGSL lacks something that the module uses.
pub fn to_wgsl(emitted: &Emitted) -> Result<String, WriteError> {
    let flags = wgsl::WriterFlags::empty();
    Ok(with_stack(emitted.nesting, || wgsl::write_string(&emitted.module, &emitted.info, flags))??)
}

/// Writes a module as MSL 2.4, bindings numbered as in the descriptor.
///
/// # Errors
///
/// [`WriteError::Msl`] or [`WriteError::MslEntryPoint`] if MSL lacks something that the module uses.
pub fn to_msl(emitted: &Emitted) -> Result<String, WriteError> {
    let mut resources = msl::EntryPointResources::default();
    for (binding, global) in
        (0u8..=u8::MAX).zip(emitted.module.global_variables.iter().filter_map(|(_, global)| global.binding))
    {
        let target = msl::BindTarget { buffer: Some(binding), mutable: true, ..Default::default() };
        resources.resources.insert(global, target);
    }
    // Immediates and the buffers' lengths, which naga passes for run-time arrays, follow the bindings.
    let next = u8::try_from(resources.resources.len()).unwrap_or(u8::MAX);
    resources.immediates_buffer = Some(next);
    resources.sizes_buffer = Some(next.saturating_add(1));
    let options = msl::Options {
        lang_version: (2, 4),
        per_entry_point_map: [(emitted.entry_point.clone(), resources)].into_iter().collect(),
        bounds_check_policies: UNCHECKED,
        zero_initialize_workgroup_memory: false,
        force_loop_bounding: false,
        emit_int_div_checks: false,
        ..msl::Options::default()
    };
    let pipeline = msl::PipelineOptions::default();
    let (text, info) = with_stack(emitted.nesting, || {
        msl::write_string(&emitted.module, &emitted.info, &options, &pipeline)
    })??;
    for name in info.entry_point_names {
        name.map_err(WriteError::MslEntryPoint)?;
    }
    Ok(text)
}

/// Writes a module as HLSL for shader model 6.0, registers numbered as in the descriptor and immediates in
/// `b0` of space 1.
///
/// # Errors
///
/// [`WriteError::HlslTiles`], [`WriteError::Hlsl`] or [`WriteError::HlslEntryPoint`] if HLSL lacks something that the module uses.
pub fn to_hlsl(emitted: &Emitted) -> Result<String, WriteError> {
    let is_tile = |ty: &naga::Type| matches!(ty.inner, naga::TypeInner::CooperativeMatrix { .. });
    if emitted.module.types.iter().any(|(_, ty)| is_tile(ty)) {
        return Err(WriteError::HlslTiles);
    }
    let options = hlsl::Options {
        shader_model: hlsl::ShaderModel::V6_0,
        immediates_target: Some(hlsl::BindTarget { space: 1, register: 0, ..Default::default() }),
        zero_initialize_workgroup_memory: false,
        restrict_indexing: false,
        force_loop_bounding: false,
        ..hlsl::Options::default()
    };
    let pipeline =
        hlsl::PipelineOptions { entry_point: Some((ShaderStage::Compute, emitted.entry_point.clone())) };
    let mut text = String::new();
    let info = with_stack(emitted.nesting, || {
        hlsl::Writer::new(&mut text, &options, &pipeline).write(&emitted.module, &emitted.info, None)
    })??;
    for name in info.entry_point_names {
        name.map_err(WriteError::HlslEntryPoint)?;
    }
    Ok(text)
}
