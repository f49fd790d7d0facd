//! Every op of the tables, with every type that it takes, on edge operands: what the lowered form gives
//! against the table's own evaluation.

use vyre_foundation::check::{Checked, check};
use vyre_foundation::ir::{
    Arena, Buffer, Count, Expr, ExprId, Extent, Launch, Node, Place, Program, RegionId,
};
use vyre_foundation::launch::Params;
use vyre_foundation::testing::edge_values;
use vyre_lower::{LowerError, lower};
use vyre_spec::ops::{BinaryOp, CastOp, TernaryOp, UnaryOp};
use vyre_spec::{
    Access, Axis, BuiltIn, Comparison, CompileOptions, DataType, DeviceProfile, ErrorBound, Quirks, Value,
};

use crate::interpreter::{execute_bytes, profile, without_wide};

/// Values at which integer, float and bool ops change what they do.
fn edges(ty: DataType) -> Vec<Value> {
    let mut values = edge_values(ty);
    if let Some(format) = ty.float_format() {
        // Subnormals, and NaNs with payloads, quiet and not.
        let least = format.least_normal();
        let bits = [1, format.sign() | 1, least - 1, least / 2 + 1];
        let payloads = [format.quiet_nan() | format.sign() | 1, format.infinity() + 1];
        values.extend(bits.into_iter().chain(payloads).map(|b| Value::from_bits(ty, b)));
    }
    values
}

/// A program that stores `op` of loaded operands, one buffer for each, and the operands as literals if
/// `fixed` has them.
fn program(
    types: &[DataType],
    result: DataType,
    fixed: Option<&[Value]>,
    op: impl Fn(&[ExprId]) -> Expr,
) -> Checked<Program> {
    let mut arena = Arena::new("op");
    let buffer = |arena: &mut Arena, name: String, element, access| {
        arena.buffer(Buffer { name, element, access, count: Count::Bytes, coherent: false })
    };
    let inputs: Vec<_> = types
        .iter()
        .enumerate()
        .map(|(i, &ty)| buffer(&mut arena, format!("x{i}"), ty, Access::ReadOnly))
        .collect();
    let out = buffer(&mut arena, "out".into(), result, Access::ReadWrite);
    let (len, one) = (arena.extent(Extent::Length(out)), arena.extent(Extent::Literal(1)));
    arena.set_launch(Launch::Domain { extent: [len, one, one], axes: 1 });
    let root = RegionId::new(0);
    let index = arena.expr(Expr::BuiltIn(BuiltIn::Point(Axis::X)));
    let operands: Vec<_> = match fixed {
        Some(values) => values.iter().map(|&v| arena.expr(Expr::Literal(v))).collect(),
        None => inputs
            .iter()
            .map(|&b| {
                let load = arena.push(root, Node::Load { place: Place::Buffer(b), index });
                arena.expr(Expr::Result(load))
            })
            .collect(),
    };
    let value = arena.expr(op(&operands));
    arena.push(root, Node::Store { place: Place::Buffer(out), index, value });
    check(arena.finish().unwrap().0).unwrap()
}

/// Tuples of edge operands of these types: every one of up to two, and some of three.
fn tuples(types: &[DataType]) -> Vec<Vec<Value>> {
    let all = types.iter().fold(vec![Vec::new()], |tuples: Vec<Vec<Value>>, &ty| {
        tuples
            .iter()
            .flat_map(|tuple| edges(ty).into_iter().map(move |v| tuple.iter().copied().chain([v]).collect()))
            .collect()
    });
    let step = if types.len() < 3 { 1 } else { 1 + all.len() / 8_000 };
    all.into_iter().step_by(step | 1).collect()
}

/// An op on types.
struct Case<'c> {
    name: &'c str,
    types: &'c [DataType],
    result: DataType,
    bound: ErrorBound,
    op: &'c dyn Fn(&[ExprId]) -> Expr,
    want: &'c dyn Fn(&[Value]) -> Value,
}

/// Runs an op over all tuples of edge operands, loaded, and over some as literals. Gives false if the op is
/// refused on this type.
fn compare(case: &Case<'_>, quirks: Quirks) -> bool {
    compare_on(case, &DeviceProfile { quirks, ..profile() })
}

