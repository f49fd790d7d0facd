//! Float ops that drivers get wrong or leave open: NaN tests, inequality, minimum, maximum, clamp.

use vyre_spec::ops::{BinaryOp, TernaryOp, UnaryOp};
use vyre_spec::{DataType, FloatFormat};

use super::InstId;
use super::repr::wrap;
use crate::writer::{Refusal, Writer, bits_of};

pub(super) const MAGNITUDE: u32 = 0x7FFF_FFFF;
pub(super) const INFINITY: u32 = 0x7F80_0000;
pub(super) const SIGN: u32 = 0x8000_0000;
pub(super) const QUIET_NAN: u32 = 0x7FC0_0000;
const TWO_POW_126: u32 = 0x7E80_0000;

/// The format of a float value as the device has it: that of f32 or f64.
fn format(w: &Writer, a: InstId) -> FloatFormat {
    w.ty(a).float_format().unwrap_or(FloatFormat { exponent_bits: 8, fraction_bits: 23 })
}

/// The bits of a float.
fn bits(w: &mut Writer, a: InstId) -> InstId {
    let ty = bits_of(w.ty(a));
    w.bitcast(ty, a)
}

/// The bits of a float below the sign.
fn magnitude(w: &mut Writer, a: InstId) -> InstId {
    let sign = format(w, a).sign();
    let bits = bits(w, a);
    // Else the driver that folds floats takes what it rounds to a whole number for finite.
    let bits = w.concealed(bits);
    w.raw_bits(BinaryOp::BitAnd, bits, sign - 1)
}

/// Compares the bits below the sign with those of infinity.
fn magnitude_test(w: &mut Writer, test: BinaryOp, a: InstId) -> InstId {
    let infinity = format(w, a).infinity();
    let magnitude = magnitude(w, a);
    w.raw_bits(test, magnitude, infinity)
}

pub(super) fn is_nan(w: &mut Writer, _op: UnaryOp, _ty: DataType, a: InstId) -> InstId {
    magnitude_test(w, BinaryOp::Gt, a)
}

pub(super) fn is_inf(w: &mut Writer, _op: UnaryOp, _ty: DataType, a: InstId) -> InstId {
    magnitude_test(w, BinaryOp::Eq, a)
}

pub(super) fn is_finite(w: &mut Writer, _op: UnaryOp, _ty: DataType, a: InstId) -> InstId {
    magnitude_test(w, BinaryOp::Lt, a)
}

pub(super) fn is_normal(w: &mut Writer, _op: UnaryOp, ty: DataType, a: InstId) -> InstId {
    let (device, own) = (w.ty(a), ty.float_format().unwrap_or(format(w, a)));
    let least = vyre_spec::Value::from_f64(device, own.to_f64(own.least_normal())).bits();
    let infinity = format(w, a).infinity();
    let magnitude = magnitude(w, a);
    // From the least normal number up and below infinity, in one comparison.
    let above = w.raw_bits(BinaryOp::Sub, magnitude, least);
    w.raw_bits(BinaryOp::Lt, above, infinity - least)
}

pub(super) fn is_negative(w: &mut Writer, _op: UnaryOp, _ty: DataType, a: InstId) -> InstId {
    let sign = format(w, a).sign();
    let bits = bits(w, a);
    w.raw_bits(BinaryOp::Ge, bits, sign)
}

/// The bits of `a` below the sign, with the sign of `b`.
pub(super) fn copysign(w: &mut Writer, _op: BinaryOp, _ty: DataType, a: InstId, b: InstId) -> InstId {
    let (float, sign) = (w.ty(a), format(w, a).sign());
    let (magnitude, b) = (magnitude(w, a), bits(w, b));
    let sign = w.raw_bits(BinaryOp::BitAnd, b, sign);
    let bits = w.raw(BinaryOp::BitOr, magnitude, sign);
    w.bitcast(float, bits)
}

/// Else the driver that folds floats takes it for above every negative number, NaN too, and NVIDIA's compiler (580) extends it
/// to 64 bits as if that of the least integer were positive.
pub(super) fn abs(w: &mut Writer, op: UnaryOp, ty: DataType, a: InstId) -> InstId {
    let magnitude = w.raw1(op, a);
    if !ty.is_float() {
        let magnitude = if w.quirks.clobbers_wide { w.veiled(magnitude) } else { magnitude };
        return wrap(w, ty, magnitude);
    }
    concealed(w, magnitude)
}

