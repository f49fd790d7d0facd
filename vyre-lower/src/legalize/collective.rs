//! Collectives. No backend joins devices to a world, so each is a world of its own, of rank 0: there every
//! collective is the identity, where it names that rank.

use vyre_spec::Value;
use vyre_spec::ops::BinaryOp;

use super::InstId;
use crate::writer::Writer;

/// A collective of one device: the value where the op names no rank or the device's own, else zero.
pub(crate) fn world_of_one(w: &mut Writer, value: InstId, rank: Option<InstId>) -> InstId {
    let Some(rank) = rank else { return value };
    let zero = w.lit(0u32);
    let own = w.raw(BinaryOp::Eq, rank, zero);
    let nothing = w.constant(Value::zero(w.ty(value)));
    w.select(own, value, nothing)
}
