//! Loops for a driver that ends all loops of a subgroup together, silently, after some iterations.

use vyre_foundation::build::{Kernel, Val};
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_foundation::launch::Params;
use vyre_lower::kernel::{KernelDescriptor, Op, Role, TRAP_LOOP_LIMIT};
use vyre_lower::{LowerError, lower};
use vyre_spec::{CompileOptions, DeviceProfile, Quirks, Value};

use crate::interpreter::{Outcome, execute, profile, run, run_with};

const LIMIT: u32 = 100;

fn limited() -> DeviceProfile {
    DeviceProfile { quirks: Quirks { max_loop_iterations: Some(LIMIT), ..Quirks::default() }, ..profile() }
}

fn run_limited(program: &Checked<Program>, params: &Params, buffers: &[Vec<u32>]) -> Outcome {
    run_with(program, params, buffers, &limited(), &CompileOptions::default())
}

/// A program over `out` whose body gets the point, the number loaded there, and an accumulator.
fn counting(body: impl for<'k> Fn(&'k Kernel, Val<'k, u32>, &dyn Fn())) -> Checked<Program> {
    Kernel::build("counting", |k| {
        let out = k.read_write::<u32>("out");
        k.domain([out.len()], |[i]| {
            let count = k.var("count", 0u32);
            body(k, out.load(i), &|| count.set(count.get() + 1));
            out.store(i, count.get());
        });
    })
    .unwrap()
}

/// Either the right result within the limit, or a trap, also within the limit.
fn right_or_trap(program: &Checked<Program>, input: &[u32]) -> bool {
    let limited = run_limited(program, &Params::new(), &[input.to_vec()]);
    assert!(limited.trips <= u64::from(LIMIT), "{} iterations", limited.trips);
    match limited.trap {
        Some([1, code, ..]) => {
            assert_eq!(code, TRAP_LOOP_LIMIT);
            false
        }
        _ => {
            assert_eq!(limited.buffers, run(program, &Params::new(), &[input.to_vec()]).buffers);
            true
        }
    }
}

#[test]
fn short_loops_are_not_counted() {
    let program = counting(|k, _, count| {
        k.for_(0u32, 4, |_| k.for_(0u32, 10, |_| count()));
        k.for_(0i32, 30, |_| count());
    });
    let kernel = lower(&program, &limited(), &CompileOptions::default()).unwrap();
    assert!(kernel.bindings.iter().all(|binding| binding.role != Role::Trap));
    assert!(right_or_trap(&program, &[0; 3]));
}

#[test]
fn a_program_that_surely_passes_the_limit_is_refused() {
    for program in [
        counting(|k, _, count| k.for_(0u32, 101, |_| count())),
        counting(|k, _, count| k.for_(0u32, 10, |_| k.for_(0u32, 10, |_| count()))),
        counting(|k, _, count| {
            k.for_(0u32, 60, |_| count());
            k.for_(0u32, 60, |_| count());
        }),
    ] {
        let error = lower(&program, &limited(), &CompileOptions::default()).unwrap_err();
        assert!(matches!(error, LowerError::LoopLimit { limit: LIMIT, .. }), "{error}");
    }
    // Not sure: the loop may be left, or not entered.
    for program in [
        counting(|k, n, count| {
            k.for_(0u32, 1000, |j| {
                k.if_(j.eq(n), || k.break_());
                count();
            });
        }),
        counting(|k, n, count| k.if_(n.gt(7), || k.for_(0u32, 1000, |_| count()))),
    ] {
        assert!(right_or_trap(&program, &[5, 3, 1]));
        assert!(!right_or_trap(&program, &[5, 5000, 1]));
    }
}

#[test]
fn one_loop_may_use_the_whole_limit() {
    let program = counting(|k, n, count| k.for_(0u32, n, |_| count()));
    assert!(right_or_trap(&program, &[97, 1, 96, 0, 3]));
    assert!(!right_or_trap(&program, &[3, 4, 101, 1]));
}

#[test]
fn loops_together_stay_within_the_limit() {
    let nested = counting(|k, n, count| {
        k.for_(0u32, n, |j| k.for_(0u32, j, |_| count()));
    });
    let sequence = counting(|k, n, count| {
        for shift in [0u32, 8, 16, 24] {
            k.for_(0u32, (n >> shift) & 255, |_| count());
        }
    });
    let whiles = counting(|k, n, count| {
        let left = k.var("left", n);
        k.while_(
            || left.get().gt(0),
            || {
                left.set(left.get() - 1);
                k.if_((left.get() & 3).eq(1), || k.continue_());
                k.for_step(0u32, left.get(), 7, |_| {
                    count();
                    k.if_((left.get() & 8).eq(0), || k.break_());
                });
            },
        );
    });
    let mut state = 12345u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    let (mut right, mut traps) = (0, 0);
    for _ in 0..200 {
        let small: Vec<u32> = (0..6).map(|_| random() % (1 + random() % 9)).collect();
        let bytes: Vec<u32> = (0..6).map(|_| random() & 0x0F07_0F07 & (random() << 8 | random())).collect();
        for ok in
            [right_or_trap(&nested, &small), right_or_trap(&sequence, &bytes), right_or_trap(&whiles, &small)]
        {
            if ok { right += 1 } else { traps += 1 }
        }
    }
    // Both happen, or the test shows nothing.
    assert!(right > 50 && traps > 50, "{right} right, {traps} traps");
}

#[test]
fn loops_that_a_workgroup_shares_add_up_once() {
    let program = Kernel::build("uniform", |k| {
        let out = k.read_write::<u32>("out");
        let n = k.param::<u32>("n");
        k.domain([out.len()], |[i]| {
            let count = k.var("count", 0u32);
            for _ in 0..3 {
                k.for_(0u32, n, |_| count.set(count.get() + 1));
            }
            out.store(i, count.get());
        });
    })
    .unwrap();
    let run = |n: u32| run_limited(&program, &Params::new().with("n", Value::new(n)), &[vec![0; 5]]);
    assert_eq!((run(31).buffers[0][0], run(31).trap), (93, Some([0; 4])));
    assert_eq!(run(40).trap.map(|t| t[1]), Some(TRAP_LOOP_LIMIT));
}

#[test]
fn a_while_without_end_is_a_trap_after_its_last_trip() {
    let program = counting(|k, n, count| {
        let left = k.var("left", n);
        k.while_(
            || left.get().ne(0),
            || {
                left.set(left.get() - 1);
                count();
            },
        );
    });
    // The limit is 2^32 - 1 trips: too many to run, so that the test puts another in its place.
    let mut kernel =
        KernelDescriptor::clone(&lower(&program, &profile(), &CompileOptions::default()).unwrap());
    let limit = |value: Value| value == Value::new(u32::MAX);
    let found = kernel.insts.iter_mut().filter(|inst| matches!(inst.op, Op::Constant(value) if limit(value)));
    let replaced = found.map(|inst| inst.op = Op::Constant(Value::new(5u32))).count();
    // The limit, the one that it subtracts, and the code of the trap are one constant.
    assert_eq!(replaced, 1);
    let at_limit = execute(&kernel, &program, &Params::new(), &[vec![0, 1, 5]], &profile());
    assert_eq!((at_limit.buffers, at_limit.trap), (vec![vec![0, 1, 5]], Some([0; 4])));
    let beyond = execute(&kernel, &program, &Params::new(), &[vec![6]], &profile());
    assert_eq!(beyond.buffers, [[5]]);
    assert!(matches!(beyond.trap, Some([1, ..])), "{:?}", beyond.trap);
}
