//! Every method of the backend before, during and after each kind of fault: typed errors, no bytes of others,
//! and the next call after a recovery is right.
#![allow(clippy::unwrap_used, reason = "a failure here fails the test")]

use std::sync::Arc;

use vyre_driver::backend::{ResidentDispatchStep, ResidentReadRange};
use vyre_driver::{BackendError, Command, CommandList, DispatchConfig, Span, VyreBackend};
use vyre_driver_wgpu::{Fault, Site, WgpuBackend};
use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_spec::CompileOptions;

const BYTES: usize = 400;

fn words(values: impl IntoIterator<Item = u32>) -> Vec<u8> {
    values.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// `target[i] = source[i] × 3 + i`, of as many elements as the source has.
fn tripled() -> Checked<Program> {
    Kernel::build("tripled", |k| {
        let source = k.read_only::<u32>("source");
        let target = k.write_only::<u32>("target", source.len());
        k.domain([source.len()], |[i]| target.store(i, source.load(i) * 3_u32 + i));
    })
    .unwrap()
}

fn input() -> Vec<u8> {
    words(5..105)
}

fn output() -> Vec<u8> {
    words((0..100).map(|i| (i + 5) * 3 + i))
}

/// A call of one method, with everything that it needs made by itself. It checks its own result.
type Call = fn(&WgpuBackend) -> Result<(), BackendError>;

fn must(bytes: &[u8]) {
    assert_eq!(bytes, output());
}

/// Two residents, the first with the input.
fn residents(b: &WgpuBackend) -> Result<[vyre_driver::Resource; 2], BackendError> {
    let pair = [b.allocate_resident(BYTES)?, b.allocate_resident(BYTES)?];
    b.upload_resident(&pair[0], &input())?;
    Ok(pair)
}

/// Runs the program over residents and reads its output in the ways that sequences have.
fn sequence(b: &WgpuBackend, how: u32) -> Result<(), BackendError> {
    let (program, config) = (tripled(), DispatchConfig::default());
    let pair = residents(b)?;
    let step = ResidentDispatchStep { program: &program, resources: &pair, config: &config };
    let range = ResidentReadRange { resource: &pair[1], byte_offset: 0, byte_len: BYTES };
    let mut bytes = Vec::new();
    match how {
        0 => b.dispatch_resident_sequence_read_ranges_into(&[step], &[range], &mut [&mut bytes])?,
        1 => b
            .dispatch_resident_sequence_read_ranges_timed_into(&[step], &[range], &mut [&mut bytes])
            .map(|_| ())?,
        _ => b.dispatch_resident_repeated_sequence_read_ranges_into(
            &[step],
            &[step],
            3,
            &[range],
            &mut [&mut bytes],
        )?,
    }
    must(&bytes);
    pair.into_iter().try_for_each(|resource| b.free_resident(resource))
}

/// Every method that may touch the device.
const CALLS: &[(&str, Call)] = &[
    ("compile_checked", |b| b.compile_checked(&tripled(), &CompileOptions::default()).map(|_| ())),
    ("compile_native", |b| b.compile_native(&tripled(), &DispatchConfig::default()).map(|_| ())),
    ("compile_native_shared", |b| {
        b.compile_native_shared(Arc::new((*tripled()).clone()), &DispatchConfig::default()).map(|_| ())
    }),
    ("compile and dispatch_compiled", |b| b.compile(&tripled()).map(|_| ())),
    ("allocate and free", |b| {
        let resource = b.allocate(BYTES as u64)?;
        b.free(resource)
    }),
    ("allocate_retained", |b| {
        let resource = b.allocate_retained(BYTES as u64)?;
        b.free(resource)
    }),
    ("submit", |b| {
        let mut list = CommandList::new();
        let buffer = list.transient(8);
        list.push(Command::Fill { to: Span { buffer, offset: 0, len: 8 }, byte: 0x5A });
        list.read(Span { buffer, offset: 1, len: 5 });
        let reads = b.submit(&list)?.wait(None)?;
        assert_eq!(reads, [vec![0x5A; 5]]);
        Ok(())
    }),
    ("flush", |b| b.flush()),
    ("prepare", |b| b.prepare()),
    ("dispatch_checked", |b| {
        must(&b.dispatch_checked(&tripled(), &[&input()], &DispatchConfig::default())?[0]);
        Ok(())
    }),
    ("dispatch", |b| {
        must(&VyreBackend::dispatch(b, &tripled(), &[input()], &DispatchConfig::default())?[0]);
        Ok(())
    }),
    ("dispatch_borrowed", |b| {
        must(&b.dispatch_borrowed(&tripled(), &[&input()], &DispatchConfig::default())?[0]);
        Ok(())
    }),
    ("dispatch_borrowed_into", |b| {
        let mut outputs = vec![vec![0xEE; 7]];
        b.dispatch_borrowed_into(&tripled(), &[&input()], &DispatchConfig::default(), &mut outputs)?;
        must(&outputs[0]);
        Ok(())
    }),
    ("dispatch_borrowed_timed", |b| {
        let timed = b.dispatch_borrowed_timed(&tripled(), &[&input()], &DispatchConfig::default())?;
        must(&timed.outputs[0]);
        Ok(())
    }),
    ("dispatch_async", |b| {
        must(&b.dispatch_async(&tripled(), &[input()], &DispatchConfig::default())?.wait()?[0]);
        Ok(())
    }),
    ("dispatch_borrowed_async", |b| {
        must(&b.dispatch_borrowed_async(&tripled(), &[&input()], &DispatchConfig::default())?.wait()?[0]);
        Ok(())
    }),
    ("batch", |b| {
        let (program, config, input) = (tripled(), DispatchConfig::default(), input());
        let inputs: [&[u8]; 1] = [&input];
        let job: (&Program, &[&[u8]], &DispatchConfig) = (&program, &inputs, &config);
        for outputs in b.dispatch_borrowed_batch(&[job, job])? {
            must(&outputs?[0]);
        }
        Ok(())
    }),
    ("visited outputs", |b| {
        b.dispatch_borrowed_for_each_mapped_output(
            &tripled(),
            &[&input()],
            &DispatchConfig::default(),
            |_, bytes| {
                must(bytes);
                Ok(())
            },
        )
    }),
    ("persistent pipeline", |b| b.compile_persistent(&tripled(), &DispatchConfig::default()).map(|_| ())),
    ("device buffers", |b| {
        let mut source = b.allocate_device_buffer(BYTES)?;
        let mut target = b.allocate_device_buffer(BYTES)?;
        b.upload_device_buffer(&mut *source, &input())?;
        b.dispatch_with_device_buffers(
            &tripled(),
            &[&*source],
            &mut [&mut *target],
            &DispatchConfig::default(),
        )?;
        must(&b.download_device_buffer(&*target)?);
        b.free_device_buffer(source)?;
        b.free_device_buffer(target)
    }),
    ("uploads", |b| {
        let pair = residents(b)?;
        b.upload_resident_many(&[(&pair[0], &[1; 4]), (&pair[1], &[2; 4])])?;
        b.upload_resident_at(&pair[0], 3, &[3; 2])?;
        b.upload_resident_at_many(&[(&pair[0], 7, &[4]), (&pair[1], 9, &[5])])?;
        let mut ranges = [Vec::new(), Vec::new()];
        let [first, second] = &mut ranges;
        b.download_resident_ranges_into(&[(&pair[0], 0, 8), (&pair[1], 8, 2)], &mut [first, second])?;
        assert_eq!(ranges, [vec![1, 1, 1, 3, 3, 0, 0, 4], vec![0, 5]]);
        pair.into_iter().try_for_each(|resource| b.free_resident(resource))
    }),
    ("downloads", |b| {
        let pair = residents(b)?;
        assert_eq!(b.download_resident(&pair[0])?, input());
        let mut bytes = vec![9; 1000];
        b.download_resident_into(&pair[0], &mut bytes)?;
        assert_eq!(bytes, input());
        assert_eq!(b.download_resident_range(&pair[0], 5, 9)?, input()[5..14]);
        b.download_resident_range_into(&pair[0], 1, 2, &mut bytes)?;
        assert_eq!(bytes, input()[1..3]);
        pair.into_iter().try_for_each(|resource| b.free_resident(resource))
    }),
    ("dispatch_resident_timed", |b| {
        let pair = residents(b)?;
        b.dispatch_resident_timed(&tripled(), &pair, &DispatchConfig::default())?;
        must(&b.download_resident(&pair[1])?);
        pair.into_iter().try_for_each(|resource| b.free_resident(resource))
    }),
    ("sequence", |b| sequence(b, 0)),
    ("timed sequence", |b| sequence(b, 1)),
    ("repeated sequence", |b| sequence(b, 2)),
    ("dispatch_wgsl", |b| {
        let source = "@group(0) @binding(0) var<storage, read> a: array<u32>;
            @group(0) @binding(1) var<storage, read_write> b: array<u32>;
            @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
                if (id.x < arrayLength(&b)) { b[id.x] = a[id.x] * 3u + id.x; }
            }";
        // Its errors are text.
        let bytes = b.dispatch_wgsl(source, &input(), BYTES, 64).map_err(|message| {
            b.allocate(0).map(|nothing| b.free(nothing)).err().unwrap_or(BackendError::OutOfMemory {
                doing: if message.contains("out of memory") { "running WGSL" } else { "?" },
                bytes: None,
            })
        })?;
        must(&bytes);
        Ok(())
    }),
];

