//! Programs of the builder, compiled and run on the device.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here fails the test")]

use vyre_driver::{BackendError, DispatchConfig, VyreBackend};
use vyre_driver_wgpu::WgpuBackend;
use vyre_foundation::build::Kernel;

fn words(values: impl IntoIterator<Item = u32>) -> Vec<u8> {
    values.into_iter().flat_map(u32::to_le_bytes).collect()
}

fn floats(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    values.into_iter().flat_map(f32::to_le_bytes).collect()
}

fn backend() -> std::sync::Arc<WgpuBackend> {
    WgpuBackend::shared().unwrap()
}

#[test]
fn saxpy_over_a_domain() {
    let saxpy = Kernel::build("saxpy", |k| {
        let a = k.param::<f32>("a");
        let x = k.read_only::<f32>("x");
        let y = k.read_write::<f32>("y").with_len(x.len());
        k.domain([y.len()], |[i]| {
            y.store(i, a * x.load(i) + y.load(i));
        });
    })
    .unwrap();
    for n in [0_u16, 1, 63, 64, 65, 1000] {
        let x = floats((0..n).map(f32::from));
        let y = floats((0..n).map(|i| f32::from(i) * 0.25));
        let config = DispatchConfig::default().param("a", 2.0_f32);
        let outputs = backend().dispatch_checked(&saxpy, &[&x, &y], &config).unwrap();
        // Exact: small multiples of a quarter.
        assert_eq!(outputs, [floats((0..n).map(|i| f32::from(i) * 2.25))], "{n}");
    }
}

#[test]
fn the_answer() {
    let answer = Kernel::build("answer", |k| {
        let out = k.write_only::<u32>("out", 1_u64);
        k.workgroups([1], [1_u64], |_| out.store(0_u32, 42_u32));
    })
    .unwrap();
    let outputs = backend().dispatch_checked(&answer, &[], &DispatchConfig::default()).unwrap();
    assert_eq!(outputs, [words([42])]);
}