/// A float of which the driver that folds floats knows nothing.
fn concealed(w: &mut Writer, a: InstId) -> InstId {
    if !w.quirks.folds_floats {
        return a;
    }
    let (float, bits) = (w.ty(a), bits(w, a));
    let bits = w.concealed(bits);
    w.bitcast(float, bits)
}

pub(super) fn sign(w: &mut Writer, _op: UnaryOp, ty: DataType, a: InstId) -> InstId {
    if ty.is_float() {
        let (float, one) = (w.ty(a), format(w, a).one());
        let (sign, infinity) = (format(w, a).sign(), format(w, a).infinity());
        let (magnitude, bits) = (magnitude(w, a), bits(w, a));
        let sign = w.raw_bits(BinaryOp::BitAnd, bits, sign);
        let unit = w.raw_bits(BinaryOp::BitOr, sign, one);
        // Neither zero nor NaN, in one comparison.
        let from_one = w.raw_bits(BinaryOp::Sub, magnitude, 1);
        let number = w.raw_bits(BinaryOp::Lt, from_one, infinity);
        let chosen = w.select(number, unit, bits);
        return w.bitcast(float, chosen);
    }
    // Without comparisons: NVIDIA's compiler (580) fails on choices by the order of an integer and zero in some kernels.
    let unsigned = bits_of(w.ty(a));
    let last = w.ty(a).width() - 1;
    let below = w.raw_lit(BinaryOp::Shr, a, last);
    let (zero, bits) = (w.bits(unsigned, 0), w.bitcast(unsigned, a));
    let negated = w.raw(BinaryOp::Sub, zero, bits);
    let above = w.raw_lit(BinaryOp::Shr, negated, last);
    let above = w.bitcast(w.ty(a), above);
    w.raw(BinaryOp::BitOr, below, above)
}

pub(super) fn fract(w: &mut Writer, _op: UnaryOp, ty: DataType, a: InstId) -> InstId {
    let floor = w.raw1(UnaryOp::Floor, a);
    // Else the driver that folds floats takes the fraction of infinity for a number.
    let floor = concealed(w, floor);
    let rest = w.raw(BinaryOp::Sub, a, floor);
    wrap(w, ty, rest)
}

/// A function that devices compute in binary32 and nothing wider.
pub(super) fn transcendental(w: &mut Writer, op: UnaryOp, ty: DataType, a: InstId) -> InstId {
    if ty == DataType::F64 {
        return w.refuse(Refusal { op: op.name(), ty, missing: None }, ty);
    }
    let number = w.raw1(op, a);
    wrap(w, ty, number)
}

/// NaN of NaN, where the driver gives a number.
pub(super) fn exponential(w: &mut Writer, op: UnaryOp, ty: DataType, a: InstId) -> InstId {
    let number = transcendental(w, op, ty, a);
    if !w.quirks.loses_special_values || ty == DataType::F64 {
        return number;
    }
    let nan = magnitude_test(w, BinaryOp::Gt, a);
    w.select(nan, a, number)
}

/// Where the driver gives numbers for all operands: −∞ of zero, ∞ of itself, and NaN of NaN and below zero.
pub(super) fn logarithm(w: &mut Writer, op: UnaryOp, ty: DataType, a: InstId) -> InstId {
    let number = transcendental(w, op, ty, a);
    if !w.quirks.loses_special_values || ty == DataType::F64 {
        return number;
    }
    let bits = w.bitcast(DataType::U32, a);
    let zero = magnitude_test_of_zero(w, bits);
    let infinite = w.raw_lit(BinaryOp::Eq, bits, INFINITY);
    let (minus_infinity, infinity, nan) = (w.lit(SIGN | INFINITY), w.lit(INFINITY), w.lit(QUIET_NAN));
    let special = w.select(infinite, infinity, nan);
    let special = w.select(zero, minus_infinity, special);
    // Positive, not zero and finite, in one comparison.
    let from_one = w.raw_lit(BinaryOp::Sub, bits, 1u32);
    let ordinary = w.raw_lit(BinaryOp::Lt, from_one, INFINITY - 1);
    let number = w.bitcast(DataType::U32, number);
    let chosen = w.select(ordinary, number, special);
    w.bitcast(DataType::F32, chosen)
}

fn magnitude_test_of_zero(w: &mut Writer, bits: InstId) -> InstId {
    let magnitude = w.raw_lit(BinaryOp::BitAnd, bits, MAGNITUDE);
    w.raw_lit(BinaryOp::Eq, magnitude, 0u32)
}

