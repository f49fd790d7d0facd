//! Compute pipelines with explicit layouts, and the bind groups that feed them.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use wgpu::{BindGroupLayout, BufferBindingType, ComputePipeline, Features, ShaderModule, naga};

use crate::buffer::{PoolBuffer, padded};
use crate::cache::{Counters, Lru};
use crate::generation::Generation;
use crate::trusted;
use vyre_driver::BackendError;

/// How a kernel binds one buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Binding {
    /// A storage buffer that is only read.
    Read,
    /// A storage buffer that is written, and perhaps read.
    Write,
    /// A uniform buffer.
    Uniform,
}

impl Binding {
    fn ty(self) -> BufferBindingType {
        match self {
            Self::Read => BufferBindingType::Storage { read_only: true },
            Self::Write => BufferBindingType::Storage { read_only: false },
            Self::Uniform => BufferBindingType::Uniform,
        }
    }
}

/// The code of a module, by how far it is trusted.
pub(crate) enum Code<'a> {
    /// SPIR-V of our own emitter, for Vulkan: loaded as it is.
    Spirv { words: &'a [u32], entries: &'a [trusted::EntryPoint<'a>] },
    /// A naga module of our own emitter: wgpu's checks off.
    Lowered(Box<naga::Module>),
    /// WGSL of the caller's: every check on.
    Wgsl(&'a str),
}

/// Loads a module. Its pipelines are made by [`Kernel::new`].
pub(crate) fn load(
    generation: &Generation,
    label: &str,
    code: Code<'_>,
) -> Result<ShaderModule, BackendError> {
    generation.scoped("loading a shader module", |device| match code {
        Code::Spirv { words, entries } => trusted::passthrough_spirv(device, label, words, entries),
        Code::Lowered(module) => trusted::trusted_naga(device, label, *module),
        Code::Wgsl(text) => device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(label),
            source: wgpu::ShaderSource::Wgsl(Cow::Borrowed(text)),
        }),
    })
}

/// Whether lowered modules are loaded as SPIR-V on this device.
pub(crate) fn takes_spirv(generation: &Generation) -> bool {
    generation.info.backend == wgpu::Backend::Vulkan && generation.has(Features::PASSTHROUGH_SHADERS)
}

/// One entry point, ready to dispatch. Its buffers are bindings 0, 1, 2 … of group 0.
#[derive(Debug)]
pub(crate) struct Kernel {
    /// Never given twice.
    id: u64,
    pub(crate) pipeline: ComputePipeline,
    layout: BindGroupLayout,
}

impl Kernel {
    /// Makes the pipeline of `entry`. `immediate_bytes` is a multiple of 4.
    pub(crate) fn new(
        generation: &Generation,
        module: &ShaderModule,
        entry: &str,
        bindings: &[Binding],
        immediate_bytes: u32,
        zero_shared: bool,
    ) -> Result<Self, BackendError> {
        Self::with_cache(generation, module, entry, bindings, immediate_bytes, zero_shared, None)
    }

    /// The same, with what the driver may have kept of it.
    pub(crate) fn with_cache(
        generation: &Generation,
        module: &ShaderModule,
        entry: &str,
        bindings: &[Binding],
        immediate_bytes: u32,
        zero_shared: bool,
        cache: Option<&wgpu::PipelineCache>,
    ) -> Result<Self, BackendError> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let entries: Vec<_> = (0..)
            .zip(bindings)
            .map(|(binding, kind)| wgpu::BindGroupLayoutEntry {
                binding,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer {
                    ty: kind.ty(),
                    has_dynamic_offset: false,
                    min_binding_size: None,
                },
                count: None,
            })
            .collect();
        let (layout, pipeline) = generation.scoped("creating a compute pipeline", |device| {
            let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: Some(entry),
                entries: &entries,
            });
            let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: Some(entry),
                bind_group_layouts: &[Some(&layout)],
                immediate_size: immediate_bytes,
            });
            let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(entry),
                layout: Some(&pipeline_layout),
                module,
                entry_point: Some(entry),
                compilation_options: wgpu::PipelineCompilationOptions {
                    zero_initialize_workgroup_memory: zero_shared,
                    ..Default::default()
                },
                cache,
            });
            (layout, pipeline)
        })?;
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Ok(Self { id, pipeline, layout })
    }

    pub(crate) fn layout(&self) -> &BindGroupLayout {
        &self.layout
    }
}

