//! Handles that are freed or another backend's, and a backend that was shut down.

use super::{Case, Check, Problem, bytes, kernels};
use crate::backend::{ResidentDispatchStep, ResidentReadRange};
use crate::{
    BackendError, BufferRef, Command, CommandList, DispatchConfig, Executable, MemoryRef, ReferenceBackend,
    Resource, Span, VyreBackend,
};

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("freed handles", freed),
    ("handles of another backend", foreign),
    ("pipelines of another backend", foreign_pipeline),
    ("buffers freed while in use", in_use),
    ("many threads", threads),
    ("lifecycle", lifecycle),
];

/// Every way to use a handle, which must all be refused for the same reason.
fn every_use(
    backend: &dyn VyreBackend,
    case: &mut Case,
    bad: Resource,
    right: fn(&BackendError) -> bool,
) -> Result<(), Problem> {
    let (config, step) = (DispatchConfig::default(), kernels::step(1)?);
    let mut device = bad;
    let mut out = Vec::new();
    case.refused("upload", backend.upload_resident(&bad, &[]), right)?;
    case.refused("upload at", backend.upload_resident_at(&bad, 1, &[1]), right)?;
    case.refused("upload many", backend.upload_resident_many(&[(&bad, &[1])]), right)?;
    case.refused("upload at many", backend.upload_resident_at_many(&[(&bad, 0, &[1])]), right)?;
    case.refused("download", backend.download_resident(&bad), right)?;
    case.refused("download into", backend.download_resident_into(&bad, &mut out), right)?;
    case.refused("range", backend.download_resident_range(&bad, 0, 0), right)?;
    case.refused("range into", backend.download_resident_range_into(&bad, 0, 1, &mut out), right)?;
    let ranges = backend.download_resident_ranges_into(&[(&bad, 0, 1)], &mut [&mut out]);
    case.refused("ranges", ranges, right)?;
    case.refused("free", backend.free_resident(bad), right)?;
    case.refused("device upload", backend.upload_device_buffer(&mut device, &[1]), right)?;
    case.refused("device download", backend.download_device_buffer(&bad), right)?;
    case.refused("device free", backend.free_device_buffer(Box::new(bad)), right)?;
    case.refused("dispatch", backend.dispatch_resident_timed(&step, &[bad], &config), right)?;
    let run = backend.dispatch_with_device_buffers(&step, &[&bad], &mut [&mut device], &config);
    case.refused("device dispatch", run, right)?;
    let steps = [ResidentDispatchStep { program: &step, resources: &[bad], config: &config }];
    let reads = [ResidentReadRange { resource: &bad, byte_offset: 0, byte_len: 1 }];
    let run = backend.dispatch_resident_sequence_read_ranges_into(&steps, &[], &mut []);
    case.refused("sequence", run, right)?;
    let run = backend.dispatch_resident_sequence_read_ranges_timed_into(&[], &reads, &mut [&mut out]);
    case.refused("read of a sequence", run, right)?;
    let run = backend.dispatch_resident_repeated_sequence_read_ranges_into(&[], &steps, 2, &[], &mut []);
    case.refused("repeated sequence", run, right)?;
    let run = Executable::dispatch(backend, &step, &[MemoryRef::Device(bad)], &config);
    case.refused("memory", run, right)
}

fn freed(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let resource = backend.allocate(4)?;
    backend.free(resource)?;
    every_use(backend, case, resource, |e| matches!(e, BackendError::BadHandle { problem: "freed", .. }))?;
    // A slot is not used again, so the old handle does not come to name a new buffer.
    let next = backend.allocate(4)?;
    case.equal("another slot", &(next.slot == resource.slot), &false)?;
    Ok(backend.free(next)?)
}

fn foreign(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let other = ReferenceBackend::new();
    let resource = other.allocate(4)?;
    let right = |e: &BackendError| matches!(e, BackendError::BadHandle { problem: "foreign", .. });
    every_use(backend, case, resource, right)?;
    // One whose fields were changed does not name the buffer that it was.
    let own = backend.allocate(4)?;
    case.refused("another length", backend.download_resident(&Resource { len: 8, ..own }), |e| {
        matches!(e, BackendError::BadHandle { .. })
    })?;
    case.refused("another generation", backend.free(Resource { generation: 1 << 40, ..own }), |e| {
        matches!(e, BackendError::BadHandle { problem: "stale", .. })
    })?;
    Ok(backend.free(own)?)
}

