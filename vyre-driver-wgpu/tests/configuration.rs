//! Every way to run a program honours each field of the configuration, or refuses it by type.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here fails the test")]

use std::sync::Arc;
use std::time::Duration;

use vyre_driver::backend::{ResidentDispatchStep, ResidentReadRange};
use vyre_driver::speculate::{AdaptiveSpeculator, SpeculativeDispatchPlan};
use vyre_driver::{
    BackendError, DispatchConfig, Executable, Memory, MemoryRef, SpeculationMode, VyreBackend,
};
use vyre_driver_wgpu::{Fault, Site, WgpuBackend};
use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;

type Config = DispatchConfig;

/// Runs a program on its one buffer, which it reads and writes, and gives the bytes afterwards.
type Way = fn(&WgpuBackend, &Checked<Program>, &[u8], &Config) -> Result<Vec<u8>, BackendError>;

fn config() -> Config {
    Config::default()
}

fn word(x: u32) -> [u8; 4] {
    x.to_le_bytes()
}

/// Every documented method that takes a configuration, but for the speculative one, which runs two programs.
const WAYS: &[(&str, Way)] = &[
    ("dispatch", |b, p, x, c| Ok(VyreBackend::dispatch(b, p, &[x.to_vec()], c)?.remove(0))),
    ("dispatch_checked", |b, p, x, c| Ok(b.dispatch_checked(p, &[x], c)?.remove(0))),
    ("dispatch_borrowed", |b, p, x, c| Ok(b.dispatch_borrowed(p, &[x], c)?.remove(0))),
    ("dispatch_borrowed_into", |b, p, x, c| {
        let mut outputs = Vec::new();
        b.dispatch_borrowed_into(p, &[x], c, &mut outputs)?;
        Ok(outputs.remove(0))
    }),
    ("dispatch_borrowed_timed", |b, p, x, c| Ok(b.dispatch_borrowed_timed(p, &[x], c)?.outputs.remove(0))),
    ("dispatch_async", |b, p, x, c| Ok(b.dispatch_async(p, &[x.to_vec()], c)?.wait()?.remove(0))),
    ("dispatch_borrowed_async", |b, p, x, c| {
        let mut outputs = Vec::new();
        b.dispatch_borrowed_async(p, &[x], c)?.await_into(&mut outputs)?;
        Ok(outputs.remove(0))
    }),
    ("compile_native", |b, p, x, c| {
        let (pipeline, mut outputs) = (b.compile_native(p, c)?.unwrap(), Vec::new());
        b.dispatch_pipeline_into(&pipeline, &[x], c, &mut outputs)?;
        Ok(outputs.remove(0))
    }),
    ("compile_native_shared", |b, p, x, c| {
        let pipeline = b.compile_native_shared(Arc::new((**p).clone()), c)?.unwrap();
        let mut outputs = Vec::new();
        b.dispatch_pipeline_into(&pipeline, &[x], c, &mut outputs)?;
        Ok(outputs.remove(0))
    }),
    ("compile_persistent", |b, p, x, c| Ok(b.compile_persistent(p, c)?.dispatch(&[x])?.remove(0))),
    ("compile_streaming", |b, p, x, c| {
        let mut stream = b.compile_streaming(p, c.clone())?;
        stream.push(&[x])?;
        Ok(stream.finish()?.remove(0).remove(0))
    }),
    ("dispatch_borrowed_for_each_mapped_output", |b, p, x, c| {
        let mut seen = Vec::new();
        b.dispatch_borrowed_for_each_mapped_output(p, &[x], c, |_, bytes| {
            seen = bytes.to_vec();
            Ok(())
        })?;
        Ok(seen)
    }),
    ("dispatch_borrowed_for_each_pod_output", |b, p, x, c| {
        let mut seen = Vec::new();
        b.dispatch_borrowed_for_each_pod_output(p, &[x], c, |_, words: &[u32]| {
            seen = words.iter().flat_map(|x| word(*x)).collect();
            Ok(())
        })?;
        Ok(seen)
    }),
    ("dispatch_borrowed_batch", |b, p, x, c| {
        Ok(b.dispatch_borrowed_batch(&[(p, &[x], c)])?.remove(0)?.remove(0))
    }),
    ("dispatch_borrowed_batch_into", |b, p, x, c| {
        let mut outputs = [Vec::new()];
        b.dispatch_borrowed_batch_into(&[(p, &[x], c)], &mut outputs)?.remove(0)?;
        Ok(outputs[0].remove(0))
    }),
    ("dispatch_batch", |b, p, x, c| {
        let job = ((**p).clone(), vec![x.to_vec()], c.clone());
        Ok(b.dispatch_batch(&[job])?.remove(0)?.remove(0))
    }),
    ("Executable::dispatch", |b, p, x, c| {
        let Memory::Host(bytes) = Executable::dispatch(b, p, &[MemoryRef::Host(x)], c)?.remove(0) else {
            panic!("it was the host's")
        };
        Ok(bytes)
    }),
    ("Executable::dispatch on the device", |b, p, x, c| {
        on_device(b, x, |r| Executable::dispatch(b, p, &[MemoryRef::Device(r)], c).map(drop))
    }),
    ("dispatch_compiled", |b, p, x, c| {
        let compiled = b.compile(p)?;
        on_device(b, x, |r| b.dispatch_compiled(&compiled, &[MemoryRef::Device(r)], c).map(drop))
    }),
    ("dispatch_resident_timed", |b, p, x, c| {
        on_device(b, x, |r| b.dispatch_resident_timed(p, &[r], c).map(drop))
    }),
    ("dispatch_with_device_buffers", |b, p, x, c| {
        on_device(b, x, |mut r| {
            let from = b.allocate(r.len)?;
            let bytes = b.download_resident(&r)?;
            b.upload_resident(&from, &bytes)?;
            let done = b.dispatch_with_device_buffers(p, &[&from], &mut [&mut r], c);
            b.free(from)?;
            done
        })
    }),
    ("dispatch_resident_sequence_read_ranges_into", |b, p, x, c| {
        on_device(b, x, |r| {
            let steps = [ResidentDispatchStep { program: p, resources: &[r], config: c }];
            b.dispatch_resident_sequence_read_ranges_into(&steps, &[], &mut [])
        })
    }),
    ("dispatch_resident_sequence_read_ranges_timed_into", |b, p, x, c| {
        on_device(b, x, |r| {
            let steps = [ResidentDispatchStep { program: p, resources: &[r], config: c }];
            let reads = [ResidentReadRange { resource: &r, byte_offset: 0, byte_len: 1 }];
            let mut read = Vec::new();
            b.dispatch_resident_sequence_read_ranges_timed_into(&steps, &reads, &mut [&mut read]).map(drop)
        })
    }),
    ("dispatch_resident_repeated_sequence_read_ranges_into", |b, p, x, c| {
        on_device(b, x, |r| {
            let steps = [ResidentDispatchStep { program: p, resources: &[r], config: c }];
            b.dispatch_resident_repeated_sequence_read_ranges_into(&[], &steps, 1, &[], &mut [])
        })
    }),
];

