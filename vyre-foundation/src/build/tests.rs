use vyre_spec::ops::{AtomicOp, BinaryOp, CastOp, SubgroupOp, TernaryOp, UnaryOp};
use vyre_spec::{Access, BuiltIn, DataType, MemoryOrdering, Value};

use super::{BuildError, Kernel, Val};
use crate::check::Checked;
use crate::diag::{Code, Site};
use crate::ir::{Arena, Buffer, Count, Expr, Extent, Launch, Node, Param, Place, Program, RegionId};

fn body(record: impl for<'k> FnOnce(&'k Kernel, Val<'k, u32>)) -> Checked<Program> {
    Kernel::build("test", |k| k.domain([1], |[i]| record(k, i))).unwrap()
}

fn codes(error: &BuildError) -> Vec<Code> {
    error.diagnostics().map(|d| d.code).collect()
}

#[test]
fn saxpy_is_the_program_that_the_arena_makes() {
    let built = Kernel::build("saxpy", |k| {
        let a = k.param::<f32>("a");
        let x = k.read_only::<f32>("x");
        let y = k.read_write::<f32>("y").with_len(x.len());
        k.domain([y.len()], |[i]| y.store(i, a * x.load(i) + y.load(i)));
    })
    .unwrap();

    let mut arena = Arena::new("saxpy");
    let a = arena.param(Param { name: "a".into(), ty: DataType::F32, specialize: false });
    let buffer = |name: &str, access| Buffer {
        name: name.into(),
        element: DataType::F32,
        access,
        count: Count::Bytes,
        coherent: false,
    };
    let x = arena.buffer(buffer("x", Access::ReadOnly));
    let y = arena.buffer(buffer("y", Access::ReadWrite));
    let len_x = arena.extent(Extent::Length(x));
    arena.set_count(y, Count::Extent(len_x));
    let (len_y, one) = (arena.extent(Extent::Length(y)), arena.extent(Extent::Literal(1)));
    arena.set_launch(Launch::Domain { extent: [len_y, one, one], axes: 1 });
    let i = arena.expr(Expr::BuiltIn(BuiltIn::Point(vyre_spec::Axis::X)));
    let root = RegionId::new(0);
    let load_x = arena.push(root, Node::Load { place: Place::Buffer(x), index: i });
    let load_y = arena.push(root, Node::Load { place: Place::Buffer(y), index: i });
    let a = arena.expr(Expr::Param(a));
    let (xi, yi) = (arena.expr(Expr::Result(load_x)), arena.expr(Expr::Result(load_y)));
    let ax = arena.expr(Expr::Binary(BinaryOp::Mul, a, xi));
    let value = arena.expr(Expr::Binary(BinaryOp::Add, ax, yi));
    arena.push(root, Node::Store { place: Place::Buffer(y), index: i, value });
    let (by_hand, _) = arena.finish().unwrap();
    assert_eq!(*built, by_hand);
}

#[test]
fn constants_stand_on_either_side_and_shift_amounts_are_unsigned() {
    let program = body(|k, i| {
        let out = k.read_write::<i32>("out");
        let x = i.bitcast::<i32>();
        out.store(0, 7 - x);
        out.store(1, x - 7);
        out.store(2, 1i32 << i);
        out.store(3, x >> 3);
    });
    let stored: Vec<Expr> = program
        .nodes()
        .iter()
        .filter_map(|node| match node {
            Node::Store { value, .. } => Some(*program.expr(*value)),
            _ => None,
        })
        .collect();
    let seven = Expr::Literal(Value::new(7i32));
    let operands = |expr: Expr| expr.operands().map(|e| *program.expr(e)).collect::<Vec<_>>();
    assert!(matches!(stored[0], Expr::Binary(BinaryOp::Sub, ..)) && operands(stored[0])[0] == seven);
    assert!(matches!(stored[1], Expr::Binary(BinaryOp::Sub, ..)) && operands(stored[1])[1] == seven);
    assert!(matches!(stored[2], Expr::Binary(BinaryOp::Shl, ..)));
    assert_eq!(operands(stored[3])[1], Expr::Literal(Value::new(3u32)));
}

