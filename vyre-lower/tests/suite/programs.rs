//! Programs lowered and run by the descriptor interpreter, against results worked out here.

use crate::interpreter::{profile, run, run_with};
use vyre_foundation::build::Kernel;
use vyre_foundation::launch::Params;
use vyre_lower::kernel::{Op, Proof, VerifiedKernel};
use vyre_lower::{LowerError, lower};
use vyre_spec::{
    Capability, CapabilitySet, CompileOptions, DeviceProfile, FenceScope, MemoryOrdering, Value,
};

fn floats(values: &[f32]) -> Vec<u32> {
    values.iter().map(|x| x.to_bits()).collect()
}

#[test]
fn saxpy_is_proven_and_right() {
    let saxpy = Kernel::build("saxpy", |k| {
        let a = k.param::<f32>("a");
        let x = k.read_only::<f32>("x");
        let y = k.read_write::<f32>("y").with_len(x.len());
        k.domain([y.len()], |[i]| y.store(i, a * x.load(i) + y.load(i)));
    })
    .unwrap();
    for n in [0usize, 1, 255, 256, 257, 1000] {
        let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let y: Vec<f32> = (0..n).map(|i| 0.5 * i as f32).collect();
        let want: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 2.0 * x + y).collect();
        let params = Params::new().with("a", Value::new(2.0f32));
        let outcome = run(&saxpy, &params, &[floats(&x), floats(&y)]);
        assert_eq!(outcome.buffers[1], floats(&want));
    }
    let kernel = lower(&saxpy, &profile(), &CompileOptions::default()).unwrap();
    let guarded = kernel.insts.iter().filter(|inst| {
        matches!(
            inst.op,
            Op::Load { proof: Proof::Guarded(_), .. } | Op::Store { proof: Proof::Guarded(_), .. }
        )
    });
    assert_eq!(guarded.count(), 0);
}

#[test]
fn accesses_out_of_bounds_read_zero_and_write_nothing() {
    let kernel = Kernel::build("shift", |k| {
        let x = k.read_only::<u32>("x");
        let y = k.read_write::<u32>("y");
        k.domain([8], |[i]| {
            let at = i.bitcast::<i32>() - 2;
            y.store(at, x.load(at + 3) + 1);
        });
    })
    .unwrap();
    let outcome = run(&kernel, &Params::new(), &[vec![10, 20, 30], vec![7; 5]]);
    // i = 0 and 1 store nowhere; x[i + 1] is 0 from the third element on.
    assert_eq!(outcome.buffers[1], [1, 1, 1, 1, 1]);
    let empty = run(&kernel, &Params::new(), &[vec![], vec![]]);
    assert_eq!(empty.buffers[1], []);
}

#[test]
fn a_histogram_counts_in_shared_memory() {
    let kernel = Kernel::build("histogram", |k| {
        let x = k.read_only::<u32>("x");
        let out = k.read_write::<u32>("out").with_len(256);
        let bins = k.shared::<u32>("bins", 256);
        k.workgroups([64], [x.len().extent().ceil_div(64)], |group| {
            k.if_(group.global_id[0].lt(x.len()), || {
                bins.atomic_add(x.load(group.global_id[0]) & 255, 1);
            });
            k.barrier(MemoryOrdering::Workgroup);
            k.for_step(group.local_index, 256, 64, |bin| {
                out.atomic_add(bin, bins.load(bin));
            });
        });
    })
    .unwrap();
    let x: Vec<u32> = (0..1000u32).map(|i| i * i % 300).collect();
    let mut want = vec![0; 256];
    for v in &x {
        want[(v & 255) as usize] += 1;
    }
    assert_eq!(run(&kernel, &Params::new(), &[x, vec![0; 256]]).buffers[1], want);
}