/// What never fails answers the same at any time.
fn accessors(b: &WgpuBackend) -> Vec<String> {
    vec![
        b.id().to_owned(),
        b.version().to_owned(),
        format!("{:?}", b.instance()),
        format!("{:?}", b.profile()),
        format!("{:?}", b.adapter_info()),
        format!("{:?}", b.device_limits()),
        format!("{:?}", b.chosen()),
        format!("{:?}", b.max_workgroup_size()),
        format!("{:?}", (b.supports_f16(), b.supports_grid_sync(), b.subgroup_size())),
        b.supported_ops().len().to_string(),
    ]
}

/// Leaves a pattern in the pool's buffers, so that stale bytes would show.
fn soil(b: &WgpuBackend) {
    for _ in 0..3 {
        let dirty: Vec<_> = (0..4).map(|_| b.allocate(BYTES as u64).unwrap()).collect();
        for resource in dirty {
            b.upload_resident(&resource, &[0xA5; BYTES]).unwrap();
            b.free(resource).unwrap();
        }
    }
}

/// Each call with the fault at its first, second, … point, until it no longer strikes.
fn sweep(site: Site, fault: Fault, mut struck: impl FnMut(&WgpuBackend, &str, BackendError)) -> u32 {
    let backend = WgpuBackend::acquire().unwrap();
    let before = accessors(&backend);
    let mut strikes = 0;
    for (name, call) in CALLS {
        call(&backend).unwrap();
        for skip in 0..50 {
            soil(&backend);
            if site == Site::Allocate {
                // Otherwise the pool has what is asked for.
                backend.trim();
            }
            backend.arm_fault(site, skip, fault);
            let result = call(&backend);
            let unspent = backend.disarm_faults();
            match result {
                Err(error) => {
                    assert_eq!(unspent, 0, "{name} after {skip}: {error}");
                    strikes += 1;
                    struck(&backend, name, error);
                }
                // It did not come that far, or it could do without.
                Ok(()) if unspent > 0 => break,
                Ok(()) => {}
            }
            assert_eq!(accessors(&backend), before, "{name}");
            call(&backend).unwrap();
        }
    }
    strikes
}

