//! Loops, branches, variables.

use vyre_spec::TRAP_LOOP_LIMIT;

use super::{bytes, output, per_point, run_clean, words};
use crate::build::Kernel;
use crate::launch::Params;
use crate::machine::{MachineOptions, TrapRecord, run};

#[test]
fn counted_loops_make_the_trips_that_their_bounds_say() {
    // Trips of 0, 1, 2 and 7, and a step that does not divide the range.
    for (start, end, step, sum) in [
        (0u32, 0u32, 1u32, 0u32),
        (3, 4, 1, 3),
        (3, 5, 1, 7),
        (0, 7, 1, 21),
        (1, 10, 4, 1 + 5 + 9),
        (0, 8, 4, 4),
        (5, 3, 1, 0),
        (0, 5, 0, 0),
        // The variable would wrap past the end.
        (u32::MAX - 2, u32::MAX, 2, u32::MAX - 2),
        (u32::MAX - 1, u32::MAX, 7, u32::MAX - 1),
    ] {
        let got = per_point(1, |k, _| {
            let total = k.var("total", 0u32);
            k.for_step(start, end, step, |i| total.set(total.get() + i));
            total.get()
        });
        assert_eq!(got, [sum], "{start}..{end} step {step}");
    }
}

#[test]
fn signed_loops_count_through_zero_and_refuse_steps_that_are_not_positive() {
    for (start, end, step, trips) in [
        (-3i32, 3i32, 2i32, 3u32),
        (i32::MIN, i32::MIN + 1, 1, 1),
        (i32::MIN, i32::MAX, i32::MAX, 3),
        (0, 10, -1, 0),
        (i32::MAX - 1, i32::MAX, i32::MAX, 1),
    ] {
        let got = per_point(1, |k, _| {
            let total = k.var("total", 0u32);
            k.for_step(start, end, step, |_| total.set(total.get() + 1u32));
            total.get()
        });
        assert_eq!(got, [trips], "{start}..{end} step {step}");
    }
}

#[test]
fn break_and_continue_concern_the_innermost_loop() {
    // First statement is a break; the counter after a continue; both in nested ifs.
    let got = per_point(4, |k, i| {
        let count = k.var("count", 0u32);
        k.for_(0u32, 7u32, |_| k.break_());
        k.for_(0u32, 7u32, |a| {
            k.if_(a.eq(i), || {
                k.if_(i.gt(1u32), || k.break_());
                k.continue_();
            });
            k.for_(0u32, 10u32, |b| {
                k.if_(b.eq(2u32), || k.break_());
                count.set(count.get() + 1u32);
            });
            count.set(count.get() + 100u32);
        });
        count.get()
    });
    // Points 0 and 1 skip one of 7 trips; 2 and 3 leave after 2 and 3 trips. A trip adds 2 + 100.
    assert_eq!(got, [6 * 102, 6 * 102, 2 * 102, 3 * 102]);
}

#[test]
fn a_continue_of_a_while_runs_its_head_again() {
    let got = per_point(1, |k, _| {
        let (heads, odd) = (k.var("heads", 0u32), k.var("odd", 0u32));
        k.while_(
            || {
                heads.set(heads.get() + 1u32);
                heads.get().lt(10u32)
            },
            || {
                k.if_((heads.get() & 1u32).eq(0u32), || k.continue_());
                odd.set(odd.get() + 1u32);
            },
        );
        heads.get() * 100u32 + odd.get()
    });
    // The head runs for 1 to 10, the condition fails at 10; bodies 1, 3, 5, 7, 9 count.
    assert_eq!(got, [1005]);
}

#[test]
fn a_variable_declared_in_a_loop_starts_anew_each_trip() {
    let got = per_point(1, |k, _| {
        let total = k.var("total", 0u32);
        k.for_(0u32, 7u32, |_| {
            let own = k.var("own", 5u32);
            own.set(own.get() + 1u32);
            total.set(total.get() + own.get());
        });
        total.get()
    });
    assert_eq!(got, [7 * 6]);
}

#[test]
fn a_get_keeps_the_value_that_it_read() {
    let got = per_point(1, |k, _| {
        let v = k.var("v", 1u32);
        let before = v.get();
        v.set(before + 1u32);
        before * 10u32 + v.get()
    });
    assert_eq!(got, [12]);
}

#[test]
fn a_return_ends_just_its_invocation() {
    let program = Kernel::build("test", |k| {
        let out = k.write_only::<u32>("out", 4);
        k.domain([4], |[i]| {
            k.for_(0u32, 3u32, |_| k.if_(i.eq(2u32), || k.return_()));
            out.store(i, 1u32);
        });
    })
    .unwrap();
    assert_eq!(output(&run_clean(&program, &Params::new(), &[])), [1, 1, 0, 1]);
}

#[test]
fn long_and_deep_programs_run() {
    let got = per_point(2, |k, i| {
        let mut v = i;
        for _ in 0..100_000 {
            v = v + 1u32;
        }
        let total = k.var("total", v);
        for _ in 0..200 {
            k.for_(0u32, 3u32, |_| total.set(total.get() + 1u32));
        }
        total.get()
    });
    assert_eq!(got, [100_600, 100_601]);
}

#[test]
fn a_while_that_passes_its_limit_traps_and_is_left() {
    let program = Kernel::build("test", |k| {
        let limit = k.param::<u32>("limit");
        let out = k.write_only::<u32>("out", 3);
        k.domain([3], |[i]| {
            let n = k.var("n", 0u32);
            k.while_(|| n.get().lt(limit + i), || n.set(n.get() + 1u32));
            out.store(i, n.get());
        });
    })
    .unwrap();
    let options = MachineOptions { loop_limit: 1000, ..MachineOptions::default() };
    let at = |limit: u32| {
        let params = Params::new().with("limit", vyre_spec::Value::new(limit));
        let outcome = run(&program, &params, &[], &options).unwrap();
        (words(&outcome.outputs[0]), outcome.trap)
    };
    assert_eq!(at(998), (vec![998, 999, 1000], None));
    let trap = Some(TrapRecord { code: TRAP_LOOP_LIMIT, invocation: 2, address: 0 });
    assert_eq!(at(999), (vec![999, 1000, 1000], trap));
}

#[test]
fn the_first_trap_wins_and_execution_goes_on() {
    let program = Kernel::build("test", |k| {
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| {
            let v = x.load(i);
            k.if_(v.gt(10u32), || k.trap(7, v));
            x.store(i, v + 1u32);
        });
    })
    .unwrap();
    let input = bytes(&[1, 20, 30, 4]);
    let outcome = run(&program, &Params::new(), &[&input], &MachineOptions::default()).unwrap();
    assert_eq!(outcome.trap, Some(TrapRecord { code: 7, invocation: 1, address: 20 }));
    assert_eq!(words(&outcome.outputs[0]), [2, 21, 31, 5]);
}

#[test]
fn loops_of_many_trips_end_when_they_should() {
    // More than 65,535 in one loop, and in three loops together.
    let got = per_point(2, |k, i| {
        let (one, three) = (k.var("one", i), k.var("three", i));
        k.for_(0u32, 70_000u32, |_| one.set(one.get() + 1u32));
        for _ in 0..3 {
            let n = k.var("n", 0u32);
            k.while_(|| n.get().lt(30_000u32), || n.set(n.get() + 1u32));
            three.set(three.get() + n.get());
        }
        one.get() * 100_000u32 + three.get()
    });
    // 70,000 × 100,000 wraps.
    let want = |i: u64| ((70_000 + i) * 100_000 + 90_000 + i) as u32;
    assert_eq!(got, [want(0), want(1)]);
}
