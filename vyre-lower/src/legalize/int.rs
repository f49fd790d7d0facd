//! Integer ops: division, shifts, rotations, saturation, high products, differences.

use vyre_spec::DataType;
use vyre_spec::ops::{BinaryOp, CastOp};

use super::InstId;
use crate::writer::Writer;

const SIGN: u32 = 1 << 31;

/// Adds two values as they are.
fn add(w: &mut Writer, a: InstId, b: InstId) -> InstId {
    w.raw(BinaryOp::Add, a, b)
}

/// A constant of the integer type `ty` with these bits.
fn constant(w: &mut Writer, ty: DataType, bits: u32) -> InstId {
    w.constant(vyre_spec::Value::from_bits(ty, u64::from(bits)))
}

/// A divisor with which the device's division gives the right quotient and `a − q·d` the right remainder:
/// 1 instead of 0, and instead of −1 under MIN.
fn divisor(w: &mut Writer, a: InstId, b: InstId) -> InstId {
    let ty = w.ty(a);
    if let Some(value) = w.as_constant(b) {
        let bits = value.bits() as u32;
        if bits != 0 && !(ty == DataType::I32 && bits == u32::MAX) {
            return b;
        }
    }
    let zero = constant(w, ty, 0);
    let one = constant(w, ty, 1);
    let mut bad = w.raw(BinaryOp::Eq, b, zero);
    if ty == DataType::I32 {
        let (min, minus_one) = (constant(w, ty, SIGN), constant(w, ty, u32::MAX));
        let is_min = w.raw(BinaryOp::Eq, a, min);
        let is_minus_one = w.raw(BinaryOp::Eq, b, minus_one);
        let overflows = w.raw(BinaryOp::BitAnd, is_min, is_minus_one);
        bad = w.raw(BinaryOp::BitOr, bad, overflows);
    }
    w.select(bad, one, b)
}

/// x / 0 is x and MIN / −1 is MIN: both are x / 1.
pub(super) fn div(w: &mut Writer, op: BinaryOp, a: InstId, b: InstId) -> InstId {
    if w.ty(a).is_float() {
        return super::float::divide(w, op, a, b);
    }
    let d = divisor(w, a, b);
    w.raw(BinaryOp::Div, a, d)
}

/// x % 0 and MIN % −1 are 0: both are x % 1. The signed remainder is a − q·d, as Vulkan leaves OpSRem of
/// negative operands undefined (specification of `VK_KHR_maintenance8`, which defines it).
pub(super) fn rem(w: &mut Writer, op: BinaryOp, a: InstId, b: InstId) -> InstId {
    let d = divisor(w, a, b);
    if w.ty(a) != DataType::I32 {
        return w.raw(op, a, d);
    }
    let quotient = w.raw(BinaryOp::Div, a, d);
    let product = w.raw(BinaryOp::Mul, quotient, d);
    w.raw(BinaryOp::Sub, a, product)
}

/// A shift amount below 32.
fn amount(w: &mut Writer, b: InstId) -> InstId {
    match w.as_constant(b) {
        Some(value) if value.bits() < 32 => b,
        _ => w.raw_lit(BinaryOp::BitAnd, b, 31u32),
    }
}

/// The amount is taken modulo the width.
pub(super) fn shift(w: &mut Writer, op: BinaryOp, a: InstId, b: InstId) -> InstId {
    let amount = amount(w, b);
    w.raw(op, a, amount)
}

fn rotate(w: &mut Writer, towards: BinaryOp, back: BinaryOp, a: InstId, b: InstId) -> InstId {
    let ty = w.ty(a);
    let bits = w.bitcast(DataType::U32, a);
    let amount = amount(w, b);
    let width = w.lit(32u32);
    let rest = w.raw(BinaryOp::Sub, width, amount);
    // An amount of 0 leaves 32, which wraps to 0: both halves are then the operand.
    let rest = w.raw_lit(BinaryOp::BitAnd, rest, 31u32);
    let high = w.raw(towards, bits, amount);
    let low = w.raw(back, bits, rest);
    let rotated = w.raw(BinaryOp::BitOr, high, low);
    w.bitcast(ty, rotated)
}

pub(super) fn rotate_left(w: &mut Writer, _op: BinaryOp, a: InstId, b: InstId) -> InstId {
    rotate(w, BinaryOp::Shl, BinaryOp::Shr, a, b)
}

pub(super) fn rotate_right(w: &mut Writer, _op: BinaryOp, a: InstId, b: InstId) -> InstId {
    rotate(w, BinaryOp::Shr, BinaryOp::Shl, a, b)
}