#[test]
fn every_table_gives_methods() {
    let program = Kernel::build("tables", |k| {
        let x = k.read_only::<f32>("x");
        let out = k.read_write::<u32>("out");
        let bins = k.shared::<u32>("bins", 8);
        k.workgroups([32], [1], |group| {
            let lane = group.local_index;
            let v = x.load(lane);
            let picked = v.is_nan().select(0.0, v.fma(2.0, 1.0).clamp(0.0, 1.0)).max(-v);
            let old = bins.atomic_compare_exchange(lane, 0, picked.convert::<u32>());
            out.store(lane, old.subgroup_shuffle(lane ^ 1) + lane.subgroup_add());
        });
    })
    .unwrap();
    let exprs = program.exprs();
    let has = |wanted: fn(&Expr) -> bool| exprs.iter().any(wanted);
    assert!(has(|e| matches!(e, Expr::Unary(UnaryOp::IsNan, _))));
    assert!(has(|e| matches!(e, Expr::Unary(UnaryOp::Neg, _))));
    assert!(has(|e| matches!(e, Expr::Binary(BinaryOp::Max, ..))));
    assert!(has(|e| matches!(e, Expr::Ternary(TernaryOp::Select, ..))));
    assert!(has(|e| matches!(e, Expr::Ternary(TernaryOp::Fma, ..))));
    assert!(has(|e| matches!(e, Expr::Cast(CastOp::Convert, DataType::U32, _))));
    let atomic = program.nodes().iter().find_map(|n| match n {
        Node::Atomic { op, expected: Some(expected), .. } => Some((*op, *program.expr(*expected))),
        _ => None,
    });
    assert_eq!(atomic, Some((AtomicOp::CompareExchange, Expr::Literal(Value::new(0u32)))));
    let subgroup: Vec<_> = program
        .nodes()
        .iter()
        .filter_map(|n| match n {
            Node::Subgroup { op, lane, .. } => Some((*op, lane.is_some())),
            _ => None,
        })
        .collect();
    assert_eq!(subgroup, [(SubgroupOp::Shuffle, true), (SubgroupOp::Add, false)]);
}

#[test]
fn blocks_nest_and_statements_go_to_their_own_block() {
    let program = body(|k, i| {
        let out = k.read_write::<u32>("out");
        let sum = k.var("sum", 0u32);
        k.for_step(0, 10, 3, |j| {
            k.if_else(j.eq(i), || k.continue_(), || sum.set(sum.get() + j));
        });
        k.while_(
            || sum.get().gt(100),
            || {
                sum.set(sum.get() - 100);
                k.if_(i.eq(5), || k.break_());
            },
        );
        k.trap(3, i);
        out.store(i, sum.get());
    });
    let kinds = |region: RegionId| -> Vec<Node> {
        program.region(region).iter().map(|&id| *program.node(id)).collect()
    };
    let top = kinds(program.body());
    let [
        Node::Declare { .. },
        Node::For { step, body: each, .. },
        Node::While { head, body: repeated, .. },
        Node::Trap { code: 3, .. },
        Node::Get { .. },
        Node::Store { .. },
    ] = top[..]
    else {
        panic!("{top:?}");
    };
    assert_eq!(*program.expr(step), Expr::Literal(Value::new(3u32)));
    let [Node::If { then, otherwise, .. }] = kinds(each)[..] else { panic!() };
    assert_eq!(kinds(then), [Node::Continue]);
    assert!(matches!(kinds(otherwise)[..], [Node::Get { .. }, Node::Set { .. }]));
    assert!(matches!(kinds(head)[..], [Node::Get { .. }]));
    assert!(matches!(kinds(repeated)[..], [Node::Get { .. }, Node::Set { .. }, Node::If { .. }]));
}

#[test]
fn extents_are_host_arithmetic() {
    let program = Kernel::build("extents", |k| {
        let n = k.specialize::<u32>("n");
        let x = k.read_only::<u32>("x");
        let groups = (2 * x.len().extent() + n).ceil_div(64).max(1);
        let out = k.write_only::<u32>("out", groups);
        k.workgroups([64], [groups], |group| {
            k.if_(group.local_index.eq(0), || out.store(group.id[0], n));
        });
    })
    .unwrap();
    assert!(program.params()[0].specialize);
    let params = crate::launch::Params::new().with("n", Value::new(5u32));
    let launch = crate::launch::resolve(&program, &params, &[Some(4 * 100), None], None).unwrap();
    // ceil((2 × 100 + 5) / 64) = 4
    assert_eq!(launch.extent, [4, 1, 1]);
    assert_eq!(launch.lengths, [100, 4]);
}

