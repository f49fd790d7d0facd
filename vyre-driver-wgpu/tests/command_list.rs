//! Command lists on the device: transfers of any bytes, residents, order, refusals and timeouts.
#![allow(clippy::unwrap_used, reason = "a failure here fails the test")]

use std::sync::Arc;
use std::time::Duration;

use vyre_driver::{
    BackendError, Binding, BufferRef, Command, CommandList, CompiledPipeline, DispatchCommand, Resource,
    Span, VyreBackend,
};
use vyre_driver_wgpu::WgpuBackend;
use vyre_foundation::build::Kernel;
use vyre_spec::CompileOptions;

fn words(values: impl IntoIterator<Item = u32>) -> Vec<u8> {
    values.into_iter().flat_map(u32::to_le_bytes).collect()
}

fn span(resource: Resource, offset: u64, len: u64) -> Span {
    Span { buffer: BufferRef::Resident(resource), offset, len }
}

fn bind(resource: Resource) -> Binding {
    Binding { buffer: BufferRef::Resident(resource), len: resource.len }
}

fn run(pipeline: &Arc<dyn CompiledPipeline>, bindings: Vec<Binding>) -> Command<'static> {
    Command::Dispatch(DispatchCommand::new(Arc::clone(pipeline), bindings))
}

/// `target[i] = source[i] × 2 + 1`.
fn step(backend: &WgpuBackend) -> Arc<dyn CompiledPipeline> {
    let program = Kernel::build("step", |k| {
        let source = k.read_only::<u32>("source");
        let target = k.read_write::<u32>("target").with_len(source.len());
        k.domain([source.len()], |[i]| target.store(i, source.load(i) * 2_u32 + 1_u32));
    })
    .unwrap();
    backend.compile_checked(&program, &CompileOptions::default()).unwrap()
}

fn read(backend: &WgpuBackend, from: Span) -> Vec<u8> {
    let mut list = CommandList::new();
    list.read(from);
    backend.submit(&list).unwrap().wait(None).unwrap().remove(0)
}

/// A small generator, so that a seed names a case.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

#[test]
fn random_transfers_agree_with_host_memory() {
    let backend = WgpuBackend::shared().unwrap();
    let lens = [1_u64, 7, 64, 333, 1024];
    for seed in 0..40 {
        let mut random = Random(seed);
        let residents = lens.map(|len| backend.allocate(len).unwrap());
        let mut model = lens.map(|len| vec![0_u8; len as usize]);
        let payload: Vec<u8> = (0..1024).map(|_| random.below(256) as u8).collect();
        let mut expected = Vec::new();
        let mut list = CommandList::new();
        for _ in 0..30 {
            let to = random.below(5) as usize;
            let offset = random.below(lens[to] + 1);
            let len = random.below(lens[to] - offset + 1);
            let range = offset as usize..(offset + len) as usize;
            match random.below(4) {
                0 => {
                    let bytes = &payload[range.clone()];
                    list.upload(BufferRef::Resident(residents[to]), offset, bytes);
                    model[to][range].copy_from_slice(bytes);
                }
                1 => {
                    let byte = [0, 0xAB][random.below(2) as usize];
                    list.push(Command::Fill { to: span(residents[to], offset, len), byte });
                    model[to][range].fill(byte);
                }
                2 => {
                    let from = random.below(5) as usize;
                    let len = len.min(lens[from]);
                    let start = random.below(lens[from] - len + 1);
                    let source = model[from][start as usize..(start + len) as usize].to_vec();
                    let overlap = from == to && start < offset + len && offset < start + len;
                    if !overlap {
                        list.push(Command::Copy {
                            from: span(residents[from], start, len),
                            to: span(residents[to], offset, len),
                        });
                        model[to][offset as usize..(offset + len) as usize].copy_from_slice(&source);
                    }
                }
                _ => {
                    list.read(span(residents[to], offset, len));
                    expected.push(model[to][range].to_vec());
                }
            }
        }
        for (resident, bytes) in residents.iter().zip(&model) {
            list.read(span(*resident, 0, resident.len));
            expected.push(bytes.clone());
        }
        let got = backend.submit(&list).unwrap().wait(None).unwrap();
        assert!(got == expected, "seed {seed}: {got:?} instead of {expected:?}");
        // Whoever gets this memory next still finds zeros.
        residents.iter().for_each(|resident| backend.free(*resident).unwrap());
    }
}

