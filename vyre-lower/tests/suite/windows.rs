//! Buffers that are bound as several windows.

use vyre_foundation::build::Kernel;
use vyre_foundation::check::{Checked, check};
use vyre_foundation::ir::Program;
use vyre_foundation::launch::Params;
use vyre_foundation::text::parse;
use vyre_lower::kernel::{KernelDescriptor, Op, Place, Window, verify};
use vyre_lower::{LowerError, lower};
use vyre_spec::ops::BinaryOp;
use vyre_spec::{CompileOptions, DataType, DeviceProfile, Value};

use crate::interpreter::{profile, run_with};

/// A device that binds 100 bytes at once: its windows have 64, which are 16 words.
fn small() -> DeviceProfile {
    DeviceProfile { max_storage_binding_bytes: 100, ..profile() }
}

fn windows(counts: &[u32]) -> CompileOptions {
    CompileOptions { windows: counts.to_vec(), ..CompileOptions::default() }
}

fn program(text: &str) -> Checked<Program> {
    check(parse(text).unwrap().0).unwrap()
}

/// `y[i] = 3 x[i] + 1` for every element of `y`.
fn mapped() -> Checked<Program> {
    program(
        "program mapped {
            buffer x: readonly u32[];
            buffer y: readwrite u32[];
            launch domain(len(y)) { store y[point.x] = x[point.x] * 3 + 1; }
        }",
    )
}

fn kernel() -> KernelDescriptor {
    (*lower(&mapped(), &small(), &windows(&[3, 2])).unwrap()).clone()
}

#[test]
fn every_element_of_every_window_is_where_it_belongs() {
    // 25 words are one binding, 26 are two windows; x is shorter than y, so its guards matter.
    for n in [24usize, 25, 26, 31, 32, 33, 47, 48, 49, 100] {
        for more in [0usize, 1, 20] {
            for launch_contract in [false, true] {
                let x: Vec<u32> = (0..n as u32).map(|i| i.wrapping_mul(0x9E37_79B1)).collect();
                let y = vec![77; n + more];
                let want: Vec<u32> = (0..n + more)
                    .map(|i| x.get(i).map_or(1, |x| x.wrapping_mul(3).wrapping_add(1)))
                    .collect();
                let options = CompileOptions {
                    launch_contract: launch_contract && more == 0,
                    workgroup_size: Some([4, 1, 1]),
                    ..CompileOptions::default()
                };
                let outcome = run_with(&mapped(), &Params::new(), &[x, y], &small(), &options);
                assert_eq!(outcome.buffers[1], want, "{n} and {more} more");
            }
        }
    }
}

#[test]
fn the_points_between_windows_are_right_for_vectors_and_single_elements() {
    // x[i] is a vector of four, y[i + 1] is not.
    let program = program(
        "program shifted {
            param n: u32;
            buffer x: readonly u32[100];
            buffer y: readwrite u32[101];
            launch domain(n) { store y[point.x + 1] = x[point.x]; }
        }",
    );
    let options = CompileOptions {
        launch_contract: true,
        workgroup_size: Some([3, 1, 1]),
        windows: vec![7, 7],
        ..CompileOptions::default()
    };
    let kernel = lower(&program, &small(), &options).unwrap();
    let vectors = kernel.insts.iter().filter(|inst| matches!(inst.op, Op::LoadVector { .. })).count();
    // One for each window, and the one that they stand for.
    assert_eq!(vectors, 8);
    let x: Vec<u32> = (0..100u32).map(|i| i * i + 5).collect();
    let params = Params::new().with("n", Value::new(99u32));
    let outcome = run_with(&program, &params, &[x.clone(), vec![7; 101]], &small(), &options);
    let want: Vec<u32> = [7].into_iter().chain(x[..99].iter().copied()).chain([7]).collect();
    assert_eq!(outcome.buffers[1], want);
}