#[test]
fn loops_count_right_at_the_ends_of_the_range() {
    let kernel = Kernel::build("loops", |k| {
        let bounds = k.read_only::<i32>("bounds");
        let out = k.read_write::<u32>("out");
        k.domain([out.len()], |[i]| {
            let count = k.var("count", 0u32);
            let [start, end, step] = [0, 1, 2].map(|j| bounds.load(i * 3 + j));
            k.for_step(start, end, step, |_| {
                count.set(count.get() + 1);
                k.if_(count.get().ge(10), || k.break_());
            });
            out.store(i, count.get());
        });
    })
    .unwrap();
    let cases: [([i32; 3], u32); 10] = [
        ([0, 0, 1], 0),
        ([0, 7, 1], 7),
        ([0, 7, 3], 3),
        ([5, 2, 1], 0),
        ([0, 5, 0], 0),
        ([0, 5, -1], 0),
        ([i32::MAX - 2, i32::MAX, 1], 2),
        ([i32::MAX - 3, i32::MAX, 2], 2),
        ([i32::MIN, i32::MAX, i32::MAX], 3),
        ([i32::MIN, 0, 1], 10),
    ];
    let bounds = cases.iter().flat_map(|(b, _)| b.map(|x| x as u32)).collect();
    let want: Vec<u32> = cases.iter().map(|c| c.1).collect();
    assert_eq!(run(&kernel, &Params::new(), &[bounds, vec![0; 10]]).buffers[1], want);
}

#[test]
fn break_and_continue_keep_counters_and_declarations_fresh() {
    let kernel = Kernel::build("control", |k| {
        let out = k.read_write::<u32>("out");
        k.domain([out.len()], |[trips]| {
            let sum = k.var("sum", 0u32);
            k.for_(0, trips, |j| {
                // Declared anew on each trip.
                let fresh = k.var("fresh", 100u32);
                fresh.set(fresh.get() + j);
                k.if_((j & 1).eq(1), || k.continue_());
                k.if_(j.eq(4), || k.break_());
                sum.set(sum.get() + fresh.get());
            });
            k.while_(|| true, || k.break_());
            out.store(trips, sum.get());
        });
    })
    .unwrap();
    // Trips 0 and 2 add 100 and 102; trip 4 leaves.
    let want = [0, 100, 100, 202, 202, 202, 202, 202];
    assert_eq!(run(&kernel, &Params::new(), &[vec![9; 8]]).buffers[0], want);
}

#[test]
fn collatz_takes_while_loops() {
    let kernel = Kernel::build("collatz", |k| {
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| {
            let (n, steps) = (k.var("n", x.load(i)), k.var("steps", 0u32));
            k.while_(
                || n.get().gt(1),
                || {
                    let v = n.get();
                    n.set((v & 1).eq(0).select(v >> 1, v * 3 + 1));
                    steps.set(steps.get() + 1);
                },
            );
            x.store(i, steps.get());
        });
    })
    .unwrap();
    // Steps of 1, 2, 3, 6, 7, 27, from the sequence A006577.
    let outcome = run(&kernel, &Params::new(), &[vec![1, 2, 3, 6, 7, 27]]);
    assert_eq!(outcome.buffers[0], [0, 1, 7, 8, 16, 111]);
}

#[test]
fn shared_memory_reads_as_zero() {
    for len in [3u32, 64, 70, 5000] {
        let kernel = Kernel::build("zeros", |k| {
            let out = k.read_write::<u32>("out");
            let tile = k.shared::<u32>("tile", len);
            k.workgroups([8, 2], [1, 1], |group| {
                k.for_step(group.local_index, len, 16, |i| out.store(i, tile.load(i) + 1));
            });
        })
        .unwrap();
        assert_eq!(run(&kernel, &Params::new(), &[vec![9; len as usize]]).buffers[0], vec![1; len as usize]);
    }
}

#[test]
fn float_atomics_without_the_feature_compare_and_exchange() {
    let kernel = Kernel::build("sum", |k| {
        let x = k.read_only::<f32>("x");
        let sum = k.read_write::<f32>("sum");
        let old = k.read_write::<f32>("old").with_len(x.len());
        k.domain([x.len()], |[i]| {
            old.store(i, sum.atomic_add(0u32, x.load(i)));
            sum.atomic_exchange(7u32, x.load(i));
        });
    })
    .unwrap();
    let x = [1.0f32, 2.5, -4.0, 8.0];
    let outcome = run(&kernel, &Params::new(), &[floats(&x), floats(&[0.5]), vec![0; 4]]);
    assert_eq!(outcome.buffers[1], floats(&[8.0]));
    assert_eq!(outcome.buffers[2], floats(&[0.5, 1.5, 4.0, 0.0]));
}

