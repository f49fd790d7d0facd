//! Dot products of packed bytes.

use vyre_spec::DataType;
use vyre_spec::ops::BinaryOp;

use super::InstId;
use crate::writer::Writer;

pub(super) fn dot4(w: &mut Writer, _op: BinaryOp, ty: DataType, a: InstId, b: InstId) -> InstId {
    // The byte to the top, then down with the type's own extension.
    let byte = |w: &mut Writer, x: InstId, i: u32| {
        let up = w.raw_lit(BinaryOp::Shl, x, 24 - 8 * i);
        w.raw_lit(BinaryOp::Shr, up, 24u32)
    };
    let mut sum = w.bits(ty, 0);
    for i in 0..4 {
        let (x, y) = (byte(w, a, i), byte(w, b, i));
        let product = w.raw(BinaryOp::Mul, x, y);
        sum = w.raw(BinaryOp::Add, sum, product);
    }
    sum
}
