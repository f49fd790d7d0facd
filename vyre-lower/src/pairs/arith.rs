//! Sums, products, shifts and comparisons.

use vyre_spec::DataType;
use vyre_spec::ops::{BinaryOp, UnaryOp};

use super::{Narrowing, Pair};
use crate::kernel::{InstId, Op};
use crate::legalize::wide_mul;

impl Narrowing<'_> {
    pub(super) fn binary(&mut self, op: BinaryOp, ty: DataType, a: InstId, b: InstId) -> Pair {
        let (x, y) = (self.pair(a), self.pair(b));
        match op {
            BinaryOp::Add => self.sum(x, y),
            BinaryOp::Sub => self.difference(x, y),
            BinaryOp::Mul => self.product(x, y),
            BinaryOp::Div | BinaryOp::Rem => self.divide(op, ty, x, y),
            BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => {
                Pair { low: self.w.raw(op, x.low, y.low), high: self.w.raw(op, x.high, y.high) }
            }
            // The amount is a u32.
            BinaryOp::Shl => self.shl(x, b),
            BinaryOp::Shr => self.shr(ty, x, b),
            _ => self.refuse(op.name(), ty),
        }
    }

    fn sum(&mut self, a: Pair, b: Pair) -> Pair {
        let low = self.w.raw(BinaryOp::Add, a.low, b.low);
        let carries = self.w.raw(BinaryOp::Lt, low, a.low);
        let carry = self.bit(carries);
        let high = self.w.raw(BinaryOp::Add, a.high, b.high);
        Pair { low, high: self.w.raw(BinaryOp::Add, high, carry) }
    }

    pub(super) fn difference(&mut self, a: Pair, b: Pair) -> Pair {
        let low = self.w.raw(BinaryOp::Sub, a.low, b.low);
        let borrows = self.w.raw(BinaryOp::Lt, a.low, b.low);
        let borrow = self.bit(borrows);
        let high = self.w.raw(BinaryOp::Sub, a.high, b.high);
        Pair { low, high: self.w.raw(BinaryOp::Sub, high, borrow) }
    }

    /// The product modulo 2^64: the whole one of the low words, and the mixed ones above it.
    fn product(&mut self, a: Pair, b: Pair) -> Pair {
        let (high, low) = wide_mul(self.w, a.low, b.low);
        let first = self.w.raw(BinaryOp::Mul, a.low, b.high);
        let second = self.w.raw(BinaryOp::Mul, a.high, b.low);
        let mixed = self.w.raw(BinaryOp::Add, first, second);
        Pair { low, high: self.w.raw(BinaryOp::Add, high, mixed) }
    }

    pub(super) fn negated(&mut self, a: Pair) -> Pair {
        let zero = self.constant(0);
        self.difference(zero, a)
    }

    /// Whether a signed number is negative, and what it is without its sign.
    pub(super) fn magnitude(&mut self, a: Pair) -> (InstId, Pair) {
        let negative = self.is_negative(a);
        let negated = self.negated(a);
        (negative, self.select(negative, negated, a))
    }

    pub(super) fn is_negative(&mut self, a: Pair) -> InstId {
        let high = self.w.bitcast(DataType::I32, a.high);
        self.w.raw_lit(BinaryOp::Lt, high, 0i32)
    }

    /// 1 where the condition holds, else 0.
    fn bit(&mut self, condition: InstId) -> InstId {
        let (one, zero) = (self.w.lit(1u32), self.w.lit(0u32));
        self.w.select(condition, one, zero)
    }

    /// How far a shift goes inside a word, the rest to its width less one, and whether it goes past a word.
    fn amount(&mut self, amount: InstId) -> (InstId, InstId, InstId) {
        let near = self.w.raw_lit(BinaryOp::BitAnd, amount, 31u32);
        let rest = self.w.raw1(UnaryOp::Not, amount);
        let rest = self.w.raw_lit(BinaryOp::BitAnd, rest, 31u32);
        let far = self.w.raw_lit(BinaryOp::BitAnd, amount, 32u32);
        (near, rest, self.w.raw_lit(BinaryOp::Ne, far, 0u32))
    }

    /// A left shift. What comes from the low word is shifted in two steps: one by 32 there is not.
    pub(super) fn shl(&mut self, a: Pair, amount: InstId) -> Pair {
        let (near, rest, far) = self.amount(amount);
        let low = self.w.raw(BinaryOp::Shl, a.low, near);
        let over = self.w.raw_lit(BinaryOp::Shr, a.low, 1u32);
        let over = self.w.raw(BinaryOp::Shr, over, rest);
        let high = self.w.raw(BinaryOp::Shl, a.high, near);
        let high = self.w.raw(BinaryOp::BitOr, high, over);
        let zero = self.w.lit(0u32);
        self.select(far, Pair { low: zero, high: low }, Pair { low, high })
    }

    /// A right shift, of a signed number arithmetic.
    fn shr(&mut self, ty: DataType, a: Pair, amount: InstId) -> Pair {
        let (near, rest, far) = self.amount(amount);
        let over = self.w.raw_lit(BinaryOp::Shl, a.high, 1u32);
        let over = self.w.raw(BinaryOp::Shl, over, rest);
        let low = self.w.raw(BinaryOp::Shr, a.low, near);
        let low = self.w.raw(BinaryOp::BitOr, low, over);
        let (high, sign) = if ty.is_signed_int() {
            let signed = self.w.bitcast(DataType::I32, a.high);
            let high = self.w.raw(BinaryOp::Shr, signed, near);
            let sign = self.w.raw_lit(BinaryOp::Shr, signed, 31u32);
            (self.w.bitcast(DataType::U32, high), self.w.bitcast(DataType::U32, sign))
        } else {
            (self.w.raw(BinaryOp::Shr, a.high, near), self.w.lit(0u32))
        };
        self.select(far, Pair { low: high, high: sign }, Pair { low, high })
    }

    /// A comparison.
    pub(super) fn compare(&mut self, op: BinaryOp, a: InstId, b: InstId) -> Op {
        let (ty, x, y) = (self.ty(a), self.pair(a), self.pair(b));
        match op {
            BinaryOp::Eq | BinaryOp::Ne => {
                let low = self.w.raw(op, x.low, y.low);
                let high = self.w.raw(op, x.high, y.high);
                let both = if op == BinaryOp::Eq { BinaryOp::BitAnd } else { BinaryOp::BitOr };
                Op::Binary(both, low, high)
            }
            // Where the high words are equal the low ones decide.
            _ => {
                let strict =
                    if matches!(op, BinaryOp::Lt | BinaryOp::Le) { BinaryOp::Lt } else { BinaryOp::Gt };
                let high_type = if ty.is_signed_int() { DataType::I32 } else { DataType::U32 };
                let [high_a, high_b] = [x.high, y.high].map(|word| self.w.bitcast(high_type, word));
                let decided = self.w.raw(strict, high_a, high_b);
                let equal = self.w.raw(BinaryOp::Eq, x.high, y.high);
                let low = self.w.raw(op, x.low, y.low);
                let low = self.w.raw(BinaryOp::BitAnd, equal, low);
                Op::Binary(BinaryOp::BitOr, decided, low)
            }
        }
    }

    /// Whether an unsigned number is at least another.
    pub(super) fn at_least(&mut self, a: Pair, b: Pair) -> InstId {
        let above = self.w.raw(BinaryOp::Gt, a.high, b.high);
        let equal = self.w.raw(BinaryOp::Eq, a.high, b.high);
        let low = self.w.raw(BinaryOp::Ge, a.low, b.low);
        let low = self.w.raw(BinaryOp::BitAnd, equal, low);
        self.w.raw(BinaryOp::BitOr, above, low)
    }
}
