//! Programs with grid barriers: results worked out here, from the reference machine too, and refusals.

use crate::interpreter::{execute_all, profile, run, run_with, without_wide};
use vyre_foundation::build::{Kernel, Workgroup};
use vyre_foundation::check::{Checked, check};
use vyre_foundation::ir::Program;
use vyre_foundation::launch::Params;
use vyre_foundation::machine::{MachineOptions, run as reference};
use vyre_foundation::text::parse;
use vyre_lower::{LowerError, lower, lower_all};
use vyre_spec::MemoryOrdering::{GridSync, Workgroup as WorkgroupOrdering};
use vyre_spec::{CompileOptions, Value};

fn count(program: &Checked<Program>) -> usize {
    lower_all(program, &profile(), &CompileOptions::default()).unwrap().kernels.len()
}

/// Runs on one `ReadWrite` buffer, and compares with the reference machine.
fn run_on(program: &Checked<Program>, params: &Params, words: &[u32]) -> Vec<u32> {
    let got = run(program, params, &[words.to_vec()]).buffers[0].clone();
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let want = reference(program, params, &[&bytes], &MachineOptions::default()).unwrap();
    let want: Vec<u32> =
        want.outputs[0].chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect();
    assert_eq!(got, want);
    got
}

/// A program over one buffer of words, an invocation for each, in workgroups of 4.
fn over_words(
    body: impl for<'k> Fn(&'k Kernel, vyre_foundation::build::ReadWrite<'k, u32>, Workgroup<'k>),
) -> Checked<Program> {
    Kernel::build("grid", |k| {
        let x = k.read_write::<u32>("x");
        k.workgroups([4], [x.len().extent().ceil_div(4)], |g| body(k, x, g));
    })
    .unwrap()
}

#[test]
fn values_variables_and_private_arrays_cross_a_barrier() {
    let program = Kernel::build("grid", |k| {
        let x = k.read_write::<u32>("x");
        let own = k.private::<i32>("own", 3);
        k.workgroups([4], [x.len().extent().ceil_div(4)], |g| {
            let i = g.global_id[0];
            let loaded = x.load(i);
            let odd = (loaded % 2u32).eq(1u32);
            let v = k.var("v", 1.5f32);
            let flag = k.var("flag", odd);
            own.store(1u32, loaded.bitcast::<i32>() * -1);
            k.if_(odd, || v.set(2.5f32));
            k.barrier(GridSync);
            x.store(x.len() - 1u32 - i, loaded + 100u32);
            k.barrier(GridSync);
            k.if_(flag.get(), || own.store(2u32, 7));
            let sum = (v.get() * 2.0f32).convert::<u32>()
                + own.load(1u32).bitcast::<u32>()
                + own.load(2u32).bitcast::<u32>();
            x.store(i, x.load(i) + sum + own.load(0u32).bitcast::<u32>());
        });
    })
    .unwrap();
    assert_eq!(count(&program), 3);
    let words: Vec<u32> = (0..12).collect();
    // x[i] is 111 - i, then 3 or 5 + 7 is added and i taken away.
    let want: Vec<u32> = (0..12).map(|i| 111 - i + if i % 2 == 1 { 12 } else { 3 } - i).collect();
    assert_eq!(run_on(&program, &Params::new(), &words), want);
}

#[test]
fn shared_arrays_keep_their_content_across_barriers() {
    for len in [4, 100] {
        let program = Kernel::build("grid", |k| {
            let x = k.read_write::<u32>("x");
            let tile = k.shared::<u32>("tile", len);
            k.workgroups([4], [x.len().extent().ceil_div(4)], |g| {
                let i = g.global_id[0];
                tile.store(g.local_index, x.load(i));
                k.barrier(GridSync);
                x.store(i, tile.load(3u32 - g.local_index) * 10u32);
                k.for_(0u32, 3u32, |_| {
                    k.barrier(GridSync);
                    tile.atomic_add(g.local_index, 1u32);
                });
                k.barrier(WorkgroupOrdering);
                x.store(i, x.load(i) + tile.load(g.local_index ^ 1u32));
            });
        })
        .unwrap();
        let words: Vec<u32> = (1..=8).collect();
        let want = [40 + 5, 30 + 4, 20 + 7, 10 + 6, 80 + 9, 70 + 8, 60 + 11, 50 + 10];
        assert_eq!(run_on(&program, &Params::new(), &words), want);
    }
}