/// As [`compare`], on a device.
fn compare_on(case: &Case<'_>, profile: &DeviceProfile) -> bool {
    let &Case { name, types, result, bound, op, want } = case;
    let tuples = tuples(types);
    let judge = |operands: &[Value], got: &[u8]| {
        let (want, got) = (want(operands), Value::from_le_bytes(result, got));
        let operand = operands[bound.operand()].as_f64().unwrap_or(0.0);
        let fits = Comparison { bound, operand }.accepts(want, got);
        assert!(fits, "{name} of {operands:?}: {got:?}, not {want:?}");
        // The interpreter flushes nothing.
        let same = want == got || want.is_nan() || bound != ErrorBound::Exact;
        assert!(same, "{name} of {operands:?}: {got:?}, not {want:?}");
    };
    let bytes = |values: &mut dyn Iterator<Item = Value>| -> Vec<u8> {
        values.flat_map(|v| v.bits().to_le_bytes().into_iter().take(v.ty().size() as usize)).collect()
    };
    let size = result.size() as usize;
    let mut buffers: Vec<Vec<u8>> =
        (0..types.len()).map(|i| bytes(&mut tuples.iter().map(|t| t[i]))).collect();
    buffers.push(vec![0; tuples.len() * size]);
    let run = |program: &Checked<Program>, buffers: &[Vec<u8>]| {
        let kernel = match lower(program, profile, &CompileOptions::default()) {
            Ok(kernel) => kernel,
            Err(LowerError::Unsupported { ty: Some(DataType::F64), .. }) => return None,
            Err(error) => panic!("{name} of {types:?}: {error}"),
        };
        Some(execute_bytes(&kernel, program, &Params::new(), buffers, profile).buffers.remove(types.len()))
    };
    let Some(outcome) = run(&program(types, result, None, op), &buffers) else { return false };
    for (operands, got) in tuples.iter().zip(outcome.chunks_exact(size)) {
        judge(operands, got);
    }
    for operands in tuples.iter().step_by(1 + tuples.len() / 64) {
        let mut buffers = vec![Vec::new(); types.len()];
        buffers.push(vec![0; size]);
        let program = program(types, result, Some(operands), op);
        judge(operands, &run(&program, &buffers).unwrap());
    }
    true
}

const QUIRKS: [Quirks; 2] = [
    Quirks {
        max_loop_iterations: None,
        folds_floats: false,
        splits_fma: false,
        folds_self_comparison: false,
        loses_large_divisors: false,
        loses_special_values: false,
        loses_halves: false,
        clobbers_wide: false,
        fails_on_returns: false,
        flushes_subnormals: false,
    },
    Quirks {
        max_loop_iterations: None,
        folds_floats: true,
        splits_fma: true,
        folds_self_comparison: true,
        loses_large_divisors: true,
        loses_special_values: true,
        loses_halves: true,
        clobbers_wide: true,
        fails_on_returns: true,
        flushes_subnormals: false,
    },
];

#[test]
fn unary_ops_on_edges() {
    let mut refused = Vec::new();
    for &op in UnaryOp::ALL {
        for ty in op.rule().operands().iter() {
            let case = Case {
                name: op.name(),
                types: &[ty],
                result: op.rule().result(ty).unwrap(),
                bound: op.bound(),
                op: &|e| Expr::Unary(op, e[0]),
                want: &|v| op.eval(v[0]).unwrap(),
            };
            if !compare(&case, QUIRKS[0]) {
                refused.push(op);
            }
        }
    }
    // Devices have the transcendental functions in binary32 only.
    assert!(refused.iter().all(|op| op.bound() != ErrorBound::Exact), "{refused:?}");
}

#[test]
fn binary_ops_on_edges() {
    for &op in BinaryOp::ALL {
        for ty in op.rule().operands().iter() {
            let second = op.rule().second(ty);
            let case = Case {
                name: op.name(),
                types: &[ty, second],
                result: op.rule().result(ty, second).unwrap(),
                bound: op.bound(),
                op: &|e| Expr::Binary(op, e[0], e[1]),
                want: &|v| op.eval(v[0], v[1]).unwrap(),
            };
            for quirks in QUIRKS {
                let runs = compare(&case, quirks);
                assert!(runs || op.bound() != ErrorBound::Exact, "{op:?} refuses {ty}");
            }
        }
    }
}

#[test]
fn ternary_ops_on_edges() {
    for &op in TernaryOp::ALL {
        for ty in op.rule().operands().iter() {
            let case = Case {
                name: op.name(),
                types: &[op.rule().first(ty), ty, ty],
                result: ty,
                bound: op.bound(),
                op: &|e| Expr::Ternary(op, e[0], e[1], e[2]),
                want: &|v| op.eval(v[0], v[1], v[2]).unwrap(),
            };
            for quirks in QUIRKS {
                let runs = compare(&case, quirks);
                assert!(runs || ty == DataType::F64 && quirks.splits_fma, "{op:?} refuses {ty}");
            }
        }
    }
}

#[test]
fn casts_on_edges() {
    for &op in CastOp::ALL {
        for from in DataType::ALL {
            for to in DataType::ALL.into_iter().filter(|&to| op.allows(from, to)) {
                let case = Case {
                    name: op.name(),
                    types: &[from],
                    result: to,
                    bound: ErrorBound::Exact,
                    op: &|e| Expr::Cast(op, to, e[0]),
                    want: &|v| op.eval(v[0], to).unwrap(),
                };
                assert!(compare(&case, QUIRKS[0]), "{op:?} refuses {from} to {to}");
            }
        }
    }
}

/// The 64-bit integers.
const WIDE: [DataType; 2] = [DataType::U64, DataType::I64];

