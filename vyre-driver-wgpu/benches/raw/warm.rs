//! A process that starts with its pipeline on disk: wgpu's pipeline cache, read and written by hand.

use std::ffi::OsStr;
use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use vyre_driver_wgpu::wgpu;

use super::{RawJob, wgsl};

/// Opens the adapter, makes the tiny pipeline, and runs it.
pub(crate) fn first_result(directory: Option<&OsStr>, input: &[u8]) -> Vec<u8> {
    let instance = wgpu::Instance::default();
    let options = wgpu::RequestAdapterOptions {
        power_preference: wgpu::PowerPreference::HighPerformance,
        ..Default::default()
    };
    let adapter = ready(instance.request_adapter(&options)).expect("there is an adapter");
    let caches = adapter.features() & wgpu::Features::PIPELINE_CACHE;
    let descriptor = wgpu::DeviceDescriptor { required_features: caches, ..Default::default() };
    let (device, queue) = ready(adapter.request_device(&descriptor)).expect("the device opens");
    let file = directory.map(|directory| Path::new(directory).join("raw-pipeline-cache"));
    let known = file.as_ref().and_then(|file| std::fs::read(file).ok());
    let cache = (!caches.is_empty()).then(|| super::pipeline_cache(&device, known.as_deref()));
    let job = RawJob::cached(&device, &queue, wgsl::TINY, &[256, 256], [1, 1, 1], 256, cache.as_ref());
    let mut out = Vec::new();
    job.upload(0, input);
    job.run_and_read(&mut out);
    if let (Some(file), Some(cache), None) = (file, cache, known) {
        std::fs::write(file, cache.get_data().unwrap_or_default()).expect("the cache is written");
    }
    out
}

/// The value of a future that is ready at once, as wgpu's are on every native platform.
fn ready<F: Future>(future: F) -> F::Output {
    let value = match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    };
    value.expect("wgpu does not wait on this platform")
}
