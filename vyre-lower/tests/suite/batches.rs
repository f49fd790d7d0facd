//! Trips of loops that are taken together.

use vyre_foundation::check::{Checked, check};
use vyre_foundation::ir::Program;
use vyre_foundation::launch::Params;
use vyre_foundation::text::parse;
use vyre_lower::kernel::{Op, Place, Role, VerifiedKernel};
use vyre_lower::lower;
use vyre_spec::{CompileOptions, DeviceProfile, Quirks, Value};

use crate::interpreter::{profile, run, run_with};

fn program(text: &str) -> Checked<Program> {
    check(parse(text).unwrap().0).unwrap()
}

/// One workgroup of four invocations over `x` of 64 words and `y` of 64 words; `from` and `to` are given at launch.
fn group(body: &str) -> Checked<Program> {
    program(&format!(
        "program batched {{
            param from: u32;
            param to: u32;
            buffer x: readonly u32[64];
            buffer y: readwrite u32[64];
            launch workgroups(1) size(4) {{
                {body}
            }}
        }}"
    ))
}

fn x() -> Vec<u32> {
    (0..64u32).map(|i| i.wrapping_mul(2_654_435_761) >> 9).collect()
}

/// What `y`, which was 0, 1, 2 and so on, is afterwards.
fn after(program: &Checked<Program>, from: u32, to: u32) -> Vec<u32> {
    let params = Params::new().with("from", Value::new(from)).with("to", Value::new(to));
    run(program, &params, &[x(), (0..64).collect()]).buffers[1].clone()
}

fn kernel(program: &Checked<Program>) -> VerifiedKernel {
    lower(program, &profile(), &CompileOptions::default()).unwrap()
}

/// The most loads of a buffer that stand in one block with nothing put into a local, stored or branched on between them.
fn together(program: &Checked<Program>, buffer: &str) -> usize {
    let kernel = kernel(program);
    let id = program.buffer_ids().find(|&id| program.buffer(id).name == buffer).unwrap();
    let number = kernel.bindings.iter().position(|b| b.role == Role::Buffer(id)).unwrap() as u32;
    let of_block = |block: &Vec<_>| {
        let ops: Vec<Op> =
            block.iter().map(|id: &vyre_lower::kernel::InstId| kernel.insts[id.index()].op).collect();
        let runs =
            ops.split(|op| matches!(op, Op::Set(..) | Op::Store { .. } | Op::If { .. } | Op::Loop { .. }));
        let is_load = |op: &&Op| matches!(op, Op::Load { place: Place::Binding(n), .. } if *n == number);
        runs.map(|run| run.iter().filter(is_load).count()).max().unwrap_or(0)
    };
    kernel.blocks.iter().map(of_block).max().unwrap_or(0)
}

#[test]
fn a_row_of_any_length_is_added_up_in_order_with_eight_loads_under_way() {
    // A hash of the elements tells their order.
    let program = group(
        "var sum: u32 = 7;
         for i in from + local_index..to step 4 {
             let v = load x[i];
             let s = get sum;
             set sum = s * 31 + v;
         }
         let s = get sum;
         store y[local_index] = s;",
    );
    assert_eq!(together(&program, "x"), 8);
    let x = x();
    for from in [0usize, 1, 5] {
        for to in 0..64usize {
            let of_lane = |lane: usize| {
                (from + lane..to).step_by(4).fold(7u32, |sum, i| sum.wrapping_mul(31).wrapping_add(x[i]))
            };
            let want: Vec<u32> = (0..4).map(of_lane).collect();
            assert_eq!(after(&program, from as u32, to as u32)[..4], want, "{from}..{to}");
        }
    }
}

#[test]
fn known_trips_have_no_other_code_than_they_need() {
    let of = |to: u32| {
        group(&format!(
            "var sum: u32 = 0;
             for i in 0..{to} {{
                 let v = load x[i + from];
                 let s = get sum;
                 set sum = s + v;
             }}
             let s = get sum;
             store y[0] = s;"
        ))
    };
    let loads = |program: &Checked<Program>| {
        let kernel = kernel(program);
        let placed = kernel.blocks.iter().flatten().map(|id| kernel.insts[id.index()].op);
        placed.filter(|op| matches!(op, Op::Load { .. })).count()
    };
    // 8 at a time; 8, then 4 and 1; 4 at a time, then 2.
    assert_eq!([40, 13, 6].map(|to| loads(&of(to))), [8, 13, 6]);
    for to in [40u32, 13, 6, 2, 1] {
        let want = x()[3..3 + to as usize].iter().fold(0u32, |sum, v| sum.wrapping_add(*v));
        assert_eq!(after(&of(to), 3, 0)[0], want, "{to} trips");
    }
}

