//! Grids and launch data at their ends, and programs that are large.

use vyre_foundation::build::Kernel;
use vyre_foundation::check::check;
use vyre_foundation::ir::{Arena, Buffer, Count, Expr, Extent, Launch, Node, Place, RegionId};
use vyre_foundation::launch::{LaunchError, Params, ResolvedLaunch};
use vyre_lower::kernel::{Grid, VerifiedKernel};
use vyre_lower::lower;
use vyre_spec::ops::BinaryOp;
use vyre_spec::{Access, Axis, BuiltIn, CompileOptions, DataType, DeviceProfile, Value};

use crate::interpreter::{profile, run, run_with};

const MAX: u32 = 65_535;

fn groups(folded: bool) -> VerifiedKernel {
    let program = Kernel::build("groups", |k| {
        let out = k.read_write::<u32>("out");
        let one = k.extent(1u64);
        k.workgroups([1, 1, 1], [one, one, one], |group| out.store(group.id[2], 1));
    })
    .unwrap();
    let options = CompileOptions { fold_grid: folded, ..CompileOptions::default() };
    lower(&program, &profile(), &options).unwrap()
}

fn launch(extent: [u64; 3]) -> ResolvedLaunch {
    ResolvedLaunch { params: Vec::new(), lengths: vec![1], extent }
}

#[test]
fn grids_fold_where_an_axis_is_too_long() {
    let plain = groups(false);
    let grid = |extent| plain.grid(&launch(extent), MAX).unwrap();
    assert_eq!(grid([65_535, 65_535, 65_535]).dispatch, [65_535; 3]);
    assert!(!grid([65_535, 65_535, 65_535]).needs_folding);
    for extent in [[65_536, 1, 1], [1, 65_536, 1], [1, 1, 65_536]] {
        assert!(grid(extent).needs_folding);
    }
    let folded = groups(true);
    for extent in
        [[65_536, 1, 1], [1, 1, 65_536], [1 << 31, 1, 1], [65_535, 65_535, 1], [1000, 1000, 4000], [3, 7, 11]]
    {
        let Grid { workgroups, dispatch, needs_folding } = folded.grid(&launch(extent), MAX).unwrap();
        assert_eq!(workgroups.map(u64::from), extent);
        assert!(!needs_folding && dispatch.iter().all(|&n| n <= MAX));
        let (total, covered): (u64, u64) =
            (extent.iter().product(), dispatch.iter().map(|&n| u64::from(n)).product());
        // Everything is covered, and no linear id passes 2^32.
        assert!(covered >= total && covered <= 1 << 32, "{extent:?} as {dispatch:?}");
    }
    let error = folded.grid(&launch([1 << 20, 1 << 20, 1]), MAX).unwrap_err();
    assert!(matches!(error, LaunchError::TooLarge { value: 0x100_0000_0000, .. }), "{error}");
}

#[test]
fn nothing_is_dispatched_for_nothing() {
    for kernel in [groups(false), groups(true)] {
        for extent in [[0, 1, 1], [1, 0, 5], [1 << 20, 1 << 20, 0]] {
            assert!(kernel.grid(&launch(extent), MAX).unwrap().is_empty());
        }
    }
}

#[test]
fn a_workgroup_that_reaches_beyond_the_domains_axes_does_each_point_once() {
    for axes in 1..=3u32 {
        let program = Kernel::build("points", |k| {
            let out = k.read_write::<u32>("out");
            match axes {
                1 => k.domain([5u64], |[i]| {
                    let _ = out.atomic_add(i, 1u32);
                }),
                2 => k.domain([5u64, 1u64], |[i, j]| {
                    let _ = out.atomic_add(i + j, 1u32);
                }),
                _ => k.domain([5u64, 1u64, 1u64], |[i, j, l]| {
                    let _ = out.atomic_add(i + j + l, 1u32);
                }),
            }
        })
        .unwrap();
        for size in [[1, 16, 1], [4, 1, 4], [7, 2, 3], [3, 1, 1]] {
            let options = CompileOptions { workgroup_size: Some(size), ..CompileOptions::default() };
            let outcome = run_with(&program, &Params::new(), &[vec![0; 6]], &profile(), &options);
            assert_eq!(outcome.buffers[0], [1, 1, 1, 1, 1, 0], "{axes} axes in {size:?}");
        }
    }
}