#[test]
fn transfers_at_any_offset_and_of_any_length_leave_the_bytes_around_them() {
    const LEN: u64 = 48;
    let backend = WgpuBackend::shared().unwrap();
    let (source, target) = (backend.allocate(LEN).unwrap(), backend.allocate(LEN).unwrap());
    let payload: Vec<u8> = (1..=LEN as u8).collect();
    for kind in ["upload", "fill", "clear", "copy", "copy within"] {
        let mut expected = Vec::new();
        let mut list = CommandList::new();
        list.upload(BufferRef::Resident(source), 0, &payload);
        for (offset, len) in (0..10_u64).flat_map(|offset| (0..34_u64).map(move |len| (offset, len))) {
            let mut model = vec![0xEE; LEN as usize];
            list.push(Command::Fill { to: span(target, 0, LEN), byte: 0xEE });
            let (start, to) = ((3 * offset + len) % 10, span(target, offset, len));
            let range = offset as usize..(offset + len) as usize;
            let from = start as usize..(start + len) as usize;
            match kind {
                "upload" => {
                    list.upload(BufferRef::Resident(target), offset, &payload[from.clone()]);
                    model[range].copy_from_slice(&payload[from]);
                }
                "fill" => {
                    list.push(Command::Fill { to, byte: 0x5A });
                    model[range].fill(0x5A);
                }
                "clear" => {
                    list.push(Command::Fill { to, byte: 0 });
                    model[range].fill(0);
                }
                "copy" => {
                    list.push(Command::Copy { from: span(source, start, len), to });
                    model[range].copy_from_slice(&payload[from]);
                }
                _ => {
                    // From behind the range: the copy's own ends are all that it may touch.
                    let len = len.min(LEN - offset - len);
                    let (from, to) = (span(target, LEN - len, len), span(target, offset, len));
                    let end = &payload[..len as usize];
                    list.upload(BufferRef::Resident(target), LEN - len, end);
                    list.push(Command::Copy { from, to });
                    model[(LEN - len) as usize..].copy_from_slice(end);
                    model[offset as usize..(offset + len) as usize].copy_from_slice(end);
                }
            }
            list.read(span(target, 0, LEN));
            list.read(span(target, offset, len));
            expected.push(model.clone());
            expected.push(model[offset as usize..(offset + len) as usize].to_vec());
        }
        let got = backend.submit(&list).unwrap().wait(None).unwrap();
        let wrong = got.iter().zip(&expected).position(|(got, expected)| got != expected);
        assert_eq!(
            (got.len(), wrong),
            (expected.len(), None),
            "{kind}: pairs of offset and length, in order"
        );
    }
}

#[test]
fn commands_see_the_effects_of_those_before() {
    let backend = WgpuBackend::shared().unwrap();
    let pipeline = step(&backend);
    let (a, b) = (backend.allocate(4000).unwrap(), backend.allocate(4000).unwrap());
    let mut list = CommandList::new();
    let start = words(0..1000);
    list.upload(BufferRef::Resident(a), 0, &start);
    for _ in 0..5 {
        list.push(run(&pipeline, vec![bind(a), bind(b)]));
        list.push(run(&pipeline, vec![bind(b), bind(a)]));
    }
    list.read(span(a, 0, 4000));
    list.push(Command::Fill { to: span(a, 0, 4000), byte: 1 });
    list.push(run(&pipeline, vec![bind(a), bind(b)]));
    list.read(span(b, 3996, 4));
    let reads = backend.submit(&list).unwrap().wait(None).unwrap();
    // Ten times x → 2x + 1 is 1024x + 1023.
    assert_eq!(reads[0], words((0..1000).map(|x| 1024 * x + 1023)));
    assert_eq!(reads[1], words([0x0202_0203]));
}

