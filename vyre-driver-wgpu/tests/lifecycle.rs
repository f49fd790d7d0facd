//! Backends through loss, recovery and shutdown.
#![allow(clippy::unwrap_used, reason = "a failure here fails the test")]

use std::sync::Arc;
use std::time::Duration;

use vyre_driver::{
    BackendError, Binding, BufferRef, Command, CommandList, CompiledPipeline, DispatchCommand,
    DispatchConfig, Resource, Span, VyreBackend,
};
use vyre_driver_wgpu::{Fault, Site, WgpuBackend};
use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_spec::CompileOptions;

const RAW: &str = "
@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> b: array<u32>;
@compute @workgroup_size(1) fn main() { b[0] = a[0]; }";

fn words(values: impl IntoIterator<Item = u32>) -> Vec<u8> {
    values.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// `target[i] = source[i] × factor + i`.
fn scaled(factor: u32) -> Checked<Program> {
    Kernel::build("scaled", |k| {
        let source = k.read_only::<u32>("source");
        let target = k.write_only::<u32>("target", source.len());
        k.domain([source.len()], |[i]| target.store(i, source.load(i) * factor + i));
    })
    .unwrap()
}

fn compiled(backend: &WgpuBackend, factor: u32) -> Result<Arc<dyn CompiledPipeline>, BackendError> {
    backend.compile_checked(&scaled(factor), &CompileOptions::default())
}

/// Runs `scaled` on host bytes.
fn run(backend: &WgpuBackend, factor: u32) -> Result<(), BackendError> {
    let outputs = backend.dispatch(&scaled(factor), &[words(0..100)], &DispatchConfig::default())?;
    assert_eq!(outputs, [words((0..100).map(|i| i * factor + i))]);
    Ok(())
}

fn whole(resource: Resource) -> Span {
    Span { buffer: BufferRef::Resident(resource), offset: 0, len: resource.len }
}

fn upload(backend: &WgpuBackend, to: Resource, offset: u64, bytes: &[u8]) -> Result<(), BackendError> {
    let mut list = CommandList::new();
    list.upload(BufferRef::Resident(to), offset, bytes);
    backend.submit(&list)?.wait(None).map(|_| ())
}

fn read(backend: &WgpuBackend, from: Resource) -> Result<Vec<u8>, BackendError> {
    let mut list = CommandList::new();
    list.read(whole(from));
    Ok(backend.submit(&list)?.wait(None)?.remove(0))
}

/// A list that runs `pipeline` from one resident to another and reads the result.
fn through(pipeline: &Arc<dyn CompiledPipeline>, source: Resource, target: Resource) -> CommandList<'static> {
    let bind = |resource: Resource| Binding { buffer: BufferRef::Resident(resource), len: resource.len };
    let mut list = CommandList::new();
    let bindings = vec![bind(source), bind(target)];
    list.push(Command::Dispatch(DispatchCommand::new(Arc::clone(pipeline), bindings)));
    list.read(whole(target));
    list
}

/// What is wrong with the handle, if that is what the result says.
fn problem<T>(result: Result<T, BackendError>) -> &'static str {
    let error = result.map(|_| ()).unwrap_err();
    if let BackendError::BadHandle { problem, .. } = error { problem } else { "something else" }
}

