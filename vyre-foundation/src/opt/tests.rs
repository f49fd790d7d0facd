//! The passes: expressions against the ops' own evaluations, control and reads against the program that one
//! would write by hand.

use vyre_spec::ops::{BinaryOp, CastOp, TernaryOp, UnaryOp};
use vyre_spec::{DataType, ErrorBound, MemoryOrdering, Value};

use super::{PASSES, optimize, specialize};
use crate::build::{Kernel, Val};
use crate::check::{Checked, check};
use crate::ir::{Arena, Buffer, Count, Expr, ExprId, Extent, Node, Param, Place, Program, RegionId};
use crate::launch::{LaunchError, Params};

fn pass(name: &str, program: &Checked<Program>) -> Checked<Program> {
    PASSES.iter().find(|pass| pass.name == name).unwrap().run(program)
}

#[test]
fn the_order_of_the_table_satisfies_its_constraints() {
    for (position, pass) in PASSES.iter().enumerate() {
        for (earlier, _) in pass.after {
            let found = PASSES.iter().position(|other| other.name == *earlier);
            assert!(found.is_some_and(|found| found < position), "{} after {earlier}", pass.name);
        }
    }
}

/// Values of a type at which ops behave differently.
fn edges(ty: DataType) -> Vec<Value> {
    let bits: &[u32] = match ty {
        DataType::Bool => &[0, 1],
        DataType::F32 => &[
            0,
            0x8000_0000,
            0x3F80_0000,
            0xBF80_0000,
            0x4040_0000,
            0x7F80_0000,
            0xFF80_0000,
            0x7FC0_0000,
            0x7F7F_FFFF,
            0x3F00_0000,
        ],
        _ => &[0, 1, 2, 3, 31, 32, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0xFFFF_FFFE],
    };
    bits.iter().map(|&bits| Value::from_bits(ty, bits.into())).collect()
}

/// A program that stores an expression of parameters `p` (of type `a`) and `q` (of type `b`).
fn expression(
    a: DataType,
    b: DataType,
    make: impl FnOnce(&mut Arena, ExprId, ExprId) -> ExprId,
    result: DataType,
) -> Checked<Program> {
    let mut arena = Arena::new("expression");
    let p = arena.param(Param { name: "p".into(), ty: a, specialize: true });
    let q = arena.param(Param { name: "q".into(), ty: b, specialize: true });
    let one = arena.extent(Extent::Literal(1));
    let out = arena.buffer(Buffer {
        name: "out".into(),
        element: result,
        access: vyre_spec::Access::WriteOnly,
        count: Count::Extent(one),
        coherent: false,
    });
    let (p, q) = (arena.expr(Expr::Param(p)), arena.expr(Expr::Param(q)));
    let value = make(&mut arena, p, q);
    let index = arena.expr(Expr::Literal(Value::new(0u32)));
    arena.push(RegionId::new(0), Node::Store { place: Place::Buffer(out), index, value });
    check(arena.finish().unwrap().0).unwrap()
}

/// The expression that the program stores.
fn stored(program: &Program) -> Expr {
    match program.nodes() {
        [Node::Store { value, .. }] => *program.expr(*value),
        nodes => panic!("{nodes:?}"),
    }
}

/// The value that the program stores for these parameters, by the ops' evaluations alone.
fn evaluate(program: &Program, params: [Value; 2]) -> Value {
    let mut values: Vec<Value> = Vec::new();
    for expr in program.exprs() {
        let at = |id: ExprId| values[id.index()];
        values.push(match *expr {
            Expr::Literal(value) => value,
            Expr::Param(id) => params[id.index()],
            Expr::Unary(op, a) => op.eval(at(a)).unwrap(),
            Expr::Binary(op, a, b) => op.eval(at(a), at(b)).unwrap(),
            Expr::Ternary(op, a, b, c) => op.eval(at(a), at(b), at(c)).unwrap(),
            Expr::Cast(op, to, a) => op.eval(at(a), to).unwrap(),
            _ => panic!("{expr:?}"),
        });
    }
    match program.nodes() {
        [Node::Store { value, .. }] => values[value.index()],
        nodes => panic!("{nodes:?}"),
    }
}

