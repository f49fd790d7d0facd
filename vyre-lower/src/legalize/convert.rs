//! Conversions by value and by bits.

use vyre_spec::ops::{BinaryOp, CastOp, UnaryOp};
use vyre_spec::{DataType, Value};

use super::InstId;
use super::half;
use super::int::clamp_to;
use super::repr::{device_type, from_bits, literal, to_bits, wrap};
use crate::writer::{Writer, bits_of};

/// The same bits; both types have one width.
pub(super) fn bitcast(w: &mut Writer, from: DataType, to: DataType, a: InstId) -> InstId {
    if from == to {
        return a;
    }
    if from.width() < 32 {
        let bits = to_bits(w, from, a);
        return from_bits(w, to, bits);
    }
    w.bitcast(to, a)
}

pub(super) fn convert(w: &mut Writer, from: DataType, to: DataType, a: InstId) -> InstId {
    let device = device_type(to);
    if from == to {
        return a;
    }
    // The driver would see a literal zero in it, which it may have to be kept from.
    if to.is_float() && w.as_constant(a).is_some_and(|v| v.bits() == 0) {
        return literal(w, Value::zero(to));
    }
    match (from, to) {
        (DataType::Bool, _) => {
            // Chosen as bits: drivers were seen to negate the choice of a float with the sign of zero lost.
            let integer = bits_of(device);
            let one = w.bits(integer, Value::one(device).bits());
            let zero = w.bits(integer, 0);
            let chosen = w.select(a, one, zero);
            let chosen = if device.is_float() { w.concealed(chosen) } else { chosen };
            w.bitcast(device, chosen)
        }
        (_, DataType::Bool) => {
            let zero = w.constant(Value::zero(w.ty(a)));
            let equal = w.raw(BinaryOp::Eq, a, zero);
            w.raw1(UnaryOp::Not, equal)
        }
        _ if from.is_int() && to.is_int() => int_to_int(w, to, a),
        _ if from.is_int() => {
            let a = w.concealed(a);
            int_to_float(w, from, to, a)
        }
        _ if to.is_int() => float_to_int(w, to, a),
        _ => float_to_float(w, from, to, a),
    }
}

/// Truncates, or extends by the source's sign: first the device's width, then its sign, then the type's range.
fn int_to_int(w: &mut Writer, to: DataType, a: InstId) -> InstId {
    let (from, device) = (w.ty(a), device_type(to));
    let resized = if from.size() == device.size() {
        a
    } else {
        let same_sign = match (from.is_signed_int(), device.size()) {
            (true, 8) => DataType::I64,
            (true, _) => DataType::I32,
            (false, 8) => DataType::U64,
            (false, _) => DataType::U32,
        };
        let wide = w.cast(CastOp::Convert, same_sign, a);
        // The compiler of Mesa 22.3 orders a number that it sees was sign-extended wrongly against a literal.
        // It is the driver that folds float zeros.
        if same_sign == DataType::I64 { w.concealed(wide) } else { wide }
    };
    let value = w.bitcast(device, resized);
    wrap(w, to, value)
}

/// A device rounds to f32 or f64. An integer that f16 can hold at all is exact in f32; what bf16 drops decides
/// together.
fn int_to_float(w: &mut Writer, from: DataType, to: DataType, a: InstId) -> InstId {
    if to != DataType::BF16 || from.width() < 32 {
        let number = w.cast(CastOp::Convert, device_type(to), a);
        return wrap(w, to, number);
    }
    let integer = bits_of(from);
    let bits = w.bitcast(integer, a);
    if !from.is_signed_int() {
        return half::bf16_of_magnitude(w, bits);
    }
    let negative = w.raw_bits(BinaryOp::Lt, a, 0);
    let zero = w.bits(integer, 0);
    let negated = w.raw(BinaryOp::Sub, zero, bits);
    let magnitude = w.select(negative, negated, bits);
    let number = half::bf16_of_magnitude(w, magnitude);
    let minus = w.raw1(UnaryOp::Neg, number);
    w.select(negative, minus, number)
}

/// Integers narrower than 32 bits are the 32-bit result, clamped.
fn float_to_int(w: &mut Writer, to: DataType, a: InstId) -> InstId {
    let device = device_type(to);
    let (width, signed) = (device.width() as i32, device.is_signed_int());
    let power = |n: i32| 2f64.powi(n);
    let (low, high) = if signed { (-power(width - 1), power(width - 1)) } else { (0.0, power(width)) };
    let greatest = u64::MAX >> (64 - device.width() + u32::from(signed));
    let least = if signed { greatest + 1 } else { 0 };
    let result = saturating(w, device, a, [low, high], [least, greatest]);
    if to == device { result } else { clamp_to(w, to, result) }
}

/// A float as an integer: the device converts what lies in `low ≤ a < high`, and 0 in place of the rest,
/// which gives the ends of the range; NaN, of which no comparison holds, gives 0.
fn saturating(
    w: &mut Writer,
    to: DataType,
    a: InstId,
    [low, high]: [f64; 2],
    [least, greatest]: [u64; 2],
) -> InstId {
    let float = w.ty(a);
    let [low, high] = [low, high].map(|x| w.constant(Value::from_f64(float, x)));
    let from_low = w.raw(BinaryOp::Ge, a, low);
    let below_high = w.raw(BinaryOp::Lt, a, high);
    let inside = w.raw(BinaryOp::BitAnd, from_low, below_high);
    let zero = w.constant(Value::zero(float));
    let safe = w.select(inside, a, zero);
    let converted = w.cast(CastOp::Convert, to, safe);
    let above = w.raw(BinaryOp::Ge, a, high);
    let greatest = w.bits(to, greatest);
    let result = w.select(above, greatest, converted);
    let below = w.raw(BinaryOp::Lt, a, low);
    let least = w.bits(to, least);
    w.select(below, least, result)
}

fn float_to_float(w: &mut Writer, from: DataType, to: DataType, a: InstId) -> InstId {
    let device = device_type(to);
    if w.ty(a) == device {
        // Into f32, or between 16-bit types: the value is an f32 as it is.
        return if to == DataType::F32 { a } else { wrap(w, to, a) };
    }
    let number = w.cast(CastOp::Convert, device, a);
    if from != DataType::F64 || to == DataType::F32 {
        return number;
    }
    // Rounded to odd first, so that the second rounding is the only one. Numbers that f32 rounds to infinity or
    // to 0 are infinite or 0 (or flushed) in the narrower types, too.
    let back = w.cast(CastOp::Convert, DataType::F64, number);
    let error = w.raw(BinaryOp::Sub, a, back);
    // Its sign is all that matters, and as an f32 it may vanish.
    let (one, minus_one, none) = (w.lit(1.0f32), w.lit(-1.0f32), w.lit(0.0f32));
    let zero = w.lit(0.0f64);
    let below = w.raw(BinaryOp::Lt, error, zero);
    let error_below = w.select(below, minus_one, none);
    let above = w.raw(BinaryOp::Gt, error, zero);
    let error = w.select(above, one, error_below);
    let odd = half::to_odd(w, number, error);
    wrap(w, to, odd)
}
