//! Programs with grid barriers on the device, against results worked out here.

#![allow(clippy::unwrap_used, reason = "a failure here fails the test")]

use vyre_driver::{BackendError, DispatchConfig, VyreBackend};
use vyre_driver_wgpu::WgpuBackend;
use vyre_foundation::build::Kernel;
use vyre_foundation::check::{Checked, check};
use vyre_foundation::ir::Program;
use vyre_foundation::launch::Params;
use vyre_foundation::text::parse;
use vyre_spec::MemoryOrdering::{GridSync, Workgroup};
use vyre_spec::Value;

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// Dispatches with one input, optimised and not; gives the first output.
fn run(program: &Checked<Program>, params: &Params, input: &[u32]) -> Vec<u32> {
    let backend = WgpuBackend::shared().unwrap();
    let dispatch = |unoptimized| {
        let config = DispatchConfig { params: params.clone(), unoptimized, ..DispatchConfig::default() };
        words(&backend.dispatch_checked(program, &[&bytes(input)], &config).unwrap()[0])
    };
    let optimized = dispatch(false);
    assert_eq!(optimized, dispatch(true));
    optimized
}

fn trips(n: u32) -> Params {
    Params::new().with("n", Value::new(n))
}

#[test]
fn the_backend_splits_and_says_so() {
    let backend = WgpuBackend::shared().unwrap();
    assert!(!backend.supports_grid_sync());
    assert!(backend.allows_host_grid_sync_split());
}

/// An inclusive scan: log2 steps over the whole grid, each reading what other workgroups wrote in the last.
#[test]
fn prefix_sums_over_the_grid() {
    let program = Kernel::build("scan", |k| {
        let rounds = k.param::<u32>("n");
        let x = k.read_write::<u32>("x");
        k.workgroups([64], [x.len().extent().ceil_div(64)], |g| {
            let i = g.global_id[0];
            k.for_(0u32, rounds, |round| {
                let distance = k.lit(1u32) << round;
                let near = x.load(i);
                let far = x.load(i - distance);
                k.barrier(GridSync);
                k.if_(i.ge(distance), || x.store(i, near + far));
                k.barrier(GridSync);
            });
        });
    })
    .unwrap();
    for len in [1u32, 63, 64, 65, 1000, 5000] {
        let input: Vec<u32> = (0..len).map(|i| i % 7 + 1).collect();
        let want: Vec<u32> = input
            .iter()
            .scan(0, |sum, x| {
                *sum += x;
                Some(*sum)
            })
            .collect();
        assert_eq!(run(&program, &trips(u32::BITS - len.leading_zeros()), &input), want, "{len}");
    }
}

/// A reduction in two phases, with the partial sums in a buffer of their own.
#[test]
fn a_reduction_in_two_phases_is_one_dispatch() {
    let program = Kernel::build("sum", |k| {
        let x = k.read_only::<u32>("x");
        let groups = x.len().extent().ceil_div(32);
        let partial = k.write_only::<u32>("total", 1);
        let sums = k.read_write::<u32>("sums").with_len(64);
        let tile = k.shared::<u32>("tile", 32);
        k.workgroups([32], [groups], |g| {
            let lane = g.local_index;
            let reduce = || {
                for distance in [16u32, 8, 4, 2, 1] {
                    k.barrier(Workgroup);
                    k.if_(lane.lt(distance), || {
                        tile.store(lane, tile.load(lane) + tile.load(lane + distance))
                    });
                }
                k.barrier(Workgroup);
            };
            tile.store(lane, x.load(g.global_id[0]));
            reduce();
            k.if_(lane.eq(0u32), || sums.store(g.id[0], tile.load(0u32)));
            k.barrier(GridSync);
            tile.store(lane, sums.load(lane) + sums.load(lane + 32u32));
            reduce();
            k.if_(g.global_id[0].eq(0u32), || partial.store(0u32, tile.load(0u32)));
        });
    })
    .unwrap();
    let backend = WgpuBackend::shared().unwrap();
    for len in [1u32, 32, 33, 2048] {
        let input: Vec<u32> = (1..=len).collect();
        let outputs = backend
            .dispatch_checked(&program, &[&bytes(&input), &[0; 256]], &DispatchConfig::default())
            .unwrap();
        assert_eq!(words(&outputs[0]), [len * (len + 1) / 2], "{len}");
    }
}

/// Jacobi steps: each point becomes the rounded mean of its neighbours, the ends stay.
fn jacobi() -> Checked<Program> {
    Kernel::build("jacobi", |k| {
        let n = k.param::<u32>("n");
        let x = k.read_write::<u32>("x");
        k.workgroups([64], [x.len().extent().ceil_div(64)], |g| {
            let i = g.global_id[0];
            let inside = i.gt(0u32) & (i + 1u32).lt(x.len());
            k.for_(0u32, n, |_| {
                let mean = (x.load(i - 1u32) + x.load(i + 1u32)) / 2u32;
                k.barrier(GridSync);
                k.if_(inside, || x.store(i, mean));
                k.barrier(GridSync);
            });
        });
    })
    .unwrap()
}