fn foreign_pipeline(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let config = DispatchConfig::default();
    let other = ReferenceBackend::new();
    let Some(pipeline) = other.compile_native(&*kernels::step(1)?, &config)? else { return Ok(()) };
    let mut outputs = Vec::new();
    let run = backend.dispatch_pipeline_into(&pipeline, &[&bytes(&[1])], &config, &mut outputs);
    case.refused("pipeline", run, |e| matches!(e, BackendError::BadHandle { problem: "foreign", .. }))
}

fn in_use(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let resource = backend.allocate(4096)?;
    let span = Span { buffer: BufferRef::Resident(resource), offset: 0, len: 4096 };
    let mut list = CommandList::new();
    list.push(Command::Fill { to: span, byte: 5 });
    list.read(span);
    let completion = backend.submit(&list)?;
    backend.free(resource)?;
    // Whoever gets the memory next does not disturb work that was submitted before.
    let next = backend.allocate(4096)?;
    backend.upload_resident(&next, &[6; 4096])?;
    case.equal("read", &completion.wait(None)?[..], &[vec![5; 4096]])?;
    case.equal("next", &backend.download_resident(&next)?, &vec![6; 4096])?;
    Ok(backend.free(next)?)
}

/// Lists of several threads that share buffers, in either order of binding: none is lost, and none waits
/// for ever.
fn threads(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    const THREADS: usize = 6;
    const ROUNDS: usize = 12;
    let (config, both) = (DispatchConfig::default(), kernels::both()?);
    let shared: Vec<_> = (0..3).map(|_| backend.allocate(4)).collect::<Result<_, _>>()?;
    let (shared, both, config) = (&shared, &both, &config);
    let run = |thread: usize| -> Result<(), BackendError> {
        let own = backend.allocate(4)?;
        // Thread 0 binds 0 and 1, thread 1 binds 2 and 1, thread 2 binds 2 and 0, and so on.
        let pair = [[0, 1], [2, 1], [2, 0]][thread % 3].map(|i: usize| shared[i]);
        for _ in 0..ROUNDS {
            backend.dispatch_resident_timed(both, &pair, config)?;
            backend.dispatch_resident_timed(both, &[own, pair[0]], config)?;
            backend.dispatch_borrowed_async(both, &[&[0; 4], &[0; 4]], config)?.wait()?;
        }
        backend.free(own)
    };
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || run(thread))).collect();
        all.into_iter().map(|thread| thread.join()).collect()
    });
    for outcome in outcomes {
        outcome.map_err(|_| Problem::Wrong("a thread panicked".to_owned()))??;
    }
    // A round adds 2 to the first of its pair and 1 to the second.
    let rounds = (THREADS / 3 * ROUNDS) as u32;
    for (i, (resource, times)) in shared.iter().zip([3, 2, 4]).enumerate() {
        let got = backend.download_resident(resource)?;
        case.equal(("increments of", i), &got, &bytes(&[rounds * times]))?;
        backend.free(*resource)?;
    }
    Ok(())
}

fn lifecycle(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    backend.prepare()?;
    case.equal("lost", &backend.device_lost(), &false)?;
    let resource = backend.allocate(4)?;
    backend.upload_resident(&resource, &[1, 2, 3, 4])?;
    backend.flush()?;
    // Nothing was lost, so recovery changes nothing.
    backend.try_recover()?;
    case.equal("contents", &backend.download_resident(&resource)?[..], &[1, 2, 3, 4])?;
    Ok(backend.free(resource)?)
}

/// [`super::shutdown`].
pub(super) fn shutdown(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let (config, step) = (DispatchConfig::default(), kernels::step(1)?);
    let resource = backend.allocate(4)?;
    let pipeline = backend.compile_native(&step, &config)?;
    backend.shutdown()?;
    backend.shutdown()?;
    let right = |error: &BackendError| matches!(error, BackendError::ShutDown { .. });
    every_use(backend, case, resource, right)?;
    case.refused("allocate", backend.allocate(4), right)?;
    case.refused("allocate retained", backend.allocate_retained(4), right)?;
    case.refused("compile", backend.compile_native(&step, &config), right)?;
    case.refused("dispatch", backend.dispatch_borrowed(&step, &[&[]], &config), right)?;
    case.refused("flush", backend.flush(), right)?;
    case.refused("prepare", backend.prepare(), right)?;
    case.refused("recover", backend.try_recover(), right)?;
    if let Some(pipeline) = pipeline {
        let run = backend.dispatch_pipeline_into(&pipeline, &[&[]], &config, &mut Vec::new());
        case.refused("pipeline", run, right)?;
    }
    Ok(())
}