/// Bind groups by kernel and buffers, so that a repeated dispatch makes none.
///
/// A cached bind group keeps its buffers alive; when the pool destroys a buffer, the groups that name it go.
#[derive(Debug)]
pub(crate) struct BindGroups {
    /// Key: the kernel, then identity and bound length of each buffer. The kernel's binding tells the offset.
    cache: Lru<Arc<[u64]>, wgpu::BindGroup>,
}

/// A buffer to bind, and how many of its bytes the kernel may see.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound<'a> {
    pub(crate) buffer: &'a PoolBuffer,
    /// Where they start: a multiple of the device's alignment.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

impl Bound<'_> {
    /// The bytes that are bound: padded, so that a vector load may overhang the last element, but within the
    /// device's limit, which need not be a multiple of the padding.
    fn size(self, generation: &Generation) -> u64 {
        bound_size(self.bytes, generation.limits.max_storage_buffer_binding_size)
    }
}

fn bound_size(bytes: u64, limit: u64) -> u64 {
    padded(bytes).min(limit / 4 * 4)
}

/// Keys of at most this many words are built on the stack.
const STACK_WORDS: usize = 33;

impl BindGroups {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { cache: Lru::new(capacity) }
    }

    /// The bind group of `kernel` over `buffers`, in binding order.
    pub(crate) fn get(
        &self,
        generation: &Generation,
        kernel: &Kernel,
        buffers: &[Bound<'_>],
    ) -> Result<wgpu::BindGroup, BackendError> {
        let mut stack = [0_u64; STACK_WORDS];
        let mut heap = Vec::new();
        let words = 1 + 2 * buffers.len();
        let key: &mut [u64] = match stack.get_mut(..words) {
            Some(words) => words,
            None => {
                heap.resize(words, 0);
                &mut heap
            }
        };
        let (first, rest) = key.split_at_mut(1);
        first.fill(kernel.id);
        for (pair, bound) in rest.chunks_exact_mut(2).zip(buffers) {
            pair.copy_from_slice(&[bound.buffer.id(), bound.size(generation)]);
        }
        if let Some(group) = self.cache.get::<[u64]>(key) {
            return Ok(group);
        }
        let group = create(generation, kernel, buffers)?;
        Ok(self.cache.insert(Arc::from(&*key), group))
    }

    pub(crate) fn counters(&self) -> Counters {
        self.cache.counters()
    }

    /// Forgets every group.
    pub(crate) fn clear(&self) {
        self.cache.remove_if(|_| true);
    }

    /// Forgets every group that names one of the buffers.
    pub(crate) fn forget(&self, destroyed: &[u64]) {
        if !destroyed.is_empty() {
            self.cache.remove_if(|key| key.iter().skip(1).step_by(2).any(|id| destroyed.contains(id)));
        }
    }
}

fn create(
    generation: &Generation,
    kernel: &Kernel,
    buffers: &[Bound<'_>],
) -> Result<wgpu::BindGroup, BackendError> {
    let entries: Vec<_> = (0..)
        .zip(buffers)
        .map(|(binding, bound)| wgpu::BindGroupEntry {
            binding,
            resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer: bound.buffer.buffer(),
                offset: bound.offset,
                size: std::num::NonZero::new(bound.size(generation)),
            }),
        })
        .collect();
    generation.scoped("creating a bind group", |device| {
        device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &kernel.layout,
            entries: &entries,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bindings_are_padded_within_the_devices_limit() {
        let limit = u64::from(u32::MAX);
        assert_eq!([0, 1, 16, 17].map(|bytes| bound_size(bytes, limit)), [16, 16, 16, 32]);
        // The largest buffer of words below a limit of 2^32 - 1 bytes, and one that would be padded beyond it.
        assert_eq!(bound_size(limit - 3, limit), limit - 3);
        assert_eq!(bound_size(limit - 14, limit), limit - 3);
        assert_eq!(bound_size(1 << 31, 1 << 31), 1 << 31);
    }
}
