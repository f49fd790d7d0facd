//! Buffers above the device's binding limit, which are bound as several windows. The limit is lowered, so that small
//! buffers have many.
#![allow(clippy::unwrap_used, reason = "a failure here fails the test")]

use vyre_driver::{
    BackendError, Binding, BufferRef, Command, CommandList, DispatchCommand, DispatchConfig, Resource, Span,
    VyreBackend,
    conformance::{self, Form},
};
use vyre_driver_wgpu::WgpuBackend;
use vyre_foundation::check::{Checked, check};
use vyre_foundation::ir::Program;
use vyre_foundation::text::parse;
use vyre_spec::DataType;

/// Bytes of a window.
const WINDOW: usize = 1 << 10;

/// A device that binds somewhat more than a window at once.
fn limited() -> WgpuBackend {
    WgpuBackend::builder().limit_memory(1 << 26, 1300).open().unwrap()
}

/// Whether the device has fewer bindings than what is shown takes windows; says so.
fn lacks_bindings(backend: &WgpuBackend) -> bool {
    let most = backend.profile().max_storage_bindings;
    let few = most < 24;
    if few {
        println!("{} has {most} storage bindings: not shown here", backend.profile().name);
    }
    few
}

fn program(text: &str) -> Checked<Program> {
    check(parse(text).unwrap().0).unwrap()
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

fn bytes(words: impl IntoIterator<Item = u32>) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

#[test]
fn elements_of_every_size_are_found_in_every_window() {
    let backend = limited();
    if lacks_bindings(&backend) {
        return;
    }
    assert_eq!(backend.profile().window_bytes(), WINDOW as u64);
    for ty in ["u8", "i8", "u16", "i16", "f16", "bf16", "u32", "i32", "f32", "u64", "i64", "f64"] {
        let data = DataType::ALL.into_iter().find(|known| known.name() == ty).unwrap();
        if backend.missing_type(data).is_some() {
            println!("no {ty} on {}", backend.profile().name);
            continue;
        }
        // Reversed, so that what is read and what is written lie in different windows; straight, in vectors where
        // the type has them.
        for source in ["len(x) - 1 - point.x", "point.x"] {
            let program = program(&format!(
                "program copied {{
                    buffer x: readonly {ty}[];
                    buffer y: uniform {ty}[];
                    buffer z: readwrite {ty}[len(x)];
                    buffer w: writeonly {ty}[len(x)];
                    launch domain(len(x)) {{
                        let old = load z[point.x];
                        store z[point.x] = x[{source}];
                        store w[{source}] = select(point.x % 2 == 0, old, y[point.x]);
                    }}
                }}"
            ));
            let size = data.size() as usize;
            // Up to the limit, a binding is whole.
            for count in [1296, 1304, 2 * WINDOW - size, 2 * WINDOW, 2 * WINDOW + size, 5 * WINDOW + 16] {
                let n = count / size;
                // Bytes below 0x3C: finite as floats of any size.
                let some = |salt: usize| -> Vec<u8> {
                    (0..n * size).map(|i| (i.wrapping_mul(2_654_435_761 + salt) >> 9) as u8 % 60).collect()
                };
                let (x, y, z) = (some(0), some(2), some(4));
                let got =
                    backend.dispatch_checked(&program, &[&x, &y, &z], &DispatchConfig::default()).unwrap();
                let at = |i: usize| if source == "point.x" { i } else { n - 1 - i };
                let (mut want_z, mut want_w) = (vec![0; n * size], vec![0; n * size]);
                for i in 0..n {
                    let element = |of: &[u8], i: usize| of[i * size..(i + 1) * size].to_vec();
                    want_z[i * size..(i + 1) * size].copy_from_slice(&element(&x, at(i)));
                    let from = if i.is_multiple_of(2) { &z } else { &y };
                    want_w[at(i) * size..(at(i) + 1) * size].copy_from_slice(&element(from, i));
                }
                assert!(got[0] == want_z, "{ty}, {count} bytes, {source}: z");
                assert!(got[1] == want_w, "{ty}, {count} bytes, {source}: w");
            }
        }
    }
}