fn jacobi_on_the_host(mut x: Vec<u32>, n: u32) -> Vec<u32> {
    for _ in 0..n {
        let old = x.clone();
        for (new, around) in x.iter_mut().skip(1).zip(old.windows(3)) {
            *new = (around[0] + around[2]) / 2;
        }
    }
    x
}

#[test]
fn jacobi_steps_take_any_number_of_trips() {
    let program = jacobi();
    let input: Vec<u32> = (0..300).map(|i| (i * 7919) % 10_007).collect();
    for n in [0, 1, 2, 7, 100] {
        assert_eq!(run(&program, &trips(n), &input), jacobi_on_the_host(input.clone(), n), "{n} steps");
    }
}

/// Case C12: 20,000 grid barriers in one run.
#[test]
fn ten_thousand_trips_are_one_submission() {
    let program = jacobi();
    let input: Vec<u32> = (0..130).map(|i| (i * 7919) % 10_007).collect();
    let config = DispatchConfig { params: trips(10_000), ..DispatchConfig::default() };
    let backend = WgpuBackend::shared().unwrap();
    let got = backend.dispatch_checked(&program, &[&bytes(&input)], &config).unwrap();
    assert_eq!(words(&got[0]), jacobi_on_the_host(input, 10_000));
}

/// Case C12: grids far above what any device runs at once, and above its limit of workgroups on an axis.
#[test]
fn grids_may_be_larger_than_what_runs_at_once() {
    let program = Kernel::build("reverse", |k| {
        let x = k.read_write::<u32>("x");
        let table = k.private::<u32>("table", 2);
        let tile = k.shared::<u32>("tile", 4);
        k.workgroups([4], [x.len().extent().ceil_div(4)], |g| {
            let i = g.global_id[0];
            let own = x.load(i);
            table.store(own % 2u32, own);
            tile.store(g.local_index, own);
            k.barrier(GridSync);
            x.store(x.len() - 1u32 - i, own + table.load(0u32) + tile.load(3u32 - g.local_index));
        });
    })
    .unwrap();
    for len in [4u32, 4096, 300_000] {
        let input: Vec<u32> = (0..len).collect();
        let value = |i: u32| i + if i.is_multiple_of(2) { i } else { 0 } + (i / 4 * 4 + 3 - i % 4);
        let want: Vec<u32> = (0..len).rev().map(value).collect();
        assert_eq!(run(&program, &Params::new(), &input), want, "{len}");
    }
}

#[test]
fn loops_and_branches_nest() {
    let program = Kernel::build("nest", |k| {
        let n = k.param::<u32>("n");
        let x = k.read_write::<u32>("x");
        k.workgroups([32], [x.len().extent().ceil_div(32)], |g| {
            let i = g.global_id[0];
            let all = k.var("all", 0u32);
            k.for_(0u32, n, |outer| {
                k.for_step(outer, 4u32, 2u32, |inner| {
                    let next = x.load((i + 1u32) % x.len());
                    k.barrier(GridSync);
                    k.if_else(
                        ((outer + inner) % 2u32).eq(0u32),
                        || {
                            x.store(i, next + inner);
                            k.barrier(GridSync);
                            all.set(all.get() + x.load((i + 2u32) % x.len()));
                        },
                        || all.set(all.get() + outer),
                    );
                    k.barrier(GridSync);
                });
            });
            x.store(i, x.load(i) + all.get());
        });
    })
    .unwrap();
    for n in [0u32, 1, 2, 5] {
        let len = 100;
        let mut x: Vec<u32> = (0..len).map(|i| i * i).collect();
        let input = x.clone();
        let mut all = vec![0u32; len as usize];
        for outer in 0..n {
            for inner in (outer..4).step_by(2) {
                if (outer + inner) % 2 == 0 {
                    x.rotate_left(1);
                    x.iter_mut().for_each(|w| *w += inner);
                    for (i, all) in all.iter_mut().enumerate() {
                        *all += x[(i + 2) % len as usize];
                    }
                } else {
                    all.iter_mut().for_each(|all| *all += outer);
                }
            }
        }
        let want: Vec<u32> = x.iter().zip(&all).map(|(x, all)| x + all).collect();
        assert_eq!(run(&program, &trips(n), &input), want, "{n}");
    }
}

