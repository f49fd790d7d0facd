//! Ops over the lanes of a subgroup.

use vyre_spec::Value;
use vyre_spec::ops::{BinaryOp, SubgroupOp};

use super::InstId;
use crate::kernel::Op;
use crate::writer::Writer;

pub(super) fn direct(w: &mut Writer, op: SubgroupOp, value: InstId, lane: Option<InstId>) -> InstId {
    let ty = w.ty(value);
    w.value(Op::Subgroup { op, value, lane }, ty)
}

/// A lane that there is not gives 0; the device reads lane 0 in its place.
pub(super) fn shuffle(w: &mut Writer, _op: SubgroupOp, value: InstId, lane: Option<InstId>) -> InstId {
    let lane = lane.unwrap_or_else(|| w.subgroup_lane());
    let size = w.hardware(Op::SubgroupSize);
    let exists = w.raw(BinaryOp::Lt, lane, size);
    let first = w.lit(0u32);
    let lane = w.select(exists, lane, first);
    let shuffled = direct(w, SubgroupOp::Shuffle, value, Some(lane));
    let zero = w.constant(Value::zero(w.ty(value)));
    w.select(exists, shuffled, zero)
}

pub(super) fn shuffle_xor(w: &mut Writer, op: SubgroupOp, value: InstId, mask: Option<InstId>) -> InstId {
    let own = w.subgroup_lane();
    let lane = mask.map(|mask| w.raw(BinaryOp::BitXor, own, mask));
    shuffle(w, op, value, lane)
}
