//! The only unsafe calls of the workspace, each with the argument why it is sound.
//!
//! What they have in common: the kernel was lowered by this process from a checked program, so every
//! access in it is proven in bounds or guarded and every divisor is guarded (the descriptor's verifier
//! establishes that), and every loop ends: lowering writes counted loops such that they do, limits the trips
//! of a `while`, and repeats a compare-exchange only where another invocation's came between. Raw WGSL and anything that was loaded from
//! disk never comes here: it goes through wgpu's own checks.

use std::borrow::Cow;

use wgpu::{Device, ShaderModule, naga};

/// An entry point of a passthrough module.
pub(crate) struct EntryPoint<'a> {
    /// Its name in the module.
    pub(crate) name: &'a str,
    /// Its workgroup size.
    pub(crate) workgroup_size: [u32; 3],
}

/// Loads SPIR-V as it is. The device must have `PASSTHROUGH_SHADERS` and run on Vulkan.
///
/// The bindings are not reflected: the pipeline needs an explicit layout, and its immediate size must
/// cover what the module declares.
pub(crate) fn passthrough_spirv(
    device: &Device,
    label: &str,
    words: &[u32],
    entries: &[EntryPoint<'_>],
) -> ShaderModule {
    let entry_points: Vec<_> = entries
        .iter()
        .map(|entry| wgpu::PassthroughShaderEntryPoint {
            name: Cow::Borrowed(entry.name),
            workgroup_size: entry.workgroup_size.into(),
        })
        .collect();
    let descriptor = wgpu::ShaderModuleDescriptorPassthrough {
        label: Some(label),
        entry_points: Cow::Owned(entry_points),
        spirv: Some(Cow::Borrowed(words)),
        ..Default::default()
    };
    // SAFETY: the words come from naga's SPIR-V writer, fed with a module that naga's validator passed;
    // the emitter then only adds NoContraction decorations to existing result ids, so the module is valid
    // SPIR-V. Its memory accesses are in bounds, its divisors non-zero and its loops finite by the
    // argument of the module documentation.
    unsafe { device.create_shader_module_passthrough(descriptor) }
}

/// Opens a cache of the driver's, filled with `blob` if there is one. The device must have `PIPELINE_CACHE`.
pub(crate) fn pipeline_cache(device: &Device, blob: Option<&[u8]>) -> wgpu::PipelineCache {
    // What wgpu finds unfit is left out, and the cache is empty then.
    let descriptor = wgpu::PipelineCacheDescriptor { label: None, data: blob, fallback: true };
    // SAFETY: the blob came from `PipelineCache::get_data` of a device with an equal profile, the driver's
    // name and version included: it was read from a directory that only this user can write, under a key made
    // from that profile, and its checksum, keyed with that key, is right. `cache` establishes each of these.
    unsafe { device.create_pipeline_cache(&descriptor) }
}

/// Loads a naga module with all of wgpu's own checks off.
pub(crate) fn trusted_naga(device: &Device, label: &str, module: naga::Module) -> ShaderModule {
    let descriptor = wgpu::ShaderModuleDescriptor {
        label: Some(label),
        source: wgpu::ShaderSource::Naga(Cow::Owned(module)),
    };
    // SAFETY: wgpu validates the module itself. The checks that are off (bounds, loop bounding, integer
    // division) guard against what the descriptor excludes: see the module documentation.
    unsafe { device.create_shader_module_trusted(descriptor, wgpu::ShaderRuntimeChecks::unchecked()) }
}

/// Leave to open a device with experimental features.
pub(crate) fn experimental() -> wgpu::ExperimentalFeatures {
    // SAFETY: the caller acknowledges that the code behind these features may have faults. The one feature that is
    // used is cooperative matrices. A probe multiplies some in shaders of ours that wgpu validates with every check on,
    // and a device that gives a wrong product is not kept. Kernels use them for products that were right only, with
    // tiles that were proved in bounds.
    unsafe { wgpu::ExperimentalFeatures::enabled() }
}
