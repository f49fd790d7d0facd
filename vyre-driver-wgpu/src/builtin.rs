//! The backend's own kernels: byte-granular fills and copies, which wgpu does not have, and the check of indirect
//! workgroup counts.

use crate::buffer::{Kind, Pool, PoolBuffer};
use crate::generation::Generation;
use crate::kernel::{Binding, Code, Kernel, load};
use vyre_driver::BackendError;

/// Bytes of the target that one dispatch covers: far below any device's limits of bindings and workgroups.
const CHUNK: u64 = 32 << 20;
/// Bindings start at multiples of this; wgpu guarantees that it suffices.
const ALIGNMENT: u64 = 256;
/// Bytes that one workgroup makes: 256 invocations of a word each.
const GROUP_BYTES: u64 = 1024;

/// The compiled kernels of one generation.
#[derive(Debug)]
pub(crate) struct Builtins {
    fill: Kernel,
    copy: Kernel,
    counts: Kernel,
}

/// One dispatch of a built-in kernel, ready to encode. Its buffers must live until the submission.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) pipeline: wgpu::ComputePipeline,
    pub(crate) group: wgpu::BindGroup,
    pub(crate) workgroups: u32,
    /// The uniform that holds its range; nobody else may have it before the last submission.
    pub(crate) range: PoolBuffer,
}

impl Builtins {
    pub(crate) fn new(generation: &Generation) -> Result<Self, BackendError> {
        let module = load(generation, "vyre built-ins", Code::Wgsl(include_str!("builtin.wgsl")))?;
        let kernel =
            |entry, bindings: &[Binding]| Kernel::new(generation, &module, entry, bindings, 0, false);
        Ok(Self {
            fill: kernel("fill", &[Binding::Uniform, Binding::Write])?,
            copy: kernel("copy", &[Binding::Uniform, Binding::Write, Binding::Read])?,
            counts: kernel("counts", &[Binding::Uniform, Binding::Write, Binding::Read, Binding::Write])?,
        })
    }

    /// Sets `len` bytes of `target` from `start` to `byte`.
    pub(crate) fn fill(
        &self,
        generation: &Generation,
        pool: &Pool,
        target: &wgpu::Buffer,
        start: u64,
        len: u64,
        byte: u8,
    ) -> Result<Vec<Step>, BackendError> {
        chunks(start, len)
            .map(|(at, len)| {
                let base = at / ALIGNMENT * ALIGNMENT;
                let range = [(at - base) as u32, 0, len as u32, u32::from_ne_bytes([byte; 4])];
                let bound = [window(target, base, at + len)];
                step(generation, pool, &self.fill, range, &bound)
            })
            .collect()
    }

    /// Copies `len` bytes of `source` from `from` into `target` at `start`. The buffers differ.
    pub(crate) fn copy(
        &self,
        generation: &Generation,
        pool: &Pool,
        target: (&wgpu::Buffer, u64),
        source: (&wgpu::Buffer, u64),
        len: u64,
    ) -> Result<Vec<Step>, BackendError> {
        let (target, start) = target;
        let (source, from) = source;
        chunks(start, len)
            .map(|(at, len)| {
                let read = from + (at - start);
                let (base, read_base) = (at / ALIGNMENT * ALIGNMENT, read / ALIGNMENT * ALIGNMENT);
                let range = [(at - base) as u32, (read - read_base) as u32, len as u32, 0];
                let bound = [window(target, base, at + len), window(source, read_base, read + len)];
                step(generation, pool, &self.copy, range, &bound)
            })
            .collect()
    }
}

impl Builtins {
    /// Copies the three workgroup counts at `offset` of `source` to `target`, if none is above `limit`; otherwise
    /// writes zeros, and into the trap record which is; a new record is made zero before. The buffers differ.
    pub(crate) fn counts(
        &self,
        generation: &Generation,
        pool: &Pool,
        target: &wgpu::Buffer,
        (source, offset): (&wgpu::Buffer, u64),
        (record, is_new): (&wgpu::Buffer, bool),
        limit: u32,
    ) -> Result<Step, BackendError> {
        let base = offset / ALIGNMENT * ALIGNMENT;
        let range = [0, ((offset - base) / 4) as u32, limit, is_new.into()];
        let bound = [window(target, 0, 12), window(source, base, offset + 12), window(record, 0, 16)];
        Ok(Step { workgroups: 1, ..step(generation, pool, &self.counts, range, &bound)? })
    }
}

/// The range from `start`, cut into pieces that one dispatch can do.
fn chunks(start: u64, len: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..len.div_ceil(CHUNK)).map(move |i| (start + i * CHUNK, CHUNK.min(len - i * CHUNK)))
}

/// The binding of `buffer` from `base` that covers the words up to the byte `end`.
fn window(buffer: &wgpu::Buffer, base: u64, end: u64) -> wgpu::BindingResource<'_> {
    wgpu::BindingResource::Buffer(wgpu::BufferBinding {
        buffer,
        offset: base,
        size: std::num::NonZero::new(end.next_multiple_of(4) - base),
    })
}

fn step(
    generation: &Generation,
    pool: &Pool,
    kernel: &Kernel,
    range: [u32; 4],
    bound: &[wgpu::BindingResource<'_>],
) -> Result<Step, BackendError> {
    let uniform = pool.acquire(generation, Kind::Device, 16)?;
    let resources = std::iter::once(uniform.buffer().as_entire_binding()).chain(bound.iter().cloned());
    let entries: Vec<_> =
        (0..).zip(resources).map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource }).collect();
    let group = generation.scoped("creating a built-in kernel's bind group", |device| {
        // Runs before whatever is submitted next: nobody else has this uniform until then.
        generation.queue().write_buffer(uniform.buffer(), 0, bytemuck::bytes_of(&range));
        device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: kernel.layout(),
            entries: &entries,
        })
    })?;
    let [start, _, len, _] = range;
    let workgroups = (u64::from(start % 4) + u64::from(len)).div_ceil(GROUP_BYTES) as u32;
    Ok(Step { pipeline: kernel.pipeline.clone(), group, workgroups, range: uniform })
}
