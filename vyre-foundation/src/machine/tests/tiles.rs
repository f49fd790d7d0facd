//! Tile ops: what a subgroup computes together.

use vyre_spec::{MemoryOrdering, TileLayout, TileRole, f16};

use super::{bytes, run_clean, words};
use crate::build::Kernel;
use crate::launch::Params;
use crate::machine::{Finding, MachineError, MachineOptions, run};

fn floats(values: &[f32]) -> Vec<u32> {
    values.iter().map(|x| x.to_bits()).collect()
}

/// The first output as floats.
fn output(outcome: &crate::machine::Outcome) -> Vec<f32> {
    words(&outcome.outputs[0]).into_iter().map(f32::from_bits).collect()
}

#[test]
fn each_subgroup_multiplies_its_own_tiles() {
    let program = Kernel::build("test", |k| {
        let (a, b) = (k.read_only::<f32>("a"), k.read_only::<f32>("b"));
        let c = k.write_only::<f32>("c", 8);
        let left = k.tile::<f32>("left", TileRole::A, 2, 3);
        let right = k.tile::<f32>("right", TileRole::B, 3, 2);
        let sum = k.tile::<f32>("sum", TileRole::Accumulator, 2, 2);
        k.workgroups([64], [1], |g| {
            left.load(a, g.subgroup_id * 6u32, 3);
            right.load_as(b, 0, 3, TileLayout::ColumnMajor);
            sum.fill(g.subgroup_id.convert::<f32>());
            sum.multiply_add(left, right, sum);
            sum.store(c, g.subgroup_id * 4u32, 2);
        });
    })
    .unwrap();
    let a = floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0, 1.0, 0.0, 2.0, 0.0, -1.0]);
    // Columns (7, 9, 11) and (8, 10, 12).
    let b = floats(&[7.0, 9.0, 11.0, 8.0, 10.0, 12.0]);
    let got = output(&run_clean(&program, &Params::new(), &[&a, &b]));
    // The second subgroup's rows pick 9 and 10, and 2 × 7 − 11 and 2 × 8 − 12; it adds 1.
    assert_eq!(got, [58.0, 64.0, 139.0, 154.0, 10.0, 11.0, 4.0, 5.0]);
}

#[test]
fn elementwise_ops_round_once_and_tiles_begin_at_zero() {
    let program = Kernel::build("test", |k| {
        let out = k.write_only::<f16>("out", 8);
        let (t, u) = (
            k.tile::<f16>("t", TileRole::Accumulator, 1, 2),
            k.tile::<f16>("u", TileRole::Accumulator, 1, 2),
        );
        k.workgroups([32], [1], |_| {
            t.store(out, 0, 2);
            t.fill(f16::from_f32(2048.0));
            u.fill(f16::from_f32(1.0));
            // 2049 lies between 2048 and 2050: the even one is 2048.
            t.add(t, u);
            t.store(out, 2, 2);
            t.subtract(u, t);
            t.store(out, 4, 2);
            t.scale(u, f16::from_f32(-3.0));
            t.store(out, 6, 2);
        });
    })
    .unwrap();
    let got = run_clean(&program, &Params::new(), &[]);
    let want: Vec<u8> = [0.0, 0.0, 2048.0, 2048.0, -2047.0, -2047.0, -3.0, -3.0]
        .into_iter()
        .flat_map(|x| f16::from_f32(x).to_le_bytes())
        .collect();
    // −2047 needs 11 bits: it is an f16.
    assert_eq!(got.outputs[0], want);
}

#[test]
fn elements_out_of_bounds_read_as_zero_and_are_dropped() {
    let program = Kernel::build("test", |k| {
        let x = k.read_only::<f32>("x");
        let out = k.read_write::<f32>("out");
        let t = k.tile::<f32>("t", TileRole::Accumulator, 2, 2);
        k.workgroups([32], [1], |_| {
            t.load(x, k.lit(-1i32), 2);
            t.store(out, 1, 2);
        });
    })
    .unwrap();
    let inputs = [bytes(&floats(&[5.0, 6.0])), bytes(&floats(&[1.0; 4]))];
    let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
    // Elements −1, 0, 1, 2 go to 1, 2, 3, 4.
    let outcome = run(&program, &Params::new(), &inputs, &MachineOptions::default()).unwrap();
    assert_eq!(output(&outcome), [1.0, 0.0, 5.0, 6.0]);
    let options = MachineOptions { sanitize: true, ..MachineOptions::default() };
    let reports = run(&program, &Params::new(), &inputs, &options).unwrap().reports;
    let found: Vec<_> = reports.iter().map(|r| (r.finding, r.times)).collect();
    assert!(
        matches!(
            found[..],
            [
                (Finding::OutOfBounds { index: -1, length: 2, .. }, 2),
                (Finding::OutOfBounds { index: 4, length: 4, .. }, 1)
            ]
        ),
        "{found:?}"
    );
}

#[test]
fn a_tile_that_another_lane_stored_needs_a_barrier() {
    let with = |barrier: bool| {
        let program = Kernel::build("test", |k| {
            let out = k.write_only::<f32>("out", 4);
            let s = k.shared::<f32>("s", 32);
            let t = k.tile::<f32>("t", TileRole::Accumulator, 2, 2);
            k.workgroups([32], [1], |g| {
                s.store(g.local_index, 2.0);
                if barrier {
                    k.barrier(MemoryOrdering::Workgroup);
                }
                t.load(s, 0, 2);
                t.store(out, 0, 2);
            });
        })
        .unwrap();
        let options = MachineOptions { sanitize: true, ..MachineOptions::default() };
        run(&program, &Params::new(), &[], &options).unwrap()
    };
    assert!(with(true).reports.is_empty());
    assert!(with(false).reports.iter().any(|r| matches!(r.finding, Finding::Race { .. })));
    assert_eq!(output(&with(true)), [2.0; 4]);
}

#[test]
fn a_workgroup_holds_whole_subgroups() {
    let program = Kernel::build("test", |k| {
        let out = k.write_only::<f32>("out", 4);
        let t = k.tile::<f32>("t", TileRole::Accumulator, 2, 2);
        k.workgroups([48], [1], |_| t.store(out, 0, 2));
    })
    .unwrap();
    let outcome = run(&program, &Params::new(), &[], &MachineOptions::default());
    assert_eq!(outcome, Err(MachineError::SubgroupSize { invocations: 48, subgroup_size: 32 }));
}
