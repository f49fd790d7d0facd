//! Tests of the device layer on a real device, below the driver contract.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::acquire::{self, Request};
use crate::backend::WgpuBackend;
use crate::buffer::{Kind, Pool, PoolBuffer, Readback, Reads, Staging, UploadPart};
use crate::builtin::Builtins;
use crate::completion::{Ended, InFlight};
use crate::env::Settings;
use crate::generation::{Generation, MemoryLimits};
use crate::kernel::{BindGroups, Binding, Bound, Code, Kernel, load};
use crate::seam::{Fault, Site};
use vyre_driver::{BackendError, BufferRef, Command, CommandList, Span, VyreBackend};

/// The device that the environment selects.
fn open() -> Arc<Generation> {
    let Settings { adapter_index, allow_software, .. } = Settings::from_env().unwrap();
    let (candidate, ..) = acquire::select(&Request { adapter_index, allow_software }).unwrap();
    let none = wgpu::Features::empty();
    Generation::open(&candidate, none, none, MemoryLimits::default(), Arc::default()).unwrap()
}

const TRIPLE: &str = "
@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> b: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x < arrayLength(&b)) { b[id.x] = a[id.x] * 3u; }
}";

/// Busy for a while: every invocation runs 60,000 steps of a generator, below lavapipe's loop limit.
const SLOW: &str = "
@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> b: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    var x = a[0] + id.x;
    for (var i = 0u; i < 60000u; i++) { x = (x * 1664525u + 1013904223u) ^ (x >> 7u); }
    if (x == 7u) { b[1] = 1u; }
    b[0] = 42u;
}";

fn kernel(generation: &Generation, wgsl: &str) -> Kernel {
    let module = load(generation, "test", Code::Wgsl(wgsl)).unwrap();
    Kernel::new(generation, &module, "main", &[Binding::Read, Binding::Write], 0, true).unwrap()
}

/// The staging of whole pieces.
fn staging(generation: &Generation, pool: &Pool, pieces: &[&[u8]]) -> Staging {
    let parts = pieces.iter().enumerate();
    let parts = parts.map(|(piece, bytes)| UploadPart { piece, start: 0, len: bytes.len() }).collect();
    Staging::new(generation, pool, pieces, parts).unwrap()
}

/// The readback of pieces of these lengths, each from the beginning of a buffer.
fn readback(generation: &Generation, pool: &Pool, lens: &[u64]) -> Readback {
    let mut reads = Reads::default();
    for &len in lens {
        reads.push([(0, len)]);
    }
    Readback::new(generation, pool, &reads).unwrap()
}

/// What a test needs next to the device.
struct Bench {
    generation: Arc<Generation>,
    pool: Pool,
    groups: BindGroups,
}

impl Bench {
    fn new() -> Self {
        Self { generation: open(), pool: Pool::new(64 << 20), groups: BindGroups::new(64) }
    }

    fn storage(&self, bytes: u64) -> PoolBuffer {
        self.pool.acquire(&self.generation, Kind::Device, bytes).unwrap()
    }

    fn start(&self, kernel: &Kernel, input: &[u8], output_bytes: u64, workgroups: u32) -> InFlight {
        let g = &*self.generation;
        let (a, b) = (self.storage(input.len() as u64), self.storage(output_bytes));
        let staging = staging(g, &self.pool, &[input]);
        let readback = readback(g, &self.pool, &[output_bytes]);
        let bound = [(&a, input.len() as u64), (&b, output_bytes)].map(|(buffer, bytes)| Bound {
            buffer,
            offset: 0,
            bytes,
        });
        let group = self.groups.get(g, kernel, &bound).unwrap();
        let ended = Ended::default();
        let submission = g
            .submit(None, |encoder| {
                staging.copy(encoder, 0, a.buffer(), 0);
                {
                    let mut pass = encoder.begin_compute_pass(&Default::default());
                    pass.set_pipeline(&kernel.pipeline);
                    pass.set_bind_group(0, &group, &[]);
                    pass.dispatch_workgroups(workgroups, 1, 1);
                }
                readback.copy(encoder, 0, b.buffer(), 0);
                staging.recycle(encoder);
                readback.map(encoder);
                ended.after(encoder);
            })
            .unwrap();
        InFlight::new(Arc::clone(&self.generation), submission, Some(ended), readback)
    }