#[test]
fn wrong_lists_are_refused_by_name_and_without_effect() {
    let backend = WgpuBackend::shared().unwrap();
    let other = WgpuBackend::acquire().unwrap();
    let pipeline = step(&backend);
    let (a, b) = (backend.allocate(16).unwrap(), backend.allocate(16).unwrap());
    let foreign = other.allocate(16).unwrap();
    let freed = backend.allocate(16).unwrap();
    backend.free(freed).unwrap();
    let refused = |command: Command<'static>| {
        let mut list = CommandList::new();
        list.push(Command::Fill { to: span(a, 0, 16), byte: 9 });
        list.push(command);
        backend.submit(&list).map(|_| ()).unwrap_err()
    };

    let error = refused(Command::Fill { to: span(a, 8, 9), byte: 0 });
    assert!(matches!(error, BackendError::OutOfRange { offset: 8, bytes: 9, len: 16, .. }), "{error}");
    let error = refused(Command::Fill { to: span(a, u64::MAX, 2), byte: 0 });
    assert!(matches!(error, BackendError::OutOfRange { .. }), "{error}");
    let error = refused(Command::Upload { to: span(a, 12, 8), bytes: &[0; 8] });
    assert!(matches!(error, BackendError::OutOfRange { .. }), "{error}");
    let error = refused(Command::Read { from: span(freed, 0, 1) });
    assert!(matches!(error, BackendError::BadHandle { problem: "freed", .. }), "{error}");
    let error = refused(Command::Read { from: span(foreign, 0, 1) });
    assert!(matches!(error, BackendError::BadHandle { problem: "foreign", .. }), "{error}");
    let stale = Resource { generation: a.generation + 1000, ..a };
    let error = refused(Command::Read { from: span(stale, 0, 1) });
    assert!(matches!(error, BackendError::BadHandle { problem: "stale", .. }), "{error}");
    let error = refused(run(&pipeline, vec![bind(a)]));
    assert_eq!(error, BackendError::BindingCount { needs: 2, got: 1 });
    let error = refused(run(&pipeline, vec![bind(a), bind(a)]));
    let BackendError::Aliasing { first, second } = error else { panic!("{error}") };
    assert_eq!((first.as_str(), second.as_str()), ("source", "target"));
    let error = refused(run(&pipeline, vec![Binding { len: 17, ..bind(a) }, bind(b)]));
    assert!(matches!(error, BackendError::OutOfRange { bytes: 17, len: 16, .. }), "{error}");
    let error = refused(run(&step(&other), vec![bind(a), bind(b)]));
    assert!(matches!(error, BackendError::BadHandle { problem: "foreign", .. }), "{error}");

    assert_eq!(read(&backend, span(a, 0, 16)), [0; 16]);
    assert!(matches!(backend.free(freed), Err(BackendError::BadHandle { problem: "freed", .. })));
    let error = backend.allocate(1 << 35).unwrap_err();
    assert!(matches!(error, BackendError::Limit { value, .. } if value == 1 << 35), "{error}");
}

#[test]
fn freed_buffers_live_until_their_work_is_done() {
    let backend = WgpuBackend::shared().unwrap();
    let pipeline = step(&backend);
    let (a, b) = (backend.allocate(4000).unwrap(), backend.allocate(4000).unwrap());
    let mut list = CommandList::new();
    let input = words(0..1000);
    list.upload(BufferRef::Resident(a), 0, &input);
    list.push(run(&pipeline, vec![bind(a), bind(b)]));
    list.read(span(b, 0, 4000));
    let work = backend.submit(&list).unwrap();
    backend.free(a).unwrap();
    backend.free(b).unwrap();
    // Takes the same memory again.
    let again = backend.allocate(4000).unwrap();
    let mut fill = CommandList::new();
    fill.push(Command::Fill { to: span(again, 0, 4000), byte: 0xFF });
    backend.submit(&fill).unwrap().wait(None).unwrap();
    assert_eq!(work.wait(None).unwrap(), [words((0..1000).map(|x| 2 * x + 1))]);
}