#[test]
fn a_lost_device_is_recovered_again_and_again() {
    let backend = WgpuBackend::acquire().unwrap();
    let other_handle = backend.clone();
    let (profile, info) = (backend.device_profile(), backend.adapter_info().clone());
    run(&backend, 3).unwrap();
    let mut generations = vec![backend.stats().generation];
    for round in 0..4 {
        let pipeline = compiled(&backend, 5).unwrap();
        let (source, target) = (backend.allocate(400).unwrap(), backend.allocate(400).unwrap());
        upload(&backend, source, 0, &words(0..100)).unwrap();
        if round % 2 == 0 {
            backend.force_device_lost().unwrap();
        } else {
            backend.arm_fault(Site::Submit, 0, Fault::Lost);
            assert!(matches!(run(&backend, 3), Err(BackendError::DeviceLost { .. })));
        }
        assert!(backend.device_lost() && other_handle.device_lost());
        let lost = |result: Result<(), BackendError>| {
            let error = result.unwrap_err();
            let BackendError::DeviceLost { generation, .. } = error else { panic!("{error}") };
            assert_eq!(generation, *generations.last().unwrap());
        };
        lost(run(&backend, 3));
        lost(compiled(&backend, 77).map(|_| ()));
        lost(backend.allocate(16).map(|_| ()));
        lost(backend.submit(&through(&pipeline, source, target)).map(|_| ()));
        lost(backend.flush());
        lost(backend.prepare());
        assert!(backend.dispatch_wgsl(RAW, &[1; 4], 4, 1).unwrap_err().contains("lost"));

        other_handle.try_recover().unwrap();
        assert!(!backend.device_lost());
        run(&backend, 3).unwrap();
        run(&other_handle, 9).unwrap();
        // What belonged to the old generation says so, and does no harm.
        assert_eq!(problem(backend.submit(&through(&pipeline, source, target))), "stale");
        assert_eq!(problem(read(&backend, source)), "stale");
        assert_eq!(problem(backend.free(source)), "stale");
        let (fresh, result) = (backend.allocate(400).unwrap(), backend.allocate(400).unwrap());
        assert_eq!(problem(backend.submit(&through(&pipeline, fresh, result))), "stale");
        upload(&backend, fresh, 0, &words(7..107)).unwrap();
        let again = compiled(&backend, 5).unwrap();
        let outputs = backend.submit(&through(&again, fresh, result)).unwrap().wait(None).unwrap();
        assert_eq!(outputs, [words((0..100).map(|i| (i + 7) * 5 + i))]);
        generations.push(backend.stats().generation);
    }
    assert!(generations.windows(2).all(|pair| pair[0] < pair[1]), "{generations:?}");
    assert_eq!((backend.device_profile(), backend.adapter_info()), (profile, &info));
    // A device that is not lost has nothing to recover from.
    backend.try_recover().unwrap();
    assert_eq!(backend.stats().generation, generations[4]);
}

#[test]
fn retained_buffers_are_restored_to_what_the_host_put_there() {
    let backend = WgpuBackend::acquire().unwrap();
    let kept = backend.allocate_retained(1001).unwrap();
    let target = backend.allocate_retained(400).unwrap();
    let untouched = backend.allocate_retained(33).unwrap();
    let freed = backend.allocate_retained(64).unwrap();
    let mut model = vec![0_u8; 1001];
    let bytes: Vec<u8> = (0..500).map(|i| (i * 7) as u8).collect();
    upload(&backend, kept, 3, &bytes).unwrap();
    model[3..503].copy_from_slice(&bytes);
    let mut list = CommandList::new();
    list.push(Command::Fill { to: Span { offset: 490, len: 300, ..whole(kept) }, byte: 0xC3 });
    list.upload(BufferRef::Resident(kept), 495, &bytes[..10]);
    backend.submit(&list).unwrap().wait(None).unwrap();
    model[490..790].fill(0xC3);
    model[495..505].copy_from_slice(&bytes[..10]);
    // A repetition ends with the writes of its last time; one that never runs has none.
    let again = |byte, count| {
        let fill = Command::Fill { to: Span { offset: 900, len: 10, ..whole(kept) }, byte };
        Command::repeat(vec![Command::repeat(vec![fill], 1)], count)
    };
    let mut list = CommandList::new();
    list.push(again(0x11, 3));
    list.push(again(0x22, 0));
    if backend.submit(&list).is_ok() {
        model[900..910].fill(0x11);
    }
    backend.free(freed).unwrap();
    // A refused list leaves the copy alone.
    backend.arm_fault(Site::Submit, 0, Fault::OutOfMemory);
    assert!(matches!(upload(&backend, kept, 0, &[9; 50]), Err(BackendError::OutOfMemory { .. })));

    for _ in 0..3 {
        backend.force_device_lost().unwrap();
        // Without memory for what is retained there is no recovery, and a later one does everything.
        backend.arm_fault(Site::Allocate, 1, Fault::OutOfMemory);
        let error = backend.try_recover().unwrap_err();
        assert!(matches!(error, BackendError::OutOfMemory { .. }), "{error}");
        assert!(backend.device_lost());
        backend.try_recover().unwrap();
        assert!(read(&backend, kept).unwrap() == model);
        assert_eq!(read(&backend, target).unwrap(), [0; 400]);
        assert_eq!(read(&backend, untouched).unwrap(), [0; 33]);
        assert_eq!(problem(read(&backend, freed)), "stale");
        // The restored buffers work as before, and what the host writes now is restored next time.
        let pipeline = compiled(&backend, 2).unwrap();
        let source = backend.allocate(400).unwrap();
        let outputs = backend.submit(&through(&pipeline, source, target)).unwrap().wait(None).unwrap();
        assert_eq!(outputs, [words(0..100)]);
        upload(&backend, kept, 1000, &[model[1000] + 1]).unwrap();
        model[1000] += 1;
    }
    backend.free(kept).unwrap();
    assert_eq!(problem(backend.free(kept)), "stale");
    assert_eq!(backend.stats().residents, 3);
}

