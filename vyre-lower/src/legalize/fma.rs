//! Fused multiply-add, where the driver has it, or in integer arithmetic where the driver rounds twice.
//!
//! The emulation follows IEEE 754-2019 clause 5.4.1 (fusedMultiplyAdd) for binary32, rounding to nearest,
//! ties to even. The product of two 24-bit significands is exact in 48 bits; product and addend stand in 64
//! bits with their leading ones near bit 61, so that the smaller can be shifted right by the difference of
//! the exponents with all bits that are lost gathered in bit 0. No bit is lost unless the addend's exponent
//! differs by more than 14, and then at most one leading bit cancels: bit 0 stays far below the rounding
//! position.

use vyre_spec::DataType;
use vyre_spec::ops::{BinaryOp, TernaryOp, UnaryOp};

use super::InstId;
use super::float::{INFINITY, MAGNITUDE, QUIET_NAN, SIGN};
use super::int::{shift, wide_mul};
use crate::kernel::{LaunchField, Op};
use crate::writer::{Refusal, Writer};

/// The leading one of a normal significand.
const HIDDEN: u32 = 0x0080_0000;

pub(super) fn fma(w: &mut Writer, op: TernaryOp, ty: DataType, [a, b, c]: [InstId; 3]) -> InstId {
    match ty {
        DataType::F16 => return super::half::fma(w, [a, b, c]),
        // Its products leave the range of f32, so there is no other way.
        DataType::BF16 => {}
        _ if !w.quirks.splits_fma => return w.raw3(op, a, b, c),
        DataType::F64 => return w.refuse(Refusal { op: op.name(), ty, missing: None }, ty),
        _ => {}
    }
    // Bits that the type has less than f32.
    let drop = if ty == DataType::BF16 { 16 } else { 0 };
    // A driver that looks for branches on uniform values walks this graph once per path unless a leaf is not
    // uniform (Mesa 22.3 was seen to take minutes), so each operand gets one: 0, but only at run time.
    let (index, zero) = (w.hardware(Op::LocalIndex), w.launch(LaunchField::Zero, DataType::U32));
    let zero = w.raw(BinaryOp::Min, index, zero);
    let bits = [a, b, c].map(|x| {
        let bits = w.bitcast(DataType::U32, x);
        w.raw(BinaryOp::BitOr, zero, bits)
    });
    let finite = finite(w, bits, drop);
    let result = special(w, bits, finite);
    w.bitcast(DataType::F32, result)
}

/// `fma(t, b, fma(-t, a, a))`.
pub(super) fn mix(w: &mut Writer, _op: TernaryOp, ty: DataType, [a, b, t]: [InstId; 3]) -> InstId {
    let minus = w.raw1(UnaryOp::Neg, t);
    let rest = fma(w, TernaryOp::Fma, ty, [minus, a, a]);
    fma(w, TernaryOp::Fma, ty, [t, b, rest])
}

/// A 64-bit number.
#[derive(Clone, Copy)]
struct Wide {
    high: InstId,
    low: InstId,
}

/// A finite float as significand × 2^(exponent − 150), the significand's leading one at bit 23 unless it
/// is 0. Exponents are i32.
struct Unpacked {
    significand: InstId,
    exponent: InstId,
}

fn and(w: &mut Writer, a: InstId, mask: u32) -> InstId {
    w.raw_lit(BinaryOp::BitAnd, a, mask)
}

fn shl(w: &mut Writer, a: InstId, n: u32) -> InstId {
    w.raw_lit(BinaryOp::Shl, a, n)
}

fn shr(w: &mut Writer, a: InstId, n: u32) -> InstId {
    w.raw_lit(BinaryOp::Shr, a, n)
}

/// Reinterprets a small natural number as i32.
fn signed(w: &mut Writer, a: InstId) -> InstId {
    w.bitcast(DataType::I32, a)
}