#[test]
fn points_are_covered_to_the_last() {
    let program = Kernel::build("points", |k| {
        let out = k.read_write::<u32>("out");
        k.domain([out.len()], |[i]| out.store(i, i));
    })
    .unwrap();
    let kernel = lower(&program, &profile(), &CompileOptions::default()).unwrap();
    let size = u64::from(kernel.workgroup_size[0] * kernel.grid.run);
    let count = |n: u64| kernel.grid(&launch([n, 1, 1]), u32::MAX).unwrap().dispatch[0];
    for groups in [1u64, 2, 65_535, 65_536] {
        assert_eq!(u64::from(count(groups * size)), groups);
        assert_eq!(u64::from(count(groups * size + 1)), groups + 1);
        assert_eq!(u64::from(count(groups * size - 1)), groups);
    }
    assert_eq!(u64::from(count(u64::from(u32::MAX))), u64::from(u32::MAX).div_ceil(size));
}

#[test]
fn launch_data_are_immediates_where_they_fit() {
    let program = Kernel::build("params", |k| {
        let out = k.read_write::<u32>("out");
        let params: Vec<_> = (0..8).map(|i| k.param::<u32>(format!("p{i}"))).collect();
        k.domain([8], |[i]| {
            let sum = params.iter().copied().reduce(|a, b| a + b).unwrap();
            out.store(i, sum);
        });
    })
    .unwrap();
    // Eight parameters, the length and the extent are ten words.
    for (bytes, immediates) in [(0, false), (39, false), (40, true), (128, true)] {
        let capabilities = profile().capabilities.with(vyre_spec::Capability::Immediates);
        let profile = DeviceProfile { max_immediate_bytes: bytes, capabilities, ..profile() };
        let kernel = lower(&program, &profile, &CompileOptions::default()).unwrap();
        assert_eq!((kernel.launch.fields.len(), kernel.launch.immediates), (10, immediates));
        assert_eq!(kernel.bindings.len(), if immediates { 1 } else { 2 });
    }
}

#[test]
fn an_expression_may_be_100_000_deep() {
    let mut arena = Arena::new("deep");
    let out = arena.buffer(Buffer {
        name: "out".into(),
        element: DataType::U32,
        access: Access::ReadWrite,
        count: Count::Bytes,
        coherent: false,
    });
    let (len, one) = (arena.extent(Extent::Length(out)), arena.extent(Extent::Literal(1)));
    arena.set_launch(Launch::Domain { extent: [len, one, one], axes: 1 });
    let index = arena.expr(Expr::BuiltIn(BuiltIn::Point(Axis::X)));
    let root = RegionId::new(0);
    let load = arena.push(root, Node::Load { place: Place::Buffer(out), index });
    let three = arena.expr(Expr::Literal(Value::new(3u32)));
    let mut value = arena.expr(Expr::Result(load));
    let mut want = 5u32;
    for i in 0..100_000 {
        let op = if i % 2 == 0 { BinaryOp::Mul } else { BinaryOp::Add };
        value = arena.expr(Expr::Binary(op, value, three));
        want = if i % 2 == 0 { want.wrapping_mul(3) } else { want.wrapping_add(3) };
    }
    arena.push(root, Node::Store { place: Place::Buffer(out), index, value });
    let program = check(arena.finish().unwrap().0).unwrap();
    let outcome = run(&program, &Params::new(), &[vec![5]]);
    assert_eq!(outcome.buffers[0], [want]);
}

#[test]
fn an_invariant_is_evaluated_once_and_outside_its_loop() {
    let program = Kernel::build("invariant", |k| {
        let out = k.read_write::<u32>("out");
        k.domain([out.len()], |[i]| {
            let sum = k.var("sum", 0u32);
            let n = out.load(i);
            k.for_(0u32, n, |j| {
                k.if_(j.gt(2), || sum.set(sum.get() + n.count_ones() * 7));
                k.if_(j.lt(2), || sum.set(sum.get() ^ (n.count_ones() * 7)));
            });
            out.store(i, sum.get());
        });
    })
    .unwrap();
    let kernel = lower(&program, &profile(), &CompileOptions::default()).unwrap();
    let text = kernel.to_string();
    assert_eq!(text.matches("count_ones").count(), 1, "{text}");
    assert!(text.find("count_ones") < text.find("loop {"), "{text}");
    // n = 5: 2 ones, 14. Trips 0 and 1 exclude each other; 3 and 4 add.
    assert_eq!(run(&program, &Params::new(), &[vec![5]]).buffers[0], [28]);
}