/// The branch depends on memory, so the device takes it, and its kernels say which invocations run.
#[test]
fn the_device_takes_branches_that_the_host_cannot() {
    let program = Kernel::build("device_branch", |k| {
        let flags = k.uniform::<u32>("flags");
        let x = k.read_write::<u32>("x").with_len(64);
        k.workgroups([32], [2], |g| {
            let i = g.global_id[0];
            k.for_(0u32, flags.len(), |trip| {
                k.if_else(
                    flags.load(trip).gt(0u32),
                    || {
                        let far = x.load(63u32 - i);
                        k.barrier(GridSync);
                        x.store(i, far + 1u32);
                    },
                    || x.store(i, x.load(i) * 2u32),
                );
                k.barrier(GridSync);
            });
        });
    })
    .unwrap();
    let flags = [1u32, 0, 0, 7, 1];
    let mut want: Vec<u32> = (0..64).collect();
    let input = want.clone();
    for flag in flags {
        if flag > 0 {
            want.reverse();
            want.iter_mut().for_each(|w| *w += 1);
        } else {
            want.iter_mut().for_each(|w| *w *= 2);
        }
    }
    let backend = WgpuBackend::shared().unwrap();
    let inputs: [&[u8]; 2] = [&bytes(&flags), &bytes(&input)];
    let outputs = backend.dispatch_checked(&program, &inputs, &DispatchConfig::default()).unwrap();
    assert_eq!(words(&outputs[0]), want);
}

#[test]
fn a_trap_of_any_kernel_is_the_dispatchs() {
    let program = Kernel::build("trap", |k| {
        let n = k.param::<u32>("n");
        let x = k.read_write::<u32>("x");
        k.workgroups([4], [1], |g| {
            k.for_(0u32, 3u32, |trip| {
                x.store(g.global_id[0], trip);
                k.barrier(GridSync);
                k.if_(trip.eq(n) & g.local_index.eq(2u32), || k.trap(40, trip + 5u32));
            });
        });
    })
    .unwrap();
    let backend = WgpuBackend::shared().unwrap();
    let run = |n| {
        let config = DispatchConfig { params: trips(n), ..DispatchConfig::default() };
        backend.dispatch_checked(&program, &[&[0; 16]], &config)
    };
    assert_eq!(run(1).unwrap_err(), BackendError::Trap { code: 40, invocation: 2, address: 6 });
    assert_eq!(words(&run(9).unwrap()[0]), [2; 4]);
}

#[test]
fn what_cannot_be_unrolled_or_kept_is_refused() {
    let backend = WgpuBackend::shared().unwrap();
    let by_memory = Kernel::build("by_memory", |k| {
        let limit = k.uniform::<u32>("limit").with_len(1);
        k.workgroups([4], [1], |_| k.for_(0u32, limit.load(0u32), |_| k.barrier(GridSync)));
    })
    .unwrap();
    let refused = backend.dispatch_checked(&by_memory, &[&[0; 4]], &DispatchConfig::default()).unwrap_err();
    assert!(matches!(refused, BackendError::GridSyncTripCount { .. }), "{refused}");
    assert!(refused.to_string().contains("does not know its end"), "{refused}");
    let config = DispatchConfig { params: trips(u32::MAX), ..DispatchConfig::default() };
    let refused = backend.dispatch_checked(&jacobi(), &[&[0; 16]], &config).unwrap_err();
    assert!(matches!(refused, BackendError::Limit { .. }), "{refused}");
    let large = Kernel::build("large", |k| {
        let n = k.param::<u32>("n");
        let x = k.read_write::<u32>("x");
        let table = k.private::<u32>("table", 1 << 12);
        k.workgroups([256], [n], |g| {
            table.store(g.local_index, x.load(0u32));
            k.barrier(GridSync);
            x.atomic_add(0u32, table.load(g.local_index));
        });
    })
    .unwrap();
    let config = DispatchConfig { params: trips(1 << 24), unoptimized: true, ..DispatchConfig::default() };
    let refused = backend.dispatch_checked(&large, &[&[0; 16]], &config).unwrap_err();
    // 2^24 workgroups of 256 invocations, 2^12 words each.
    assert!(matches!(refused, BackendError::Limit { value, .. } if value == 1 << 46), "{refused}");
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
    assert_eq!(run(&program, &Params::new(), &halves(&x)), halves(&wide_sums(&x)));
}

#[test]
fn a_barrier_with_nothing_behind_it_needs_no_memory() {
    let text = "program last {
        buffer x: readwrite u32[];
        launch workgroups(2) size(8) {
            let at = workgroup_id.x * 8 + local_index;
            let loaded = load x[at];
            store x[at] = loaded + 1u32;
            if loaded >= 7u32 {
                BARRIERS
            }
        }
    }";
    let x: Vec<u32> = (0..16).collect();
    let want: Vec<u32> = (1..17).collect();
    for barriers in
        ["barrier grid_sync;", "barrier grid_sync; barrier grid_sync;", "return; barrier grid_sync;"]
    {
        let program = parse(&text.replace("BARRIERS", barriers)).unwrap().0;
        // What cannot be reached may be refused, but by the checker.
        if let Ok(program) = check(program) {
            assert_eq!(run(&program, &Params::new(), &x), want, "{barriers}");
        }
    }
}
