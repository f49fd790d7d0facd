//! Division, bit by bit as on paper.

use vyre_spec::DataType;
use vyre_spec::ops::BinaryOp;

use super::{Narrowing, Pair};
use crate::kernel::{InstId, LocalId, Op};

/// The locals of a number's words.
#[derive(Clone, Copy)]
struct PairLocal {
    low: LocalId,
    high: LocalId,
}

impl Narrowing<'_> {
    /// A quotient or remainder by a divisor that is not zero. Signed numbers are divided without their signs,
    /// so the quotient truncates; the remainder has the dividend's.
    pub(super) fn divide(&mut self, op: BinaryOp, ty: DataType, a: Pair, b: Pair) -> Pair {
        if !self.can_divide() {
            return self.refuse(op.name(), ty);
        }
        if !ty.is_signed_int() {
            let [quotient, remainder] = self.divide_unsigned(a, b);
            return if op == BinaryOp::Div { quotient } else { remainder };
        }
        let ((a_negative, a), (b_negative, b)) = (self.magnitude(a), self.magnitude(b));
        let [quotient, remainder] = self.divide_unsigned(a, b);
        let (number, negative) = match op {
            BinaryOp::Div => (quotient, self.w.raw(BinaryOp::BitXor, a_negative, b_negative)),
            _ => (remainder, a_negative),
        };
        let negated = self.negated(number);
        self.select(negative, negated, number)
    }

    /// Whether a loop may stand here, and need not be counted.
    pub(super) fn can_divide(&self) -> bool {
        self.w.current().is_some() && self.w.quirks.max_loop_iterations.is_none()
    }

    /// Quotient and remainder.
    fn divide_unsigned(&mut self, a: Pair, b: Pair) -> [Pair; 2] {
        let zero = self.constant(0);
        let (quotient, remainder) = (self.local(a), self.local(zero));
        let high = self.w.raw(BinaryOp::BitOr, a.high, b.high);
        let narrow = self.w.raw_lit(BinaryOp::Eq, high, 0u32);
        let (then, otherwise) = (self.w.block(), self.w.block());
        self.w.effect(Op::If { condition: narrow, then, otherwise });
        let outer = self.w.current();
        self.w.enter(Some(then));
        let none = self.w.raw_lit(BinaryOp::Eq, b.low, 0u32);
        let one = self.w.lit(1u32);
        let divisor = self.w.select(none, one, b.low);
        for (op, local) in [(BinaryOp::Div, quotient), (BinaryOp::Rem, remainder)] {
            let low = self.w.raw(op, a.low, divisor);
            self.set(local, Pair { low, high: zero.high });
        }
        self.w.enter(Some(otherwise));
        self.long_division(quotient, remainder, b);
        self.w.enter(outer);
        [self.get(quotient), self.get(remainder)]
    }

    /// Shifts the dividend, which `quotient` holds, bit by bit out into the remainder and the quotient's bits in.
    fn long_division(&mut self, quotient: PairLocal, remainder: PairLocal, b: Pair) {
        let left = self.w.local(DataType::U32);
        let bits = self.w.lit(64u32);
        self.w.set(left, bits);
        let (body, continuing) = (self.w.block(), self.w.block());
        self.w.effect(Op::Loop { body, continuing });
        self.w.enter(Some(body));
        let count = self.w.get(left);
        let done = self.w.raw_lit(BinaryOp::Eq, count, 0u32);
        self.w.when(done, |w| w.effect(Op::Break));
        let count = self.w.raw_lit(BinaryOp::Sub, count, 1u32);
        self.w.set(left, count);
        let (q, r) = (self.get(quotient), self.get(remainder));
        // A remainder is below the divisor; doubled, it may pass 2^64, and is then above the divisor anyway.
        let passes = self.is_negative(r);
        let first = self.w.raw_lit(BinaryOp::Shr, q.high, 31u32);
        let r = self.doubled(r, first);
        let fits = self.at_least(r, b);
        let fits = self.w.raw(BinaryOp::BitOr, passes, fits);
        let reduced = self.difference(r, b);
        let r = self.select(fits, reduced, r);
        let (one, zero) = (self.w.lit(1u32), self.w.lit(0u32));
        let bit = self.w.select(fits, one, zero);
        let q = self.doubled(q, bit);
        self.set(quotient, q);
        self.set(remainder, r);
    }

    /// Twice a number, and a bit.
    fn doubled(&mut self, a: Pair, bit: InstId) -> Pair {
        let low = self.w.raw_lit(BinaryOp::Shl, a.low, 1u32);
        let over = self.w.raw_lit(BinaryOp::Shr, a.low, 31u32);
        let high = self.w.raw_lit(BinaryOp::Shl, a.high, 1u32);
        Pair { low: self.w.raw(BinaryOp::BitOr, low, bit), high: self.w.raw(BinaryOp::BitOr, high, over) }
    }

    fn local(&mut self, initial: Pair) -> PairLocal {
        let local = PairLocal { low: self.w.local(DataType::U32), high: self.w.local(DataType::U32) };
        self.set(local, initial);
        local
    }

    fn get(&mut self, local: PairLocal) -> Pair {
        Pair { low: self.w.get(local.low), high: self.w.get(local.high) }
    }

    fn set(&mut self, local: PairLocal, value: Pair) {
        self.w.set(local.low, value.low);
        self.w.set(local.high, value.high);
    }
}