    fn run(&self, kernel: &Kernel, input: &[u8], output_bytes: u64, workgroups: u32) -> Vec<u8> {
        let work = self.start(kernel, input, output_bytes, workgroups);
        work.wait(None).unwrap();
        work.to_vec(0).unwrap()
    }
}

fn words(values: impl IntoIterator<Item = u32>) -> Vec<u8> {
    values.into_iter().flat_map(u32::to_le_bytes).collect()
}

#[test]
fn a_repeated_dispatch_reuses_buffers_and_bind_group() {
    let bench = Bench::new();
    let triple = kernel(&bench.generation, TRIPLE);
    for round in 0..5_u32 {
        let output = bench.run(&triple, &words(round..round + 100), 400, 2);
        assert_eq!(output, words((round..round + 100).map(|x| x * 3)));
        // The upload buffer comes back when its mapping is settled.
        assert!(bench.generation.wait_idle(Duration::from_secs(60)).unwrap());
    }
    let counters = bench.pool.counters();
    assert_eq!((counters.created, counters.reused), (4, 16), "{counters:?}");
    let groups = bench.groups.counters();
    assert_eq!((groups.misses, groups.hits), (1, 4), "{groups:?}");
}

#[test]
fn odd_lengths_and_empty_pieces_travel_exactly() {
    let bench = Bench::new();
    let g = &*bench.generation;
    let pieces: [&[u8]; 4] = [b"abc", b"", b"defgh", &[0xFF; 17]];
    let staging = staging(g, &bench.pool, &pieces);
    let targets: Vec<_> = pieces.iter().map(|piece| bench.storage(piece.len() as u64)).collect();
    let readback = readback(g, &bench.pool, &pieces.map(|piece| piece.len() as u64));
    let ended = Ended::default();
    let submission = g
        .submit(None, |encoder| {
            for (index, target) in targets.iter().enumerate() {
                staging.copy(encoder, index, target.buffer(), 0);
                readback.copy(encoder, index, target.buffer(), 0);
            }
            staging.recycle(encoder);
            readback.map(encoder);
            ended.after(encoder);
        })
        .unwrap();
    let work = InFlight::new(Arc::clone(&bench.generation), submission, Some(ended), readback);
    work.wait(None).unwrap();
    for (index, piece) in pieces.iter().enumerate() {
        assert_eq!(work.piece(index, <[u8]>::to_vec).unwrap(), *piece);
    }
}

#[test]
fn a_timeout_returns_and_the_work_goes_on() {
    let bench = Bench::new();
    let slow = kernel(&bench.generation, SLOW);
    let triple = kernel(&bench.generation, TRIPLE);
    // A GPU ends a small grid at once, and a busy machine may look too late: then there is more to do.
    let slow_work = [512, 4_096, 65_535].into_iter().find_map(|groups| {
        let work = bench.start(&slow, &words([1]), 8, groups);
        matches!(work.wait(Some(Duration::from_millis(1))), Err(BackendError::Timeout { .. })).then_some(work)
    });
    let work = slow_work.unwrap();
    // Submitting goes on while another thread waits.
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| work.wait(None));
        let later = bench.start(&triple, &words([5]), 4, 1);
        waiting.join().unwrap().unwrap();
        later.wait(None).unwrap();
        assert_eq!(later.to_vec(0).unwrap(), words([15]));
    });
    assert_eq!(work.to_vec(0).unwrap()[..4], words([42]));
}

#[test]
fn abandoned_work_leaves_device_and_pool_usable() {
    let bench = Bench::new();
    let slow = kernel(&bench.generation, SLOW);
    let triple = kernel(&bench.generation, TRIPLE);
    drop(bench.start(&slow, &words([1]), 8, 128));
    assert_eq!(bench.run(&triple, &words([7, 8]), 8, 1), words([21, 24]));
}

#[test]
fn refused_calls_are_errors_that_say_why() {
    let bench = Bench::new();
    let Err(BackendError::Driver { message, .. }) =
        load(&bench.generation, "broken", Code::Wgsl("fn main( {")).map(|_| ())
    else {
        panic!("broken WGSL was accepted")
    };
    assert!(message.contains("expected"), "{message}");
    let too_large = bench.pool.acquire(&bench.generation, Kind::Device, u64::MAX / 2).map(|_| ());
    assert!(matches!(too_large, Err(BackendError::Limit { .. })), "{too_large:?}");
    assert_eq!(bench.generation.uncaptured_errors(), 0);
}