#[test]
fn many_threads_recover_once() {
    let backend = WgpuBackend::acquire().unwrap();
    for _ in 0..3 {
        backend.force_device_lost().unwrap();
        let before = backend.stats().generation;
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    backend.try_recover().unwrap();
                    run(&backend, 4).unwrap();
                });
            }
        });
        // Others may open devices at the same time, so that the number may rise by more than one; but a second
        // recovery would have made the pipelines of the first stale.
        assert!(backend.stats().generation > before);
    }
}

#[test]
fn losses_under_load_give_typed_errors_and_no_wrong_bytes() {
    let backend = WgpuBackend::acquire().unwrap();
    let done = std::sync::atomic::AtomicU32::new(0);
    std::thread::scope(|scope| {
        for thread in 0..6_u32 {
            let (backend, done) = (&backend, &done);
            scope.spawn(move || {
                for round in 0..40 {
                    // A result is asserted in `run`.
                    match run(backend, 1 + (thread + round) % 4) {
                        Ok(()) => {}
                        Err(
                            BackendError::DeviceLost { .. }
                            | BackendError::BadHandle { problem: "stale", .. },
                        ) => {
                            backend.try_recover().unwrap();
                        }
                        Err(other) => panic!("{other}"),
                    }
                }
                done.fetch_add(1, std::sync::atomic::Ordering::Release);
            });
        }
        while done.load(std::sync::atomic::Ordering::Acquire) < 6 {
            backend.force_device_lost().unwrap();
            std::thread::sleep(Duration::from_millis(30));
        }
    });
    backend.try_recover().unwrap();
    run(&backend, 8).unwrap();
}

/// A pipeline that is busy for a while, and a list that runs it `times` in a row.
fn slow(backend: &WgpuBackend) -> impl Fn(u32) -> CommandList<'static> {
    let program = Kernel::build("slow", |k| {
        let seed = k.read_only::<u32>("seed");
        let out = k.write_only::<u32>("out", 100_000_u64);
        k.domain([100_000_u64], |[i]| {
            let state = k.var("state", seed.load(0_u32) + i);
            k.for_(0_u32, 2_000_u32, |_| {
                state.set((state.get() * 1_664_525_u32 + 1_013_904_223_u32) ^ (state.get() >> 7_u32));
            });
            out.store(i, state.get());
        });
    })
    .unwrap();
    let pipeline = backend.compile_checked(&program, &CompileOptions::default()).unwrap();
    let (seed, out) = (backend.allocate(4).unwrap(), backend.allocate(400_000).unwrap());
    move |times| {
        let mut list = CommandList::new();
        for _ in 0..times {
            list.push(through(&pipeline, seed, out).commands()[0].clone());
        }
        list.read(Span { len: 4, ..whole(out) });
        list
    }
}

