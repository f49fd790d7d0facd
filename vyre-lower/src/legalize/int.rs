//! Integer ops: division, shifts, rotations, saturation, high products, differences.

use vyre_spec::DataType;
use vyre_spec::ops::BinaryOp;

use super::InstId;
use super::repr::{device_type, to_bits, wrap};
use crate::writer::{Writer, bits_of};

/// Adds two values as they are.
fn add(w: &mut Writer, a: InstId, b: InstId) -> InstId {
    w.raw(BinaryOp::Add, a, b)
}

/// The lowest `width` bits of a u32, fewer than 32.
pub(super) fn low_bits(w: &mut Writer, a: InstId, width: u32) -> InstId {
    w.raw_lit(BinaryOp::BitAnd, a, (1u32 << width) - 1)
}

/// The least and the greatest value of an integer type, as bits of its device type.
fn limits(ty: DataType) -> (u64, u64) {
    let all = u64::MAX >> (64 - ty.width());
    if ty.is_signed_int() {
        let greatest = all >> 1;
        (!greatest, greatest)
    } else {
        (0, all)
    }
}

/// A divisor with which the device's division gives the right quotient and `a − q·d` the right remainder:
/// 1 instead of 0, and instead of −1 under MIN of the device's type.
fn divisor(w: &mut Writer, ty: DataType, a: InstId, b: InstId) -> InstId {
    let device = w.ty(a);
    if w.needs_no_guard(b) {
        return b;
    }
    // MIN of a narrower type has a quotient by −1 in the device's type.
    let overflows = ty.is_signed_int() && ty == device;
    if let Some(value) = w.as_constant(b).and_then(|value| value.as_int()) {
        if value != 0 && value != -1 {
            return b;
        }
    }
    let one = w.bits(device, 1);
    let mut bad = w.raw_bits(BinaryOp::Eq, b, 0);
    if overflows {
        let is_min = w.raw_bits(BinaryOp::Eq, a, limits(ty).0);
        let is_minus_one = w.raw_bits(BinaryOp::Eq, b, u64::MAX);
        let both = w.raw(BinaryOp::BitAnd, is_min, is_minus_one);
        bad = w.raw(BinaryOp::BitOr, bad, both);
    }
    w.select(bad, one, b)
}

/// x / 0 is x and MIN / −1 is MIN: both are x / 1, or the latter's wrapped quotient.
pub(super) fn div(w: &mut Writer, op: BinaryOp, ty: DataType, a: InstId, b: InstId) -> InstId {
    if ty.is_float() {
        return super::float::divide(w, op, ty, a, b);
    }
    let d = divisor(w, ty, a, b);
    let quotient = w.raw(BinaryOp::Div, a, d);
    if ty.is_signed_int() { wrap(w, ty, quotient) } else { quotient }
}

/// x % 0 and MIN % −1 are 0: both are x % 1. The signed remainder is a − q·d, as Vulkan leaves OpSRem of
/// negative operands undefined (specification of `VK_KHR_maintenance8`, which defines it).
pub(super) fn rem(w: &mut Writer, op: BinaryOp, ty: DataType, a: InstId, b: InstId) -> InstId {
    let d = divisor(w, ty, a, b);
    if !ty.is_signed_int() {
        return w.raw(op, a, d);
    }
    let quotient = w.raw(BinaryOp::Div, a, d);
    let product = w.raw(BinaryOp::Mul, quotient, d);
    w.raw(BinaryOp::Sub, a, product)
}

/// A shift amount below the width.
fn amount(w: &mut Writer, width: u32, b: InstId) -> InstId {
    match w.as_constant(b) {
        _ if w.needs_no_guard(b) => b,
        Some(value) if value.bits() < u64::from(width) => b,
        _ => w.raw_lit(BinaryOp::BitAnd, b, width - 1),
    }
}

/// The amount is taken modulo the width.
pub(super) fn shift(w: &mut Writer, op: BinaryOp, ty: DataType, a: InstId, b: InstId) -> InstId {
    let amount = amount(w, ty.width(), b);
    let shifted = w.raw(op, a, amount);
    wrap(w, ty, shifted)
}

fn rotate(w: &mut Writer, [towards, back]: [BinaryOp; 2], ty: DataType, a: InstId, b: InstId) -> InstId {
    let width = ty.width();
    let bits = if width < 32 { to_bits(w, ty, a) } else { w.bitcast(bits_of(ty), a) };
    let amount = amount(w, width, b);
    let whole = w.lit(width);
    let rest = w.raw(BinaryOp::Sub, whole, amount);
    // An amount of 0 leaves the width, which wraps to 0: both halves are then the operand.
    let rest = w.raw_lit(BinaryOp::BitAnd, rest, width - 1);
    let high = w.raw(towards, bits, amount);
    let low = w.raw(back, bits, rest);
    let rotated = w.raw(BinaryOp::BitOr, high, low);
    let rotated = w.bitcast(device_type(ty), rotated);
    wrap(w, ty, rotated)
}

pub(super) fn rotate_left(w: &mut Writer, _op: BinaryOp, ty: DataType, a: InstId, b: InstId) -> InstId {
    rotate(w, [BinaryOp::Shl, BinaryOp::Shr], ty, a, b)
}

pub(super) fn rotate_right(w: &mut Writer, _op: BinaryOp, ty: DataType, a: InstId, b: InstId) -> InstId {
    rotate(w, [BinaryOp::Shr, BinaryOp::Shl], ty, a, b)
}

