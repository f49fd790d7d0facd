//! Ops that count and move bits. Devices have them for 32 bits: narrower values are brought into place, wider
//! ones done by halves.

use vyre_spec::DataType;
use vyre_spec::ops::{BinaryOp, CastOp, UnaryOp};

use super::InstId;
use super::repr::{device_type, to_bits, wrap};
use crate::writer::Writer;

/// The halves of a 64-bit integer, low and high.
pub(super) fn split(w: &mut Writer, a: InstId) -> (InstId, InstId) {
    let bits = w.bitcast(DataType::U64, a);
    let low = w.cast(CastOp::Convert, DataType::U32, bits);
    let high = w.raw_lit(BinaryOp::Shr, bits, 32u32);
    (low, w.cast(CastOp::Convert, DataType::U32, high))
}

/// The 64-bit value of type `ty` with these halves.
pub(crate) fn join(w: &mut Writer, ty: DataType, low: InstId, high: InstId) -> InstId {
    let low = w.cast(CastOp::Convert, DataType::U64, low);
    let high = w.cast(CastOp::Convert, DataType::U64, high);
    let high = w.raw_lit(BinaryOp::Shl, high, 32u32);
    let bits = w.raw(BinaryOp::BitOr, low, high);
    w.bitcast(ty, bits)
}

/// The two halves of a 64-bit value, as u32, the low one first.
pub(crate) fn halves(w: &mut Writer, value: InstId) -> [InstId; 2] {
    let bits = w.bitcast(DataType::U64, value);
    let low = w.cast(CastOp::Convert, DataType::U32, bits);
    let high = w.raw_lit(BinaryOp::Shr, bits, 32u32);
    [low, w.cast(CastOp::Convert, DataType::U32, high)]
}

/// The bits of an integer of at most 32 bits, in a u32 that has no others.
fn word(w: &mut Writer, ty: DataType, a: InstId) -> InstId {
    if ty.width() < 32 { to_bits(w, ty, a) } else { w.bitcast(DataType::U32, a) }
}

/// A small natural number, a u32, as an integer of type `ty`.
fn natural(w: &mut Writer, ty: DataType, n: InstId) -> InstId {
    if ty.width() == 64 {
        let wide = w.cast(CastOp::Convert, DataType::U64, n);
        return w.bitcast(ty, wide);
    }
    w.bitcast(device_type(ty), n)
}

pub(super) fn count_ones(w: &mut Writer, op: UnaryOp, ty: DataType, a: InstId) -> InstId {
    let count = if ty.width() == 64 {
        let (low, high) = split(w, a);
        let (low, high) = (w.raw1(op, low), w.raw1(op, high));
        w.raw(BinaryOp::Add, low, high)
    } else {
        let bits = word(w, ty, a);
        w.raw1(op, bits)
    };
    natural(w, ty, count)
}

/// The zeros of the first half of a 64-bit number, and of the second too if there is no one in the first.
fn zeros(w: &mut Writer, op: UnaryOp, first: InstId, second: InstId) -> InstId {
    let (in_first, in_second) = (w.raw1(op, first), w.raw1(op, second));
    let both = w.raw_lit(BinaryOp::Add, in_second, 32u32);
    let none = w.raw_lit(BinaryOp::Eq, first, 0u32);
    w.select(none, both, in_first)
}

pub(super) fn leading_zeros(w: &mut Writer, op: UnaryOp, ty: DataType, a: InstId) -> InstId {
    let count = if ty.width() == 64 {
        let (low, high) = split(w, a);
        zeros(w, op, high, low)
    } else {
        let bits = word(w, ty, a);
        let count = w.raw1(op, bits);
        if ty.width() < 32 { w.raw_lit(BinaryOp::Sub, count, 32 - ty.width()) } else { count }
    };
    natural(w, ty, count)
}

pub(super) fn trailing_zeros(w: &mut Writer, op: UnaryOp, ty: DataType, a: InstId) -> InstId {
    let count = if ty.width() == 64 {
        let (low, high) = split(w, a);
        zeros(w, op, low, high)
    } else {
        let mut bits = word(w, ty, a);
        if ty.width() < 32 {
            // A one above the value's bits.
            bits = w.raw_lit(BinaryOp::BitOr, bits, 1u32 << ty.width());
        }
        w.raw1(op, bits)
    };
    natural(w, ty, count)
}

pub(super) fn reverse_bits(w: &mut Writer, op: UnaryOp, ty: DataType, a: InstId) -> InstId {
    if ty.width() == 64 {
        let (low, high) = split(w, a);
        let (low, high) = (w.raw1(op, low), w.raw1(op, high));
        return join(w, ty, high, low);
    }
    if ty.width() == 32 {
        return w.raw1(op, a);
    }
    let bits = word(w, ty, a);
    let reversed = w.raw1(op, bits);
    let low = w.raw_lit(BinaryOp::Shr, reversed, 32 - ty.width());
    let value = w.bitcast(device_type(ty), low);
    wrap(w, ty, value)
}

/// The width less one less the zeros above: −1, which is all ones, where there are only zeros.
pub(super) fn first_leading_bit(w: &mut Writer, _op: UnaryOp, ty: DataType, a: InstId) -> InstId {
    let mut bits = a;
    if ty.is_signed_int() {
        let sign = w.raw_lit(BinaryOp::Shr, a, w.ty(a).width() - 1);
        bits = w.raw(BinaryOp::BitXor, a, sign);
    }
    let zeros = super::unary(w, UnaryOp::LeadingZeros, ty, bits);
    let last = w.bits(device_type(ty), u64::from(ty.width() - 1));
    let position = w.raw(BinaryOp::Sub, last, zeros);
    wrap(w, ty, position)
}

/// Not the device's own op: drivers were seen to crash on it.
pub(super) fn first_trailing_bit(w: &mut Writer, _op: UnaryOp, ty: DataType, a: InstId) -> InstId {
    let zeros = super::unary(w, UnaryOp::TrailingZeros, ty, a);
    let none = w.raw_bits(BinaryOp::Eq, a, 0);
    let ones = w.bits(device_type(ty), u64::MAX);
    let ones = wrap(w, ty, ones);
    w.select(none, ones, zeros)
}
