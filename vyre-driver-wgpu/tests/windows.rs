//! Buffers above the device's binding limit, which are bound as several windows. The limit is lowered, so that small
//! buffers have many.
#![allow(clippy::unwrap_used, reason = "a failure here fails the test")]

use vyre_driver::{BackendError, DispatchConfig, Resource, VyreBackend, conformance};
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

/// The random programs of the conformance suite but those with grid barriers, whose scratch memory is one binding.
#[test]
fn random_programs_over_windows_give_what_the_reference_machine_gives() {
    let backend = WgpuBackend::builder().limit_memory(1 << 26, 512).open().unwrap();
    let mut report = conformance::Report::default();
    for first in (1..300).step_by(4) {
        report.merge(conformance::programs(&backend, first..first + 3));
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
