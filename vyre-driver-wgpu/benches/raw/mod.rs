//! What an expert would write on raw wgpu: pipelines, buffers and bind groups made beforehand, WGSL with
//! wgpu's runtime checks off, and nothing per run but the work itself.
//!
//! Every run returns when the device has finished, as the Vyre side does.

#![allow(unsafe_code, reason = "an expert turns wgpu's runtime checks off")]
#![allow(clippy::expect_used, reason = "a benchmark that cannot run ends")]

use vyre_driver_wgpu::wgpu;

/// The shaders of 8- and 16-bit elements.
pub(crate) mod packed;
/// The tile product.
pub(crate) mod tiles;
/// A process that starts with its pipeline on disk.
pub(crate) mod warm;
/// The shaders.
pub(crate) mod wgsl;

/// One pipeline with its buffers bound.
#[derive(Debug)]
pub(crate) struct RawJob {
    device: wgpu::Device,
    queue: wgpu::Queue,
    pipeline: wgpu::ComputePipeline,
    bind_group: wgpu::BindGroup,
    buffers: Vec<wgpu::Buffer>,
    staging: Option<wgpu::Buffer>,
    groups: [u32; 3],
}

impl RawJob {
    /// A job whose binding `i` is a storage buffer of `sizes[i]` bytes, dispatched in `groups` workgroups.
    /// `read_back` bytes of the last buffer can be read after a run.
    pub(crate) fn new(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        source: &str,
        sizes: &[u64],
        groups: [u32; 3],
        read_back: u64,
    ) -> Self {
        Self::cached(device, queue, source, sizes, groups, read_back, None)
    }

    /// The same with a pipeline cache.
    #[allow(clippy::too_many_arguments, reason = "one of them is a cache that one caller has")]
    fn cached(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        source: &str,
        sizes: &[u64],
        groups: [u32; 3],
        read_back: u64,
        cache: Option<&wgpu::PipelineCache>,
    ) -> Self {
        let module = {
            let descriptor =
                wgpu::ShaderModuleDescriptor { label: None, source: wgpu::ShaderSource::Wgsl(source.into()) };
            // SAFETY: the shaders of this benchmark are constants whose indices stay inside buffers of the
            // sizes that this file makes, and whose loops end.
            unsafe { device.create_shader_module_trusted(descriptor, wgpu::ShaderRuntimeChecks::unchecked()) }
        };
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions {
                zero_initialize_workgroup_memory: false,
                ..Default::default()
            },
            cache,
        });
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        let make = |size: u64, usage| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size,
                usage,
                mapped_at_creation: false,
            })
        };
        let buffers: Vec<_> = sizes.iter().map(|&size| make(size, usage)).collect();
        let entries: Vec<_> = buffers
            .iter()
            .enumerate()
            .map(|(i, buffer)| wgpu::BindGroupEntry {
                binding: i as u32,
                resource: buffer.as_entire_binding(),
            })
            .collect();
        let bind_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &entries,
        });
        let staging = (read_back > 0)
            .then(|| make(read_back, wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST));
        Self { device: device.clone(), queue: queue.clone(), pipeline, bind_group, buffers, staging, groups }
    }

    /// Writes a buffer's leading bytes.
    pub(crate) fn upload(&self, buffer: usize, bytes: &[u8]) {
        self.queue.write_buffer(&self.buffers[buffer], 0, bytes);
    }

    /// Runs the pipeline `times` times in one pass and waits.
    pub(crate) fn run(&self, times: u32) {
        let index = self.queue.submit([self.encode(times).finish()]);
        self.wait(index);
    }

    /// Runs the pipeline once and copies the last buffer's leading bytes out.
    pub(crate) fn run_and_read(&self, out: &mut Vec<u8>) {
        let mut encoder = self.encode(1);
        let staging = self.staging.as_ref().expect("made with read_back");
        let last = self.buffers.last().expect("has a buffer");
        encoder.copy_buffer_to_buffer(last, 0, staging, 0, staging.size());
        let index = self.queue.submit([encoder.finish()]);
        staging.slice(..).map_async(wgpu::MapMode::Read, |result| result.expect("the staging buffer maps"));
        self.wait(index);
        out.clear();
        out.extend_from_slice(&staging.slice(..).get_mapped_range().expect("is mapped"));
        staging.unmap();
    }

    fn encode(&self, times: u32) -> wgpu::CommandEncoder {
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.bind_group, &[]);
        for _ in 0..times {
            pass.dispatch_workgroups(self.groups[0], self.groups[1], self.groups[2]);
        }
        drop(pass);
        encoder
    }

    fn wait(&self, index: wgpu::SubmissionIndex) {
        let poll = wgpu::PollType::Wait { submission_index: Some(index), timeout: None };
        self.device.poll(poll).expect("the device finishes");
    }
}

/// A pipeline cache that starts from `data`, if that is given.
fn pipeline_cache(device: &wgpu::Device, data: Option<&[u8]>) -> wgpu::PipelineCache {
    let descriptor = wgpu::PipelineCacheDescriptor { label: None, data, fallback: true };
    // SAFETY: the data is what this benchmark has just written into a directory of its own.
    unsafe { device.create_pipeline_cache(&descriptor) }
}