#[test]
fn bools_are_words_in_memory() {
    let kernel = Kernel::build("bools", |k| {
        let x = k.read_only::<bool>("x");
        let flag = k.param::<bool>("flag");
        let y = k.read_write::<bool>("y");
        let scratch = k.private::<bool>("scratch", 4);
        k.domain([x.len()], |[i]| {
            scratch.store(i & 3, x.load(i));
            y.store(i, scratch.load(i & 3) ^ flag);
        });
    })
    .unwrap();
    let params = Params::new().with("flag", Value::new(true));
    let outcome = run(&kernel, &params, &[vec![0, 1, 2, 0x8000_0000], vec![5; 4]]);
    assert_eq!(outcome.buffers[1], [1, 0, 0, 0]);
}

#[test]
fn the_first_trap_is_recorded() {
    let kernel = Kernel::build("trap", |k| {
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| {
            k.if_(x.load(i).gt(100), || k.trap(17, x.load(i)));
            x.store(i, 1);
        });
    })
    .unwrap();
    let outcome = run(&kernel, &Params::new(), &[vec![1, 2, 300, 400]]);
    assert_eq!(outcome.trap, Some([1, 17, 2, 300]));
    assert_eq!(outcome.buffers[0], [1; 4]);
    assert_eq!(run(&kernel, &Params::new(), &[vec![1, 2]]).trap, Some([0; 4]));
}

#[test]
fn folded_grids_cover_every_workgroup_once() {
    let kernel = Kernel::build("cover", |k| {
        let out = k.read_write::<u32>("out");
        let (w, h) = (k.param::<u32>("w"), k.param::<u32>("h"));
        k.workgroups([2, 1], [w, h], |group| {
            let at = group.id[1] * w + group.id[0];
            k.barrier(MemoryOrdering::Storage);
            out.atomic_add(at * 2 + group.local_index, group.count[0] * 100 + group.count[1]);
        });
    })
    .unwrap();
    let line = Kernel::build("line", |k| {
        let out = k.read_write::<u32>("out");
        k.domain([out.len()], |[i]| {
            out.atomic_add(i, 1);
        });
    })
    .unwrap();
    let folded =
        CompileOptions { fold_grid: true, workgroup_size: Some([3, 1, 1]), ..CompileOptions::default() };
    for (w, h) in [(1u32, 1u32), (7, 1), (5, 3), (1, 9), (11, 11)] {
        let params = Params::new().with("w", Value::new(w)).with("h", Value::new(h));
        let few = DeviceProfile { max_workgroups_per_axis: 5, ..profile() };
        let n = (2 * w * h) as usize;
        let outcome = run_with(&kernel, &params, &[vec![0; n]], &few, &folded);
        assert_eq!(outcome.buffers[0], vec![w * 100 + h; n]);
        let outcome = run_with(&line, &Params::new(), &[vec![0; n]], &few, &folded);
        assert_eq!(outcome.buffers[0], vec![1; n]);
    }
}

#[test]
fn limits_are_typed() {
    let kernel = Kernel::build("big", |k| {
        let out = k.read_write::<u32>("out");
        k.workgroups([2048], [1], |group| out.store(group.local_index, 1));
    })
    .unwrap();
    let error = lower(&kernel, &profile(), &CompileOptions::default()).unwrap_err();
    let LowerError::Limit { value: 2048, limit: 1024, .. } = error else { panic!("{error}") };
}

#[test]
fn private_arrays_have_a_limit() {
    let arrays = |elements: [u32; 2]| {
        let kernel = Kernel::build("arrays", |k| {
            let out = k.read_write::<u32>("out");
            let [a, b] = elements.map(|n| k.private::<u32>(if n > 9 { "a" } else { "b" }, n));
            k.domain([1], |[i]| {
                a.store(i, 1u32);
                b.store(i, a.load(i));
                out.store(i, b.load(i));
            });
        });
        lower(&kernel.unwrap(), &profile(), &CompileOptions::default()).map(|_| ())
    };
    assert_eq!(arrays([16_383, 1]), Ok(()));
    let error = arrays([16_384, 1]).unwrap_err();
    let LowerError::Limit { value: 65_540, limit: 65_536, .. } = error else { panic!("{error}") };
}