fn unpack(w: &mut Writer, bits: InstId) -> Unpacked {
    let fraction = and(w, bits, HIDDEN - 1);
    let field = shr(w, bits, 23);
    let field = and(w, field, 0xFF);
    let zero = w.lit(0u32);
    let is_subnormal = w.raw(BinaryOp::Eq, field, zero);
    let normal = w.raw_lit(BinaryOp::BitOr, fraction, HIDDEN);
    // A subnormal's leading one goes up to bit 23, and its exponent, 1, down as much.
    let zeros = w.raw1(UnaryOp::LeadingZeros, fraction);
    let up = w.raw_lit(BinaryOp::Sub, zeros, 8u32);
    let raised = shift(w, BinaryOp::Shl, DataType::U32, fraction, up);
    let up = signed(w, up);
    let one = w.lit(1i32);
    let lowered = w.raw(BinaryOp::Sub, one, up);
    let field = signed(w, field);
    let significand = w.select(is_subnormal, raised, normal);
    let exponent = w.select(is_subnormal, lowered, field);
    Unpacked { significand, exponent }
}

/// `n` below 64.
fn shift_left(w: &mut Writer, x: Wide, n: InstId) -> Wide {
    let zero = w.lit(0u32);
    let far = w.raw_lit(BinaryOp::Ge, n, 32u32);
    let (high, low) = (w.select(far, x.low, x.high), w.select(far, zero, x.low));
    let n = and(w, n, 31);
    // The bits that cross, shifted by 32 − n in two steps, as n may be 0.
    let rest = w.raw_lit(BinaryOp::BitXor, n, 31u32);
    let crossing = shr(w, low, 1);
    let crossing = shift(w, BinaryOp::Shr, DataType::U32, crossing, rest);
    let high = shift(w, BinaryOp::Shl, DataType::U32, high, n);
    Wide { high: w.raw(BinaryOp::BitOr, high, crossing), low: shift(w, BinaryOp::Shl, DataType::U32, low, n) }
}

/// `n` below 64. Bit 0 of the result is also set if a bit that was set is lost.
fn shift_right_sticky(w: &mut Writer, x: Wide, n: InstId) -> Wide {
    let (zero, one) = (w.lit(0u32), w.lit(1u32));
    let far = w.raw_lit(BinaryOp::Ge, n, 32u32);
    let lost_word = w.select(far, x.low, zero);
    let (high, low) = (w.select(far, zero, x.high), w.select(far, x.high, x.low));
    let n = and(w, n, 31);
    let rest = w.raw_lit(BinaryOp::BitXor, n, 31u32);
    let crossing = shl(w, high, 1);
    let crossing = shift(w, BinaryOp::Shl, DataType::U32, crossing, rest);
    let power = shift(w, BinaryOp::Shl, DataType::U32, one, n);
    let mask = w.raw(BinaryOp::Sub, power, one);
    let lost_bits = w.raw(BinaryOp::BitAnd, low, mask);
    let lost = w.raw(BinaryOp::BitOr, lost_word, lost_bits);
    let none = w.raw(BinaryOp::Eq, lost, zero);
    let sticky = w.select(none, zero, one);
    let low = shift(w, BinaryOp::Shr, DataType::U32, low, n);
    let low = w.raw(BinaryOp::BitOr, low, crossing);
    Wide { high: shift(w, BinaryOp::Shr, DataType::U32, high, n), low: w.raw(BinaryOp::BitOr, low, sticky) }
}

fn add(w: &mut Writer, a: Wide, b: Wide) -> Wide {
    let low = w.raw(BinaryOp::Add, a.low, b.low);
    let carries = w.raw(BinaryOp::Lt, low, a.low);
    let (one, zero) = (w.lit(1u32), w.lit(0u32));
    let carry = w.select(carries, one, zero);
    let high = w.raw(BinaryOp::Add, a.high, b.high);
    Wide { high: w.raw(BinaryOp::Add, high, carry), low }
}

fn sub(w: &mut Writer, a: Wide, b: Wide) -> Wide {
    let borrows = w.raw(BinaryOp::Lt, a.low, b.low);
    let (one, zero) = (w.lit(1u32), w.lit(0u32));
    let borrow = w.select(borrows, one, zero);
    let high = w.raw(BinaryOp::Sub, a.high, b.high);
    Wide { high: w.raw(BinaryOp::Sub, high, borrow), low: w.raw(BinaryOp::Sub, a.low, b.low) }
}

fn less(w: &mut Writer, a: Wide, b: Wide) -> InstId {
    let above = w.raw(BinaryOp::Lt, a.high, b.high);
    let equal = w.raw(BinaryOp::Eq, a.high, b.high);
    let below = w.raw(BinaryOp::Lt, a.low, b.low);
    let tied = w.raw(BinaryOp::BitAnd, equal, below);
    w.raw(BinaryOp::BitOr, above, tied)
}