#[test]
fn atomics_of_all_windows_count_and_give_the_old_element() {
    let backend = limited();
    if lacks_bindings(&backend) {
        return;
    }
    let program = program(
        "program counted {
            buffer counts: readwrite u32[];
            buffer sums: readwrite f32[len(counts)];
            buffer seen: readwrite u32[len(counts)];
            launch domain(len(counts), 3) {
                let old = atomic_add counts[point.x * 7 % len(counts)], 1;
                atomic_add sums[point.x], 0.5;
                atomic_max seen[point.x * 7 % len(counts)], old;
            }
        }",
    );
    // No multiple of 7, so each element is met by three points.
    for n in [325_u32, 326, 512, 513, 1000, 1338] {
        let inputs = [bytes(0..n), bytes((0..n).map(|_| 1_f32.to_bits())), bytes((0..n).map(|_| 0))];
        let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
        let got = backend.dispatch_checked(&program, &inputs, &DispatchConfig::default()).unwrap();
        assert_eq!(words(&got[0]), (0..n).map(|i| i + 3).collect::<Vec<_>>(), "{n}");
        assert_eq!(words(&got[1]), vec![2.5_f32.to_bits(); n as usize], "{n}");
        assert_eq!(words(&got[2]), (0..n).map(|i| i + 2).collect::<Vec<_>>(), "{n}");
    }
}

#[test]
fn accesses_beyond_the_end_read_zero_and_write_nothing() {
    let backend = limited();
    let program = program(
        "program beyond {
            param n: u32;
            buffer x: readonly u16[];
            buffer y: readwrite u16[];
            launch domain(n) { store y[point.x + 3] = x[point.x - 2] + 1u16; }
        }",
    );
    for n in [649_usize, 651, 1023, 1024, 1025, 1600] {
        let x: Vec<u8> = (0..n as u16).flat_map(u16::to_le_bytes).collect();
        let y = vec![0xA5; 2 * n];
        let config = DispatchConfig::default().param("n", 2000_u32);
        let got = backend.dispatch_checked(&program, &[&x, &y], &config).unwrap();
        // y[i] = x[i - 5] + 1, where x[-2] and x[-1] are beyond its end.
        let want: Vec<u8> = (0..n as u16)
            .flat_map(|i| {
                if i < 3 { 0xA5A5_u16 } else { i.checked_sub(5).map_or(1, |x| x + 1) }.to_le_bytes()
            })
            .collect();
        assert!(got[0] == want, "{n}");
    }
}

/// The random programs of the conformance suite but those with grid barriers, whose scratch memory is one binding, in
/// every form but as payloads, which have no kernels for windows.
#[test]
fn random_programs_over_windows_give_what_the_reference_machine_gives() {
    let backend = WgpuBackend::builder().limit_memory(1 << 26, 512).open().unwrap();
    if lacks_bindings(&backend) {
        return;
    }
    let mut report = conformance::Report::default();
    let forms = [Form::Optimised, Form::Unoptimised, Form::Workgroup];
    for seed in (1..300).filter(|seed: &u64| !seed.is_multiple_of(4)) {
        report.merge(conformance::program(&backend, seed, &forms));
        assert!(report.failures.len() < 6, "{}", report.failures[0]);
    }
    for failure in report.failures.iter().take(5) {
        println!("{failure}");
    }
    assert!(report.failures.is_empty(), "{} failures", report.failures.len());
    assert!(report.refused.len() * 100 < 450, "{:#?}", report.refused);
}

#[test]
fn grid_barriers_and_counts_in_memory_go_with_windows() {
    let backend = limited();
    let turned = program(
        "program turned {
            buffer x: readwrite u32[];
            launch workgroups(4, 1, 1) size(64, 1, 1) {
                let at = workgroup_id.x * 64 + local_index;
                let other = load x[len(x) - 1 - at];
                barrier grid_sync;
                store x[at] = other + 1;
            }
        }",
    );
    let counted = program(
        "program counted {
            buffer counts: readonly u32[];
            buffer x: readwrite u32[];
            launch indirect(counts) size(64, 1, 1) {
                let at = workgroup_id.x * 64 + local_index;
                store x[at] = x[at] * 3;
            }
        }",
    );
    let n = 900_u32;
    let x = bytes(0..n);
    let got = backend.dispatch_checked(&turned, &[&x], &DispatchConfig::default()).unwrap();
    let want: Vec<u32> = (0..n).map(|i| if i < 256 { n - i } else { i }).collect();
    assert_eq!(words(&got[0]), want);
    let counts = bytes([5, 1, 1]);
    let got = backend.dispatch_checked(&counted, &[&counts, &x], &DispatchConfig::default()).unwrap();
    let want: Vec<u32> = (0..n).map(|i| if i < 320 { 3 * i } else { i }).collect();
    assert_eq!(words(&got[0]), want);
}