#[test]
fn sixty_four_bit_ops_on_a_device_that_has_none() {
    let profile = without_wide(profile());
    let exact = ErrorBound::Exact;
    for ty in WIDE {
        for &op in UnaryOp::ALL.iter().filter(|op| op.rule().operands().contains(ty)) {
            let (op_of, want) = (|e: &[ExprId]| Expr::Unary(op, e[0]), |v: &[Value]| op.eval(v[0]).unwrap());
            let result = op.rule().result(ty).unwrap();
            let case = Case { name: op.name(), types: &[ty], result, bound: exact, op: &op_of, want: &want };
            assert!(compare_on(&case, &profile), "{op:?} refuses {ty}");
        }
        for &op in BinaryOp::ALL.iter().filter(|op| op.rule().operands().contains(ty)) {
            let types = [ty, op.rule().second(ty)];
            let op_of = |e: &[ExprId]| Expr::Binary(op, e[0], e[1]);
            let want = |v: &[Value]| op.eval(v[0], v[1]).unwrap();
            let result = op.rule().result(ty, types[1]).unwrap();
            let case = Case { name: op.name(), types: &types, result, bound: exact, op: &op_of, want: &want };
            assert!(compare_on(&case, &profile), "{op:?} refuses {ty}");
        }
        for &op in TernaryOp::ALL.iter().filter(|op| op.rule().operands().contains(ty)) {
            let types = [op.rule().first(ty), ty, ty];
            let op_of = |e: &[ExprId]| Expr::Ternary(op, e[0], e[1], e[2]);
            let want = |v: &[Value]| op.eval(v[0], v[1], v[2]).unwrap();
            let case =
                Case { name: op.name(), types: &types, result: ty, bound: exact, op: &op_of, want: &want };
            assert!(compare_on(&case, &profile), "{op:?} refuses {ty}");
        }
    }
    for &op in CastOp::ALL {
        for (from, to) in WIDE.into_iter().flat_map(|wide| DataType::ALL.map(|other| (wide, other))) {
            for (from, to) in [(from, to), (to, from)] {
                let has = |ty: DataType| ty != DataType::F64;
                if !(op.allows(from, to) && has(from) && has(to)) {
                    continue;
                }
                let op_of = |e: &[ExprId]| Expr::Cast(op, to, e[0]);
                let want = |v: &[Value]| op.eval(v[0], to).unwrap();
                let case = Case {
                    name: op.name(),
                    types: &[from],
                    result: to,
                    bound: exact,
                    op: &op_of,
                    want: &want,
                };
                assert!(compare_on(&case, &profile), "{op:?} refuses {from} to {to}");
            }
        }
    }
}

#[test]
fn a_device_that_spoils_64_bit_integers_converts_and_divides_them_by_words() {
    let program = vyre_foundation::build::Kernel::build("wide", |k| {
        let x = k.read_write::<u64>("x");
        let y = k.read_write::<f32>("y");
        k.domain([x.len()], |[i]| {
            x.store(i, x.load(i) / y.load(i).convert::<u64>());
            y.store(i, x.load(i).convert::<f32>());
        });
    })
    .unwrap();
    let ops = |clobbers_wide| {
        let quirks = Quirks { clobbers_wide, ..Quirks::default() };
        let profile = DeviceProfile { quirks, ..profile() };
        let text = lower(&program, &profile, &CompileOptions::default()).unwrap().to_string();
        [": u64 = div", ": u32 = div"].map(|line| text.contains(line))
    };
    assert_eq!([ops(false), ops(true)], [[true, false], [false, true]]);
}

/// Beside 64-bit floats nothing but memory and atomics has 64-bit integers, and the ends of loops are not known.
#[test]
fn a_driver_that_spoils_64_bit_integers_gets_none_among_64_bit_floats() {
    let program = vyre_foundation::build::Kernel::build("spoilt", |k| {
        let (x, sums) = (k.read_write::<u64>("x"), k.read_write::<u64>("sums"));
        let y = k.read_write::<f64>("y");
        k.domain([x.len()], |[i]| {
            k.for_(0u32, 5u32, |trip| {
                sums.atomic_add(trip, x.load(i) ^ 3u64);
            });
            x.store(i, (x.load(i) << 3u32) - sums.load(i));
            y.store(i, y.load(i) + 0.5);
        });
    })
    .unwrap();
    let text = |clobbers_wide| {
        let quirks = Quirks { clobbers_wide, ..Quirks::default() };
        let profile = DeviceProfile { quirks, ..profile() };
        lower(&program, &profile, &CompileOptions::default()).unwrap().to_string()
    };
    let has =
        |text: &str| [": u64 = sub", ": u64 = bitxor", "atomic", "(zero)"].map(|part| text.contains(part));
    assert_eq!(has(&text(false)), [true, true, true, false]);
    assert_eq!(has(&text(true)), [false, false, true, true]);
}