#[test]
fn out_of_memory_trims_the_pool_and_tries_again() {
    let bench = Bench::new();
    drop(bench.storage(4096));
    bench.generation.seam.arm(Site::Allocate, 0, Fault::OutOfMemory);
    bench.pool.acquire(&bench.generation, Kind::Device, 1 << 20).unwrap();
    assert_eq!(bench.pool.counters().trimmed, 1);
    bench.pool.trim();
    // Nothing is idle now: the error comes through, and the next request is served.
    bench.generation.seam.arm(Site::Allocate, 0, Fault::OutOfMemory);
    let refused = bench.pool.acquire(&bench.generation, Kind::Device, 1 << 20).map(|_| ());
    assert_eq!(
        refused,
        Err(BackendError::OutOfMemory { doing: "allocating a buffer", bytes: Some(1 << 20) })
    );
    bench.pool.acquire(&bench.generation, Kind::Device, 1 << 20).unwrap();
}

#[test]
fn a_lost_device_answers_with_its_generation_and_reason() {
    let bench = Bench::new();
    let triple = kernel(&bench.generation, TRIPLE);
    assert_eq!(bench.run(&triple, &words([1]), 4, 1), words([3]));
    bench.generation.seam.arm(Site::Allocate, 0, Fault::Lost);
    let error = bench.pool.acquire(&bench.generation, Kind::Device, 1 << 22).map(|_| ()).unwrap_err();
    let BackendError::DeviceLost { generation, reason } = error else { panic!("{error}") };
    assert_eq!(generation, bench.generation.number);
    assert!(reason.contains("injected"), "{reason}");
    assert!(bench.generation.is_lost());
    assert!(matches!(bench.generation.poll_once(), Err(BackendError::DeviceLost { .. })));
}

#[test]
fn a_destroyed_device_is_a_typed_loss_everywhere() {
    let bench = Bench::new();
    let triple = kernel(&bench.generation, TRIPLE);
    assert_eq!(bench.run(&triple, &words([1]), 4, 1), words([3]));
    // The nearest to a real loss that can be had at will: wgpu invalidates the device.
    bench.generation.device().destroy();
    let _ = bench.generation.poll_once();
    let refused = bench.pool.acquire(&bench.generation, Kind::Device, 1 << 22).map(|_| ());
    assert!(matches!(refused, Err(BackendError::DeviceLost { .. })), "{refused:?}");
    assert!(load(&bench.generation, "late", Code::Wgsl(TRIPLE)).is_err());
}