#[test]
fn subgroup_ops_refuse_lanes_that_are_not() {
    let kernel = Kernel::build("lanes", |k| {
        let x = k.read_write::<u32>("x");
        let y = k.read_write::<u32>("y");
        k.workgroups([8], [1], |group| {
            let i = group.local_index;
            let v = x.load(i);
            x.store(i, v.subgroup_shuffle(group.subgroup_lane + 1) + v.subgroup_add() * 100);
            y.store(i, v.subgroup_shuffle_xor(6));
        });
    })
    .unwrap();
    let outcome = run(&kernel, &Params::new(), &[(1..9).collect(), vec![9; 8]]);
    assert_eq!(outcome.buffers[0], [1002, 1003, 1004, 1000, 2606, 2607, 2608, 2600]);
    assert_eq!(outcome.buffers[1], [0; 8]);
}

/// Distances of all sizes: what they reach beyond the subgroup's four lanes is 0.
#[test]
fn shuffles_by_large_distances_reach_no_lane() {
    let kernel = Kernel::build("distances", |k| {
        let distances = k.read_only::<u32>("distances");
        let (up, down) = (k.read_write::<u32>("up"), k.read_write::<u32>("down"));
        k.workgroups([4], [1], |group| {
            let lane = group.local_index;
            k.for_(0u32, 8u32, |j| {
                let distance = distances.load(j);
                up.store(j * 4 + lane, (lane + 1).subgroup_shuffle_up(distance));
                down.store(j * 4 + lane, (lane + 1).subgroup_shuffle_down(distance));
            });
        });
    })
    .unwrap();
    let distances = [0, 1, 3, 4, 0x7FFF_FFFF, 0x8000_0000, u32::MAX - 2, u32::MAX];
    let at = |lane: i64| if (0..4).contains(&lane) { lane as u32 + 1 } else { 0 };
    let want = |sign: i64| -> Vec<u32> {
        let of = |&distance: &u32| (0..4i64).map(move |lane| at(lane + sign * i64::from(distance)));
        distances.iter().flat_map(of).collect()
    };
    let outcome = run(&kernel, &Params::new(), &[distances.to_vec(), vec![9; 32], vec![9; 32]]);
    assert_eq!(outcome.buffers[1..], [want(-1), want(1)]);
}

#[test]
fn fences_stay_where_they_stand_or_are_refused() {
    let kernel = Kernel::build("fences", |k| {
        let out = k.read_write::<u32>("out");
        k.domain([out.len()], |[i]| {
            k.if_(i.lt(2u32), || {
                out.store(i, i + 1u32);
                k.fence(MemoryOrdering::Storage, FenceScope::Device);
            });
        });
    })
    .unwrap();
    assert_eq!(run(&kernel, &Params::new(), &[vec![9; 3]]).buffers[0], [1, 2, 9]);
    let lowered = lower(&kernel, &profile(), &CompileOptions::default()).unwrap();
    let fences =
        lowered.insts.iter().filter(|i| matches!(i.op, Op::Fence { storage: true, workgroup: false }));
    assert_eq!(fences.count(), 1);
    assert!(lowered.needs.contains(Capability::Fence));
    let without = DeviceProfile { capabilities: CapabilitySet::EMPTY, ..profile() };
    let refused = lower(&kernel, &without, &CompileOptions::default());
    assert!(
        matches!(&refused, Err(LowerError::Unsupported { missing: Some(Capability::Fence), .. })),
        "{refused:?}"
    );
}

#[test]
fn coherent_buffers_are_marked_or_refused() {
    let build = |fenced: bool| {
        Kernel::build("coherent", |k| {
            let x = k.read_write::<u32>("x").with_len(4).coherent();
            let y = k.read_write::<u32>("y").with_len(4);
            let flag = k.read_write::<u32>("flag");
            k.workgroups([1], [1], |_| {
                for i in 0..4u32 {
                    if i == 2 && fenced {
                        k.fence(MemoryOrdering::Storage, FenceScope::Device);
                        flag.atomic_add(0u32, 1u32);
                    }
                    x.store(i, y.load(i));
                }
            });
        })
        .unwrap()
    };
    let kernel = build(true);
    let lowered = lower(&kernel, &profile(), &CompileOptions::default()).unwrap();
    let coherent = lowered.bindings.iter().filter(|b| b.coherent).map(|b| b.name.as_str());
    assert_eq!(coherent.collect::<Vec<_>>(), ["x"]);
    assert!(lowered.needs.contains(Capability::CoherentStorage));
    assert!(lowered.to_string().contains("binding 0 `x`: buffer, readwrite coherent u32"), "{}", *lowered);
    let outcome = run(&kernel, &Params::new(), &[vec![0; 4], vec![4, 5, 6, 7], vec![0]]);
    assert_eq!(outcome.buffers[0], [4, 5, 6, 7]);
    // Stores on both sides of a fence are no vector; without it they are.
    let vectors = |kernel: &VerifiedKernel| {
        kernel.insts.iter().filter(|i| matches!(i.op, Op::StoreVector { .. })).count()
    };
    let unfenced = lower(&build(false), &profile(), &CompileOptions::default()).unwrap();
    assert_eq!((vectors(&lowered), vectors(&unfenced)), (0, 1));

    let others = profile().capabilities;
    let others = others.iter().filter(|&c| c != Capability::CoherentStorage);
    let without = others.fold(CapabilitySet::EMPTY, CapabilitySet::with);
    let without = DeviceProfile { capabilities: without, ..profile() };
    let refused = lower(&kernel, &without, &CompileOptions::default()).unwrap_err();
    let missing = Some(Capability::CoherentStorage);
    assert!(matches!(refused, LowerError::Unsupported { missing: m, .. } if m == missing), "{refused}");
}