#[test]
fn more_windows_than_bindings_are_refused_by_name() {
    let backend = limited();
    let most = u64::from(backend.profile().max_storage_bindings);
    if most > 256 {
        println!("{} has {most} storage bindings: not shown here", backend.profile().name);
        return;
    }
    let program = program(
        "program last {
            buffer x: readwrite u32[];
            launch domain(1) { store x[len(x) - 1] = 7; }
        }",
    );
    let run = |x: Resource| backend.dispatch_resident_timed(&program, &[x], &DispatchConfig::default());
    let fits = backend.allocate(most * WINDOW as u64).unwrap();
    run(fits).unwrap();
    assert_eq!(backend.download_resident_range(&fits, fits.len as usize - 8, 8).unwrap(), bytes([0, 7]));
    let too_large = backend.allocate(fits.len + 4).unwrap();
    let error = run(too_large).unwrap_err();
    let named = matches!(&error, BackendError::Limit { what, value, limit }
        if what.contains("windows") && *value == most + 1 && *limit == most);
    assert!(named, "{error:?}");
}

/// A device whose buffers have at most 5,000 bytes: larger ones are segments of 4096.
fn segmented() -> WgpuBackend {
    WgpuBackend::builder().limit_memory(5_000, 1300).open().unwrap()
}

fn noise(len: usize, salt: u64) -> Vec<u8> {
    (0..len as u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(salt) >> 29) as u8).collect()
}

fn span(buffer: Resource, offset: u64, len: u64) -> Span {
    Span { buffer: BufferRef::Resident(buffer), offset, len }
}

fn read(backend: &WgpuBackend, span: Span) -> Vec<u8> {
    let mut list = CommandList::new();
    list.read(span);
    backend.submit(&list).unwrap().wait(None).unwrap().remove(0)
}

#[test]
fn uploads_fills_copies_and_reads_cross_segments_at_any_byte() {
    const LEN: usize = 3 * 4096 + 1001;
    // What fills and copies single bytes binds whole segments.
    let backend = WgpuBackend::builder().limit_memory(5_000, 5_000).open().unwrap();
    let (a, b) = (backend.allocate(LEN as u64).unwrap(), backend.allocate(LEN as u64).unwrap());
    let mut wants = [vec![0; LEN], vec![0; LEN]];
    assert_eq!(read(&backend, span(a, 0, LEN as u64)), wants[0]);
    let ranges = [
        (0, LEN),
        (4095, 2),
        (4096, 4096),
        (4090, 8200),
        (8191, 4098),
        (1, LEN - 1),
        (3, 4093),
        (12_000, 1289),
    ];
    for (round, (start, len)) in ranges.into_iter().enumerate() {
        let bytes = noise(len, round as u64);
        let mut list = CommandList::new();
        list.upload(BufferRef::Resident(a), start as u64, &bytes);
        wants[0][start..start + len].copy_from_slice(&bytes);
        // Into the other buffer, elsewhere.
        let at = (start * 7 + round) % (LEN - len + 1);
        list.push(Command::Copy {
            from: span(a, start as u64, len as u64),
            to: span(b, at as u64, len as u64),
        });
        wants[1][at..at + len].copy_from_slice(&bytes);
        // Within one buffer, where source and target overlap.
        let (from, by) = (start.min(LEN - len), len / 3 + round % 4);
        let moved = len.min(LEN - from - by);
        list.push(Command::Copy {
            from: span(b, from as u64, moved as u64),
            to: span(b, (from + by) as u64, moved as u64),
        });
        wants[1].copy_within(from..from + moved, from + by);
        let (fill, byte) = ((start / 2, len / 2), if round % 2 == 0 { 0 } else { 0xEE });
        list.push(Command::Fill { to: span(a, fill.0 as u64, fill.1 as u64), byte });
        wants[0][fill.0..fill.0 + fill.1].fill(byte);
        list.read(span(a, 0, LEN as u64));
        list.read(span(b, at as u64, len as u64));
        list.read(span(b, 0, 0));
        list.read(span(b, 0, LEN as u64));
        let got = backend.submit(&list).unwrap().wait(None).unwrap();
        assert!(got[0] == wants[0], "{round}: a");
        assert!(got[1] == wants[1][at..at + len], "{round}: part of b");
        assert!(got[2].is_empty());
        assert!(got[3] == wants[1], "{round}: b");
    }
    backend.free(a).unwrap();
    // What comes from the pool again is all zeros.
    let again = backend.allocate(LEN as u64).unwrap();
    assert_eq!(read(&backend, span(again, 0, LEN as u64)), vec![0; LEN]);
}

