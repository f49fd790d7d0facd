//! Programs from the builder, lowered for two kinds of device: what lowering writes, this crate emits.

use vyre_foundation::build::Kernel as Build;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_spec::{Capability, CompileOptions, DeviceProfile, MemoryOrdering};

use super::{check_forms, snapshot};
use crate::{emit, to_wgsl};

/// A device that takes launch data in a uniform buffer, and one that has immediates.
fn profiles() -> [DeviceProfile; 2] {
    let uniform = DeviceProfile { name: "uniform".into(), ..DeviceProfile::reference() };
    let mut immediates = DeviceProfile { max_immediate_bytes: 128, ..uniform.clone() };
    immediates.capabilities = immediates.capabilities.with(Capability::Immediates);
    [uniform, immediates]
}

fn check(program: &Checked<Program>) {
    for profile in profiles() {
        for fold_grid in [false, true] {
            let options = CompileOptions { fold_grid, ..CompileOptions::default() };
            let kernel = vyre_lower::lower(program, &profile, &options).unwrap();
            let emitted = emit(&kernel).unwrap_or_else(|error| panic!("{error}"));
            check_forms(&emitted);
        }
    }
    let kernel = vyre_lower::lower(program, &profiles()[1], &CompileOptions::default()).unwrap();
    let name = format!("lowered_{}.wgsl", program.name());
    snapshot(&name, &to_wgsl(&emit(&kernel).unwrap()).unwrap());
}

#[test]
fn saxpy() {
    let program = Build::build("saxpy", |k| {
        let a = k.param::<f32>("a");
        let x = k.read_only::<f32>("x");
        let y = k.read_write::<f32>("y").with_len(x.len());
        k.domain([y.len()], |[i]| y.store(i, a * x.load(i) + y.load(i)));
    });
    check(&program.unwrap());
}

#[test]
fn histogram_with_shared_atomics() {
    let program = Build::build("histogram", |k| {
        let data = k.read_only::<u32>("data");
        let out = k.read_write::<u32>("counts").with_len(k.extent(256));
        let bins = k.shared::<u32>("bins", 256);
        k.workgroups([256], [data.len().extent().ceil_div(256)], |group| {
            let word = data.load(group.global_id[0]);
            k.for_(0u32, 4u32, |byte| {
                bins.atomic_add((word >> (byte * 8)) & 0xFF, 1u32);
            });
            k.barrier(MemoryOrdering::Workgroup);
            let local = group.local_index;
            let count = bins.load(local);
            k.if_(count.gt(0u32), || {
                out.atomic_add(local, count);
            });
        });
    });
    check(&program.unwrap());
}

#[test]
fn control_flow_and_conversions() {
    let program = Build::build("control", |k| {
        let x = k.read_only::<f32>("x");
        let flags = k.read_write::<bool>("flags").with_len(x.len());
        let out = k.read_write::<i32>("out").with_len(x.len());
        let scratch = k.private::<i32>("scratch", 5);
        k.domain([x.len()], |[i]| {
            let sum = k.var("sum", 0i32);
            let n = x.load(i).convert::<i32>();
            k.for_step(0i32, n, 3i32, |j| {
                k.if_else(
                    (j % 7).eq(3),
                    || k.continue_(),
                    || {
                        scratch.store(j, scratch.load(j) + (j / n) - (j << i));
                        sum.set(sum.get() + scratch.load(j & 3));
                    },
                );
                k.if_(sum.get().gt(1000), || k.break_());
            });
            k.while_(
                || sum.get().gt(100),
                || {
                    sum.set(sum.get() - 100);
                    k.if_(flags.load(i), || k.trap(7, i));
                },
            );
            k.if_(x.load(i).is_nan(), || k.return_());
            flags.store(i, x.load(i).ne(f32::INFINITY) & !flags.load(i));
            out.store(i, sum.get().max(i32::MIN).mul_high(3));
        });
    });
    check(&program.unwrap());
}

#[test]
fn subgroups_float_atomics_and_uniforms() {
    let program = Build::build("lanes", |k| {
        let weights = k.uniform::<f32>("weights");
        let total = k.read_write::<f32>("total");
        let counts = k.shared::<f32>("counts", 4);
        k.workgroups([64], [2], |group| {
            let lane = group.local_index;
            let w = weights.load(lane);
            let neighbour = w.subgroup_shuffle_xor(1u32);
            let index = lane.subgroup_exclusive_add();
            counts.atomic_add(index & 3, neighbour);
            k.barrier(MemoryOrdering::WorkgroupAndStorage);
            let exponential = counts.load(lane & 3).exp().fma(w, -0.0);
            let old = total.atomic_exchange(0u32, exponential);
            total.atomic_add(1u32, old / w);
        });
    });
    check(&program.unwrap());
}