/// The end of the range on `a`'s side: MIN for a negative `a`, else MAX.
fn signed_limit(w: &mut Writer, a: InstId) -> InstId {
    let sign = w.raw_lit(BinaryOp::Shr, a, 31u32);
    w.raw_lit(BinaryOp::BitXor, sign, i32::MAX)
}

pub(super) fn sat_add(w: &mut Writer, _op: BinaryOp, a: InstId, b: InstId) -> InstId {
    let sum = add(w, a, b);
    if w.ty(a) == DataType::U32 {
        let wrapped = w.raw(BinaryOp::Lt, sum, a);
        let max = w.lit(u32::MAX);
        return w.select(wrapped, max, sum);
    }
    // The sum overflows where both operands differ from it in sign.
    let (x, y) = (w.raw(BinaryOp::BitXor, a, sum), w.raw(BinaryOp::BitXor, b, sum));
    let both = w.raw(BinaryOp::BitAnd, x, y);
    let overflows = w.raw_lit(BinaryOp::Lt, both, 0i32);
    let limit = signed_limit(w, a);
    w.select(overflows, limit, sum)
}

pub(super) fn sat_sub(w: &mut Writer, _op: BinaryOp, a: InstId, b: InstId) -> InstId {
    let difference = w.raw(BinaryOp::Sub, a, b);
    if w.ty(a) == DataType::U32 {
        let below = w.raw(BinaryOp::Lt, a, b);
        let zero = w.lit(0u32);
        return w.select(below, zero, difference);
    }
    // The difference overflows where the operands differ in sign and it differs from the first.
    let (x, y) = (w.raw(BinaryOp::BitXor, a, b), w.raw(BinaryOp::BitXor, a, difference));
    let both = w.raw(BinaryOp::BitAnd, x, y);
    let overflows = w.raw_lit(BinaryOp::Lt, both, 0i32);
    let limit = signed_limit(w, a);
    w.select(overflows, limit, difference)
}

/// Both halves of a 32 × 32 bit product, from products of 16-bit limbs: (high, low).
pub(super) fn wide_mul(w: &mut Writer, a: InstId, b: InstId) -> (InstId, InstId) {
    let split = |w: &mut Writer, x: InstId| {
        (w.raw_lit(BinaryOp::Shr, x, 16u32), w.raw_lit(BinaryOp::BitAnd, x, 0xFFFFu32))
    };
    let ((ah, al), (bh, bl)) = (split(w, a), split(w, b));
    let ll = w.raw(BinaryOp::Mul, al, bl);
    let lh = w.raw(BinaryOp::Mul, al, bh);
    let hl = w.raw(BinaryOp::Mul, ah, bl);
    let hh = w.raw(BinaryOp::Mul, ah, bh);
    let ((lh_high, lh_low), (hl_high, hl_low)) = (split(w, lh), split(w, hl));
    let carry = w.raw_lit(BinaryOp::Shr, ll, 16u32);
    let middle = add(w, lh_low, hl_low);
    let middle = add(w, middle, carry);
    let carry = w.raw_lit(BinaryOp::Shr, middle, 16u32);
    let high = add(w, lh_high, hl_high);
    let high = add(w, high, carry);
    let high = add(w, high, hh);
    let low = w.raw(BinaryOp::Mul, a, b);
    (high, low)
}

pub(super) fn mul_high(w: &mut Writer, _op: BinaryOp, a: InstId, b: InstId) -> InstId {
    let ty = w.ty(a);
    let (x, y) = (w.bitcast(DataType::U32, a), w.bitcast(DataType::U32, b));
    let (mut high, _) = wide_mul(w, x, y);
    if ty == DataType::I32 {
        // As signed numbers the operands are 2^32 less where they are negative.
        for (this, other) in [(a, y), (b, x)] {
            let negative = w.raw_lit(BinaryOp::Lt, this, 0i32);
            let zero = w.lit(0u32);
            let excess = w.select(negative, other, zero);
            high = w.raw(BinaryOp::Sub, high, excess);
        }
        high = w.cast(CastOp::Bitcast, ty, high);
    }
    high
}

pub(super) fn abs_diff(w: &mut Writer, _op: BinaryOp, a: InstId, b: InstId) -> InstId {
    let less = w.raw(BinaryOp::Lt, a, b);
    let (x, y) = (w.raw(BinaryOp::Sub, b, a), w.raw(BinaryOp::Sub, a, b));
    w.select(less, x, y)
}
