//! Powers, from exp2 and log2, with the special cases of IEEE 754-2019 clause 9.2.1 (pow).

use vyre_spec::DataType;
use vyre_spec::ops::{BinaryOp, UnaryOp};

use super::InstId;
use super::float::{INFINITY, MAGNITUDE, QUIET_NAN, SIGN};
use super::repr::wrap;
use crate::writer::{Refusal, Writer};

pub(super) fn pow(w: &mut Writer, op: BinaryOp, ty: DataType, x: InstId, y: InstId) -> InstId {
    if ty == DataType::F64 {
        return w.refuse(Refusal { op: op.name(), ty, missing: None }, ty);
    }
    let (bits_x, bits_y) = (w.bitcast(DataType::U32, x), w.bitcast(DataType::U32, y));
    let mag_x = w.raw_lit(BinaryOp::BitAnd, bits_x, MAGNITUDE);
    let mag_y = w.raw_lit(BinaryOp::BitAnd, bits_y, MAGNITUDE);
    let one = 1.0f32.to_bits();

    let absolute = w.bitcast(DataType::F32, mag_x);
    let logarithm = super::unary(w, UnaryOp::Log2, DataType::F32, absolute);
    let exponent = w.raw(BinaryOp::Mul, y, logarithm);
    let power = super::unary(w, UnaryOp::Exp2, DataType::F32, exponent);
    let power = w.bitcast(DataType::U32, power);

    // An odd integer keeps the sign of x; beyond 2^24 all are even.
    let whole = w.raw1(UnaryOp::Trunc, y);
    let is_whole = w.raw(BinaryOp::Eq, whole, y);
    let half = w.raw_lit(BinaryOp::Mul, y, 0.5f32);
    let half_whole = w.raw1(UnaryOp::Trunc, half);
    let is_even = w.raw(BinaryOp::Eq, half_whole, half);
    let is_fraction = w.raw1(UnaryOp::Not, is_even);
    let finite_y = w.raw_lit(BinaryOp::Lt, mag_y, INFINITY);
    let odd = w.raw(BinaryOp::BitAnd, is_whole, is_fraction);
    let odd = w.raw(BinaryOp::BitAnd, odd, finite_y);
    let sign = w.raw_lit(BinaryOp::BitAnd, bits_x, SIGN);
    let zero = w.lit(0u32);
    let sign = w.select(odd, sign, zero);
    let mut result = w.raw(BinaryOp::BitOr, power, sign);

    // NaN: a NaN operand, or a negative finite number to a finite power that is no integer.
    let (nan_x, nan_y) = (w.raw_lit(BinaryOp::Gt, mag_x, INFINITY), w.raw_lit(BinaryOp::Gt, mag_y, INFINITY));
    // From just above −0 to just below −∞, in one comparison.
    let below = w.raw_lit(BinaryOp::Sub, bits_x, SIGN | 1);
    let negative = w.raw_lit(BinaryOp::Lt, below, INFINITY - 1);
    let no_integer = w.raw1(UnaryOp::Not, is_whole);
    let no_integer = w.raw(BinaryOp::BitAnd, no_integer, finite_y);
    let undefined = w.raw(BinaryOp::BitAnd, negative, no_integer);
    let nan = w.raw(BinaryOp::BitOr, nan_x, nan_y);
    let nan = w.raw(BinaryOp::BitOr, nan, undefined);
    let quiet = w.lit(QUIET_NAN);
    result = w.select(nan, quiet, result);

    // 1: of 1, of a power of zero, and of −1 to an infinite power.
    let is_one = w.raw_lit(BinaryOp::Eq, bits_x, one);
    let no_power = w.raw_lit(BinaryOp::Eq, mag_y, 0u32);
    let unit = w.raw_lit(BinaryOp::Eq, mag_x, one);
    let infinite_y = w.raw_lit(BinaryOp::Eq, mag_y, INFINITY);
    let unit = w.raw(BinaryOp::BitAnd, unit, infinite_y);
    let ones = w.raw(BinaryOp::BitOr, is_one, no_power);
    let ones = w.raw(BinaryOp::BitOr, ones, unit);
    let one = w.lit(one);
    result = w.select(ones, one, result);
    let result = w.bitcast(DataType::F32, result);
    wrap(w, ty, result)
}
