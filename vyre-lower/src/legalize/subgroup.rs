//! Ops over the lanes of a subgroup. Devices have them on 32-bit values: narrower ones are 32-bit values anyway,
//! wider ones are moved by halves and combined step by step.

use vyre_spec::ops::{BinaryOp, SubgroupOp, SubgroupRule};
use vyre_spec::{DataType, Value};

use super::InstId;
use super::bits::{join, split};
use super::repr::wrap;
use crate::kernel::Op;
use crate::writer::Writer;

fn raw(w: &mut Writer, op: SubgroupOp, value: InstId, lane: Option<InstId>) -> InstId {
    let ty = w.ty(value);
    w.value(Op::Subgroup { op, value, lane }, ty)
}

/// An op on bools.
pub(super) fn vote(
    w: &mut Writer,
    op: SubgroupOp,
    _ty: DataType,
    value: InstId,
    lane: Option<InstId>,
) -> InstId {
    raw(w, op, value, lane)
}

/// An op that moves values between lanes.
pub(super) fn gather(
    w: &mut Writer,
    op: SubgroupOp,
    ty: DataType,
    value: InstId,
    lane: Option<InstId>,
) -> InstId {
    if ty.width() < 64 {
        return raw(w, op, value, lane);
    }
    let (low, high) = split(w, value);
    let (low, high) = (raw(w, op, low, lane), raw(w, op, high, lane));
    join(w, ty, low, high)
}

/// A reduction or scan of integers.
pub(super) fn reduce(
    w: &mut Writer,
    op: SubgroupOp,
    ty: DataType,
    value: InstId,
    lane: Option<InstId>,
) -> InstId {
    if ty.width() < 64 {
        let result = raw(w, op, value, lane);
        return wrap(w, ty, result);
    }
    let Some(combine) = op.combine() else { return value };
    let own = w.subgroup_lane();
    let neutral = w.bits(ty, op.neutral(ty));
    let mut total = value;
    let mut distance = 1;
    // Wider subgroups than 128 lanes there are none.
    while distance < w.subgroup_size.unwrap_or(128) {
        if matches!(op.rule(), SubgroupRule::Reduce(_)) {
            let other = w.raw_lit(BinaryOp::BitXor, own, distance);
            let other = gather(w, SubgroupOp::Shuffle, ty, total, Some(other));
            total = super::binary(w, combine, ty, total, other);
        } else {
            let exists = w.raw_lit(BinaryOp::Ge, own, distance);
            let below = w.raw_lit(BinaryOp::Sub, own, distance);
            let below = w.select(exists, below, own);
            let other = gather(w, SubgroupOp::Shuffle, ty, total, Some(below));
            let sum = super::binary(w, combine, ty, other, total);
            total = w.select(exists, sum, total);
        }
        distance *= 2;
    }
    if !matches!(op.rule(), SubgroupRule::ExclusiveScan(_)) {
        return total;
    }
    let first = w.raw_lit(BinaryOp::Eq, own, 0u32);
    let below = w.raw_lit(BinaryOp::Sub, own, 1u32);
    let below = w.select(first, own, below);
    let before = gather(w, SubgroupOp::Shuffle, ty, total, Some(below));
    w.select(first, neutral, before)
}

/// A lane that there is not gives 0; the device reads lane 0 in its place.
pub(super) fn shuffle(
    w: &mut Writer,
    _op: SubgroupOp,
    ty: DataType,
    value: InstId,
    lane: Option<InstId>,
) -> InstId {
    let lane = lane.unwrap_or_else(|| w.subgroup_lane());
    let size = w.hardware(Op::SubgroupSize);
    let exists = w.raw(BinaryOp::Lt, lane, size);
    let first = w.lit(0u32);
    let lane = w.select(exists, lane, first);
    let shuffled = gather(w, SubgroupOp::Shuffle, ty, value, Some(lane));
    let zero = w.constant(Value::zero(w.ty(value)));
    w.select(exists, shuffled, zero)
}

pub(super) fn shuffle_xor(
    w: &mut Writer,
    op: SubgroupOp,
    ty: DataType,
    value: InstId,
    mask: Option<InstId>,
) -> InstId {
    let own = w.subgroup_lane();
    let lane = mask.map(|mask| w.raw(BinaryOp::BitXor, own, mask));
    shuffle(w, op, ty, value, lane)
}

pub(super) fn shuffle_up(
    w: &mut Writer,
    _op: SubgroupOp,
    ty: DataType,
    value: InstId,
    delta: Option<InstId>,
) -> InstId {
    // Below the first lane it wraps, and is then above every lane.
    shuffle_by(w, BinaryOp::Sub, ty, value, delta)
}

pub(super) fn shuffle_down(
    w: &mut Writer,
    _op: SubgroupOp,
    ty: DataType,
    value: InstId,
    delta: Option<InstId>,
) -> InstId {
    shuffle_by(w, BinaryOp::Add, ty, value, delta)
}

/// The value of the lane at a distance.
fn shuffle_by(
    w: &mut Writer,
    direction: BinaryOp,
    ty: DataType,
    value: InstId,
    delta: Option<InstId>,
) -> InstId {
    let own = w.subgroup_lane();
    // A large distance must not wrap to a lane that there is.
    let size = w.hardware(Op::SubgroupSize);
    let lane = delta.map(|delta| {
        let near = w.raw(BinaryOp::Min, delta, size);
        w.raw(direction, own, near)
    });
    shuffle(w, SubgroupOp::Shuffle, ty, value, lane)
}
