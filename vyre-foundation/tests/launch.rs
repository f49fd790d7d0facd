//! Host arithmetic of launches: lengths, extents, parameters, and what is refused.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_foundation::launch::{LaunchError, Params, ResolvedLaunch, bind_inputs, resolve};
use vyre_spec::Value;

fn with(n: u32) -> Params {
    Params::new().with("n", Value::new(n))
}

fn launch(
    program: &Checked<Program>,
    params: &Params,
    inputs: &[&[u8]],
) -> Result<ResolvedLaunch, LaunchError> {
    resolve(program, params, &bind_inputs(program, inputs)?, None)
}

#[test]
fn counts_follow_from_bytes_parameters_and_one_another() {
    // `b` is declared before what its count refers to.
    let program = Kernel::build("test", |k| {
        let n = k.param::<u32>("n");
        let a = k.read_only::<u32>("a");
        let b = k.write_only::<u32>("b", 1);
        let c = k.write_only::<u32>("c", a.len().extent() * n.extent());
        let b = b.with_len(c.len().extent() + 3);
        k.domain([b.len().extent().ceil_div(4), k.extent(n).min(5).max(2)], |[x, _]| b.store(x, c.len()));
    })
    .unwrap();
    let resolved = launch(&program, &with(10), &[&[0; 28]]).unwrap();
    // 7 elements; 7 × 10 + 3 and 7 × 10; ceil(73 / 4) by min(10, 5).
    assert_eq!((resolved.lengths, resolved.extent), (vec![7, 73, 70], [19, 5, 1]));
    let empty = launch(&program, &with(0), &[&[]]).unwrap();
    assert_eq!((empty.lengths, empty.extent), (vec![0, 3, 0], [1, 2, 1]));
}

#[test]
fn arithmetic_that_leaves_its_range_names_what_it_was_for() {
    let program = Kernel::build("test", |k| {
        let n = k.param::<u32>("n");
        let out = k.write_only::<u32>("out", 1);
        let wide = k.extent(n) * (1 << 40);
        k.domain([wide * (1 << 30)], |[x]| out.store(x, 1u32));
    })
    .unwrap();
    assert!(launch(&program, &with(0), &[]).is_ok());
    let refused = |n: u32, program: &Checked<Program>| match launch(program, &with(n), &[]) {
        Err(LaunchError::Arithmetic { what, operation }) => (what, operation),
        other => panic!("{other:?}"),
    };
    let (what, operation) = refused(1, &program);
    assert_eq!(what, "the launch's x axis");
    assert!(operation.contains("1099511627776 * 1073741824"), "{operation}");

    let program = Kernel::build("test", |k| {
        let n = k.param::<u32>("n");
        let out = k.write_only::<u32>("out", k.extent(5) - n.extent());
        k.domain([1], |[x]| out.store(x, 1u32));
    })
    .unwrap();
    assert_eq!(launch(&program, &with(5), &[]).unwrap().lengths, [0]);
    let (what, operation) = refused(6, &program);
    assert_eq!(what, "buffer `out`");
    assert!(operation.contains("5 - 6"), "{operation}");

    let program = Kernel::build("test", |k| {
        let n = k.param::<u32>("n");
        let out = k.write_only::<u32>("out", 1);
        k.domain([k.extent(7).ceil_div(n.extent())], |[x]| out.store(x, 1u32));
    })
    .unwrap();
    assert_eq!(launch(&program, &with(2), &[]).unwrap().extent, [4, 1, 1]);
    assert_eq!(refused(0, &program).0, "the launch's x axis");
}

#[test]
fn a_negative_parameter_is_no_extent() {
    let program = Kernel::build("test", |k| {
        let n = k.param::<i32>("n");
        let out = k.write_only::<u32>("out", n.extent());
        k.domain([out.len()], |[x]| out.store(x, 1u32));
    })
    .unwrap();
    let at = |n: i32| launch(&program, &Params::new().with("n", Value::new(n)), &[]);
    assert_eq!(at(3).unwrap().extent, [3, 1, 1]);
    assert_eq!(
        at(-1).unwrap_err().to_string(),
        "the extent of buffer `out` cannot be computed: parameter `n` is negative"
    );
}

#[test]
fn ids_are_32_bits_wide() {
    let program = Kernel::build("test", |k| {
        let n = k.param::<u32>("n");
        let out = k.write_only::<u32>("out", 1);
        k.domain([k.extent(n) + 1], |[x]| out.store(x, 1u32));
    })
    .unwrap();
    assert_eq!(launch(&program, &with(u32::MAX - 1), &[]).unwrap().extent[0], u64::from(u32::MAX));
    assert_eq!(
        launch(&program, &with(u32::MAX), &[]),
        Err(LaunchError::TooLarge {
            what: "the launch's x axis".into(),
            value: 1 << 32,
            limit: u64::from(u32::MAX)
        })
    );
    let program = Kernel::build("test", |k| {
        let n = k.param::<u32>("n");
        let out = k.write_only::<u32>("out", k.extent(n) * 2);
        k.domain([1], |[x]| out.store(x, 1u32));
    })
    .unwrap();
    let refused = launch(&program, &with(1 << 31), &[]).unwrap_err();
    assert!(matches!(&refused, LaunchError::TooLarge { what, .. } if what.contains("`out`")), "{refused}");
}

#[test]
fn a_fixed_buffer_takes_just_its_bytes() {
    let program = Kernel::build("test", |k| {
        let x = k.read_write::<u32>("x").with_len(3);
        k.domain([x.len()], |[i]| x.store(i, 1u32));
    })
    .unwrap();
    assert!(launch(&program, &Params::new(), &[&[0; 12]]).is_ok());
    for wrong in [0, 8, 11, 13, 16] {
        let bytes = vec![0; wrong];
        let error = launch(&program, &Params::new(), &[&bytes]).unwrap_err();
        assert!(error.to_string().contains("`x`"), "{error}");
    }
    assert!(matches!(
        launch(&program, &Params::new(), &[]),
        Err(LaunchError::InputCount { needs: 1, got: 0, .. })
    ));
}

#[test]
fn counts_replace_those_of_workgroups_alone() {
    let groups = Kernel::build("test", |k| {
        let x = k.read_write::<u32>("x");
        k.workgroups([4], [2], |g| x.store(g.global_id[0], 1u32));
    })
    .unwrap();
    let bound = bind_inputs(&groups, &[&[]]).unwrap();
    assert_eq!(resolve(&groups, &Params::new(), &bound, Some([7, 8, 9])).unwrap().extent, [7, 8, 9]);
    let domain = Kernel::build("test", |k| {
        let x = k.read_write::<u32>("x");
        k.domain([2], |[i]| x.store(i, 1u32));
    })
    .unwrap();
    assert_eq!(resolve(&domain, &Params::new(), &bound, Some([7, 8, 9])).unwrap().extent, [2, 1, 1]);
}