#[test]
fn internal_names_are_made_unique() {
    let program = body(|_, i| {
        let twice = |v: Val<'_, u32>| {
            let t = v.kernel().var("t", v);
            t.set(t.get() * 2);
        };
        twice(i);
        twice(i);
    });
    let names: Vec<_> = program.vars().iter().map(|v| v.name.as_str()).collect();
    assert_eq!(names, ["t", "t_2"]);
}

#[test]
fn handles_of_another_kernel_are_diagnosed_where_they_are_used() {
    let mut inner = None;
    let outer = Kernel::build("outer", |k| {
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| {
            inner = Some(Kernel::build("inner", |k2| {
                let y = k2.read_write::<u32>("y");
                k2.domain([x.len()], |[j]| {
                    y.store(i, j);
                    y.store(j, j + i);
                });
            }));
            x.store(i, i);
        });
    });
    assert!(outer.is_ok());
    let error = inner.unwrap().unwrap_err();
    assert_eq!(codes(&error), [Code::MixedBuilders; 3]);
    let lines: Vec<_> = error.findings().iter().filter_map(|f| f.line).collect();
    assert!(lines.len() == 3 && lines.iter().all(|l| l.file().ends_with("build/tests.rs")));
    // Consecutive statements above.
    assert_eq!(lines[2].line(), lines[1].line() + 1);
}

#[test]
fn launches_are_counted_and_statements_need_one() {
    let none = Kernel::build("none", |k| {
        k.param::<u32>("n");
    });
    assert_eq!(codes(&none.unwrap_err()), [Code::BadLaunch]);

    let two = Kernel::build("two", |k| {
        k.domain([1], |[_]| {});
        k.domain([2], |[_]| {});
    });
    assert_eq!(codes(&two.unwrap_err()), [Code::BadLaunch]);

    let early = Kernel::build("early", |k| {
        let x = k.read_write::<u32>("x");
        let first = x.load(0);
        k.domain([x.len()], |[i]| x.store(i, first));
    });
    let error = early.unwrap_err();
    assert_eq!(codes(&error), [Code::Structure]);
    assert_eq!(error.findings()[0].diagnostic.site, Site::Program);

    let device = Kernel::build("device", |k| {
        let x = k.read_write::<u32>("x");
        k.domain([x.len() * 2], |[_]| {});
    });
    assert_eq!(codes(&device.unwrap_err()), [Code::BadLaunch]);
}

#[test]
fn a_deep_expression_needs_no_stack() {
    let program = body(|k, i| {
        let out = k.read_write::<u32>("out");
        let deep = (0..100_000u32).fold(i, |v, n| v + n);
        out.store(i, deep);
    });
    assert!(program.exprs().len() > 100_000);
}

#[test]
fn barriers_keep_their_ordering() {
    let program = Kernel::build("barrier", |k| {
        k.workgroups([8], [1], |_| k.barrier(MemoryOrdering::WorkgroupAndStorage));
    })
    .unwrap();
    assert_eq!(program.nodes(), [Node::Barrier { ordering: MemoryOrdering::WorkgroupAndStorage }]);
}

/// The codes and lines of a kernel's findings, lines counted from `start`.
fn lines(error: &BuildError, start: u32) -> Vec<(Code, Option<u32>)> {
    let line = |f: &super::Finding| (f.diagnostic.code, f.line.map(|line| line.line() - start));
    error.findings().iter().map(line).collect()
}

#[test]
fn the_checkers_findings_have_their_lines() {
    let start = line!();
    let wrong = Kernel::build("wrong", |k| {
        let x = k.read_write::<u32>("x");
        k.param::<u32>("x");
        k.domain([x.len()], |[i]| {
            let escaped = std::cell::Cell::new(i);
            k.if_(i.lt(5), || escaped.set(x.load(i)));
            x.store(i, escaped.get());
        });
    });
    let error = wrong.unwrap_err();
    assert_eq!(lines(&error, start), [(Code::DuplicateName, Some(3)), (Code::Dominance, Some(7))]);
    assert!(error.to_string().contains("build/tests.rs:"), "{error}");

    let start = line!();
    let divergent = Kernel::build("divergent", |k| {
        k.workgroups([64], [1], |group| {
            k.if_(group.local_index.lt(5), || {
                k.barrier(MemoryOrdering::Workgroup);
            });
        });
    });
    let error = divergent.unwrap_err();
    assert_eq!(lines(&error, start), [(Code::DivergentBarrier, Some(4))]);
    // The branch and what it depends on have theirs too.
    let related = error.findings()[0].related.iter().map(|line| line.map(|line| line.line() - start));
    assert_eq!(related.collect::<Vec<_>>(), [Some(3), Some(2)], "{error}");
}

