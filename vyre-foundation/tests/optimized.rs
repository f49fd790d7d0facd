//! Optimised programs do what they did: kernels on the reference machine, before and after passes in the
//! table's order and in shuffled ones.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by a panic")]

use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_foundation::launch::Params;
use vyre_foundation::machine::{MachineOptions, run};
use vyre_foundation::opt::{PASSES, optimize};
use vyre_spec::{MemoryOrdering, Value};

/// Each kernel takes `n` and reads `input`, and changes `data`.
fn kernels() -> Vec<Checked<Program>> {
    let collatz = Kernel::build("collatz", |k| {
        let n = k.param::<u32>("n");
        let input = k.read_only::<u32>("input");
        let data = k.read_write::<u32>("data");
        k.domain([n], |[i]| {
            let (x, steps, unused) = (k.var("x", input.load(i)), k.var("steps", 0u32), k.var("unused", i));
            k.while_(
                || x.get().gt(1) & steps.get().lt(50),
                || {
                    unused.set(x.get() + steps.get());
                    let odd = (x.get() & 1).eq(1);
                    k.if_else(odd, || x.set(x.get() * 3 + 1), || x.set((x.get() >> 1) | 0));
                    k.if_(x.get().eq(7) & true, || k.continue_());
                    steps.set(steps.get() + 1);
                },
            );
            data.store(i, steps.get() + x.get() * 1000 + input.load(i));
        });
    });
    let jumps = Kernel::build("jumps", |k| {
        let n = k.param::<u32>("n");
        let input = k.read_only::<u32>("input");
        let data = k.read_write::<u32>("data");
        k.domain([n], |[i]| {
            let sum = k.var("sum", 0u32);
            k.for_(0u32, 20u32, |j| {
                // A local of the trip, which must not keep the last one's value.
                let local = k.var("local", j);
                k.if_(input.load(j % n).eq(j), || k.break_());
                k.if_(j.lt(i), || {
                    local.set(local.get() * 2);
                    k.if_(local.get().gt(8), || k.continue_());
                    sum.set(sum.get() + local.get());
                });
                k.for_step(j, 0u32, 1u32, |_| sum.set(0u32));
                k.for_step(j, 20u32, 0u32, |_| sum.set(0u32));
                sum.set(sum.get() + local.get() + k.lit(3u32) * 4);
            });
            k.if_(sum.get().lt(40), || {
                data.store(i, sum.get());
                k.return_();
            });
            data.store(i, data.load(i) + data.load(i) + sum.get());
        });
    });
    let floats = Kernel::build("floats", |k| {
        let n = k.param::<u32>("n");
        let input = k.read_only::<u32>("input");
        let data = k.read_write::<u32>("data");
        k.domain([n], |[i]| {
            let x = input.load(i).convert::<f32>() - 4.0;
            let zero = k.lit(0.0f32) * -1.0;
            let y = (x + 1e20) - 1e20 + zero + x * 1.0 + k.lit(1.5f32).floor();
            let z = x.eq(x).select(-(-y), zero / (zero + 0.0));
            data.store(i, (z.min(x) + z.max(x * 0.0)).bitcast::<u32>());
        });
    });
    let reduction = Kernel::build("reduction", |k| {
        let n = k.param::<u32>("n");
        let input = k.read_only::<u32>("input");
        let data = k.read_write::<u32>("data");
        let tile = k.shared::<u32>("tile", 8);
        k.workgroups([8], [n.extent().ceil_div(8)], |group| {
            let me = group.local_index;
            tile.store(me, input.load(group.global_id[0]));
            let stride = k.var("stride", 4u32);
            k.while_(
                || stride.get().gt(0),
                || {
                    k.barrier(MemoryOrdering::Workgroup);
                    k.if_(me.lt(stride.get()), || {
                        tile.store(me, tile.load(me) + tile.load(me + stride.get()));
                    });
                    stride.set(stride.get() >> 1);
                },
            );
            k.if_(me.eq(0), || {
                data.atomic_add(0u32, tile.load(0u32));
                data.atomic_max(1u32, tile.load(0u32));
            });
        });
    });
    [collatz, jumps, floats, reduction].map(Result::unwrap).into()
}

fn outputs(program: &Checked<Program>) -> Vec<Vec<u8>> {
    let words = |values: &[u32]| values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let input = words(&[3, 7, 27, 0, 1, 9, 2, 6, 11, 4, 5]);
    let data = words(&[5, 4, 3, 2, 1, 0, 9, 8, 7, 6, 5]);
    let params = Params::new().with("n", Value::new(11u32));
    run(program, &params, &[&input, &data], &MachineOptions::default()).unwrap().outputs
}

#[test]
fn the_table_keeps_the_meaning_of_kernels() {
    for program in kernels() {
        let optimized = optimize(&program);
        assert_ne!(*optimized, *program, "{} has work for the passes", program.name());
        assert_eq!(outputs(&optimized), outputs(&program), "{:#?}", *optimized);
        assert_eq!(*optimize(&optimized), *optimized, "{} is settled", program.name());
    }
}

#[test]
fn passes_keep_the_meaning_of_kernels_in_any_order() {
    for program in kernels() {
        let want = outputs(&program);
        for seed in 1..=16u64 {
            // A linear congruential sequence; its high bits choose the passes.
            let mut state = seed;
            let mut current = program.clone();
            let mut order = Vec::new();
            for _ in 0..6 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let pass = &PASSES[(state >> 33) as usize % PASSES.len()];
                order.push(pass.name);
                current = pass.run(&current);
            }
            assert_eq!(outputs(&current), want, "{} by {order:?}, seed {seed}", program.name());
        }
    }
}