/// Comparisons that hold of an operand and itself, unless it is NaN, which drivers forget where they see that
/// both are one value: some always, others in some expressions.
pub(super) fn reflexive(w: &mut Writer, op: BinaryOp, ty: DataType, a: InstId, b: InstId) -> InstId {
    if !ty.is_float() {
        return w.raw(op, a, b);
    }
    if a == b {
        return magnitude_test(w, BinaryOp::Le, a);
    }
    let holds = w.raw(op, a, b);
    if !w.quirks.folds_self_comparison {
        return holds;
    }
    let number = magnitude_test(w, BinaryOp::Le, a);
    w.raw(BinaryOp::BitAnd, holds, number)
}

/// Of floats, the negation of equality: drivers were seen to compare NaNs as equal.
pub(super) fn ne(w: &mut Writer, op: BinaryOp, ty: DataType, a: InstId, b: InstId) -> InstId {
    if !ty.is_float() {
        return w.raw(op, a, b);
    }
    let equal = reflexive(w, BinaryOp::Eq, ty, a, b);
    w.raw1(UnaryOp::Not, equal)
}

/// Where the driver loses finite divisors above 2^126, both operands are scaled by 2^-2, which is exact unless
/// the quotient is 0 anyway.
pub(super) fn divide(w: &mut Writer, op: BinaryOp, ty: DataType, a: InstId, b: InstId) -> InstId {
    let quotient = if w.quirks.loses_large_divisors && ty != DataType::F64 {
        let bits = w.bitcast(DataType::U32, b);
        let magnitude = w.raw_lit(BinaryOp::BitAnd, bits, MAGNITUDE);
        // Above 2^126 and below infinity, in one comparison.
        let above = w.raw_lit(BinaryOp::Sub, magnitude, TWO_POW_126 + 1);
        let large = w.raw_lit(BinaryOp::Lt, above, INFINITY - (TWO_POW_126 + 1));
        let (quarter, one) = (w.lit(0.25f32), w.lit(1.0f32));
        let scale = w.select(large, quarter, one);
        let (a, b) = (w.raw(BinaryOp::Mul, a, scale), w.raw(BinaryOp::Mul, b, scale));
        w.raw(op, a, b)
    } else {
        w.raw(op, a, b)
    };
    wrap(w, ty, quotient)
}

/// Of a float and a literal zero, the choice is made on the bits: drivers were seen to lose the zero's sign.
pub(super) fn select(w: &mut Writer, op: TernaryOp, ty: DataType, [condition, a, b]: [InstId; 3]) -> InstId {
    let is_zero = |w: &Writer, id| w.as_constant(id).and_then(|v| v.as_f64()).is_some_and(|x| x == 0.0);
    if !ty.is_float() || !is_zero(w, a) && !is_zero(w, b) {
        return w.raw3(op, condition, a, b);
    }
    let float = w.ty(a);
    let (a, b) = (bits(w, a), bits(w, b));
    let chosen = w.raw3(op, condition, a, b);
    w.bitcast(float, chosen)
}

/// `b` if `a` is NaN or the comparison `b test a` holds, else `a`.
fn extremum(w: &mut Writer, test: BinaryOp, a: InstId, b: InstId) -> InstId {
    let nan = magnitude_test(w, BinaryOp::Gt, a);
    let beyond = w.raw(test, b, a);
    let take = w.raw(BinaryOp::BitOr, nan, beyond);
    w.select(take, b, a)
}

/// The device has these of 32-bit integers.
fn chosen(w: &mut Writer, op: BinaryOp, test: BinaryOp, ty: DataType, a: InstId, b: InstId) -> InstId {
    if ty.is_float() {
        return extremum(w, test, a, b);
    }
    if ty.width() == 64 {
        let beyond = w.raw(test, b, a);
        let kept = w.apart(a);
        return w.select(beyond, b, kept);
    }
    w.raw(op, a, b)
}

pub(super) fn min(w: &mut Writer, op: BinaryOp, ty: DataType, a: InstId, b: InstId) -> InstId {
    chosen(w, op, BinaryOp::Lt, ty, a, b)
}

pub(super) fn max(w: &mut Writer, op: BinaryOp, ty: DataType, a: InstId, b: InstId) -> InstId {
    chosen(w, op, BinaryOp::Gt, ty, a, b)
}

/// `min(max(x, low), high)`, also where `low` is above `high`.
pub(super) fn clamp(w: &mut Writer, _op: TernaryOp, ty: DataType, [x, low, high]: [InstId; 3]) -> InstId {
    let raised = max(w, BinaryOp::Max, ty, x, low);
    min(w, BinaryOp::Min, ty, raised, high)
}