#[test]
fn work_under_way_when_the_device_is_lost_ends_with_the_loss() {
    let backend = WgpuBackend::acquire().unwrap();
    let list = slow(&backend);
    let works: Vec<_> = (0..3).map(|_| backend.submit(&list(10)).unwrap()).collect();
    let waiting: Vec<_> = works
        .into_iter()
        .zip([None, Some(Duration::from_secs(600))])
        .map(|(work, timeout)| std::thread::spawn(move || work.wait(timeout)))
        .collect();
    backend.force_device_lost().unwrap();
    for thread in waiting {
        // The work may have ended before on a fast device.
        match thread.join().unwrap() {
            Ok(_) | Err(BackendError::DeviceLost { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
    backend.try_recover().unwrap();
    run(&backend, 2).unwrap();
}

#[test]
fn a_generation_whose_work_does_not_end_is_abandoned() {
    let backend = WgpuBackend::acquire().unwrap();
    let list = slow(&backend);
    let kept = backend.allocate_retained(400).unwrap();
    upload(&backend, kept, 0, &words(0..100)).unwrap();
    // As much work as takes this device a second more than the grace period.
    let started = std::time::Instant::now();
    backend.submit(&list(4)).unwrap().wait(None).unwrap();
    let times = 4 * (3_000_000_000 / started.elapsed().as_nanos().max(1)).clamp(1, 200_000) as u32;
    let work = backend.submit(&list(times)).unwrap();
    let timeout = Duration::from_millis(1);
    let before = backend.stats().generation;
    // Only a wait that timed out makes the backend suspicious.
    backend.try_recover().unwrap();
    assert_eq!(backend.stats().generation, before);
    assert_eq!(work.wait(Some(timeout)), Err(BackendError::Timeout { timeout }));
    backend.try_recover().unwrap();
    run(&backend, 2).unwrap();
    assert_eq!(read(&backend, kept).unwrap(), words(0..100));
    // On a machine that was busier when the time was taken, the work may have ended all the same.
    if backend.stats().generation > before {
        assert_eq!(problem(backend.submit(&list(1))), "stale");
    }
}

#[test]
fn an_adapter_with_another_driver_is_not_taken() {
    let backend = WgpuBackend::acquire().unwrap();
    backend.force_device_lost().unwrap();
    backend.arm_fault(Site::Reopen, 0, Fault::OtherDriver);
    let error = backend.try_recover().unwrap_err();
    let BackendError::AdapterChanged { was, now } = error else { panic!("{error}") };
    assert!(was.contains(&backend.device_profile().driver) && now.contains("another"), "{was}; {now}");
    assert!(backend.device_lost());
    // It is back.
    backend.try_recover().unwrap();
    run(&backend, 6).unwrap();
}

#[test]
fn after_shutdown_every_use_of_every_clone_is_refused() {
    let backend = WgpuBackend::acquire().unwrap();
    let clone = backend.clone();
    let pipeline = compiled(&backend, 5).unwrap();
    let (source, target) = (backend.allocate(400).unwrap(), backend.allocate_retained(400).unwrap());
    let (info, limits) = (backend.adapter_info().clone(), backend.device_limits().clone());
    let work = backend.submit(&through(&pipeline, source, target)).unwrap();
    backend.shutdown().unwrap();
    clone.shutdown().unwrap();
    // Work that was under way still gives its result.
    assert_eq!(work.wait(None).unwrap(), [words(0..100)]);
    for handle in [&backend, &clone] {
        let down = |result: Result<(), BackendError>| {
            assert!(matches!(result, Err(BackendError::ShutDown { .. })), "{result:?}");
        };
        down(run(handle, 3));
        down(compiled(handle, 5).map(|_| ()));
        down(handle.allocate(16).map(|_| ()));
        down(handle.allocate_retained(16).map(|_| ()));
        down(handle.free(source));
        down(handle.submit(&CommandList::new()).map(|_| ()));
        down(handle.flush());
        down(handle.prepare());
        down(handle.try_recover());
        down(handle.force_device_lost());
        assert!(handle.dispatch_wgsl(RAW, &[1; 4], 4, 1).unwrap_err().contains("shut down"));
        assert!(!handle.device_lost());
        assert_eq!((handle.adapter_info(), handle.device_limits()), (&info, &limits));
        assert_eq!(handle.stats().residents, 0);
        assert_eq!(handle.device_queue().0.limits().max_buffer_size, limits.max_buffer_size);
    }
}

#[test]
fn a_shared_backend_that_was_shut_down_is_opened_anew() {
    let first = WgpuBackend::shared().unwrap();
    run(&first, 3).unwrap();
    first.shutdown().unwrap();
    let second = WgpuBackend::shared().unwrap();
    assert!(!Arc::ptr_eq(&first, &second));
    run(&second, 3).unwrap();
}

#[test]
fn prepare_and_flush_leave_a_backend_as_it_was() {
    let backend = WgpuBackend::acquire().unwrap();
    backend.prepare().unwrap();
    let pipeline = compiled(&backend, 5).unwrap();
    let (source, target) = (backend.allocate(400).unwrap(), backend.allocate(400).unwrap());
    let works: Vec<_> =
        (0..20).map(|_| backend.submit(&through(&pipeline, source, target)).unwrap()).collect();
    backend.flush().unwrap();
    assert!(works.iter().all(|work| work.is_finished()));
    for work in works {
        assert_eq!(work.wait(None).unwrap(), [words(0..100)]);
    }
}