#[test]
fn programs_over_segments_are_right_by_every_way_to_run_them() {
    let backend = segmented();
    if lacks_bindings(&backend) {
        return;
    }
    let program = program(
        "program tripled {
            buffer none: readonly u32[];
            buffer x: readonly u32[];
            buffer y: writeonly u32[len(x) + 1];
            launch domain(len(x)) { store y[point.x] = x[len(x) - 1 - point.x] * 3 + len(none); }
        }",
    );
    let config = DispatchConfig::default();
    for n in [1024_u32, 1251, 2048, 2049, 3400] {
        let want = bytes((0..n).map(|i| (n - 1 - i) * 3).chain([0]));
        let x = bytes(0..n);
        assert!(backend.dispatch_checked(&program, &[&[], &x], &config).unwrap() == [want.clone()], "{n}");
        let mut seen = Vec::new();
        backend
            .dispatch_borrowed_for_each_pod_output::<u32, _>(&program, &[&[], &x], &config, |_, words| {
                seen.push(words.to_vec());
                Ok(())
            })
            .unwrap();
        assert!(seen == [words(&want)], "{n}");
        let pipeline = backend.compile_persistent(&program, &config).unwrap();
        for round in 0..3 {
            let x = bytes((0..n).map(|i| i + round));
            let want = bytes((0..n).map(|i| (n - 1 - i + round) * 3).chain([0]));
            assert!(pipeline.dispatch(&[&[], &x]).unwrap() == [want], "{n}, run {round}");
        }
    }
}

#[test]
fn a_prefix_of_a_segmented_buffer_is_bound_like_any_other() {
    let backend = WgpuBackend::builder().limit_memory(3_000, 3_000).open().unwrap();
    let program = program(
        "program numbered {
            buffer x: readwrite u32[];
            launch domain(len(x)) { store x[point.x] = point.x + 1; }
        }",
    );
    let x = backend.allocate(9_000).unwrap();
    // Below the limit of a binding, in one segment of 2048 bytes and in two.
    for len in [2_048_u64, 2_052, 2_900, 9_000] {
        let mut list = CommandList::new();
        list.push(Command::Fill { to: span(x, 0, 9_000), byte: 0 });
        let pipeline = backend.compile_checked(&program, &Default::default()).unwrap();
        let binding = Binding { buffer: BufferRef::Resident(x), len };
        let dispatch = DispatchCommand::new(pipeline, vec![binding]);
        list.push(Command::Dispatch(dispatch));
        list.read(span(x, 0, 9_000));
        let got = backend.submit(&list).unwrap().wait(None).unwrap();
        let n = len as u32 / 4;
        assert_eq!(words(&got[0]), (1..=n).chain((n..2250).map(|_| 0)).collect::<Vec<_>>(), "{len}");
    }
}

#[test]
fn counts_that_lie_in_two_segments_are_found() {
    let backend = segmented();
    let program = program(
        "program numbered {
            buffer x: readwrite u32[];
            launch workgroups(1, 1, 1) size(32, 1, 1) {
                store x[workgroup_id.x * 32 + local_index] = workgroup_count.x;
            }
        }",
    );
    let (counts, x) = (backend.allocate(9_000).unwrap(), backend.allocate(6_000).unwrap());
    for offset in [4_080_u64, 4_088, 4_092, 4_096, 8_192] {
        let mut list = CommandList::new();
        let three = bytes([40, 1, 1]);
        list.upload(BufferRef::Resident(counts), offset, &three);
        list.push(Command::Fill { to: span(x, 0, 6_000), byte: 0 });
        let pipeline = backend.compile_checked(&program, &Default::default()).unwrap();
        let binding = Binding { buffer: BufferRef::Resident(x), len: 6_000 };
        let dispatch = DispatchCommand::new(pipeline, vec![binding]);
        list.push(Command::DispatchIndirect { dispatch, counts: span(counts, offset, 12) });
        list.read(span(x, 0, 6_000));
        let got = backend.submit(&list).unwrap().wait(None).unwrap();
        let want: Vec<u32> = (0..1500).map(|i| if i < 1280 { 40 } else { 0 }).collect();
        assert_eq!(words(&got[0]), want, "{offset}");
    }
}

#[test]
fn retained_segments_are_restored_and_too_large_a_buffer_is_refused() {
    let backend = segmented();
    let kept = backend.allocate_retained(13_001).unwrap();
    let bytes = noise(13_001, 7);
    let mut list = CommandList::new();
    list.upload(BufferRef::Resident(kept), 0, &bytes);
    backend.submit(&list).unwrap().wait(None).unwrap();
    backend.force_device_lost().unwrap();
    backend.try_recover().unwrap();
    assert!(read(&backend, span(kept, 0, 13_001)) == bytes);
    for len in [1_u64 << 35, u64::MAX] {
        let error = backend.allocate(len).unwrap_err();
        assert!(
            matches!(error, BackendError::Limit { value, limit, .. } if value == len && limit < len),
            "{error}"
        );
    }
}