#[test]
fn a_collective_of_one_device_is_the_value_of_its_own_rank() {
    let kernel = Kernel::build("world", |k| {
        let sum = k.read_write::<u32>("sum");
        let of = k.read_write::<u32>("of");
        let all = k.read_write::<u32>("all");
        k.domain([sum.len()], |[i]| {
            let v = i + 5u32;
            sum.store(i, v.all_reduce_add() + v.all_reduce_min() + v.all_reduce_max());
            of.store(i, v.all_gather(i & 1u32));
            all.store(i, v.reduce_scatter_add(i) * 100u32 + v.broadcast(0u32));
        });
    })
    .unwrap();
    let outcome = run(&kernel, &Params::new(), &[vec![0; 3], vec![0; 3], vec![0; 3]]);
    assert_eq!(outcome.buffers, [vec![15, 18, 21], vec![5, 0, 7], vec![505, 6, 7]]);
}

#[test]
fn a_return_ends_the_invocation_inside_loops() {
    let kernel = Kernel::build("search", |k| {
        let out = k.read_write::<u32>("out");
        k.domain([out.len()], |[i]| {
            k.for_(0u32, 4, |j| {
                k.for_(0u32, 4, |l| k.if_((j * 4 + l).eq(i * 3), || k.return_()));
                out.store(i, j + 1);
            });
        });
    })
    .unwrap();
    // Found at 0, 3, 6, 9, 12 and 15: what stays is the number of the rows before, if there were any.
    assert_eq!(run(&kernel, &Params::new(), &[vec![9; 6]]).buffers[0], [9, 9, 1, 2, 3, 3]);
}

#[test]
fn zeroing_is_left_out_where_writing_comes_first() {
    let program = |late: bool, neighbour: bool| {
        Kernel::build("reverse", |k| {
            let x = k.read_write::<u32>("x").with_len(8);
            let tile = k.shared::<u32>("tile", 8);
            k.workgroups([8], [1], |group| {
                let i = group.local_index;
                if late {
                    k.if_(i.lt(7), || tile.store(i, x.load(i)));
                } else {
                    tile.store(i, x.load(i));
                }
                if neighbour {
                    k.barrier(MemoryOrdering::Storage);
                } else {
                    k.barrier(MemoryOrdering::Workgroup);
                }
                x.store(i, tile.load(7 - i));
            });
        })
    };
    let barriers = |program: &_| {
        let kernel = lower(program, &profile(), &CompileOptions::default()).unwrap();
        kernel.insts.iter().filter(|inst| matches!(inst.op, Op::Barrier { .. })).count()
    };
    let plain = program(false, false).unwrap();
    assert_eq!(barriers(&plain), 1);
    let x: Vec<u32> = (1..9).collect();
    assert_eq!(run(&plain, &Params::new(), std::slice::from_ref(&x)).buffers[0], [8, 7, 6, 5, 4, 3, 2, 1]);
    let late = program(true, false).unwrap();
    assert_eq!(barriers(&late), 2);
    assert_eq!(run(&late, &Params::new(), &[x]).buffers[0], [0, 7, 6, 5, 4, 3, 2, 1]);
    // A barrier for buffers does not order the array.
    if let Ok(unordered) = program(false, true) {
        assert_eq!(barriers(&unordered), 2);
    }
}