/// Asserts that passes keep an expression's value for every pair of edges; NaNs agree whatever their bits.
fn keeps_values(program: &Checked<Program>, what: &str) {
    let after = optimize(program);
    for p in edges(program.params()[0].ty) {
        for q in edges(program.params()[1].ty) {
            let (want, got) = (evaluate(program, [p, q]), evaluate(&after, [p, q]));
            let same = want == got || want.is_nan() && got.is_nan();
            assert!(same, "{what}: {want:?} became {got:?} for {p:?}, {q:?} in {:?}", *after);
        }
    }
}

#[test]
fn every_binary_op_keeps_its_values_whatever_its_operands_are() {
    for &op in BinaryOp::ALL {
        for a in op.rule().operands().iter() {
            let b = op.rule().second(a);
            let result = op.rule().result(a, b).unwrap();
            let what = |form: &str| format!("{} of {a} {form}", op.name());
            if a == b {
                let itself = expression(a, b, |arena, p, _| arena.expr(Expr::Binary(op, p, p)), result);
                keeps_values(&itself, &what("of itself"));
            }
            for c in edges(b) {
                let right = |arena: &mut Arena, p: ExprId, _| {
                    let c = arena.expr(Expr::Literal(c));
                    arena.expr(Expr::Binary(op, p, c))
                };
                keeps_values(&expression(a, b, right, result), &what("with a constant"));
                if a == b {
                    let left = |arena: &mut Arena, p: ExprId, _| {
                        let c = arena.expr(Expr::Literal(c));
                        arena.expr(Expr::Binary(op, c, p))
                    };
                    keeps_values(&expression(a, b, left, result), &what("of a constant"));
                }
                if a == result {
                    let chain = |arena: &mut Arena, p: ExprId, q: ExprId| {
                        let (c, d) = (arena.expr(Expr::Literal(c)), q);
                        let first = arena.expr(Expr::Binary(op, p, c));
                        let second = arena.expr(Expr::Binary(op, first, c));
                        arena.expr(Expr::Binary(op, second, d))
                    };
                    keeps_values(&expression(a, b, chain, result), &what("in a chain"));
                }
            }
        }
    }
}

#[test]
fn unary_ops_casts_and_selections_keep_their_values() {
    for &op in UnaryOp::ALL {
        for a in op.rule().operands().iter() {
            let result = op.rule().result(a).unwrap();
            let twice = |arena: &mut Arena, p: ExprId, _| {
                let once = arena.expr(Expr::Unary(op, p));
                if op.rule().operands().contains(result) { arena.expr(Expr::Unary(op, once)) } else { once }
            };
            keeps_values(&expression(a, a, twice, result), op.name());
        }
    }
    for &op in CastOp::ALL {
        for from in DataType::ALL {
            for to in DataType::ALL.into_iter().filter(|&to| op.allows(from, to)) {
                let cast = |arena: &mut Arena, p: ExprId, _| arena.expr(Expr::Cast(op, to, p));
                keeps_values(&expression(from, from, cast, to), op.name());
            }
        }
    }
    for condition in [true, false] {
        let choose = |arena: &mut Arena, p: ExprId, q: ExprId| {
            let condition = arena.expr(Expr::Literal(Value::new(condition)));
            arena.expr(Expr::Ternary(TernaryOp::Select, condition, p, q))
        };
        let program = expression(DataType::F32, DataType::F32, choose, DataType::F32);
        keeps_values(&program, "select");
        assert!(matches!(stored(&optimize(&program)), Expr::Param(_)));
    }
}

