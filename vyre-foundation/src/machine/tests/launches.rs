//! Shapes of launches, ids, sizes of zero, refused inputs.

use vyre_spec::{DataType, Value};

use super::{bytes, output, run_clean, words};
use crate::build::Kernel;
use crate::launch::{LaunchError, Params};
use crate::machine::{MachineError, MachineOptions, run};

#[test]
fn a_domain_of_three_axes_visits_each_point_once() {
    let program = Kernel::build("test", |k| {
        let out = k.write_only::<u32>("out", 5 * 7 * 11);
        k.domain([5, 7, 11], |[x, y, z]| out.store(x + y * 5u32 + z * 35u32, x + y * 100u32 + z * 10_000u32));
    })
    .unwrap();
    let want: Vec<u32> = (0..11)
        .flat_map(|z| (0..7).flat_map(move |y| (0..5).map(move |x| x + y * 100 + z * 10_000)))
        .collect();
    assert_eq!(output(&run_clean(&program, &Params::new(), &[])), want);
}

#[test]
fn workgroup_ids_follow_from_size_and_count() {
    let program = Kernel::build("test", |k| {
        let out = k.write_only::<u32>("out", 3 * 2 * 2 * 2);
        k.workgroups([3, 2, 1], [2, 1, 2], |g| {
            let [gx, gy, gz] = g.global_id;
            let at = gx + gy * 6u32 + gz * 12u32;
            out.store(
                at,
                g.local_index
                    + g.id[0] * 10u32
                    + g.id[2] * 100u32
                    + g.count[0] * 1000u32
                    + g.count[2] * 10_000u32,
            );
        });
    })
    .unwrap();
    let row = |y: u32, z: u32| (0..6).map(move |x| x % 3 + y * 3 + x / 3 * 10 + z * 100 + 22_000);
    let want: Vec<u32> = (0..2).flat_map(|z| (0..2).flat_map(move |y| row(y, z))).collect();
    assert_eq!(output(&run_clean(&program, &Params::new(), &[])), want);
}

#[test]
fn counts_can_be_replaced_for_a_dispatch() {
    let program = Kernel::build("test", |k| {
        let x = k.read_write::<u32>("x");
        k.workgroups([2], [1], |g| x.store(g.global_id[0], g.count[0]));
    })
    .unwrap();
    let zero = bytes(&[0; 6]);
    let at = |counts| {
        let options = MachineOptions { counts, ..MachineOptions::default() };
        words(&run(&program, &Params::new(), &[&zero], &options).unwrap().outputs[0])
    };
    assert_eq!(at(None), [1, 1, 0, 0, 0, 0]);
    assert_eq!(at(Some([2, 1, 1])), [2, 2, 2, 2, 0, 0]);
    assert_eq!(at(Some([0, 1, 1])), [0; 6]);
}

#[test]
fn nothing_of_zero_size_is_special() {
    let copy = Kernel::build("test", |k| {
        let x = k.read_only::<u32>("x");
        let out = k.write_only::<u32>("out", x.len());
        k.domain([x.len()], |[i]| out.store(i, x.load(i)));
    })
    .unwrap();
    let outcome = run(&copy, &Params::new(), &[&[]], &MachineOptions::default()).unwrap();
    assert_eq!(outcome.outputs, [Vec::<u8>::new()]);

    // A domain with points, and an empty output and input.
    let program = Kernel::build("test", |k| {
        let x = k.read_only::<u32>("x");
        let out = k.read_write::<u32>("out");
        k.domain([3], |[i]| out.store(i, x.load(i) + out.load(i)));
    })
    .unwrap();
    let outcome = run(&program, &Params::new(), &[&[], &[]], &MachineOptions::default()).unwrap();
    assert_eq!(outcome.outputs, [Vec::<u8>::new()]);

    // One empty axis, the other two as large as they get.
    let params = Params::new().with("n", Value::new(0u32));
    let wide = Kernel::build("test", |k| {
        let n = k.param::<u32>("n");
        let out = k.write_only::<u32>("out", 1);
        let most = k.extent(u64::from(u32::MAX));
        k.domain([most, most, k.extent(n)], |[i, _, _]| out.store(i, 1u32));
    })
    .unwrap();
    assert_eq!(output(&run_clean(&wide, &params, &[])), [0]);
}

