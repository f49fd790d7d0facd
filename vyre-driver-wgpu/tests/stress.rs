//! Many threads, many handles, many backends. Each test has a small form that always runs and a full one that
//! is run by name: `cargo test -p vyre-driver-wgpu --test stress -- --ignored`.
#![allow(clippy::unwrap_used, reason = "a failure here fails the test")]

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use vyre_driver::{
    BackendError, Binding, BufferRef, Command, CommandList, DispatchCommand, DispatchConfig, Resource, Span,
    VyreBackend,
};
use vyre_driver_wgpu::{Fault, Site, WgpuBackend};
use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_spec::CompileOptions;

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

/// A small generator, so that a seed names a case.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(n)) as u32
    }
}

fn whole(resource: Resource) -> Span {
    Span { buffer: BufferRef::Resident(resource), offset: 0, len: resource.len }
}

fn dispatches(threads: u32, rounds: u32) {
    let backend = WgpuBackend::acquire().unwrap();
    let programs: Vec<_> = (1..6).map(scaled).collect();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (backend, programs) = (&backend, &programs);
            scope.spawn(move || {
                let mut random = Random(u64::from(thread));
                for _ in 0..rounds {
                    let (which, n, start) = (random.below(5), 1 + random.below(300), random.below(1000));
                    let input = words((0..n).map(|i| i + start));
                    let program = &programs[which as usize];
                    let outputs =
                        backend.dispatch_borrowed(program, &[&input], &DispatchConfig::default()).unwrap();
                    assert_eq!(outputs, [words((0..n).map(|i| (i + start) * (which + 1) + i))]);
                }
            });
        }
    });
    assert_eq!(backend.stats().pipelines.entries, 5);
}

#[test]
fn sixty_four_threads_share_a_backend() {
    dispatches(64, 40);
}

#[test]
#[ignore = "the full form takes minutes on a software driver"]
fn sixty_four_threads_share_a_backend_full() {
    dispatches(64, 1000);
}

#[test]
fn backends_are_dropped_in_any_order_with_work_under_way() {
    let program = scaled(7);
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
        let mut backends: Vec<_> = (0..4).map(|_| Some(WgpuBackend::acquire().unwrap())).collect();
        let works: Vec<_> = backends
            .iter()
            .flatten()
            .map(|backend| {
                backend
                    .dispatch_borrowed_async(&program, &[&words(0..5000)], &DispatchConfig::default())
                    .unwrap()
            })
            .collect();
        for (place, work) in order.into_iter().zip(works) {
            backends[place] = None;
            assert_eq!(work.wait().unwrap(), [words((0..5000).map(|i| i * 8))]);
        }
    }
}

#[test]
fn submission_does_not_wait_for_others_that_wait() {
    let backend = WgpuBackend::acquire().unwrap();
    let program = Kernel::build("slow", |k| {
        let out = k.write_only::<u32>("out", 100_000_u64);
        k.domain([100_000_u64], |[i]| {
            let state = k.var("state", i);
            k.for_(0_u32, 5_000_u32, |_| {
                state.set((state.get() * 1_664_525_u32 + 1_013_904_223_u32) ^ (state.get() >> 7_u32));
            });
            out.store(i, state.get());
        });
    })
    .unwrap();
    let slow = backend.compile_checked(&program, &CompileOptions::default()).unwrap();
    let out = backend.allocate(400_000).unwrap();
    // A fast device needs more, to be busy for as long as the other thread takes to submit.
    let overtaken = (0..6).any(|round| {
        let mut list = CommandList::new();
        for _ in 0..4_u32.pow(round) {
            let binding = Binding { buffer: BufferRef::Resident(out), len: 400_000 };
            list.push(Command::Dispatch(DispatchCommand::new(slow.clone(), vec![binding])));
        }
        let work = backend.submit(&list).unwrap();
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                work.wait(None).unwrap();
                ended.store(true, Ordering::Release);
            });
            let mut short = CommandList::new();
            let buffer = short.transient(4);
            short.push(Command::Fill { to: Span { buffer, offset: 0, len: 4 }, byte: 0x42 });
            short.read(Span { buffer, offset: 0, len: 4 });
            let work = backend.submit(&short).unwrap();
            let returned_first = !ended.load(Ordering::Acquire);
            assert_eq!(work.wait(None).unwrap(), [vec![0x42; 4]]);
            returned_first
        })
    });
    assert!(overtaken);
}