#[test]
fn a_load_stays_where_the_loop_may_change_what_it_reads() {
    let sums = group(
        "if local_index == 0 {
             for i in from..to {
                 let a = load y[i];
                 let b = load x[i];
                 let c = load y[i + 1];
                 store y[i + 1] = a * 3 + b + c;
             }
         }",
    );
    // Those of one trip.
    assert_eq!((together(&sums, "y"), together(&sums, "x")), (2, 8));
    for (from, to) in [(0, 0), (0, 1), (2, 9), (3, 40), (0, 63)] {
        let (x, mut want) = (x(), (0..64).collect::<Vec<u32>>());
        for i in from as usize..to as usize {
            want[i + 1] = want[i].wrapping_mul(3).wrapping_add(x[i]).wrapping_add(want[i + 1]);
        }
        assert_eq!(after(&sums, from, to), want, "{from}..{to}");
    }
}

#[test]
fn loads_at_what_was_loaded_come_first_too_but_not_at_what_a_variable_holds() {
    let gathered = group(
        "var sum: u32 = 0;
         for i in from + local_index..to step 4 {
             let at = load x[i];
             let v = load x[at & 63];
             let s = get sum;
             set sum = (s ^ v) * 5;
         }
         let s = get sum;
         store y[local_index] = s;",
    );
    assert_eq!(together(&gathered, "x"), 8);
    let chased = group(
        "var at: u32 = local_index;
         for i in from..to {
             let a = get at;
             let v = load x[(a + i) & 63];
             set at = v;
         }
         let a = get at;
         store y[local_index] = a;",
    );
    assert_eq!(together(&chased, "x"), 1);
    let x = x();
    for (from, to) in [(0usize, 0usize), (0, 30), (1, 64), (7, 21)] {
        for lane in 0..4 {
            let trips = (from + lane..to).step_by(4);
            let want = trips.fold(0u32, |sum, i| (sum ^ x[x[i] as usize & 63]).wrapping_mul(5));
            assert_eq!(after(&gathered, from as u32, to as u32)[lane], want);
            let want = (from..to).fold(lane, |at, i| x[(at + i) & 63] as usize);
            assert_eq!(after(&chased, from as u32, to as u32)[lane], want as u32);
        }
    }
}

#[test]
fn numbers_near_the_ends_of_their_type_do_not_wrap() {
    let counted = |ty: &str, step: u32| {
        group(&format!(
            "var sum: u32 = 0;
             var trips: u32 = 0;
             for i in bitcast<{ty}>(from)..bitcast<{ty}>(to) step {step}{ty} {{
                 let v = load x[bitcast<u32>(i) & 63];
                 let s = get sum;
                 set sum = s * 31 + v;
                 let t = get trips;
                 set trips = t + 1;
             }}
             let s = get sum;
             store y[0] = s;
             let t = get trips;
             store y[1] = t;"
        ))
    };
    let x = x();
    let (unsigned, signed) = (counted("u32", 3), counted("i32", 3));
    assert_eq!((together(&unsigned, "x"), together(&signed, "x")), (8, 8));
    for (from, to) in [(0u32, 0u32), (u32::MAX - 40, u32::MAX), (u32::MAX - 25, u32::MAX - 1), (9, 4)] {
        let trips: Vec<u64> = (u64::from(from)..u64::from(to)).step_by(3).collect();
        let sum = trips.iter().fold(0u32, |s, i| s.wrapping_mul(31).wrapping_add(x[(*i & 63) as usize]));
        assert_eq!(after(&unsigned, from, to)[..2], [sum, trips.len() as u32], "{from}..{to}");
    }
    for (from, to) in [(-70i32, 5i32), (i32::MAX - 41, i32::MAX), (i32::MIN, i32::MIN + 50), (3, -3)] {
        let trips: Vec<i64> = (i64::from(from)..i64::from(to)).step_by(3).collect();
        let sum = trips.iter().fold(0u32, |s, i| s.wrapping_mul(31).wrapping_add(x[(*i & 63) as usize]));
        assert_eq!(after(&signed, from as u32, to as u32)[..2], [sum, trips.len() as u32], "{from}..{to}");
    }
}

#[test]
fn a_driver_that_ends_loops_counts_fewer_iterations() {
    let program = group(
        "var sum: u32 = 0;
         for i in from..to {
             let v = load x[i & 63];
             let s = get sum;
             set sum = s + v;
         }
         let s = get sum;
         store y[0] = s;",
    );
    let limited =
        DeviceProfile { quirks: Quirks { max_loop_iterations: Some(100), ..Quirks::default() }, ..profile() };
    let run = |to: u32| {
        let params = Params::new().with("from", Value::new(0u32)).with("to", Value::new(to));
        let buffers = [x(), vec![0; 64]];
        run_with(&program, &params, &buffers, &limited, &CompileOptions::default())
    };
    // 78 times eight, then four, two and one; the last iteration of the loop only finds its end.
    let outcome = run(631);
    let want = (0..631).fold(0u32, |sum, i| sum.wrapping_add(x()[i & 63]));
    assert_eq!((outcome.buffers[1][0], outcome.trap, outcome.trips), (want, Some([0; 4]), 79));
    let outcome = run(2_000);
    assert!(outcome.trips <= 100 && outcome.trap.is_some_and(|trap| trap[0] == 1));
}