fn select(w: &mut Writer, condition: InstId, a: Wide, b: Wide) -> Wide {
    Wide { high: w.select(condition, a.high, b.high), low: w.select(condition, a.low, b.low) }
}

/// A shift amount from an i32 that may be negative (then 0) or large (then 63).
fn amount(w: &mut Writer, n: InstId) -> InstId {
    let n = w.raw_lit(BinaryOp::Max, n, 0i32);
    let n = w.raw_lit(BinaryOp::Min, n, 63i32);
    w.bitcast(DataType::U32, n)
}

/// The result for finite operands with a product that is not zero.
fn finite(w: &mut Writer, [a, b, c]: [InstId; 3], drop: u32) -> InstId {
    let zero = w.lit(0u32);
    let sign = w.raw(BinaryOp::BitXor, a, b);
    let (product_sign, addend_sign) = (and(w, sign, SIGN), and(w, c, SIGN));
    let (x, y, z) = (unpack(w, a), unpack(w, b), unpack(w, c));

    // Product and addend as number × 2^exponent, leading ones at bit 60 or 61.
    let (high, low) = wide_mul(w, x.significand, y.significand);
    let (top, bottom) = (shl(w, high, 14), shr(w, low, 18));
    let product = Wide { high: w.raw(BinaryOp::BitOr, top, bottom), low: shl(w, low, 14) };
    let exponents = w.raw(BinaryOp::Add, x.exponent, y.exponent);
    let product_exponent = w.raw_lit(BinaryOp::Sub, exponents, 150 + 150 + 14);
    let addend = Wide { high: shl(w, z.significand, 5), low: zero };
    let exponent = w.raw_lit(BinaryOp::Sub, z.exponent, 150 + 37);
    // Nothing needs to be shifted for an addend of zero.
    let no_addend = w.raw(BinaryOp::Eq, z.significand, zero);
    let addend_exponent = w.select(no_addend, product_exponent, exponent);

    let ahead = w.raw(BinaryOp::Sub, product_exponent, addend_exponent);
    let behind = w.raw(BinaryOp::Sub, addend_exponent, product_exponent);
    let (ahead, behind) = (amount(w, ahead), amount(w, behind));
    let addend = shift_right_sticky(w, addend, ahead);
    let product = shift_right_sticky(w, product, behind);
    let exponent = w.raw(BinaryOp::Max, product_exponent, addend_exponent);

    // Sum of the magnitudes, or difference with the greater one's sign.
    let same = w.raw(BinaryOp::Eq, product_sign, addend_sign);
    let smaller = less(w, product, addend);
    let (greater, lesser) = (select(w, smaller, addend, product), select(w, smaller, product, addend));
    let (sum, difference) = (add(w, product, addend), sub(w, greater, lesser));
    let total = select(w, same, sum, difference);
    let sign = w.select(smaller, addend_sign, product_sign);
    // Where the signs agree, both are the sign; an exact difference of zero is +0.
    let either = w.raw(BinaryOp::BitOr, total.high, total.low);
    let vanishes = w.raw(BinaryOp::Eq, either, zero);

    let rounded = round(w, total, exponent, drop);
    let result = w.raw(BinaryOp::BitOr, sign, rounded);
    w.select(vanishes, zero, result)
}