/// A result in 32 bits, clamped to the range of a narrower type.
pub(super) fn clamp_to(w: &mut Writer, ty: DataType, a: InstId) -> InstId {
    let (low, high) = limits(ty);
    let capped = w.raw_bits(BinaryOp::Min, a, high);
    if ty.is_signed_int() { w.raw_bits(BinaryOp::Max, capped, low) } else { capped }
}

/// The end of the range on `a`'s side: MIN for a negative `a`, else MAX.
fn signed_limit(w: &mut Writer, ty: DataType, a: InstId) -> InstId {
    let sign = w.raw_lit(BinaryOp::Shr, a, ty.width() - 1);
    w.raw_bits(BinaryOp::BitXor, sign, limits(ty).1)
}

pub(super) fn sat_add(w: &mut Writer, _op: BinaryOp, ty: DataType, a: InstId, b: InstId) -> InstId {
    let (first, second) = (w.apart(a), w.apart(b));
    let sum = add(w, first, second);
    if ty.width() < 32 {
        return clamp_to(w, ty, sum);
    }
    if !ty.is_signed_int() {
        let wrapped = w.raw(BinaryOp::Lt, sum, a);
        let max = w.bits(ty, u64::MAX);
        return w.select(wrapped, max, sum);
    }
    // The sum overflows where both operands differ from it in sign.
    let (x, y) = (w.raw(BinaryOp::BitXor, a, sum), w.raw(BinaryOp::BitXor, b, sum));
    let both = w.raw(BinaryOp::BitAnd, x, y);
    let overflows = w.raw_bits(BinaryOp::Lt, both, 0);
    let limit = signed_limit(w, ty, a);
    w.select(overflows, limit, sum)
}

pub(super) fn sat_sub(w: &mut Writer, _op: BinaryOp, ty: DataType, a: InstId, b: InstId) -> InstId {
    let first = w.apart(a);
    let difference = w.raw(BinaryOp::Sub, first, b);
    if !ty.is_signed_int() {
        let below = w.raw(BinaryOp::Lt, a, b);
        let zero = w.bits(device_type(ty), 0);
        return w.select(below, zero, difference);
    }
    if ty.width() < 32 {
        return clamp_to(w, ty, difference);
    }
    // The difference overflows where the operands differ in sign and it differs from the first.
    let (x, y) = (w.raw(BinaryOp::BitXor, a, b), w.raw(BinaryOp::BitXor, a, difference));
    let both = w.raw(BinaryOp::BitAnd, x, y);
    let overflows = w.raw_bits(BinaryOp::Lt, both, 0);
    let limit = signed_limit(w, ty, a);
    w.select(overflows, limit, difference)
}

/// Both halves of the double-width product of two u32 or u64, from products of half-width limbs: (high, low).
pub(crate) fn wide_mul(w: &mut Writer, a: InstId, b: InstId) -> (InstId, InstId) {
    let half = w.ty(a).width() / 2;
    let split = |w: &mut Writer, x: InstId| {
        (w.raw_lit(BinaryOp::Shr, x, half), w.raw_bits(BinaryOp::BitAnd, x, (1 << half) - 1))
    };
    let ((ah, al), (bh, bl)) = (split(w, a), split(w, b));
    let ll = w.raw(BinaryOp::Mul, al, bl);
    let lh = w.raw(BinaryOp::Mul, al, bh);
    let hl = w.raw(BinaryOp::Mul, ah, bl);
    let hh = w.raw(BinaryOp::Mul, ah, bh);
    let ((lh_high, lh_low), (hl_high, hl_low)) = (split(w, lh), split(w, hl));
    let carry = w.raw_lit(BinaryOp::Shr, ll, half);
    let middle = add(w, lh_low, hl_low);
    let middle = add(w, middle, carry);
    let carry = w.raw_lit(BinaryOp::Shr, middle, half);
    let high = add(w, lh_high, hl_high);
    let high = add(w, high, carry);
    let high = add(w, high, hh);
    let low = w.raw(BinaryOp::Mul, a, b);
    (high, low)
}

pub(super) fn mul_high(w: &mut Writer, _op: BinaryOp, ty: DataType, a: InstId, b: InstId) -> InstId {
    if ty.width() < 32 {
        // The whole product fits 32 bits.
        let product = w.raw(BinaryOp::Mul, a, b);
        return w.raw_lit(BinaryOp::Shr, product, ty.width());
    }
    let unsigned = bits_of(ty);
    let (x, y) = (w.bitcast(unsigned, a), w.bitcast(unsigned, b));
    let (mut high, _) = wide_mul(w, x, y);
    if ty.is_signed_int() {
        // As signed numbers the operands are 2^width less where they are negative.
        for (this, other) in [(a, y), (b, x)] {
            let negative = w.raw_bits(BinaryOp::Lt, this, 0);
            let zero = w.bits(unsigned, 0);
            let excess = w.select(negative, other, zero);
            high = w.raw(BinaryOp::Sub, high, excess);
        }
    }
    w.bitcast(ty, high)
}

pub(super) fn abs_diff(w: &mut Writer, _op: BinaryOp, ty: DataType, a: InstId, b: InstId) -> InstId {
    let less = w.raw(BinaryOp::Lt, a, b);
    let (first, second) = (w.apart(a), w.apart(b));
    let (x, y) = (w.raw(BinaryOp::Sub, second, a), w.raw(BinaryOp::Sub, first, b));
    let difference = w.select(less, x, y);
    if ty.is_signed_int() { wrap(w, ty, difference) } else { difference }
}
