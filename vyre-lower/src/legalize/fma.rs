//! Fused multiply-add.

use vyre_spec::ops::TernaryOp;

use super::InstId;
use crate::writer::Writer;

pub(super) fn fma(w: &mut Writer, op: TernaryOp, a: InstId, b: InstId, c: InstId) -> InstId {
    w.raw3(op, a, b, c)
}
