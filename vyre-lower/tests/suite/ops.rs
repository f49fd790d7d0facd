//! Every op of the tables, with every type that it takes, on edge operands: what the lowered form gives
//! against the table's own evaluation.

use vyre_foundation::check::{Checked, check};
use vyre_foundation::ir::{
    Arena, Buffer, Count, Expr, ExprId, Extent, Launch, Node, Place, Program, RegionId,
};
use vyre_foundation::launch::Params;
use vyre_spec::ops::{BinaryOp, CastOp, TernaryOp, UnaryOp};
use vyre_spec::{Access, Axis, BuiltIn, Comparison, CompileOptions, DataType, DeviceProfile, Quirks, Value};

use crate::interpreter::{profile, run_with};

/// Values at which integer, float and bool ops change what they do.
fn edges(ty: DataType) -> Vec<Value> {
    let words: Vec<u32> = match ty {
        DataType::Bool => vec![0, 1],
        DataType::U32 => vec![
            0,
            1,
            2,
            3,
            7,
            31,
            32,
            33,
            255,
            0xFFFF,
            0x1_0000,
            0x7FFF_FFFF,
            0x8000_0000,
            0xFFFF_FFFE,
            0xFFFF_FFFF,
        ],
        DataType::I32 => [i32::MIN, i32::MIN + 1, -769, -768, -2, -1, 0, 1, 2, 31, 32, 768, 65_536, i32::MAX]
            .map(|x| x as u32)
            .to_vec(),
        DataType::F32 => [
            0.0f32,
            -0.0,
            0.5,
            -0.5,
            1.0,
            -1.0,
            1.5,
            2.5,
            -2.5,
            1e8,
            -1e8,
            2_147_483_520.0,
            2_147_483_648.0,
            -2_147_483_648.0,
            -2_147_483_904.0,
            4_294_967_040.0,
            4_294_967_296.0,
            1e20,
            -1e20,
            1e-45,
            -1e-45,
            f32::MIN_POSITIVE,
            f32::MAX,
            f32::MIN,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
            16_777_217.0,
            0.1,
        ]
        .map(f32::to_bits)
        .into_iter()
        .chain([0xFFC0_0001, 0x7F80_0001])
        .collect(),
    };
    words.into_iter().map(|w| Value::from_bits(ty, u64::from(w))).collect()
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
        arena.buffer(Buffer { name, element, access, count: Count::Bytes })
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

/// Every tuple of edge operands of these types.
fn tuples(types: &[DataType]) -> Vec<Vec<Value>> {
    types.iter().fold(vec![Vec::new()], |tuples, &ty| {
        tuples
            .iter()
            .flat_map(|tuple| edges(ty).into_iter().map(move |v| tuple.iter().copied().chain([v]).collect()))
            .collect()
    })
}

/// Runs an op over all tuples of edge operands, loaded, and over some as literals.
fn compare(
    name: &str,
    types: &[DataType],
    result: DataType,
    quirks: Quirks,
    op: impl Fn(&[ExprId]) -> Expr,
    want: impl Fn(&[Value]) -> Value,
) {
    let profile = DeviceProfile { quirks, ..profile() };
    let tuples = tuples(types);
    let judge = |operands: &[Value], got: u32| {
        let (want, got) = (want(operands), Value::from_bits(result, u64::from(got)));
        assert!(Comparison::EXACT.accepts(want, got), "{name} of {operands:?}: {got:?}, not {want:?}");
        // The interpreter flushes nothing.
        assert!(want.bits() == got.bits() || want.is_nan(), "{name} of {operands:?}: {got:?}, not {want:?}");
    };
    let mut buffers: Vec<Vec<u32>> =
        (0..types.len()).map(|i| tuples.iter().map(|t| t[i].bits() as u32).collect()).collect();
    buffers.push(vec![0; tuples.len()]);
    let options = CompileOptions::default();
    let outcome = run_with(&program(types, result, None, &op), &Params::new(), &buffers, &profile, &options);
    for (operands, &got) in tuples.iter().zip(&outcome.buffers[types.len()]) {
        judge(operands, got);
    }
    for operands in tuples.iter().step_by(1 + tuples.len() / 64) {
        let mut buffers = vec![Vec::new(); types.len()];
        buffers.push(vec![0]);
        let program = program(types, result, Some(operands), &op);
        let outcome = run_with(&program, &Params::new(), &buffers, &profile, &options);
        judge(operands, outcome.buffers[types.len()][0]);
    }
}

const QUIRKS: [Quirks; 2] = [
    Quirks {
        max_loop_iterations: None,
        folds_literal_zero: false,
        splits_fma: false,
        folds_self_comparison: false,
        loses_large_divisors: false,
        loses_special_values: false,
        flushes_subnormals: false,
    },
    Quirks {
        max_loop_iterations: None,
        folds_literal_zero: true,
        splits_fma: true,
        folds_self_comparison: true,
        loses_large_divisors: true,
        loses_special_values: true,
        flushes_subnormals: false,
    },
];

#[test]
fn unary_ops_on_edges() {
    for &op in UnaryOp::ALL {
        for ty in op.rule().operands().iter() {
            let result = op.rule().result(ty).unwrap();
            compare(
                op.name(),
                &[ty],
                result,
                QUIRKS[0],
                |e| Expr::Unary(op, e[0]),
                |v| op.eval(v[0]).unwrap(),
            );
        }
    }
}

#[test]
fn binary_ops_on_edges() {
    for &op in BinaryOp::ALL {
        for ty in op.rule().operands().iter() {
            let second = op.rule().second(ty);
            let result = op.rule().result(ty, second).unwrap();
            for quirks in QUIRKS {
                compare(
                    op.name(),
                    &[ty, second],
                    result,
                    quirks,
                    |e| Expr::Binary(op, e[0], e[1]),
                    |v| op.eval(v[0], v[1]).unwrap(),
                );
            }
        }
    }
}

#[test]
fn ternary_ops_on_edges() {
    for &op in TernaryOp::ALL {
        for ty in op.rule().operands().iter() {
            for quirks in QUIRKS {
                compare(
                    op.name(),
                    &[op.rule().first(ty), ty, ty],
                    ty,
                    quirks,
                    |e| Expr::Ternary(op, e[0], e[1], e[2]),
                    |v| op.eval(v[0], v[1], v[2]).unwrap(),
                );
            }
        }
    }
}

#[test]
fn casts_on_edges() {
    for &op in CastOp::ALL {
        for from in DataType::ALL {
            for to in DataType::ALL.into_iter().filter(|&to| op.allows(from, to)) {
                compare(
                    op.name(),
                    &[from],
                    to,
                    QUIRKS[0],
                    |e| Expr::Cast(op, to, e[0]),
                    |v| op.eval(v[0], to).unwrap(),
                );
            }
        }
    }
}