/// A driver was seen to order a sign-extended number wrongly against a literal, where the order decides a branch.
#[test]
fn a_widened_number_is_ordered_by_its_value() {
    const TEXT: &str = "
        program widened {
            param p: i32;
            buffer out: writeonly u32[3];
            launch workgroups(1) size(8) {
                if convert<i64>(p) < 1i64 { store out[0] = 1; } else { store out[0] = 2; }
                if convert<i64>(p) > -1i64 { store out[1] = 1; } else { store out[1] = 2; }
                if 1i64 <= convert<i64>(p) { store out[2] = 1; } else { store out[2] = 2; }
            }
        }";
    let (program, _) = vyre_foundation::text::parse(TEXT).unwrap();
    for (p, expected) in [(0, [1, 1, 2]), (-1, [1, 2, 2]), (1, [2, 1, 1]), (i32::MIN, [1, 2, 2])] {
        match backend().dispatch(&program, &[], &DispatchConfig::default().param("p", p)) {
            Ok(outputs) => assert_eq!(outputs, [words(expected)], "{p}"),
            Err(BackendError::Unsupported { what, .. }) => println!("skipped: {what}"),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn one_workgroup_of_one_runs_one_invocation() {
    let count = Kernel::build("count", |k| {
        let out = k.read_write::<u32>("out").with_len(1_u64);
        k.workgroups([1, 1, 1], [1_u64, 1, 1], |_| {
            out.atomic_add(0_u32, 1_u32);
        });
    })
    .unwrap();
    let outputs = backend().dispatch_checked(&count, &[&words([5])], &DispatchConfig::default()).unwrap();
    assert_eq!(outputs, [words([6])]);
}

#[test]
fn a_copy_of_1024_words_covers_all_of_them() {
    let copy = Kernel::build("copy", |k| {
        let source = k.read_only::<u32>("source");
        let target = k.write_only::<u32>("target", source.len());
        k.domain([source.len()], |[i]| target.store(i, source.load(i)));
    })
    .unwrap();
    let source = words((0..1024_u32).map(|i| i.wrapping_mul(0x9E37_79B9) + 1));
    let outputs = backend().dispatch_checked(&copy, &[&source], &DispatchConfig::default()).unwrap();
    assert_eq!(outputs, [source]);
}

#[test]
fn inputs_of_a_wrong_number_order_or_length_are_refused_by_name() {
    let program = Kernel::build("two", |k| {
        let small = k.read_only::<u32>("small").with_len(2_u64);
        let large = k.read_only::<u32>("large").with_len(8_u64);
        let out = k.write_only::<u32>("out", 8_u64);
        k.domain([8_u64], |[i]| out.store(i, small.load(i & 1_u32) + large.load(i)));
    })
    .unwrap();
    let (small, large) = (words([1, 2]), words(0..8));
    let refusal = |inputs: &[&[u8]]| {
        backend().dispatch_checked(&program, inputs, &DispatchConfig::default()).unwrap_err().to_string()
    };
    assert!(refusal(&[&small]).contains("small, large"), "{}", refusal(&[&small]));
    let swapped = refusal(&[&large, &small]);
    assert!(swapped.contains("`small` needs 2 elements (8 bytes), but got 32 bytes"), "{swapped}");
    let short = refusal(&[&small, &large[..30]]);
    assert!(short.contains("`large` got 30 bytes"), "{short}");
    let outputs =
        backend().dispatch_checked(&program, &[&small, &large], &DispatchConfig::default()).unwrap();
    assert_eq!(outputs, [words([1, 3, 3, 5, 5, 7, 7, 9])]);
}

#[test]
fn elements_that_are_not_stored_come_back_zero() {
    let sparse = Kernel::build("sparse", |k| {
        let n = k.param::<u32>("n");
        let out = k.write_only::<u32>("out", n);
        k.domain([n], |[i]| k.if_((i % 3_u32).eq(0_u32), || out.store(i, i + 1_u32)));
    })
    .unwrap();
    for n in [1000_u32, 10, 1000] {
        let config = DispatchConfig::default().param("n", n);
        let outputs = backend().dispatch_checked(&sparse, &[], &config).unwrap();
        assert_eq!(outputs, [words((0..n).map(|i| if i % 3 == 0 { i + 1 } else { 0 }))]);
    }
}

#[test]
fn traps_are_errors_with_code_and_address() {
    let trap = Kernel::build("trap", |k| {
        let x = k.read_only::<u32>("x");
        let out = k.write_only::<u32>("out", x.len());
        k.domain([x.len()], |[i]| {
            let v = x.load(i);
            k.if_(v.eq(99_u32), || k.trap(7, i));
            out.store(i, v);
        });
    })
    .unwrap();
    let config = DispatchConfig::default();
    let fine = words(0..50);
    assert_eq!(backend().dispatch_checked(&trap, &[&fine], &config).unwrap(), [fine]);
    let error = backend().dispatch_checked(&trap, &[&words(90..110)], &config).unwrap_err();
    let BackendError::Trap { code: 7, address: 9, .. } = error else { panic!("{error}") };
}

#[test]
fn more_workgroups_than_the_device_takes_per_axis_are_folded() {
    let n = 70_000_u32;
    let mark = Kernel::build("mark", |k| {
        let n = k.param::<u32>("n");
        let out = k.write_only::<u32>("out", n);
        k.workgroups([1], [n.extent()], |w| {
            let i = w.id[0];
            out.store(i, i * 3_u32);
        });
    })
    .unwrap();
    let config = DispatchConfig::default().param("n", n);
    let outputs = backend().dispatch_checked(&mark, &[], &config).unwrap();
    assert_eq!(outputs, [words((0..n).map(|i| i * 3))]);
}

#[test]
fn lavapipe_has_the_quirks_that_are_known_of_it() {
    let profile = backend().device_profile();
    if profile.name.starts_with("llvmpipe") {
        assert!(profile.is_software);
        assert_eq!(profile.quirks.max_loop_iterations, Some(65_535));
        assert!(!profile.quirks.flushes_subnormals);
    }
}

/// A program whose loops run `trips` times each, one after the other.
fn loops(count: u32, literal: Option<u32>) -> vyre_foundation::check::Checked<vyre_foundation::ir::Program> {
    Kernel::build("loops", |k| {
        let trips = k.param::<u32>("trips");
        let out = k.write_only::<u32>("out", 1_u64);
        k.workgroups([1], [1_u64], |_| {
            let state = k.var("state", 1_u32);
            for _ in 0..count {
                let body =
                    || state.set((state.get() * 1_664_525_u32 + 1_013_904_223_u32) ^ (state.get() >> 7_u32));
                match literal {
                    Some(n) => k.for_(0_u32, n, |_| body()),
                    None => k.for_(0_u32, trips, |_| body()),
                }
            }
            out.store(0_u32, state.get());
        });
    })
    .unwrap()
}

#[test]
fn long_loops_give_the_right_answer_or_a_typed_limit() {
    let limit = backend().device_profile().quirks.max_loop_iterations;
    for (count, trips) in [(1, 70_000_u32), (3, 30_000), (1, 60_000), (2, 20_000)] {
        for literal in [None, Some(trips)] {
            let config = DispatchConfig::default().param("trips", trips);
            let result = backend().dispatch_checked(&loops(count, literal), &[], &config);
            if limit.is_some_and(|limit| count * trips > limit) {
                let error = result.unwrap_err();
                let typed = match literal {
                    Some(_) => matches!(error, BackendError::Unsupported { .. }),
                    None => matches!(error, BackendError::LoopLimit { .. }),
                };
                assert!(typed, "{count} × {trips}: {error}");
            } else {
                let expected = (0..count * trips).fold(1_u32, |state, _| {
                    state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223) ^ (state >> 7)
                });
                assert_eq!(result.unwrap(), [words([expected])], "{count} × {trips}");
            }
        }
    }
}

#[test]
fn a_launch_that_breaks_the_contract_runs_the_guarded_kernel() {
    let shifted = Kernel::build("shifted", |k| {
        let by = k.param::<u32>("by");
        let x = k.read_only::<u32>("x");
        let y = k.write_only::<u32>("y", x.len());
        k.domain([x.len()], |[i]| y.store(i, x.load(i + by) + 1));
    })
    .unwrap();
    let backend = WgpuBackend::acquire().unwrap();
    let run = |by: u32| {
        let config = DispatchConfig::default().param("by", by);
        backend.dispatch_checked(&shifted, &[&words(10..100)], &config).unwrap()
    };
    let variants = || backend.stats().guarded_variants;
    assert_eq!(run(0), [words(11..101)]);
    assert_eq!(variants(), 0);
    // Beyond the end it reads 0; 2^32 - 1 wraps to the element before.
    assert_eq!(run(3), [words((14..101).chain([1; 3]))]);
    assert_eq!(run(u32::MAX), [words([1].into_iter().chain(11..100))]);
    assert_eq!(run(0), [words(11..101)]);
    assert_eq!(variants(), 1);
}