/// Bit by bit, as the functions are described.
fn by_bits(a: u64, b: u64, offset: u32, count: u32, width: u32) -> [u64; 4] {
    let bit = |x: u64, i: u32| x >> i & 1;
    let n = offset % width;
    let offset = offset.min(width);
    let count = count.min(width - offset);
    let extracted = (0..count).fold(0, |r, i| r | bit(a, offset + i) << i);
    let inserted = (0..width).fold(0, |r, i| {
        let inside = i >= offset && i < offset + count;
        r | if inside { bit(b, i - offset) } else { bit(a, i) } << i
    });
    // The double-width number a:b.
    let double = |i: u32| if i < width { bit(b, i) } else { bit(a, i - width) };
    let left = (0..width).fold(0, |r, i| r | double(i + width - n) << i);
    let right = (0..width).fold(0, |r, i| r | double(i + n) << i);
    [extracted, inserted, left, right]
}

fn bit_functions<T: vyre_spec::class::Int + vyre_spec::class::Bits + vyre_spec::class::Any>() {
    let program = Kernel::build("bits", |k| {
        let [a, b] = ["a", "b"].map(|name| k.read_only::<T>(name));
        let [offset, count] = ["offset", "count"].map(|name| k.read_only::<u32>(name));
        let outs = ["extracted", "inserted", "left", "right"].map(|name| k.write_only::<T>(name, a.len()));
        k.domain([a.len()], |[i]| {
            let (a, b, offset, count) = (a.load(i), b.load(i), offset.load(i), count.load(i));
            outs[0].store(i, a.extract_bits(offset, count));
            outs[1].store(i, a.insert_bits(b, offset, count));
            outs[2].store(i, a.funnel_shl(b, offset));
            outs[3].store(i, a.funnel_shr(b, offset));
        });
    })
    .unwrap();
    let width = T::TYPE.width();
    let amounts = [0, 1, 3, width / 2, width - 1, width, width + 5, u32::MAX];
    let mut cases = Vec::new();
    for (a, b) in [(0x8123_4567_89AB_CDE7u64, 0x7FED_CBA9_8765_4395), (0, u64::MAX), (u64::MAX, 0x80)] {
        for offset in amounts {
            cases.extend(amounts.map(|count| (T::from_bits64(a), T::from_bits64(b), offset, count)));
        }
    }
    let inputs = [
        vyre_spec::to_bytes(&cases.iter().map(|c| c.0).collect::<Vec<T>>()),
        vyre_spec::to_bytes(&cases.iter().map(|c| c.1).collect::<Vec<T>>()),
        vyre_spec::to_bytes(&cases.iter().map(|c| c.2).collect::<Vec<u32>>()),
        vyre_spec::to_bytes(&cases.iter().map(|c| c.3).collect::<Vec<u32>>()),
    ];
    let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
    let options = crate::machine::MachineOptions::default();
    let outcome = crate::machine::run(&program, &crate::launch::Params::new(), &inputs, &options).unwrap();
    let got: Vec<Vec<T>> = outcome.outputs.iter().map(|b| vyre_spec::from_bytes(b).unwrap()).collect();
    for (i, &(a, b, offset, count)) in cases.iter().enumerate() {
        let mut want = by_bits(a.to_bits64(), b.to_bits64(), offset, count, width);
        let cut = count.min(width - offset.min(width));
        if T::TYPE.is_signed_int() && cut > 0 && want[0] >> (cut - 1) & 1 == 1 {
            want[0] |= u64::MAX.checked_shl(cut).unwrap_or(0);
        }
        let want = want.map(T::from_bits64);
        let got = [0, 1, 2, 3].map(|n| got[n][i]);
        assert_eq!(got, want, "{a:?}, {b:?} at {offset}, {count} bits");
    }
}

#[test]
fn fields_and_funnels_are_what_their_bits_say() {
    bit_functions::<u8>();
    bit_functions::<i16>();
    bit_functions::<u32>();
    bit_functions::<i32>();
    bit_functions::<u64>();
    bit_functions::<i64>();
}
