//! Inverse trigonometric functions.

use vyre_spec::DataType;
use vyre_spec::ops::{BinaryOp, UnaryOp};

use super::InstId;
use super::float::{INFINITY, MAGNITUDE, QUIET_NAN, SIGN};
use super::repr::wrap;
use crate::writer::{Refusal, Writer};

/// Bits of an f32 below the sign.
fn magnitude(w: &mut Writer, a: InstId) -> InstId {
    let bits = w.bitcast(DataType::U32, a);
    w.raw_lit(BinaryOp::BitAnd, bits, MAGNITUDE)
}

fn sign(w: &mut Writer, a: InstId) -> InstId {
    let bits = w.bitcast(DataType::U32, a);
    w.raw_lit(BinaryOp::BitAnd, bits, SIGN)
}

/// `a` where the condition holds, else NaN.
pub(super) fn number_where(w: &mut Writer, condition: InstId, a: InstId) -> InstId {
    let bits = w.bitcast(DataType::U32, a);
    let nan = w.lit(QUIET_NAN);
    let chosen = w.select(condition, bits, nan);
    w.bitcast(DataType::F32, chosen)
}

/// Arc sine and arc cosine, which drivers leave open outside of [-1, 1].
pub(super) fn arc(w: &mut Writer, op: UnaryOp, ty: DataType, a: InstId) -> InstId {
    if ty == DataType::F64 {
        return w.refuse(Refusal { op: op.name(), ty, missing: None }, ty);
    }
    let magnitude = magnitude(w, a);
    let inside = w.raw_lit(BinaryOp::Le, magnitude, 1.0f32.to_bits());
    let angle = w.raw1(op, a);
    let angle = number_where(w, inside, angle);
    wrap(w, ty, angle)
}

pub(super) fn atan(w: &mut Writer, op: UnaryOp, ty: DataType, a: InstId) -> InstId {
    if ty == DataType::F64 {
        return w.refuse(Refusal { op: op.name(), ty, missing: None }, ty);
    }
    let magnitude = magnitude(w, a);
    let number = w.raw_lit(BinaryOp::Le, magnitude, INFINITY);
    let angle = w.raw1(op, a);
    let angle = number_where(w, number, angle);
    wrap(w, ty, angle)
}

/// Devices leave the origin and infinities open. The arc tangent of the lesser magnitude over the greater, which
/// is at most 1, then the octant.
pub(super) fn atan2(w: &mut Writer, op: BinaryOp, ty: DataType, y: InstId, x: InstId) -> InstId {
    if ty == DataType::F64 {
        return w.refuse(Refusal { op: op.name(), ty, missing: None }, ty);
    }
    let (my, mx) = (magnitude(w, y), magnitude(w, x));
    let steep = w.raw(BinaryOp::Gt, my, mx);
    let (less, more) = (w.select(steep, mx, my), w.select(steep, my, mx));
    // 0 / 0 is 0 here, and infinity / infinity 1. Numbers near the ends of the range are brought nearer: the
    // quotient stays, and no driver loses it.
    let (small, large) = (w.raw_lit(BinaryOp::Eq, more, 0u32), w.raw_lit(BinaryOp::Eq, less, INFINITY));
    let huge = w.raw_lit(BinaryOp::Gt, more, 0x7E00_0000u32);
    let (quarter, one_f) = (w.lit(0.0625f32), w.lit(1.0f32));
    let scale = w.select(huge, quarter, one_f);
    let (n, d) = (w.bitcast(DataType::F32, less), w.bitcast(DataType::F32, more));
    let (n, d) = (w.raw(BinaryOp::Mul, n, scale), w.raw(BinaryOp::Mul, d, scale));
    let ratio = w.raw(BinaryOp::Div, n, d);
    let ratio = w.bitcast(DataType::U32, ratio);
    let (zero, one) = (w.lit(0u32), w.lit(1.0f32.to_bits()));
    let ratio = w.select(small, zero, ratio);
    let ratio = w.select(large, one, ratio);
    let infinite = w.raw_lit(BinaryOp::Eq, more, INFINITY);
    let flat = w.raw_lit(BinaryOp::Lt, less, INFINITY);
    let vanishes = w.raw(BinaryOp::BitAnd, infinite, flat);
    let ratio = w.select(vanishes, zero, ratio);
    let ratio = w.bitcast(DataType::F32, ratio);
    let angle = w.raw1(UnaryOp::Atan, ratio);
    let right = w.lit(std::f32::consts::FRAC_PI_2);
    let rest = w.raw(BinaryOp::Sub, right, angle);
    let angle = w.select(steep, rest, angle);
    let left = sign(w, x);
    let left = w.raw_lit(BinaryOp::Ne, left, 0u32);
    let straight = w.lit(std::f32::consts::PI);
    let mirrored = w.raw(BinaryOp::Sub, straight, angle);
    let angle = w.select(left, mirrored, angle);
    let (angle, sign) = (magnitude(w, angle), sign(w, y));
    let angle = w.raw(BinaryOp::BitOr, angle, sign);
    let angle = w.bitcast(DataType::F32, angle);
    let (a, b) = (w.raw_lit(BinaryOp::Le, my, INFINITY), w.raw_lit(BinaryOp::Le, mx, INFINITY));
    let numbers = w.raw(BinaryOp::BitAnd, a, b);
    let angle = number_where(w, numbers, angle);
    wrap(w, ty, angle)
}
