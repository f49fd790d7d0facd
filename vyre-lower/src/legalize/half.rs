//! 16-bit floats as f32 that are numbers of the narrower type.
//!
//! A sum, difference, product, quotient or root that is rounded to f32 and then to the narrower type is the one
//! rounded once, since f32 has more than twice its bits and two (Figueroa, "When is double rounding
//! innocuous?", 1995).

use vyre_spec::DataType;
use vyre_spec::ops::{BinaryOp, CastOp, UnaryOp};

use super::InstId;
use super::float::{INFINITY, MAGNITUDE, QUIET_NAN, SIGN};
use crate::kernel::Op;
use crate::writer::Writer;

/// 2^-14 as an f32, the least normal f16.
const LEAST_NORMAL: u32 = (127 - 14) << 23;
/// 2^16 as an f32, the least number that overflows an f16 after rounding.
const TWO_16: u32 = (127 + 16) << 23;
/// What the exponent of an f32 is above that of an f16, in place.
const REBIAS: u32 = (127 - 15) << 23;

/// Whether the driver converts between f32 and the type, rounding to nearest even.
pub(super) fn is_native(w: &Writer, ty: DataType) -> bool {
    ty == DataType::F16 && !w.quirks.loses_halves
}

/// The number in one half of a word.
pub(super) fn unpack(w: &mut Writer, word: InstId, part: u32) -> InstId {
    w.value(Op::UnpackHalf { word, part }, DataType::F32)
}

/// A word of two numbers of type f16.
pub(super) fn pack(w: &mut Writer, a: InstId, b: InstId) -> InstId {
    if let (Some((word, 0)), Some((other, 1))) = (unpacked(w, a), unpacked(w, b)) {
        if word == other {
            return word;
        }
    }
    let (a, b) = (before_rounding(w, a), before_rounding(w, b));
    w.value(Op::PackHalves(a, b), DataType::U32)
}

/// The half of a word that a number was taken from.
fn unpacked(w: &Writer, a: InstId) -> Option<(InstId, u32)> {
    match w.insts.get(a.index())?.op {
        Op::UnpackHalf { word, part } => Some((word, part)),
        _ => None,
    }
}

/// What a number was rounded from; packing rounds it again.
fn before_rounding(w: &mut Writer, a: InstId) -> InstId {
    let Some((word, 0)) = unpacked(w, a) else { return a };
    let Some(&Op::Binary(BinaryOp::BitOr, packed, hidden)) = w.insts.get(word.index()).map(|inst| &inst.op)
    else {
        return a;
    };
    match w.insts.get(packed.index()).map(|inst| inst.op) {
        Some(Op::PackHalves(low, _)) if hidden == w.hidden_zero(DataType::U32) => low,
        _ => a,
    }
}

/// The number's bits as they were loaded, or as they became when it was rounded.
fn known_bits(w: &mut Writer, a: InstId) -> Option<InstId> {
    let (word, part) = unpacked(w, a)?;
    let bits = if part == 0 { word } else { w.raw_lit(BinaryOp::Shr, word, 16u32) };
    Some(if part == 0 { w.raw_lit(BinaryOp::BitAnd, bits, 0xFFFFu32) } else { bits })
}

/// An f32 rounded to the nearest number of the type, ties to even.
pub(super) fn round(w: &mut Writer, ty: DataType, a: InstId) -> InstId {
    if is_native(w, ty) {
        let zero = w.lit(0.0f32);
        let word = w.value(Op::PackHalves(a, zero), DataType::U32);
        // A driver that sees a number packed and unpacked may leave it unrounded.
        let hidden = w.hidden_zero(DataType::U32);
        let word = w.raw(BinaryOp::BitOr, word, hidden);
        return unpack(w, word, 0);
    }
    let bits = w.bitcast(DataType::U32, a);
    let rounded = round_bits(w, ty, bits);
    w.bitcast(DataType::F32, rounded)
}