/// Runs on a resident with these bytes, which a refused call leaves as they are.
fn on_device(
    b: &WgpuBackend,
    bytes: &[u8],
    run: impl FnOnce(vyre_driver::Resource) -> Result<(), BackendError>,
) -> Result<Vec<u8>, BackendError> {
    let resource = b.allocate_resident(bytes.len())?;
    b.upload_resident(&resource, bytes)?;
    let done = run(resource);
    let after = b.download_resident(&resource);
    b.free(resource)?;
    let refused = done.as_ref().err().map(|error| error.cause().code());
    if refused.is_some_and(|code| code.starts_with("B1")) {
        assert_eq!(after.as_ref().unwrap(), bytes, "{done:?}");
    }
    done.and(after)
}

/// Every invocation of two workgroups of four adds 1, and cannot tell which it is.
fn count() -> Checked<Program> {
    Kernel::build("count", |k| {
        let count = k.read_write::<u32>("count");
        k.workgroups([4], [2_u64], |_| {
            count.atomic_add(0_u32, 1_u32);
        });
    })
    .unwrap()
}

/// `x[i] + by`, with `by` substituted before compilation; a trap with code 7 at values above 100.
fn shifted() -> Checked<Program> {
    Kernel::build("shifted", |k| {
        let by = k.specialize::<u32>("by");
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| {
            k.if_(x.load(i).gt(100_u32), || k.trap(7, i));
            x.store(i, x.load(i) + by);
        });
    })
    .unwrap()
}

#[test]
fn every_way_to_run_a_program_honours_each_field() {
    let b = WgpuBackend::acquire().unwrap();
    let seconds = |s| Some(Duration::from_secs(s));
    let named = |name: &str| Some(name.to_owned());
    // What eight invocations of one run make of 0, unless a field says otherwise.
    let honoured = [
        (config(), 8),
        (Config { grid: Some([5, 1, 1]), ..config() }, 20),
        (Config { grid: Some([2, 3, 4]), ..config() }, 96),
        (Config { grid: Some([0, 9, 9]), ..config() }, 0),
        (Config { workgroup: Some([3, 2, 1]), ..config() }, 12),
        (Config { fixpoint_iterations: Some(3), ..config() }, 24),
        (
            Config {
                grid: Some([5, 1, 1]),
                workgroup: Some([3, 1, 1]),
                fixpoint_iterations: Some(2),
                ..config()
            },
            30,
        ),
        (Config { max_output_bytes: Some(4), timeout: seconds(600), label: named("a"), ..config() }, 8),
        (Config { ulp_budget: Some(4), profile: named("fast"), ..config() }, 8),
        (Config { speculation: Some(SpeculationMode::Auto), unoptimized: true, ..config() }, 8),
        (Config { speculation: Some(SpeculationMode::Disable), ..config() }, 8),
    ];
    let (count, shifted) = (count(), shifted());
    for (name, way) in WAYS {
        for (config, want) in &honoured {
            let got = way(&b, &count, &word(0), config);
            assert_eq!(got.as_deref(), Ok(&word(*want)[..]), "{name}, {config:?}");
        }
        // The size of a domain's workgroups changes nothing that it can see; a parameter's value does.
        for (by, workgroup) in [(3_u32, None), (5, Some([7, 1, 1]))] {
            let config = Config { workgroup, ..config() }.param("by", by);
            if *name == "dispatch_compiled" {
                // `compile` has no configuration, and so no values.
                continue;
            }
            let got = way(&b, &shifted, &word(40), &config);
            assert_eq!(got.as_deref(), Ok(&word(40 + by)[..]), "{name}, {config:?}");
        }
    }
}