#[test]
fn constants_fold_where_host_and_device_agree_and_only_there() {
    for &op in BinaryOp::ALL {
        for ty in op.rule().operands().iter() {
            let second = op.rule().second(ty);
            for (a, b) in edges(ty).into_iter().flat_map(|a| edges(second).into_iter().map(move |b| (a, b))) {
                let result = op.eval(a, b).unwrap();
                let make = |arena: &mut Arena, _: ExprId, _: ExprId| {
                    let (a, b) = (arena.expr(Expr::Literal(a)), arena.expr(Expr::Literal(b)));
                    arena.expr(Expr::Binary(op, a, b))
                };
                let folded = stored(&pass("fold", &expression(ty, ty, make, result.ty())));
                let agreed = (op.bound() == ErrorBound::Exact || !ty.is_float()) && !result.is_nan();
                assert_eq!(folded == Expr::Literal(result), agreed, "{} of {a:?}, {b:?}", op.name());
            }
        }
    }
    // sqrt(4.0) has an error on devices; floor(1.5) has none.
    let unary = |op, x: f32| {
        let make = |arena: &mut Arena, _: ExprId, _: ExprId| {
            let x = arena.expr(Expr::Literal(Value::new(x)));
            arena.expr(Expr::Unary(op, x))
        };
        stored(&pass("fold", &expression(DataType::F32, DataType::F32, make, DataType::F32)))
    };
    assert!(matches!(unary(UnaryOp::Sqrt, 4.0), Expr::Unary(..)));
    assert_eq!(unary(UnaryOp::Floor, 1.5), Expr::Literal(Value::new(1.0f32)));
}

#[test]
fn laws_shorten_what_they_should_and_leave_floats_alone() {
    let u32s = |make: fn(Val<'_, u32>) -> Val<'_, u32>| {
        let program = Kernel::build("laws", |k| {
            let p = k.param::<u32>("p");
            let out = k.write_only::<u32>("out", 1);
            k.domain([1], |_| out.store(0u32, make(p)));
        });
        stored(&optimize(&program.unwrap()))
    };
    let is_param = |expr: Expr| matches!(expr, Expr::Param(_));
    assert!(is_param(u32s(|p| (p + 0) * 1)));
    assert!(is_param(u32s(|p| 0 + p)));
    assert!(is_param(u32s(|p| !!p)));
    assert!(is_param(u32s(|p| (p & p) | p)));
    assert!(is_param(u32s(|p| (p - p) ^ p)));
    assert_eq!(u32s(|p| p * p.kernel().lit(0u32)), Expr::Literal(Value::new(0u32)));
    assert_eq!(u32s(|p| p.abs_diff(p)), Expr::Literal(Value::new(0u32)));
    assert!(matches!(u32s(|p| ((1 + p) + 2) + 3), Expr::Binary(BinaryOp::Add, ..)));

    // −0.0 + 0.0 is 0.0, nan − nan is nan, nan == nan is false, inf × 0 is nan.
    let f32s = |make: fn(Val<'_, f32>) -> Val<'_, f32>| {
        let program = Kernel::build("laws", |k| {
            let p = k.param::<f32>("p");
            let out = k.write_only::<f32>("out", 1);
            k.domain([1], |_| out.store(0u32, make(p)));
        });
        stored(&optimize(&program.unwrap()))
    };
    assert!(matches!(f32s(|p| p + 0.0), Expr::Binary(..)));
    assert!(matches!(f32s(|p| p - p), Expr::Binary(..)));
    assert!(matches!(f32s(|p| p * 0.0), Expr::Binary(..)));
    assert!(matches!(f32s(|p| p.eq(p).select(p, 0.0)), Expr::Ternary(..)));
    assert!(matches!(f32s(|p| (p + 1e20) - 1e20), Expr::Binary(BinaryOp::Sub, ..)));
    assert!(is_param(f32s(|p| p * 1.0)));
    assert!(is_param(f32s(|p| -(-p))));
}

/// Asserts that the first program is optimised to the second, as one would write it by hand.
fn becomes(
    before: impl for<'k> FnOnce(&'k Kernel, Scope<'k>),
    after: impl for<'k> FnOnce(&'k Kernel, Scope<'k>),
) {
    let (got, want) = (optimize(&scoped(before)), scoped(after));
    assert_eq!(*got, *want, "\ngot {:#?}\nwant {:#?}", *got, *want);
}

#[derive(Clone, Copy)]
struct Scope<'k> {
    i: Val<'k, u32>,
    n: Val<'k, u32>,
    input: crate::build::ReadOnly<'k, u32>,
    data: crate::build::ReadWrite<'k, u32>,
}

fn scoped(body: impl for<'k> FnOnce(&'k Kernel, Scope<'k>)) -> Checked<Program> {
    let program = Kernel::build("test", |k| {
        let n = k.param::<u32>("n");
        let input = k.read_only::<u32>("input");
        let data = k.read_write::<u32>("data");
        k.domain([n], |[i]| body(k, Scope { i, n, input, data }));
    });
    program.unwrap()
}

#[test]
fn loads_that_cannot_differ_are_one() {
    becomes(
        |k, s| {
            s.data.store(s.i, s.input.load(s.i) + s.input.load(s.i));
            k.if_(s.n.gt(1), || s.data.store(1u32, s.input.load(s.i)));
        },
        |k, s| {
            let x = s.input.load(s.i);
            s.data.store(s.i, x + x);
            k.if_(s.n.gt(1), || s.data.store(1u32, x));
        },
    );
    // Not what a store may change, and not a load of one branch for another or for what follows.
    let same = |k: &Kernel, s: Scope<'_>| {
        s.data.store(s.i, s.data.load(s.i) + s.data.load(s.i));
        k.if_else(
            s.n.gt(1),
            || s.data.store(1u32, s.input.load(s.i)),
            || s.data.store(2u32, s.input.load(s.i)),
        );
        s.data.store(3u32, s.input.load(s.i));
    };
    becomes(same, same);
}