#[test]
fn a_timeout_is_typed_and_leaves_the_backend_usable() {
    let backend = WgpuBackend::shared().unwrap();
    let program = Kernel::build("slow", |k| {
        let seed = k.read_only::<u32>("seed");
        let out = k.write_only::<u32>("out", 100_000_u64);
        k.domain([100_000_u64], |[i]| {
            let state = k.var("state", seed.load(0_u32) + i);
            k.for_(0_u32, 20_000_u32, |_| {
                state.set((state.get() * 1_664_525_u32 + 1_013_904_223_u32) ^ (state.get() >> 7_u32));
            });
            out.store(i, state.get());
        });
    })
    .unwrap();
    let slow = backend.compile_checked(&program, &CompileOptions::default()).unwrap();
    let (seed, out) = (backend.allocate(4).unwrap(), backend.allocate(400_000).unwrap());
    let timeout = Duration::from_millis(1);
    let work = |times: u32| {
        let mut list = CommandList::new();
        for _ in 0..times {
            list.push(run(&slow, vec![bind(seed), bind(out)]));
        }
        list.read(span(out, 0, 4));
        backend.submit(&list).unwrap().wait(Some(timeout))
    };
    // A GPU takes well below a millisecond for one, and a busy machine may look too late: then there is more
    // to do.
    let refused = (0..6).find_map(|round| work(4_u32.pow(round)).err());
    assert_eq!(refused, Some(BackendError::Timeout { timeout }));
    // The work goes on; what comes later sees its results.
    let expected = (0..20_000)
        .fold(0_u32, |state, _| state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223) ^ (state >> 7));
    assert_eq!(read(&backend, span(out, 0, 4)), words([expected]));
}

#[test]
fn threads_share_the_backend() {
    let backend = WgpuBackend::shared().unwrap();
    let pipeline = step(&backend);
    std::thread::scope(|scope| {
        for thread in 0..8_u32 {
            let (backend, pipeline) = (&backend, &pipeline);
            scope.spawn(move || {
                for round in 0..50 {
                    let n = 1 + (thread * 37 + round * 11) % 300;
                    let input = words((0..n).map(|i| i * thread + round));
                    let mut list = CommandList::new();
                    let len = input.len() as u64;
                    let (source, target) = (list.transient(len), list.transient(len));
                    list.upload(source, 0, &input);
                    let bindings = vec![Binding { buffer: source, len }, Binding { buffer: target, len }];
                    list.push(run(pipeline, bindings));
                    list.read(Span { buffer: target, offset: 0, len });
                    let work = backend.submit(&list).unwrap();
                    // Every way of waiting, while other threads do the same.
                    let timeout = match round % 3 {
                        0 => None,
                        1 => Some(Duration::from_secs(600)),
                        _ => {
                            while !work.is_finished() {
                                std::thread::yield_now();
                            }
                            Some(Duration::from_secs(600))
                        }
                    };
                    let reads = work.wait(timeout).unwrap();
                    assert_eq!(reads, [words((0..n).map(|i| 2 * (i * thread + round) + 1))]);
                }
            });
        }
    });
}

#[test]
fn an_empty_list_ends() {
    let backend = WgpuBackend::shared().unwrap();
    let list = CommandList::new();
    assert_eq!(backend.submit(&list).unwrap().wait(None).unwrap(), Vec::<Vec<u8>>::new());
    let nothing = backend.allocate(0).unwrap();
    assert_eq!(read(&backend, span(nothing, 0, 0)), []);
    backend.free(nothing).unwrap();
}