#[test]
fn counted_loops_are_unrolled_by_the_host() {
    let program = Kernel::build("grid", |k| {
        let (start, end, step) = (k.param::<i32>("start"), k.param::<i32>("end"), k.param::<i32>("step"));
        let x = k.read_write::<u32>("x");
        k.workgroups([4], [x.len().extent().ceil_div(4)], |g| {
            k.for_step(start, end, step, |i| {
                let next = x.load((g.global_id[0] + 1u32) % x.len());
                k.barrier(GridSync);
                x.store(g.global_id[0], next + i.bitcast::<u32>());
                k.barrier(GridSync);
            });
        });
    })
    .unwrap();
    // Two kernels, whatever the trips.
    assert_eq!(count(&program), 2);
    let max = i32::MAX;
    for (start, end, step) in
        [(0, 0, 1), (0, 1, 1), (-3, 4, 2), (0, 7, 0), (0, 7, -1), (5, 3, 1), (0, 300, 1), (max - 5, max, 4)]
    {
        let params = Params::new()
            .with("start", Value::new(start))
            .with("end", Value::new(end))
            .with("step", Value::new(step));
        let mut want: Vec<u32> = (0..8).map(|i| i * i).collect();
        let words = want.clone();
        let mut i = i64::from(start);
        while step > 0 && i < i64::from(end) {
            want.rotate_left(1);
            want.iter_mut().for_each(|w| *w = w.wrapping_add(i as u32));
            i += i64::from(step);
        }
        assert_eq!(run_on(&program, &params, &words), want, "{start} {end} {step}");
    }
}

#[test]
fn branches_are_taken_by_the_host_or_by_the_device() {
    let program = Kernel::build("grid", |k| {
        let which = k.param::<u32>("which");
        let table = k.uniform::<u32>("table").with_len(2);
        let x = k.read_write::<u32>("x");
        k.workgroups([4], [x.len().extent().ceil_div(4)], |g| {
            let i = g.global_id[0];
            let other = x.len() - 1u32 - i;
            k.for_(0u32, 4u32, |trip| {
                k.if_else(
                    (trip % 2u32).eq(which),
                    || {
                        let far = x.load(other);
                        k.barrier(GridSync);
                        x.store(i, far + 1u32);
                    },
                    || {
                        k.if_else(
                            table.load(0u32).gt(trip),
                            || {
                                let far = x.load(other);
                                k.barrier(GridSync);
                                k.if_(table.load(1u32).gt(0u32), || {
                                    k.barrier(GridSync);
                                    x.store(i, far * 2u32);
                                });
                            },
                            || x.store(i, x.load(i) + 1000u32),
                        );
                    },
                );
                k.barrier(GridSync);
            });
        });
    })
    .unwrap();
    for which in [0u32, 1, 2] {
        for table in [[0u32, 0], [2, 0], [2, 1], [9, 9]] {
            let mut want: Vec<u32> = (0..8).collect();
            for trip in 0..4 {
                let reversed: Vec<u32> = want.iter().rev().copied().collect();
                if trip % 2 == which {
                    want = reversed.iter().map(|w| w + 1).collect();
                } else if table[0] > trip {
                    if table[1] > 0 {
                        want = reversed.iter().map(|w| w * 2).collect();
                    }
                } else {
                    want.iter_mut().for_each(|w| *w += 1000);
                }
            }
            let params = Params::new().with("which", Value::new(which));
            let outcome = run(&program, &params, &[table.to_vec(), (0..8).collect()]);
            assert_eq!(outcome.buffers[1], want, "{which} {table:?}");
        }
    }
}

#[test]
fn returns_and_jumps_of_unrolled_loops_hold_for_later_kernels() {
    let program = Kernel::build("grid", |k| {
        let (stop, skip, last) = (k.param::<u32>("stop"), k.param::<u32>("skip"), k.param::<u32>("last"));
        let limits = k.uniform::<u32>("limits").with_len(1);
        let x = k.read_write::<u32>("x");
        k.workgroups([4], [x.len().extent().ceil_div(4)], |g| {
            let i = g.global_id[0];
            let trips = k.var("trips", 0u32);
            k.for_(0u32, 6u32, |trip| {
                trips.set(trips.get() + 1u32);
                k.if_(trip.eq(stop), || k.break_());
                // Some invocations go to the next trip, and meet the others there.
                k.barrier(GridSync);
                k.if_(((trip + i) % 2u32).eq(skip), || k.continue_());
                x.store(i, x.load(i) + 10u32);
            });
            k.if_(limits.load(0u32).eq(last), || k.return_());
            k.barrier(GridSync);
            x.store(i, x.load(i) + trips.get());
        });
    })
    .unwrap();
    for (stop, skip, last) in [(9u32, 9u32, 9u32), (2, 9, 9), (0, 0, 9), (9, 1, 9), (3, 0, 5), (9, 9, 5)] {
        let params = Params::new()
            .with("stop", Value::new(stop))
            .with("skip", Value::new(skip))
            .with("last", Value::new(last));
        let want: Vec<u32> = (0..8)
            .map(|i| {
                let full = (0..6u32.min(stop)).filter(|trip| (trip + i) % 2 != skip).count() as u32;
                let trips = 6.min(stop + 1);
                10 * full + if last == 5 { 0 } else { trips }
            })
            .collect();
        let outcome = run(&program, &params, &[vec![5], vec![0; 8]]);
        assert_eq!(outcome.buffers[1], want, "{stop} {skip} {last}");
    }
}

