//! Conversions between 64-bit integers and the types that a device has.

use vyre_spec::ops::{BinaryOp, CastOp, UnaryOp};
use vyre_spec::{DataType, Value};

use super::{Narrowing, Pair, is_wide};
use crate::kernel::{InstId, Op};

impl Narrowing<'_> {
    /// A conversion to a 64-bit integer: of another one its bits, of a word extended by the word's sign, of a float
    /// inside the integer's range truncated.
    pub(super) fn widened(&mut self, op: CastOp, ty: DataType, a: InstId) -> Pair {
        match self.ty(a) {
            from if is_wide(from) => self.pair(a),
            DataType::U32 => Pair { low: a, high: self.w.lit(0u32) },
            DataType::I32 => {
                let sign = self.w.raw_lit(BinaryOp::Shr, a, 31u32);
                Pair { low: self.w.bitcast(DataType::U32, a), high: self.w.bitcast(DataType::U32, sign) }
            }
            DataType::F32 | DataType::F64 if !ty.is_signed_int() => self.truncated(a),
            DataType::F32 | DataType::F64 => {
                let zero = self.number(a, 0.0);
                let negative = self.w.raw(BinaryOp::Lt, a, zero);
                let magnitude = self.w.raw1(UnaryOp::Abs, a);
                let number = self.truncated(magnitude);
                let negated = self.negated(number);
                self.select(negative, negated, number)
            }
            _ => self.refuse(op.name(), ty),
        }
    }

    /// A float from 0 below 2^64 without its fraction. Scaling by powers of 2 is exact, and a float has so few
    /// digits that what is left of it below 2^32 is one, too.
    fn truncated(&mut self, a: InstId) -> Pair {
        let (down, up) = (self.number(a, 2f64.powi(-32)), self.number(a, 2f64.powi(32)));
        let scaled = self.w.raw(BinaryOp::Mul, a, down);
        let high = self.w.cast(CastOp::Convert, DataType::U32, scaled);
        let whole = self.w.cast(CastOp::Convert, self.w.ty(a), high);
        let whole = self.w.raw(BinaryOp::Mul, whole, up);
        let rest = self.w.raw(BinaryOp::Sub, a, whole);
        Pair { low: self.w.cast(CastOp::Convert, DataType::U32, rest), high }
    }

    /// A float constant of the type of `a`.
    fn number(&mut self, a: InstId, x: f64) -> InstId {
        self.w.constant(Value::from_f64(self.w.ty(a), x))
    }

    /// A conversion of a 64-bit integer to a type that the device has.
    pub(super) fn converted(&mut self, to: DataType, a: InstId) -> Op {
        let (from, pair) = (self.ty(a), self.pair(a));
        match to {
            DataType::I32 => Op::Cast(CastOp::Bitcast, pair.low),
            DataType::F32 if !from.is_signed_int() => {
                let (number, scale) = self.rounded(pair);
                Op::Binary(BinaryOp::Mul, number, scale)
            }
            DataType::F32 => {
                let (negative, magnitude) = self.magnitude(pair);
                let (number, scale) = self.rounded(magnitude);
                let number = self.w.raw(BinaryOp::Mul, number, scale);
                let minus = self.w.raw1(UnaryOp::Neg, number);
                Op::Ternary(vyre_spec::ops::TernaryOp::Select, negative, minus, number)
            }
            DataType::F64 => {
                // Both words are exact, so their sum is rounded once.
                let high = match from.is_signed_int() {
                    true => self.w.bitcast(DataType::I32, pair.high),
                    false => pair.high,
                };
                let [high, low] = [high, pair.low].map(|word| self.w.cast(CastOp::Convert, to, word));
                let up = self.number(high, 2f64.powi(32));
                let high = self.w.raw(BinaryOp::Mul, high, up);
                Op::Binary(BinaryOp::Add, high, low)
            }
            DataType::U32 => Op::Binary(BinaryOp::BitOr, pair.low, self.w.lit(0u32)),
            _ => {
                self.refuse(CastOp::Convert.name(), from);
                Op::Constant(Value::zero(to))
            }
        }
    }

    /// A number as a float to be multiplied by a power of 2, which is the second value. The device rounds the
    /// highest 31 digits; a one among the rest is kept in the lowest of them, where it decides a tie only. (Of 32
    /// digits SwiftShader converts the highest by itself, and rounds twice.)
    fn rounded(&mut self, a: Pair) -> (InstId, InstId) {
        let in_high = self.w.raw1(UnaryOp::LeadingZeros, a.high);
        let in_low = self.w.raw1(UnaryOp::LeadingZeros, a.low);
        // Of zero it is moved by 63 places, and stays zero.
        let in_low = self.w.raw_lit(BinaryOp::Add, in_low, 32u32);
        let in_low = self.w.raw_lit(BinaryOp::Min, in_low, 63u32);
        let none = self.w.raw_lit(BinaryOp::Eq, a.high, 0u32);
        let zeros = self.w.select(none, in_low, in_high);
        let moved = self.shl(a, zeros);
        let dropped = self.w.raw_lit(BinaryOp::BitAnd, moved.high, 1u32);
        let rest = self.w.raw(BinaryOp::BitOr, moved.low, dropped);
        let any = self.w.raw_lit(BinaryOp::Ne, rest, 0u32);
        let (one, zero) = (self.w.lit(1u32), self.w.lit(0u32));
        let sticky = self.w.select(any, one, zero);
        let digits = self.w.raw_lit(BinaryOp::Shr, moved.high, 1u32);
        let digits = self.w.raw(BinaryOp::BitOr, digits, sticky);
        let digits = self.w.bitcast(DataType::I32, digits);
        let number = self.w.cast(CastOp::Convert, DataType::F32, digits);
        // 2^(33 - zeros), by its exponent.
        let bias = self.w.lit(127u32 + 33);
        let exponent = self.w.raw(BinaryOp::Sub, bias, zeros);
        let exponent = self.w.raw_lit(BinaryOp::Shl, exponent, 23u32);
        (number, self.w.bitcast(DataType::F32, exponent))
    }
}