#[test]
fn reads_of_a_variable_that_is_known_are_its_value() {
    becomes(
        |k, s| {
            let x = k.var("x", s.i);
            s.data.store(0u32, x.get());
            x.set(x.get() + 1);
            k.if_(s.n.gt(1), || s.data.store(1u32, x.get()));
        },
        |k, s| {
            s.data.store(0u32, s.i);
            let next = s.i + 1;
            k.if_(s.n.gt(1), || s.data.store(1u32, next));
        },
    );
    // A branch or a loop that writes it makes it unknown after, and in the loop from its start.
    let same = |k: &Kernel, s: Scope<'_>| {
        let x = k.var("x", s.i);
        k.if_(s.n.gt(1), || {
            x.set(7u32);
            s.data.store(5u32, 1u32);
        });
        s.data.store(0u32, x.get());
        let y = k.var("y", s.i);
        k.for_(0u32, s.n, |j| {
            s.data.store(j, y.get());
            y.set(j);
        });
        s.data.store(1u32, y.get());
        let z = k.var("z", s.n);
        k.while_(|| z.get().gt(0), || z.set(s.input.load(s.n)));
    };
    becomes(same, same);
    // In the body of a `while`, what its head read is known.
    becomes(
        |k, s| {
            let x = k.var("x", s.n);
            k.while_(|| x.get().gt(0), || x.set(x.get() - 1));
        },
        |k, s| {
            let x = k.var("x", s.n);
            let head = std::cell::Cell::new(s.n);
            k.while_(
                || {
                    head.set(x.get());
                    head.get().gt(0)
                },
                || x.set(head.get() - 1),
            );
        },
    );
    // Setting a variable to what it is does nothing.
    becomes(
        |k, s| {
            let x = k.var("x", s.n);
            k.if_(s.i.gt(3), || {
                x.set(s.i);
                s.data.store(5u32, 1u32);
            });
            let value = x.get();
            x.set(value);
            s.data.store(0u32, x.get());
        },
        |k, s| {
            let x = k.var("x", s.n);
            k.if_(s.i.gt(3), || {
                x.set(s.i);
                s.data.store(5u32, 1u32);
            });
            s.data.store(0u32, x.get());
        },
    );
}

#[test]
fn what_nothing_observes_goes() {
    becomes(
        |k, s| {
            let unread = k.var("unread", 0u32);
            let scratch = k.private::<u32>("scratch", 4);
            k.for_(0u32, s.n, |j| {
                unread.set(s.data.load(j));
                scratch.store(j, unread.get());
                k.if_(j.eq(3), || k.break_());
            });
            k.if_(s.input.load(s.i).gt(1), || {
                s.input.load(s.i);
            });
            s.data.store(s.i, 1u32);
        },
        |k, s| {
            k.private::<u32>("scratch", 4);
            s.data.store(s.i, 1u32);
        },
    );
    // Returns, traps, atomics and loops that may not end are observed, and the jumps of loops that stay.
    let same = |k: &Kernel, s: Scope<'_>| {
        k.if_(s.i.gt(3), || k.return_());
        k.if_(s.i.gt(2), || k.trap(7, s.i));
        s.data.atomic_add(s.i, 1u32);
        k.for_(0u32, s.n, |j| {
            k.if_(j.eq(3), || k.continue_());
            k.if_(j.eq(4), || k.break_());
            s.data.store(j, 1u32);
        });
        k.while_(|| s.n.gt(3), || {});
    };
    becomes(same, same);
}