fn handles(count: u32) {
    let backend = WgpuBackend::acquire().unwrap();
    let mut random = Random(3);
    let mut held: Vec<(Resource, Vec<u8>)> = Vec::new();
    let check = |backend: &WgpuBackend, batch: &[(Resource, Vec<u8>)]| {
        let mut list = CommandList::new();
        batch.iter().for_each(|(resource, _)| {
            list.read(whole(*resource));
        });
        let reads = backend.submit(&list).unwrap().wait(None).unwrap();
        assert!(reads.iter().zip(batch).all(|(read, (_, bytes))| read == bytes));
    };
    for _ in 0..count.div_ceil(50) {
        // Fifty new ones, uploaded together, each with contents of its own in its second half.
        let batch: Vec<_> = (0..50)
            .map(|_| {
                let len = random.below(3000);
                let tag = random.below(256) as u8;
                let mut bytes = vec![0; len as usize];
                bytes[len as usize / 2..].fill(tag);
                (backend.allocate(u64::from(len)).unwrap(), bytes)
            })
            .collect();
        let mut list = CommandList::new();
        for (resource, bytes) in &batch {
            let half = bytes.len() / 2;
            list.upload(BufferRef::Resident(*resource), half as u64, &bytes[half..]);
        }
        backend.submit(&list).unwrap();
        held.extend(batch);
        // Old ones go at random, once they have been looked at.
        while held.len() > 400 {
            let end = held.len();
            for i in 0..60 {
                held.swap(random.below(end as u32 - i) as usize, end - 1 - i as usize);
            }
            let gone = held.split_off(end - 60);
            check(&backend, &gone);
            gone.iter().for_each(|(resource, _)| backend.free(*resource).unwrap());
        }
    }
    // Full: each request fails until something is freed, and what is held is untouched.
    for _ in 0..20 {
        backend.trim();
        backend.arm_fault(Site::Allocate, 0, Fault::OutOfMemory);
        let refused = backend.allocate(1 << 20).map(|_| ());
        assert!(matches!(refused, Err(BackendError::OutOfMemory { .. })), "{refused:?}");
        let (freed, bytes) = held.pop().unwrap();
        check(&backend, &[(freed, bytes)]);
        backend.free(freed).unwrap();
        let again = backend.allocate(1 << 20).unwrap();
        backend.free(again).unwrap();
    }
    check(&backend, &held);
    held.iter().for_each(|(resource, _)| backend.free(*resource).unwrap());
    assert_eq!(backend.stats().residents, 0);
    backend.flush().unwrap();
    backend.trim();
    let stats = backend.stats();
    assert_eq!((stats.buffer_bytes, stats.idle_buffer_bytes), (0, 0), "{stats:?}");
}

#[test]
fn handles_of_random_sizes_keep_their_contents() {
    handles(6_000);
}

#[test]
#[ignore = "the full form takes minutes on a software driver"]
fn handles_of_random_sizes_keep_their_contents_full() {
    handles(200_000);
}

/// Allocates buffers of `step` bytes until the device has no memory for another, and frees them again. Each time, the
/// error is typed, and everything works once there is room.
fn fill(backend: &WgpuBackend, step: u64) {
    let run = || {
        let got = backend.dispatch_borrowed(&scaled(3), &[&words(0..100)], &DispatchConfig::default());
        assert_eq!(got.unwrap(), [words((0..100).map(|i| i * 3 + i))]);
    };
    run();
    for round in 0..3 {
        let mut held = Vec::new();
        let refused = loop {
            match backend.allocate(step) {
                Ok(resource) => held.push(resource),
                Err(error) => break error,
            }
            assert!(held.len() < 1 << 14, "the device has no end");
        };
        assert!(matches!(refused, BackendError::OutOfMemory { .. }), "{refused}");
        println!("round {round}: {} buffers of {step} bytes", held.len());
        assert!(held.len() > 1);
        // One gives way to another.
        backend.free(held.pop().unwrap()).unwrap();
        backend.trim();
        held.push(backend.allocate(step).unwrap());
        held.drain(..).for_each(|resource| backend.free(resource).unwrap());
        backend.trim();
        run();
    }
    assert!(!backend.device_lost());
    assert_eq!((backend.stats().residents, backend.stats().uncaptured_errors), (0, 0));
}

const FILL: &str = "VYRE_TEST_FILL";

/// Not a test of its own: what the process of the next test runs.
#[test]
fn worker_with_little_memory() {
    if std::env::var_os(FILL).is_some() {
        fill(&WgpuBackend::acquire().unwrap(), 256 << 20);
    }
}