#[test]
fn every_way_to_run_a_program_refuses_what_it_cannot_honour_and_says_in_which_dispatch() {
    let b = WgpuBackend::acquire().unwrap();
    let label = "the dispatch's own";
    let config = || Config { label: Some(label.to_owned()), ..Config::default() };
    let refused = [
        (Config { timeout: Some(Duration::from_micros(999)), ..config() }, "B104"),
        (Config { max_output_bytes: Some(3), ..config() }, "B109"),
        (Config { workgroup: Some([0, 1, 1]), ..config() }, "B104"),
        (Config { fixpoint_iterations: Some(0), ..config() }, "B104"),
        (Config { speculation: Some(SpeculationMode::Force), ..config() }, "B104"),
        (Config { persistent_thread: true, ..config() }, "B103"),
        (Config { cooperative: true, ..config() }, "B103"),
        (Config { profile: Some("turbo".to_owned()), ..config() }, "B104"),
        (Config { profile: Some("strict".to_owned()), ulp_budget: Some(1), ..config() }, "B104"),
    ];
    let (count, shifted) = (count(), shifted());
    let domain = Kernel::build("domain", |k| {
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| x.store(i, x.load(i) + 1_u32));
    })
    .unwrap();
    for (name, way) in WAYS {
        let fails = |program, input, config: &Config, code: &str| {
            let error = way(&b, program, &word(input), config).unwrap_err();
            assert_eq!(error.cause().code(), code, "{name}, {config:?}: {error}");
            let text = error.to_string();
            assert!(text.contains(&format!("`{label}`: {}", error.cause())), "{name}: {text}");
        };
        for (config, code) in &refused {
            fails(&count, 0, config, code);
        }
        let grid = Config { grid: Some([1, 1, 1]), ..config() };
        fails(&domain, 0, &grid, "B103");
        if *name != "dispatch_compiled" {
            // No value of the parameter, and one whose run traps.
            fails(&shifted, 0, &config(), "B102");
            fails(&shifted, 101, &config().param("by", 1_u32), "B201");
        }
        let late = Config { timeout: Some(Duration::from_millis(1)), ..config() };
        if !name.ends_with("device_buffers") {
            // What runs before the dispatch here would be what hangs.
            b.trim();
            b.arm_fault(Site::Submit, if on_host(name) { 0 } else { 1 }, Fault::Hang);
            fails(&count, 0, &late, "B203");
            b.disarm_faults();
        }
    }
}

/// Whether a way takes host bytes, so that its first submission is the dispatch.
fn on_host(name: &str) -> bool {
    !name.contains("resident") && !name.contains("device") && name != "dispatch_compiled"
}

#[test]
fn a_speculative_scan_refuses_what_its_programs_cannot_honour() {
    let b = WgpuBackend::acquire().unwrap();
    let count = count();
    let plan = SpeculativeDispatchPlan::new(&count, &count);
    for mode in [SpeculationMode::Force, SpeculationMode::Disable] {
        let config = || Config { speculation: Some(mode), ..Config::default() };
        for (config, code) in [
            (Config { timeout: Some(Duration::from_micros(999)), ..config() }, "B104"),
            (Config { max_output_bytes: Some(3), ..config() }, "B109"),
            (Config { fixpoint_iterations: Some(0), ..config() }, "B104"),
            (Config { persistent_thread: true, ..config() }, "B103"),
            (Config { cooperative: true, ..config() }, "B103"),
            (Config { profile: Some("turbo".to_owned()), ..config() }, "B104"),
        ] {
            let confirm = |_| panic!("{config:?} was refused");
            let speculator = AdaptiveSpeculator::new();
            let done =
                b.dispatch_speculative_prefilter_confirm(&speculator, plan, &[&word(0)], &config, confirm);
            assert_eq!(done.unwrap_err().cause().code(), code, "{config:?}");
        }
    }
}