fn round_bits(w: &mut Writer, ty: DataType, bits: InstId) -> InstId {
    let drop: u32 = if ty == DataType::BF16 { 16 } else { 13 };
    let magnitude = w.raw_lit(BinaryOp::BitAnd, bits, MAGNITUDE);
    // Half a unit, less one unless the last bit that is kept is odd.
    let last = w.raw_lit(BinaryOp::Shr, magnitude, drop);
    let last = w.raw_lit(BinaryOp::BitAnd, last, 1u32);
    let up = w.raw_lit(BinaryOp::Add, magnitude, (1u32 << (drop - 1)) - 1);
    let up = w.raw(BinaryOp::Add, up, last);
    let mut rounded = w.raw_lit(BinaryOp::BitAnd, up, !((1u32 << drop) - 1));
    if ty != DataType::BF16 {
        let overflows = w.raw_lit(BinaryOp::Ge, rounded, TWO_16);
        let infinity = w.lit(INFINITY);
        rounded = w.select(overflows, infinity, rounded);
        // From 0.5 to 1 an f32 has the precision of a subnormal f16.
        let number = w.bitcast(DataType::F32, magnitude);
        let half = w.raw_lit(BinaryOp::Add, number, 0.5f32);
        let subnormal = w.raw_lit(BinaryOp::Sub, half, 0.5f32);
        let subnormal = w.bitcast(DataType::U32, subnormal);
        let is_subnormal = w.raw_lit(BinaryOp::Lt, magnitude, LEAST_NORMAL);
        rounded = w.select(is_subnormal, subnormal, rounded);
    }
    let nan = w.raw_lit(BinaryOp::Gt, magnitude, INFINITY);
    let quiet = w.lit(QUIET_NAN);
    rounded = w.select(nan, quiet, rounded);
    let sign = w.raw_lit(BinaryOp::BitAnd, bits, SIGN);
    w.raw(BinaryOp::BitOr, rounded, sign)
}

/// The f32 of 16 bits.
pub(super) fn from_bits(w: &mut Writer, ty: DataType, bits: InstId) -> InstId {
    if ty == DataType::BF16 {
        let high = w.raw_lit(BinaryOp::Shl, bits, 16u32);
        return w.bitcast(DataType::F32, high);
    }
    let sign = w.raw_lit(BinaryOp::BitAnd, bits, 0x8000u32);
    let sign = w.raw_lit(BinaryOp::Shl, sign, 16u32);
    let magnitude = w.raw_lit(BinaryOp::BitAnd, bits, 0x7FFFu32);
    let wide = w.raw_lit(BinaryOp::Shl, magnitude, 13u32);
    let normal = w.raw_lit(BinaryOp::Add, wide, REBIAS);
    // Infinity and NaN have the greatest exponent in either type.
    let special = w.raw_lit(BinaryOp::Add, wide, 2 * REBIAS);
    let is_special = w.raw_lit(BinaryOp::Ge, magnitude, 0x7C00u32);
    let chosen = w.select(is_special, special, normal);
    let subnormal = w.cast(CastOp::Convert, DataType::F32, magnitude);
    let subnormal = w.raw_lit(BinaryOp::Mul, subnormal, 1.0f32 / 16_777_216.0);
    let subnormal = w.bitcast(DataType::U32, subnormal);
    let is_subnormal = w.raw_lit(BinaryOp::Lt, magnitude, 0x0400u32);
    let chosen = w.select(is_subnormal, subnormal, chosen);
    let bits = w.raw(BinaryOp::BitOr, chosen, sign);
    w.bitcast(DataType::F32, bits)
}

/// The 16 bits of an f32 that is a number of the type.
pub(super) fn to_bits(w: &mut Writer, ty: DataType, a: InstId) -> InstId {
    if let Some(bits) = known_bits(w, a) {
        return bits;
    }
    let bits = w.bitcast(DataType::U32, a);
    if ty == DataType::BF16 {
        return w.raw_lit(BinaryOp::Shr, bits, 16u32);
    }
    let sign = w.raw_lit(BinaryOp::Shr, bits, 16u32);
    let sign = w.raw_lit(BinaryOp::BitAnd, sign, 0x8000u32);
    let magnitude = w.raw_lit(BinaryOp::BitAnd, bits, MAGNITUDE);
    let normal = w.raw_lit(BinaryOp::Sub, magnitude, REBIAS);
    let normal = w.raw_lit(BinaryOp::Shr, normal, 13u32);
    let number = w.bitcast(DataType::F32, magnitude);
    let is_subnormal = w.raw_lit(BinaryOp::Lt, magnitude, LEAST_NORMAL);
    // Infinity and NaN have no integer; neither is subnormal.
    let zero = w.lit(0.0f32);
    let small = w.select(is_subnormal, number, zero);
    let scaled = w.raw_lit(BinaryOp::Mul, small, 16_777_216.0f32);
    let subnormal = w.cast(CastOp::Convert, DataType::U32, scaled);
    let chosen = w.select(is_subnormal, subnormal, normal);
    // Infinity and NaN keep their bits.
    let special = w.raw_lit(BinaryOp::Shr, magnitude, 13u32);
    let special = w.raw_lit(BinaryOp::BitAnd, special, 0x7FFFu32);
    let is_special = w.raw_lit(BinaryOp::Ge, magnitude, INFINITY);
    let chosen = w.select(is_special, special, chosen);
    w.raw(BinaryOp::BitOr, chosen, sign)
}