#[test]
fn a_folded_grid_keeps_each_invocations_words() {
    let program = over_words(|k, x, g| {
        let kept = x.load(g.global_id[0]);
        k.barrier(GridSync);
        x.store(x.len() - 1u32 - g.global_id[0], kept);
    });
    let options = CompileOptions { fold_grid: true, ..CompileOptions::default() };
    let profile = vyre_spec::DeviceProfile { max_workgroups_per_axis: 3, ..profile() };
    let lowered = lower_all(&program, &profile, &options).unwrap();
    let outcome = execute_all(&lowered, &program, &Params::new(), &[(0..28).collect()], &profile);
    assert_eq!(outcome.buffers[0], (0..28).rev().collect::<Vec<u32>>());
}

#[test]
fn what_the_host_cannot_count_is_refused_at_its_place() {
    let refused = |program: &Checked<Program>| {
        lower_all(program, &profile(), &CompileOptions::default()).map(|_| ()).unwrap_err()
    };
    let in_while = Kernel::build("grid", |k| {
        let limit = k.uniform::<u32>("limit").with_len(1);
        k.workgroups([4], [1], |_| {
            let n = k.var("n", 0u32);
            k.while_(
                || n.get().lt(limit.load(0u32)),
                || {
                    n.set(n.get() + 1u32);
                    k.barrier(GridSync);
                },
            );
        });
    })
    .unwrap();
    let error = refused(&in_while);
    assert!(matches!(error, LowerError::GridSyncTripCount { .. }), "{error}");
    assert!(error.to_string().contains("a `while` has no trip count"), "{error}");
    let by_memory = Kernel::build("grid", |k| {
        let limit = k.uniform::<u32>("limit").with_len(1);
        k.workgroups([4], [1], |_| k.for_(0u32, limit.load(0u32), |_| k.barrier(GridSync)));
    })
    .unwrap();
    let error = refused(&by_memory);
    assert!(error.to_string().contains("the host does not know its end"), "{error}");
    let once = over_words(|k, _, _| k.barrier(GridSync));
    assert_eq!(count(&once), 1);
    let twice = over_words(|k, x, g| {
        x.store(g.global_id[0], 1u32);
        k.barrier(GridSync);
        x.store(g.global_id[0], 2u32);
    });
    let error = lower(&twice, &profile(), &CompileOptions::default()).map(|_| ()).unwrap_err();
    assert_eq!(error, LowerError::SeveralKernels { kernels: 2 });
}

#[test]
fn a_schedule_has_a_limit() {
    let program = over_words(|k, x, g| {
        k.for_(0u32, 3_000_000u32, |_| {
            x.store(g.global_id[0], 1u32);
            k.barrier(GridSync);
        });
    });
    let lowered = lower_all(&program, &profile(), &CompileOptions::default()).unwrap();
    let launch = vyre_foundation::launch::resolve(&program, &Params::new(), &[Some(16)], None).unwrap();
    let run = |_: usize, _: &[Value]| Ok::<(), vyre_lower::grid_sync::ScheduleTooLong>(());
    assert_eq!(lowered.schedule.run(&launch, [1, 1, 1], run), Err(vyre_lower::grid_sync::ScheduleTooLong));
}

/// 64-bit values of every kind cross barriers: a result, a variable, arrays, and the variable of an unrolled loop.
const WIDE: &str = "program wide {
        buffer x: readwrite u64[];
        shared tile: u64[8];
        private own: i64[2];
        launch workgroups(2, 1, 1) size(8, 1, 1) {
            let at = workgroup_id.x * 8 + local_index;
            let loaded = load x[at];
            var sum: u64 = loaded * 4294967297u64;
            store tile[local_index] = loaded + 21474836480u64;
            store own[1] = bitcast<i64>(loaded) - 30064771072i64;
            for j in 4294967296u64..4294967299u64 {
                barrier grid_sync;
                set sum = sum + j;
            }
            store x[at] = sum + tile[7 - local_index] + bitcast<u64>(own[1]) + loaded;
        }
    }";

/// What is in `x` after [`WIDE`].
fn wide_sums(x: &[u64]) -> Vec<u64> {
    let at = |i: usize| {
        let (own, other) = (x[i], x[i / 8 * 8 + 7 - i % 8]);
        let sum = own.wrapping_mul(0x1_0000_0001).wrapping_add(0x3_0000_0003);
        let own_array = own.wrapping_sub(0x7_0000_0000);
        sum.wrapping_add(other.wrapping_add(0x5_0000_0000)).wrapping_add(own_array).wrapping_add(own)
    };
    (0..x.len()).map(at).collect()
}

#[test]
fn values_of_64_bits_cross_as_two_words() {
    let program = check(parse(WIDE).unwrap().0).unwrap();
    let x: Vec<u64> = (0..16).map(|i: u64| i.wrapping_mul(0xF123_4567_89AB_CDEF)).collect();
    let halves = |x: &[u64]| x.iter().flat_map(|x| [*x as u32, (*x >> 32) as u32]).collect::<Vec<_>>();
    for profile in [profile(), without_wide(profile())] {
        let options = CompileOptions::default();
        let outcome = run_with(&program, &Params::new(), &[halves(&x)], &profile, &options);
        assert_eq!(outcome.buffers[0], halves(&wide_sums(&x)));
    }
}