#[test]
fn constant_control_is_decided() {
    becomes(
        |k, s| {
            k.if_else(k.lit(1u32).lt(2), || s.data.store(1u32, 1u32), || s.data.store(1u32, 2u32));
            k.if_else(k.lit(false), || s.data.store(0u32, 3u32), || s.data.store(0u32, 4u32));
            k.for_(5u32, 5u32, |j| s.data.store(j, 5u32));
            k.for_step(0i32, 5i32, -1i32, |_| s.data.store(0u32, 6u32));
            k.for_(-9i32, 0i32, |j| s.data.store(j, 7u32));
            k.while_(
                || {
                    s.data.store(0u32, 8u32);
                    false
                },
                || s.data.store(0u32, 9u32),
            );
        },
        |k, s| {
            s.data.store(1u32, 1u32);
            s.data.store(0u32, 4u32);
            k.for_(-9i32, 0i32, |j| s.data.store(j, 7u32));
            s.data.store(0u32, 8u32);
        },
    );
    // What follows a jump that is always taken goes with it, so does the loop whose head returns, and then the `return` itself.
    becomes(
        |k, s| {
            s.data.store(0u32, 1u32);
            k.while_(
                || {
                    k.if_(true, || k.return_());
                    true
                },
                || s.data.store(0u32, 2u32),
            );
            s.data.store(0u32, 3u32);
        },
        |_, s| s.data.store(0u32, 1u32),
    );
}

#[test]
fn specialised_parameters_become_constants_in_values_and_extents() {
    let program = Kernel::build("test", |k| {
        let width = k.specialize::<u32>("width");
        let n = k.param::<u32>("n");
        let data = k.read_write::<u32>("data");
        k.domain([width.extent()], |[i]| data.store(i * width, n));
    })
    .unwrap();
    let specialised = specialize(&program, &Params::new().with("width", Value::new(7u32))).unwrap();
    assert!(specialised.extents().contains(&Extent::Literal(7)));
    assert!(specialised.exprs().contains(&Expr::Literal(Value::new(7u32))));
    assert_eq!(specialised.exprs().iter().filter(|expr| matches!(expr, Expr::Param(_))).count(), 1);
    assert_eq!(specialised.params(), program.params());

    let missing = specialize(&program, &Params::new()).unwrap_err();
    assert_eq!(missing, LaunchError::MissingParam { name: "width".into(), ty: DataType::U32 });
    let wrong = specialize(&program, &Params::new().with("width", Value::new(7i32))).unwrap_err();
    let (needs, got) = (DataType::U32, DataType::I32);
    assert_eq!(wrong, LaunchError::ParamType { name: "width".into(), needs, got });
}

#[test]
fn barriers_and_shared_memory_survive() {
    let build = || {
        Kernel::build("test", |k| {
            let input = k.read_only::<u32>("input");
            let out = k.write_only::<u32>("out", input.len());
            let tile = k.shared::<u32>("tile", 64);
            k.workgroups([64], [input.len().extent().ceil_div(64)], |group| {
                tile.store(group.local_index, input.load(group.global_id[0]));
                k.barrier(MemoryOrdering::Workgroup);
                out.store(group.global_id[0], tile.load(63 - group.local_index));
            });
        })
        .unwrap()
    };
    assert_eq!(*optimize(&build()), *build());
}

#[test]
fn long_and_deep_programs_need_no_stack() {
    let work = || {
        let program = Kernel::build("test", |k| {
            let data = k.read_write::<u32>("data");
            k.domain([1], |[i]| {
                let x = k.var("x", i);
                let mut deep = i;
                for c in 0..100_000u32 {
                    deep = (deep ^ i) + c;
                    x.set(x.get() + 1);
                }
                data.store(i, deep);
                data.store(i + 1, x.get());
            });
        })
        .unwrap();
        let after = optimize(&program);
        // The variable is known all along: i + 100,000.
        assert_eq!(after.nodes().len(), 2);
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap().join().unwrap();
}