/// The sum of two numbers of type F32 or F64: the exact one, or that of its two neighbours whose last bit is
/// one. Rounding it to a type with two bits fewer is then one rounding.
pub(super) fn add_to_odd(w: &mut Writer, a: InstId, b: InstId) -> InstId {
    let sum = w.raw(BinaryOp::Add, a, b);
    let second = w.raw(BinaryOp::Sub, sum, a);
    let first = w.raw(BinaryOp::Sub, sum, second);
    let (x, y) = (w.raw(BinaryOp::Sub, a, first), w.raw(BinaryOp::Sub, b, second));
    let error = w.raw(BinaryOp::Add, x, y);
    to_odd(w, sum, error)
}

/// A number that was rounded to nearest, moved to the neighbour on the error's side if it is even.
pub(super) fn to_odd(w: &mut Writer, number: InstId, error: InstId) -> InstId {
    let ty = w.ty(number);
    let format = ty.float_format().unwrap_or(vyre_spec::FloatFormat { exponent_bits: 8, fraction_bits: 23 });
    let integer = crate::writer::bits_of(ty);
    let (bits, error) = (w.bitcast(integer, number), w.bitcast(integer, error));
    let magnitude = w.raw_bits(BinaryOp::BitAnd, error, format.sign() - 1);
    // Neither zero, nor infinite, nor NaN, in one comparison.
    let from_one = w.raw_bits(BinaryOp::Sub, magnitude, 1);
    let inexact = w.raw_bits(BinaryOp::Lt, from_one, format.infinity() - 1);
    let last = w.raw_bits(BinaryOp::BitAnd, bits, 1);
    let even = w.raw_bits(BinaryOp::Eq, last, 0);
    let moves = w.raw(BinaryOp::BitAnd, inexact, even);
    let signs = w.raw(BinaryOp::BitXor, bits, error);
    let inward = w.raw_bits(BinaryOp::Ge, signs, format.sign());
    let (minus_one, one) = (w.bits(integer, u64::MAX), w.bits(integer, 1));
    let step = w.select(inward, minus_one, one);
    let moved = w.raw(BinaryOp::Add, bits, step);
    let chosen = w.select(moves, moved, bits);
    w.bitcast(ty, chosen)
}

/// The fused multiply-add of f16: the product is exact in f32.
pub(super) fn fma(w: &mut Writer, [a, b, c]: [InstId; 3]) -> InstId {
    let product = w.raw(BinaryOp::Mul, a, b);
    let sum = add_to_odd(w, product, c);
    round(w, DataType::F16, sum)
}

/// An unsigned integer as a bf16: its 24 leading bits, the last of them set if any below is.
pub(super) fn bf16_of_magnitude(w: &mut Writer, a: InstId) -> InstId {
    let ty = w.ty(a);
    let width = ty.width();
    let zeros = super::unary(w, UnaryOp::LeadingZeros, ty, a);
    let zeros = super::cast(w, CastOp::Convert, ty, DataType::U32, zeros);
    let up = super::binary(w, BinaryOp::Shl, ty, a, zeros);
    let leading = w.raw_lit(BinaryOp::Shr, up, width - 24);
    let rest = w.raw_bits(BinaryOp::BitAnd, up, (1 << (width - 24)) - 1);
    let none = w.raw_bits(BinaryOp::Eq, rest, 0);
    let (zero, one) = (w.lit(0u32), w.lit(1u32));
    let sticky = w.select(none, zero, one);
    let leading = super::cast(w, CastOp::Convert, ty, DataType::U32, leading);
    let leading = w.raw(BinaryOp::BitOr, leading, sticky);
    let number = w.cast(CastOp::Convert, DataType::F32, leading);
    // 2^(width - 24 - zeros), a normal f32; the shift of zero by its width gave zero.
    let exponent = w.lit(127 + width - 24);
    let exponent = w.raw(BinaryOp::Sub, exponent, zeros);
    let scale = w.raw_lit(BinaryOp::Shl, exponent, 23u32);
    let scale = w.bitcast(DataType::F32, scale);
    let scaled = w.raw(BinaryOp::Mul, number, scale);
    round(w, DataType::BF16, scaled)
}
