//! Hyperbolic functions and their inverses, from exponentials and logarithms: so their bounds are known.

use vyre_spec::DataType;
use vyre_spec::ops::{BinaryOp, UnaryOp};

use super::InstId;
use super::float::{INFINITY, MAGNITUDE};
use super::repr::wrap;
use super::trigonometric::number_where;
use crate::writer::{Refusal, Writer};

/// An f32 op as the semantics ask.
fn unary(w: &mut Writer, op: UnaryOp, a: InstId) -> InstId {
    super::unary(w, op, DataType::F32, a)
}

fn lit(w: &mut Writer, op: BinaryOp, a: InstId, b: f32) -> InstId {
    let b = w.lit(b);
    super::binary(w, op, DataType::F32, a, b)
}

fn copysign(w: &mut Writer, a: InstId, b: InstId) -> InstId {
    super::binary(w, BinaryOp::CopySign, DataType::F32, a, b)
}

/// The function in f32, as the type has it.
fn single(
    w: &mut Writer,
    op: UnaryOp,
    ty: DataType,
    a: InstId,
    f: impl FnOnce(&mut Writer, InstId) -> InstId,
) -> InstId {
    if ty == DataType::F64 {
        return w.refuse(Refusal { op: op.name(), ty, missing: None }, ty);
    }
    let bits = w.bitcast(DataType::U32, a);
    let magnitude = w.raw_lit(BinaryOp::BitAnd, bits, MAGNITUDE);
    let number = w.raw_lit(BinaryOp::Le, magnitude, INFINITY);
    let absolute = w.bitcast(DataType::F32, magnitude);
    let result = f(w, absolute);
    let result = number_where(w, number, result);
    wrap(w, ty, result)
}

/// e^x / 2 and e^-x / 2 of a number from 0 up. The first is finite wherever the hyperbolic functions are: its
/// root is squared last.
fn halves(w: &mut Writer, x: InstId) -> (InstId, InstId) {
    let root = lit(w, BinaryOp::Mul, x, 0.5);
    let root = unary(w, UnaryOp::Exp, root);
    let half = lit(w, BinaryOp::Mul, root, 0.5);
    let rising = w.raw(BinaryOp::Mul, half, root);
    let falling = lit(w, BinaryOp::Mul, x, -1.0);
    let falling = unary(w, UnaryOp::Exp, falling);
    (rising, lit(w, BinaryOp::Mul, falling, 0.5))
}

pub(super) fn sinh(w: &mut Writer, op: UnaryOp, ty: DataType, a: InstId) -> InstId {
    single(w, op, ty, a, |w, x| {
        let (rising, falling) = halves(w, x);
        let difference = w.raw(BinaryOp::Sub, rising, falling);
        copysign(w, difference, a)
    })
}

pub(super) fn cosh(w: &mut Writer, op: UnaryOp, ty: DataType, a: InstId) -> InstId {
    single(w, op, ty, a, |w, x| {
        let (rising, falling) = halves(w, x);
        w.raw(BinaryOp::Add, rising, falling)
    })
}

/// (1 − e^-2x) / (1 + e^-2x), which no overflow disturbs.
pub(super) fn tanh(w: &mut Writer, op: UnaryOp, ty: DataType, a: InstId) -> InstId {
    single(w, op, ty, a, |w, x| {
        let twice = lit(w, BinaryOp::Mul, x, -2.0);
        let falling = unary(w, UnaryOp::Exp, twice);
        let one = w.lit(1.0f32);
        let (n, d) = (w.raw(BinaryOp::Sub, one, falling), w.raw(BinaryOp::Add, one, falling));
        let quotient = w.raw(BinaryOp::Div, n, d);
        copysign(w, quotient, a)
    })
}

/// log(x + sqrt(x² + `square`)) of a number from 0 up; of large ones, log(2x).
fn inverse(w: &mut Writer, x: InstId, square: f32) -> InstId {
    let (less, more) = (lit(w, BinaryOp::Sub, x, 1.0), lit(w, BinaryOp::Add, x, 1.0));
    let radicand = if square < 0.0 {
        w.raw(BinaryOp::Mul, less, more)
    } else {
        let squared = w.raw(BinaryOp::Mul, x, x);
        lit(w, BinaryOp::Add, squared, square)
    };
    let root = unary(w, UnaryOp::Sqrt, radicand);
    let sum = w.raw(BinaryOp::Add, x, root);
    let far = w.lit(4096.0f32);
    let far = w.raw(BinaryOp::Gt, x, far);
    let argument = w.select(far, x, sum);
    let logarithm = unary(w, UnaryOp::Log, argument);
    let further = lit(w, BinaryOp::Add, logarithm, std::f32::consts::LN_2);
    w.select(far, further, logarithm)
}

pub(super) fn asinh(w: &mut Writer, op: UnaryOp, ty: DataType, a: InstId) -> InstId {
    single(w, op, ty, a, |w, x| {
        let area = inverse(w, x, 1.0);
        copysign(w, area, a)
    })
}

pub(super) fn acosh(w: &mut Writer, op: UnaryOp, ty: DataType, a: InstId) -> InstId {
    single(w, op, ty, a, |w, x| {
        let area = inverse(w, x, -1.0);
        let one = w.lit(1.0f32);
        let inside = w.raw(BinaryOp::Ge, a, one);
        number_where(w, inside, area)
    })
}

pub(super) fn atanh(w: &mut Writer, op: UnaryOp, ty: DataType, a: InstId) -> InstId {
    single(w, op, ty, a, |w, x| {
        let one = w.lit(1.0f32);
        let (n, d) = (w.raw(BinaryOp::Add, one, x), w.raw(BinaryOp::Sub, one, x));
        // At 1 the divisor is zero: infinity whatever the driver makes of it.
        let quotient = w.raw(BinaryOp::Div, n, d);
        let at_one = w.raw(BinaryOp::Eq, x, one);
        let (quotient, infinity) = (w.bitcast(DataType::U32, quotient), w.lit(INFINITY));
        let quotient = w.select(at_one, infinity, quotient);
        let quotient = w.bitcast(DataType::F32, quotient);
        let logarithm = unary(w, UnaryOp::Log, quotient);
        let half = lit(w, BinaryOp::Mul, logarithm, 0.5);
        let inside = w.raw(BinaryOp::Le, x, one);
        let half = number_where(w, inside, half);
        copysign(w, half, a)
    })
}