/// The f32 nearest to number × 2^exponent that has its last `drop` bits clear, without its sign. The number is below 2^63 and not 0.
fn round(w: &mut Writer, number: Wide, exponent: InstId, drop: u32) -> InstId {
    let (zero, one) = (w.lit(0u32), w.lit(1u32));
    // The leading one goes to bit 62.
    let (high_zeros, low_zeros) =
        (w.raw1(UnaryOp::LeadingZeros, number.high), w.raw1(UnaryOp::LeadingZeros, number.low));
    let low_zeros = w.raw_lit(BinaryOp::Add, low_zeros, 32u32);
    let empty = w.raw(BinaryOp::Eq, number.high, zero);
    let zeros = w.select(empty, low_zeros, high_zeros);
    let up = w.raw_lit(BinaryOp::Sub, zeros, 1u32);
    let up = w.raw_lit(BinaryOp::Min, up, 63u32);
    let number = shift_left(w, number, up);
    let up = signed(w, up);
    let exponent = w.raw(BinaryOp::Sub, exponent, up);
    let biased = w.raw_lit(BinaryOp::Add, exponent, 62 + 127);

    // Below the normal range it goes further down, and the exponent stays 1.
    let one_signed = w.lit(1i32);
    let below = w.raw(BinaryOp::Sub, one_signed, biased);
    let below = amount(w, below);
    let number = shift_right_sticky(w, number, below);
    let biased = w.raw(BinaryOp::Max, biased, one_signed);
    let overflows = w.raw_lit(BinaryOp::Ge, biased, 255i32);

    // 24 bits are kept, less `drop`, from bit 39 + `drop` up; of the others, the first is half a unit.
    let kept = shr(w, number.high, 7 + drop);
    let rest = and(w, number.high, (0x80 << drop) - 1);
    let above_half = w.raw_lit(BinaryOp::Gt, rest, 0x40u32 << drop);
    let at_half = w.raw_lit(BinaryOp::Eq, rest, 0x40u32 << drop);
    let odd = and(w, kept, 1);
    let odd_or_more = w.raw(BinaryOp::BitOr, odd, number.low);
    let even = w.raw(BinaryOp::Eq, odd_or_more, zero);
    let not_even = w.raw1(UnaryOp::Not, even);
    let tie_up = w.raw(BinaryOp::BitAnd, at_half, not_even);
    let goes_up = w.raw(BinaryOp::BitOr, above_half, tie_up);
    let unit = w.select(goes_up, one, zero);
    let kept = w.raw(BinaryOp::Add, kept, unit);
    // The hidden one, if there is one, adds 1 to the exponent field, and so does a carry out of rounding.
    let field = w.bitcast(DataType::U32, biased);
    let field = w.raw_lit(BinaryOp::Sub, field, 1u32);
    let field = shl(w, field, 23);
    let kept = shl(w, kept, drop);
    let bits = w.raw(BinaryOp::Add, field, kept);
    let infinity = w.lit(INFINITY);
    w.select(overflows, infinity, bits)
}

/// Puts NaNs, infinities and zero products in the place of what the finite case gave for them.
fn special(w: &mut Writer, [a, b, c]: [InstId; 3], finite: InstId) -> InstId {
    let test = |w: &mut Writer, op: BinaryOp, x: InstId, limit: u32| {
        let magnitude = and(w, x, MAGNITUDE);
        w.raw_lit(op, magnitude, limit)
    };
    let nan = [a, b, c].map(|x| test(w, BinaryOp::Gt, x, INFINITY));
    let infinite = [a, b, c].map(|x| test(w, BinaryOp::Eq, x, INFINITY));
    let zero = [a, b, c].map(|x| test(w, BinaryOp::Eq, x, 0));
    let or = |w: &mut Writer, x: InstId, y: InstId| w.raw(BinaryOp::BitOr, x, y);
    let both = |w: &mut Writer, x: InstId, y: InstId| w.raw(BinaryOp::BitAnd, x, y);

    let product_infinite = or(w, infinite[0], infinite[1]);
    let product_zero = or(w, zero[0], zero[1]);
    let sign = w.raw(BinaryOp::BitXor, a, b);
    let sign = and(w, sign, SIGN);
    let differ = w.raw(BinaryOp::BitXor, sign, c);
    let differ = w.raw_lit(BinaryOp::Ge, differ, SIGN);

    // NaN: of a NaN, of infinity × 0, and of infinity − infinity.
    let any = or(w, nan[0], nan[1]);
    let any = or(w, any, nan[2]);
    let undefined = both(w, product_infinite, product_zero);
    let opposed = both(w, infinite[2], differ);
    let opposed = both(w, product_infinite, opposed);
    let invalid = or(w, undefined, opposed);
    let invalid = or(w, invalid, any);

    // A zero product leaves the addend; two zeros are −0 only if both are.
    let signs = w.raw(BinaryOp::BitAnd, sign, c);
    let zeros = w.select(zero[2], signs, c);
    let mut result = w.select(product_zero, zeros, finite);
    result = w.select(infinite[2], c, result);
    let infinity = w.lit(INFINITY);
    let infinity = or(w, sign, infinity);
    result = w.select(product_infinite, infinity, result);
    let quiet = w.lit(QUIET_NAN);
    w.select(invalid, quiet, result)
}