#[test]
fn a_launch_that_cannot_be_counted_is_refused() {
    let program = Kernel::build("test", |k| {
        let out = k.write_only::<u32>("out", 1);
        k.domain([u64::from(u32::MAX); 3], |[i, _, _]| out.store(i, 1u32));
    })
    .unwrap();
    let refused = run(&program, &Params::new(), &[], &MachineOptions::default());
    assert!(matches!(refused, Err(MachineError::Launch(LaunchError::TooLarge { .. }))), "{refused:?}");
}

#[test]
fn a_huge_output_is_refused_before_it_is_allocated() {
    let program = Kernel::build("test", |k| {
        let out = k.write_only::<u32>("out", u64::from(u32::MAX));
        k.domain([1], |[i]| out.store(i, 1u32));
    })
    .unwrap();
    let refused = run(&program, &Params::new(), &[], &MachineOptions::default());
    assert!(
        matches!(&refused, Err(MachineError::Memory { what, bytes: 0x7_FFFF_FFF8, .. }) if what == "out"),
        "{refused:?}"
    );
}

#[test]
fn inputs_are_refused_by_name() {
    let program = Kernel::build("test", |k| {
        let n = k.param::<u32>("n");
        let x = k.read_only::<u32>("x").with_len(n);
        let y = k.read_write::<u32>("y");
        k.domain([n], |[i]| y.store(i, x.load(i)));
    })
    .unwrap();
    let three = Params::new().with("n", Value::new(3u32));
    let go =
        |params: &Params, inputs: &[&[u8]]| match run(&program, params, inputs, &MachineOptions::default()) {
            Err(MachineError::Launch(error)) => error,
            other => panic!("{other:?}"),
        };
    assert_eq!(go(&three, &[&[0; 12]]), LaunchError::InputCount { needs: 2, names: "x, y".into(), got: 1 });
    assert_eq!(
        go(&three, &[&[0; 16], &[]]),
        LaunchError::BufferLength { buffer: "x".into(), needs: 3, needs_bytes: 12, got_bytes: 16 }
    );
    assert_eq!(
        go(&three, &[&[0; 12], &[0; 7]]),
        LaunchError::PartialElement { buffer: "y".into(), got: 7, element: DataType::U32, size: 4 }
    );
    assert_eq!(
        go(&Params::new(), &[&[0; 12], &[]]),
        LaunchError::MissingParam { name: "n".into(), ty: DataType::U32 }
    );
    let float = Params::new().with("n", Value::new(3.0f32));
    assert_eq!(
        go(&float, &[&[0; 12], &[]]),
        LaunchError::ParamType { name: "n".into(), needs: DataType::U32, got: DataType::F32 }
    );
    let more = three.clone().with("m", Value::new(3u32));
    assert_eq!(
        go(&more, &[&[0; 12], &[]]),
        LaunchError::UnknownParam { name: "m".into(), known: vec!["n".into()] }
    );
}

#[test]
fn threads_do_not_change_a_result() {
    let program = Kernel::build("test", |k| {
        let x = k.read_write::<u32>("x");
        let tile = k.shared::<u32>("tile", 64);
        k.workgroups([64], [x.len().extent().ceil_div(64)], |g| {
            let i = g.global_id[0];
            tile.store(g.local_index, x.load(i));
            k.barrier(vyre_spec::MemoryOrdering::Workgroup);
            let v = k.var("v", tile.load(63u32 - g.local_index));
            k.for_(0u32, 50u32, |n| v.set(v.get() * 31u32 + n));
            k.if_(v.get().lt(1u32 << 20u32), || k.trap(3, i));
            x.store(i, v.get());
        });
    })
    .unwrap();
    let input = bytes(&(0..64 * 300).collect::<Vec<u32>>());
    let at = |threads| {
        let options = MachineOptions { threads, ..MachineOptions::default() };
        run(&program, &Params::new(), &[&input], &options).unwrap()
    };
    let one = at(1);
    assert!(one.trap.is_some());
    assert_eq!(at(5), one);
}
