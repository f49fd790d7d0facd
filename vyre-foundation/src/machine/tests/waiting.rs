//! Barriers, shared memory, subgroups.

use vyre_spec::{FenceScope, MemoryOrdering};

use super::{bytes, output, run_clean, words};
use crate::build::Kernel;
use crate::launch::Params;
use crate::machine::{MachineError, MachineOptions, run};

#[test]
fn a_workgroup_reduces_through_shared_memory() {
    let program = Kernel::build("reduce", |k| {
        let x = k.read_only::<u32>("x");
        let out = k.write_only::<u32>("out", x.len().extent().ceil_div(64));
        let tile = k.shared::<u32>("tile", 64);
        k.workgroups([64], [x.len().extent().ceil_div(64)], |g| {
            let local = g.local_index;
            tile.store(local, x.load(g.global_id[0]));
            k.barrier(MemoryOrdering::Workgroup);
            let stride = k.var("stride", 32u32);
            k.while_(
                || stride.get().gt(0u32),
                || {
                    let s = stride.get();
                    k.if_(local.lt(s), || tile.store(local, tile.load(local) + tile.load(local + s)));
                    k.barrier(MemoryOrdering::Workgroup);
                    stride.set(s >> 1u32);
                },
            );
            k.if_(local.eq(0u32), || out.store(g.id[0], tile.load(0u32)));
        });
    })
    .unwrap();
    let x: Vec<u32> = (0..64 * 8).collect();
    // Sixty-four consecutive numbers from 64 g add to 64 × 64 g + 63 × 64 / 2.
    let want: Vec<u32> = (0..8).map(|g| 64 * 64 * g + 2016).collect();
    assert_eq!(output(&run_clean(&program, &Params::new(), &[&x])), want);
}

#[test]
fn workgroups_do_not_see_each_others_shared_memory() {
    let program = Kernel::build("test", |k| {
        let out = k.write_only::<u32>("out", 8 * 4);
        let count = k.shared::<u32>("count", 1);
        k.workgroups([4], [8], |g| {
            count.atomic_add(0u32, g.id[0] + 1u32);
            k.barrier(MemoryOrdering::Workgroup);
            out.store(g.global_id[0], count.load(0u32));
        });
    })
    .unwrap();
    let want: Vec<u32> = (0..32).map(|i| 4 * (i / 4 + 1)).collect();
    assert_eq!(output(&run_clean(&program, &Params::new(), &[])), want);
}

#[test]
fn shared_memory_starts_at_zero_in_every_workgroup() {
    let program = Kernel::build("test", |k| {
        let out = k.write_only::<u32>("out", 64);
        let tile = k.shared::<u32>("tile", 12 << 10);
        k.workgroups([4], [16], |g| {
            let seen = k.var("seen", 0u32);
            k.for_step(g.local_index, 12u32 << 10, 4u32, |i| seen.set(seen.get() | tile.load(i)));
            out.store(g.global_id[0], seen.get() + 1u32);
            k.for_step(g.local_index, 12u32 << 10, 4u32, |i| tile.store(i, i + 7u32));
        });
    })
    .unwrap();
    let outcome = run(&program, &Params::new(), &[], &MachineOptions::default()).unwrap();
    assert_eq!(words(&outcome.outputs[0]), [1; 64]);
}

#[test]
fn a_grid_barrier_lets_every_workgroup_see_all_before_it() {
    let program = Kernel::build("test", |k| {
        let x = k.read_write::<u32>("x");
        let out = k.write_only::<u32>("out", x.len());
        k.workgroups([4], [x.len().extent().ceil_div(4)], |g| {
            let i = g.global_id[0];
            k.for_(0u32, 3u32, |_| {
                x.store(i, x.load(i) * 2u32);
                k.barrier(MemoryOrdering::GridSync);
            });
            out.store(i, x.load(x.len() - 1u32 - i));
        });
    })
    .unwrap();
    let outcome = run_clean(&program, &Params::new(), &[&(0..24).collect::<Vec<u32>>()]);
    assert_eq!(words(&outcome.outputs[1]), (0..24).rev().map(|v| v * 8).collect::<Vec<u32>>());
}

#[test]
fn subgroups_reduce_scan_and_shuffle_their_own_lanes() {
    let program = Kernel::build("test", |k| {
        let out = k.write_only::<u32>("out", 4 * 8);
        k.workgroups([8], [1], |g| {
            let v = g.local_index + 1u32;
            let i = g.local_index;
            out.store(i, v.subgroup_add());
            out.store(i + 8u32, v.subgroup_exclusive_add());
            out.store(i + 16u32, v.subgroup_shuffle(g.subgroup_lane + 1u32));
            out.store(i + 24u32, g.subgroup_id * 100u32 + g.subgroup_lane * 10u32 + g.subgroup_size);
        });
    })
    .unwrap();
    let at = |subgroup_size| {
        let options = MachineOptions { subgroup_size, ..MachineOptions::default() };
        run(&program, &Params::new(), &[], &options).map(|o| words(&o.outputs[0]))
    };
    assert_eq!(
        at(4).unwrap(),
        [
            [10, 10, 10, 10, 26, 26, 26, 26],
            [0, 1, 3, 6, 0, 5, 11, 18],
            [2, 3, 4, 0, 6, 7, 8, 0],
            [4, 14, 24, 34, 104, 114, 124, 134],
        ]
        .concat()
    );
    assert_eq!(at(8).unwrap()[..8], [36; 8]);
    assert_eq!(at(16), Err(MachineError::SubgroupSize { invocations: 8, subgroup_size: 16 }));
}

#[test]
fn subgroup_ops_repeat_in_a_loop() {
    let program = Kernel::build("test", |k| {
        let trips = k.read_only::<u32>("trips");
        let out = k.write_only::<u32>("out", 8);
        k.workgroups([8], [1], |g| {
            let total = k.var("total", 0u32);
            let ones = k.var("ones", 1u32);
            k.for_(0u32, trips.load(0u32), |_| {
                ones.set(ones.get().subgroup_add());
                total.set(total.get() + ones.get());
            });
            out.store(g.local_index, total.get());
        });
    })
    .unwrap();
    let options = MachineOptions { subgroup_size: 4, ..MachineOptions::default() };
    let three = bytes(&[3]);
    let outcome = run(&program, &Params::new(), &[&three], &options).unwrap();
    // 4 + 16 + 64
    assert_eq!(words(&outcome.outputs[0]), [84; 8]);
}

#[test]
fn fences_wait_for_nobody_and_a_world_of_one_gives_its_own_values() {
    let program = Kernel::build("test", |k| {
        let out = k.write_only::<u32>("out", 4);
        k.workgroups([4], [1], |g| {
            let v = g.local_index + 3u32;
            k.if_(g.local_index.lt(2u32), || {
                k.fence(MemoryOrdering::WorkgroupAndStorage, FenceScope::Device)
            });
            let reduced = v.all_reduce_add() + v.reduce_scatter_max(0u32) * 10u32;
            out.store(g.local_index, reduced + v.all_gather(g.local_index) * 100u32 + v.broadcast(7u32));
        });
    })
    .unwrap();
    // Only invocation 0 asks for rank 0, which is the only one.
    assert_eq!(output(&run_clean(&program, &Params::new(), &[])), [333, 44, 55, 66]);
}