#[test]
fn memory_that_runs_out_in_any_call_is_typed_and_the_next_call_is_right() {
    let strikes = sweep(Site::Allocate, Fault::OutOfMemory, |_, name, error| {
        assert!(matches!(error, BackendError::OutOfMemory { .. }), "{name}: {error}");
    });
    assert!(strikes >= 20, "{strikes}");
    let strikes = sweep(Site::Submit, Fault::OutOfMemory, |_, name, error| {
        assert!(matches!(error, BackendError::OutOfMemory { .. }), "{name}: {error}");
    });
    assert!(strikes >= 20, "{strikes}");
}

#[test]
fn a_loss_in_any_call_is_typed_and_recovered_from() {
    let lost = |b: &WgpuBackend, name: &str, error: BackendError| {
        assert!(matches!(error, BackendError::DeviceLost { .. }), "{name}: {error}");
        assert!(b.device_lost());
        b.try_recover().unwrap();
        soil(b);
    };
    assert!(sweep(Site::Submit, Fault::Lost, lost) >= 20);
    assert!(sweep(Site::Allocate, Fault::Lost, lost) >= 20);
}

#[test]
fn every_call_on_a_lost_device_says_so() {
    let backend = WgpuBackend::acquire().unwrap();
    for (name, call) in CALLS {
        backend.force_device_lost().unwrap();
        let error = call(&backend).unwrap_err();
        assert!(matches!(error, BackendError::DeviceLost { .. }), "{name}: {error}");
        backend.try_recover().unwrap();
        call(&backend).unwrap();
    }
    backend.shutdown().unwrap();
    for (name, call) in CALLS {
        let error = call(&backend).unwrap_err();
        assert!(matches!(error, BackendError::ShutDown { .. }), "{name}: {error}");
    }
}

/// Two commands of a list that was built once: it sees changed contents, and refuses a buffer that was freed,
/// also where another has taken its memory.
#[test]
fn a_replayed_list_sees_new_contents_and_refuses_freed_buffers() {
    let backend = WgpuBackend::acquire().unwrap();
    let pipeline = backend.compile_checked(&tripled(), &CompileOptions::default()).unwrap();
    let pair = residents(&backend).unwrap();
    let bind = |resource: vyre_driver::Resource| vyre_driver::Binding {
        buffer: vyre_driver::BufferRef::Resident(resource),
        len: BYTES as u64,
    };
    let mut list = CommandList::new();
    list.push(Command::Dispatch(vyre_driver::DispatchCommand::new(pipeline, pair.map(bind).to_vec())));
    list.read(Span { buffer: bind(pair[1]).buffer, offset: 0, len: BYTES as u64 });
    for start in [0, 1000, 5] {
        backend.upload_resident(&pair[0], &words(start..start + 100)).unwrap();
        let reads = backend.submit(&list).unwrap().wait(None).unwrap();
        assert_eq!(reads, [words((0..100).map(|i| (i + start) * 3 + i))]);
    }
    backend.free(pair[0]).unwrap();
    let successor = backend.allocate(BYTES as u64).unwrap();
    let error = backend.submit(&list).map(|_| ()).unwrap_err();
    assert!(matches!(error, BackendError::BadHandle { problem: "freed", .. }), "{error}");
    assert_eq!(backend.download_resident(&successor).unwrap(), [0; BYTES]);
}