#[test]
fn dropping_a_busy_generation_neither_hangs_nor_panics() {
    let bench = Bench::new();
    let slow = kernel(&bench.generation, SLOW);
    drop(bench.start(&slow, &words([1]), 8, 64));
    let started = Instant::now();
    drop(bench);
    // Far beyond the grace period: this guards against a hang, not against slowness.
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[test]
fn fills_and_copies_of_any_bytes_touch_no_others() {
    const SIZE: u64 = 640;
    let bench = Bench::new();
    let g = &*bench.generation;
    let builtins = Builtins::new(g).unwrap();
    let old: Vec<u8> = (0..SIZE).map(|i| (i * 7 + 1) as u8).collect();
    let from: Vec<u8> = (0..SIZE).map(|i| (i * 13 + 5) as u8).collect();
    // Every alignment of both ends, beyond the binding alignment too.
    let places = [(0, 0, 1), (1, 2, 1), (3, 0, 2), (5, 7, 11), (256, 1, 256), (259, 255, 300), (2, 301, 7)];
    for (start, source_start, len) in places.into_iter().chain((0..16).map(|i| (i % 4, i / 4, 9))) {
        let (filled, copied, source) = (bench.storage(SIZE), bench.storage(SIZE), bench.storage(SIZE));
        let staging = staging(g, &bench.pool, &[&old, &from]);
        let readback = readback(g, &bench.pool, &[SIZE, SIZE]);
        let fill = builtins.fill(g, &bench.pool, filled.buffer(), start, len, 0xEE).unwrap();
        let target = (copied.buffer(), start);
        let copy = builtins.copy(g, &bench.pool, target, (source.buffer(), source_start), len).unwrap();
        let ended = Ended::default();
        let submission = g
            .submit(None, |encoder| {
                staging.copy(encoder, 0, filled.buffer(), 0);
                staging.copy(encoder, 0, copied.buffer(), 0);
                staging.copy(encoder, 1, source.buffer(), 0);
                {
                    let mut pass = encoder.begin_compute_pass(&Default::default());
                    for step in fill.iter().chain(&copy) {
                        pass.set_pipeline(&step.pipeline);
                        pass.set_bind_group(0, &step.group, &[]);
                        pass.dispatch_workgroups(step.workgroups, 1, 1);
                    }
                }
                readback.copy(encoder, 0, filled.buffer(), 0);
                readback.copy(encoder, 1, copied.buffer(), 0);
                staging.recycle(encoder);
                readback.map(encoder);
                ended.after(encoder);
            })
            .unwrap();
        let work = InFlight::new(Arc::clone(&bench.generation), submission, Some(ended), readback);
        work.wait(None).unwrap();
        let outputs = [0, 1].map(|piece| work.to_vec(piece).unwrap());
        let range = start as usize..(start + len) as usize;
        let (mut want_filled, mut want_copied) = (old.clone(), old.clone());
        want_filled[range.clone()].fill(0xEE);
        want_copied[range].copy_from_slice(&from[source_start as usize..(source_start + len) as usize]);
        assert!(outputs[0] == want_filled, "fill of {len} at {start}");
        assert!(outputs[1] == want_copied, "copy of {len} from {source_start} to {start}");
    }
}

#[test]
fn faults_at_submission_are_typed_and_leave_no_trace() {
    let backend = WgpuBackend::acquire().unwrap();
    let run = || backend.dispatch_wgsl(TRIPLE, &words([1, 2]), 8, 64);
    assert_eq!(run().unwrap(), words([3, 6]));
    let seam = &backend.core().unwrap().generation.seam;
    seam.arm(Site::Submit, 0, Fault::OutOfMemory);
    let error = run().unwrap_err();
    assert!(error.contains("out of memory") && error.contains("submitting"), "{error}");
    assert_eq!(run().unwrap(), words([3, 6]));
    seam.arm(Site::Submit, 0, Fault::Lost);
    assert!(run().unwrap_err().contains("lost"));
    // A lost device stays lost: every call says so.
    let resident = backend.allocate(64).unwrap_err();
    assert!(matches!(resident, BackendError::DeviceLost { .. }), "{resident}");
    assert!(run().unwrap_err().contains("lost"));
}

#[test]
fn memory_that_runs_out_anywhere_in_a_list_refuses_it_whole() {
    let backend = WgpuBackend::acquire().unwrap();
    let target = backend.allocate(1 << 20).unwrap();
    // Each list needs memory of a new size at three places: a transient, the upload's and the readback's
    // staging.
    for (round, skip) in (0..3).map(|skip| (u64::from(skip) + 2, skip)) {
        let len = round << 20;
        let bytes = vec![7; len as usize];
        let mut list = CommandList::new();
        let scratch = list.transient(len);
        let target = Span { buffer: BufferRef::Resident(target), offset: 0, len: 1 << 20 };
        list.push(Command::Fill { to: target, byte: round as u8 });
        list.upload(scratch, 0, &bytes);
        list.read(Span { buffer: scratch, offset: 0, len });
        backend.core().unwrap().pool.trim();
        backend.arm_fault(Site::Allocate, skip, Fault::OutOfMemory);
        let error = backend.submit(&list).map(|_| ()).unwrap_err();
        assert!(matches!(error, BackendError::OutOfMemory { .. }), "{error}");
        let mut check = CommandList::new();
        check.read(target);
        assert_eq!(backend.submit(&check).unwrap().wait(None).unwrap(), [vec![0; 1 << 20]]);
        assert_eq!(backend.submit(&list).unwrap().wait(None).unwrap(), [bytes]);
        let mut reset = CommandList::new();
        reset.push(Command::Fill { to: target, byte: 0 });
        backend.submit(&reset).unwrap().wait(None).unwrap();
    }
}