/// A device that is really full: a GPU, or a driver whose memory is that of a process which gets 8 GiB of addresses.
#[cfg(unix)]
#[test]
fn a_full_device_says_so_and_works_again_when_it_is_emptied() {
    let backend = WgpuBackend::acquire().unwrap();
    let profile = backend.device_profile();
    if !profile.is_software {
        return fill(&backend, 1 << 30);
    }
    if !profile.name.contains("llvmpipe") {
        eprintln!("{} fills memory with what it gives: not shown here", profile.name);
        return;
    }
    let output = std::process::Command::new("sh")
        .args(["-c", "ulimit -v 8388608; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "worker_with_little_memory", "--nocapture"])
        .env(FILL, "1")
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success() && text[0].contains("1 passed"), "{}", text.concat());
    println!("{}", text[0]);
}

/// One operation of those that programs mix, with its result checked.
fn operation(backend: &WgpuBackend, programs: &[Checked<Program>], random: &mut Random) {
    let config = DispatchConfig::default();
    let (which, n) = (random.below(programs.len() as u32), 1 + random.below(500));
    let (program, start) = (&programs[which as usize], random.below(1 << 20));
    let input = words((0..n).map(|i| i + start));
    let expected = words((0..n).map(|i| (i + start) * (which + 1) + i));
    let len = u64::from(4 * n);
    match random.below(8) {
        0 => {
            let outputs = backend.dispatch_borrowed(program, &[&input], &config).unwrap();
            assert_eq!(outputs, [expected]);
        }
        1 => {
            let mut outputs = vec![vec![7; random.below(2000) as usize]];
            backend.dispatch_borrowed_into(program, &[&input], &config, &mut outputs).unwrap();
            assert_eq!(outputs, [expected]);
        }
        2 => {
            let work = backend.dispatch_borrowed_async(program, &[&input], &config).unwrap();
            assert_eq!(work.wait().unwrap(), [expected]);
        }
        3 => {
            let pair = [backend.allocate(len).unwrap(), backend.allocate(len).unwrap()];
            backend.upload_resident(&pair[0], &input).unwrap();
            backend.dispatch_resident_timed(program, &pair, &config).unwrap();
            assert_eq!(backend.download_resident(&pair[1]).unwrap(), expected);
            pair.iter().for_each(|resource| backend.free(*resource).unwrap());
        }
        4 => {
            // Odd bytes, moved about.
            let mut list = CommandList::new();
            let (a, b) = (list.transient(len + 9), list.transient(len + 9));
            list.push(Command::Fill { to: Span { buffer: a, offset: 0, len: len + 9 }, byte: 0xD7 });
            list.upload(a, 3, &input);
            list.push(Command::Copy {
                from: Span { buffer: a, offset: 1, len: len + 4 },
                to: Span { buffer: b, offset: 5, len: len + 4 },
            });
            list.read(Span { buffer: b, offset: 5, len: len + 4 });
            let reads = backend.submit(&list).unwrap().wait(None).unwrap();
            assert_eq!(reads, [[&[0xD7; 2], &input[..], &[0xD7; 2]].concat()]);
        }
        5 => {
            let kept = backend.allocate_retained(len).unwrap();
            backend.upload_resident(&kept, &input).unwrap();
            assert_eq!(backend.download_resident_range(&kept, 1, 3).unwrap(), input[1..4]);
            backend.free(kept).unwrap();
        }
        6 => {
            // Abandoned.
            drop(backend.dispatch_borrowed_async(program, &[&input], &config).unwrap());
        }
        _ => {
            let refused = backend.dispatch_borrowed(program, &[&input[1..]], &config);
            assert!(matches!(refused, Err(BackendError::Launch(_))), "{refused:?}");
        }
    }
}

fn mixed(operations: u32) {
    const THREADS: u32 = 16;
    let backend = WgpuBackend::acquire().unwrap();
    let programs: Vec<_> = (1..9).map(scaled).collect();
    let round = |seed: u32, operations: u32| {
        let next = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (backend, programs, next) = (&backend, &programs, &next);
                scope.spawn(move || {
                    let mut random = Random(u64::from(seed * THREADS + thread));
                    while next.fetch_add(1, Ordering::Relaxed) < operations {
                        operation(backend, programs, &mut random);
                    }
                });
            }
        });
        backend.flush().unwrap();
        let stats = backend.stats();
        assert_eq!(stats.residents, 0);
        assert_eq!(stats.buffer_bytes, stats.idle_buffer_bytes, "nothing is in use: {stats:?}");
        assert_eq!(stats.pipelines.entries, 8);
        stats.buffer_bytes
    };
    let sizes: Vec<_> = (0..4).map(|seed| round(seed, operations / 4)).collect();
    // What is kept for reuse is what was in use at once, and that does not grow with time.
    assert!(sizes[3] <= sizes[0] * 3 / 2 + (1 << 20), "{sizes:?}");
}

#[test]
fn mixed_operations_leave_memory_flat() {
    mixed(6_000);
}

#[test]
#[ignore = "the full form takes minutes on a software driver"]
fn mixed_operations_leave_memory_flat_full() {
    mixed(100_000);
}

#[test]
fn software_adapters_are_refused_without_permission_and_the_refusal_says_what_to_do() {
    for adapter in WgpuBackend::adapters().unwrap().into_iter().filter(|adapter| adapter.kind == "software") {
        let error =
            WgpuBackend::builder().adapter_index(adapter.index).allow_software(false).open().unwrap_err();
        let BackendError::NoDevice { probed, remedy } = &error else { panic!("{error}") };
        assert!(probed.iter().any(|line| line.contains(&adapter.name)), "{probed:?}");
        assert!(remedy.contains("VYRE_ALLOW_SOFTWARE") && remedy.contains("driver"), "{remedy}");
    }
}
