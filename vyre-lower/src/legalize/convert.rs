//! Conversions by value.

use vyre_spec::ops::{BinaryOp, CastOp, UnaryOp};
use vyre_spec::{DataType, Value};

use super::InstId;
use crate::writer::Writer;

/// 2^31 and 2^32.
const TWO_31: f32 = 2_147_483_648.0;
const TWO_32: f32 = 4_294_967_296.0;

pub(super) fn convert(w: &mut Writer, op: CastOp, to: DataType, a: InstId) -> InstId {
    let from = w.ty(a);
    match (from, to) {
        _ if from == to => a,
        // The driver would see a literal zero in it, which it may have to be kept from.
        _ if to.is_float() && w.as_constant(a).is_some_and(|v| v.bits() == 0) => w.literal(Value::zero(to)),
        (DataType::Bool, _) => {
            // Chosen as bits: drivers were seen to negate the choice of a float with the sign of zero lost.
            let bits = |w: &mut Writer, v: Value| w.constant(Value::from_bits(DataType::U32, v.bits()));
            let (one, zero) = (bits(w, Value::one(to)), bits(w, Value::zero(to)));
            let chosen = w.select(a, one, zero);
            w.bitcast(to, chosen)
        }
        (_, DataType::Bool) => {
            let zero = w.constant(Value::zero(from));
            let equal = w.raw(BinaryOp::Eq, a, zero);
            w.raw1(UnaryOp::Not, equal)
        }
        (DataType::F32, DataType::U32) => {
            let (max, zero) = (w.lit(u32::MAX), w.lit(0u32));
            saturating(w, a, (0.0, zero), (TWO_32, max))
        }
        (DataType::F32, DataType::I32) => {
            let (max, min) = (w.lit(i32::MAX), w.lit(i32::MIN));
            saturating(w, a, (-TWO_31, min), (TWO_31, max))
        }
        (DataType::U32, DataType::I32) | (DataType::I32, DataType::U32) => w.cast(CastOp::Bitcast, to, a),
        _ => w.cast(op, to, a),
    }
}

/// A float as an integer: the device converts what lies in `low ≤ a < high`, and 0 in place of the rest,
/// which gives the ends of the range; NaN, of which no comparison holds, gives 0.
fn saturating(w: &mut Writer, a: InstId, low: (f32, InstId), high: (f32, InstId)) -> InstId {
    let to = w.ty(low.1);
    let from_low = w.raw_lit(BinaryOp::Ge, a, low.0);
    let below_high = w.raw_lit(BinaryOp::Lt, a, high.0);
    let inside = w.raw(BinaryOp::BitAnd, from_low, below_high);
    let zero = w.lit(0.0f32);
    let safe = w.select(inside, a, zero);
    let converted = w.cast(CastOp::Convert, to, safe);
    let above = w.raw_lit(BinaryOp::Ge, a, high.0);
    let result = w.select(above, high.1, converted);
    let below = w.raw_lit(BinaryOp::Lt, a, low.0);
    w.select(below, low.1, result)
}