#[test]
fn atomics_find_their_window_and_give_the_old_element() {
    let program = Kernel::build("count", |k| {
        let counts = k.read_write::<u32>("counts");
        let sums = k.read_write::<f32>("sums");
        let old = k.read_write::<u32>("old");
        k.domain([120], |[i]| {
            // Every third element of 40, up and over the end.
            let at = (i % 20) * 3;
            old.store(i, counts.atomic_add(at, 1));
            sums.atomic_add(at, 0.5);
        });
    })
    .unwrap();
    let buffers = [vec![10; 40], vec![0; 40], vec![9; 120]];
    let outcome = run_with(&program, &Params::new(), &buffers, &small(), &CompileOptions::default());
    let hit = |i: usize| i.is_multiple_of(3);
    let counts: Vec<u32> = (0..40).map(|i| if hit(i) { 16 } else { 10 }).collect();
    let sums: Vec<u32> = (0..40).map(|i| if hit(i) { 3f32.to_bits() } else { 0 }).collect();
    assert_eq!(outcome.buffers[0], counts);
    assert_eq!(outcome.buffers[1], sums);
    // Invocations run in order; 14 elements are in bounds, 6 beyond give 0.
    let old: Vec<u32> = (0..120u32).map(|i| if i % 20 < 14 { 10 + i / 20 } else { 0 }).collect();
    assert_eq!(outcome.buffers[2], old);
}

#[test]
fn a_constant_index_takes_no_choice() {
    let program = program(
        "program constant {
            buffer x: readonly u32[64];
            buffer y: readwrite u32[4];
            launch domain(1) { store y[0] = x[0]; store y[1] = x[15]; store y[2] = x[16]; store y[3] = x[63]; }
        }",
    );
    let kernel = lower(&program, &small(), &windows(&[4])).unwrap();
    assert!(!kernel.insts.iter().any(|inst| matches!(inst.op, Op::Binary(BinaryOp::Shr, ..))));
    let x = (100..164).collect();
    let outcome = run_with(&program, &Params::new(), &[x, vec![0; 4]], &small(), &windows(&[]));
    assert_eq!(outcome.buffers[1], [100, 115, 116, 163]);
}

#[test]
fn bindings_say_what_they_bind() {
    let kernel = kernel();
    let shown: Vec<_> = kernel.bindings.iter().map(|b| (b.name.as_str(), b.window)).take(5).collect();
    let window = |index| Some(Window { index, bytes: 64 });
    let want =
        [("x_0", window(0)), ("x_1", window(1)), ("x_2", window(2)), ("y_0", window(0)), ("y_1", window(1))];
    assert_eq!(shown, want);
    assert_eq!(kernel.bindings[2].window.unwrap().start(), 128);
    assert!(kernel.to_string().contains("`x_1`: buffer, readonly u32, window 1 of 64 bytes"), "{kernel}");
}

#[test]
fn more_windows_than_bindings_are_refused() {
    let profile = DeviceProfile { max_storage_bindings: 4, ..small() };
    let error = lower(&mapped(), &profile, &windows(&[3, 2])).unwrap_err();
    assert!(matches!(error, LowerError::Limit { value: 5, limit: 4, .. }), "{error}");
    lower(&mapped(), &profile, &windows(&[2, 2])).unwrap();
}

#[test]
fn the_verifier_knows_windows() {
    let refused = |words: &str, damage: fn(&mut KernelDescriptor)| {
        let mut kernel = kernel();
        damage(&mut kernel);
        let error = verify(kernel).expect_err(words);
        assert!(error.rule.contains(words), "{error}, where it should say: {words}");
    };
    refused("one after the other", |k| k.bindings[1].window = Some(Window { index: 2, bytes: 64 }));
    refused("one after the other", |k| k.bindings[0].window = Some(Window { index: 0, bytes: 65 }));
    refused("one after the other", |k| k.bindings[4].window = None);
    // A mask of twice the window.
    refused("masked", |k| {
        for inst in &mut k.insts {
            if inst.op == Op::Constant(Value::from_bits(DataType::U32, 15)) {
                inst.op = Op::Constant(Value::from_bits(DataType::U32, 31));
            }
        }
    });
    refused("masked", |k| {
        let whole = k.insts.iter().find_map(|inst| match inst.op {
            Op::Binary(BinaryOp::BitAnd, index, _) => Some(index),
            _ => None,
        });
        for inst in &mut k.insts {
            if let Op::Load { place: Place::Binding(_), index, .. } = &mut inst.op {
                *index = whole.unwrap();
            }
        }
    });
}
