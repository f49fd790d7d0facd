//! Functions on bits that are made of ops.

use vyre_spec::class;

use super::{IntoVal, Val};

impl<'k, T: class::Int + class::Bits + class::Any> Val<'k, T> {
    fn bit_width(self) -> Val<'k, u32> {
        self.kernel().lit(T::TYPE.width())
    }

    fn u32s(self, x: impl IntoVal<'k, u32>) -> Val<'k, u32> {
        let zero = self.kernel().lit(0u32);
        zero | x
    }

    /// A number of ones in the lowest bits, at most the width.
    fn low_ones(self, count: Val<'k, u32>) -> Self {
        let all = !self.kernel().lit(T::from_bits64(0));
        let none = self.kernel().lit(T::from_bits64(0));
        // A shift by the width would be one by 0.
        let some = !(all << count);
        let whole = count.ge(self.bit_width());
        whole.select(all, count.eq(0u32).select(none, some))
    }

    /// `count` bits from `offset` up, extended by zeros, or of a signed type by the highest of them. Offset and
    /// count are cut to what the type has, as in WGSL's `extractBits`.
    #[must_use]
    #[track_caller]
    pub fn extract_bits(self, offset: impl IntoVal<'k, u32>, count: impl IntoVal<'k, u32>) -> Self {
        let width = self.bit_width();
        let offset = self.u32s(offset).min(width);
        let count = self.u32s(count).min(width - offset);
        // Up to the top, then down again: the right shift is the type's own.
        let up = width - count - offset;
        let down = width - count;
        let zero = self.kernel().lit(T::from_bits64(0));
        count.eq(0u32).select(zero, (self << up) >> down)
    }

    /// The value with `count` bits from `offset` up replaced by the lowest ones of `bits`. Offset and count are
    /// cut to what the type has, as in WGSL's `insertBits`.
    #[must_use]
    #[track_caller]
    pub fn insert_bits(
        self,
        bits: impl IntoVal<'k, T>,
        offset: impl IntoVal<'k, u32>,
        count: impl IntoVal<'k, u32>,
    ) -> Self {
        let width = self.bit_width();
        let bits = self.kernel().lit(true).select::<T>(bits, self);
        let offset = self.u32s(offset).min(width);
        let count = self.u32s(count).min(width - offset);
        let mask = self.low_ones(count) << offset;
        let none = count.eq(0u32);
        none.select(self, (self & !mask) | ((bits << offset) & mask))
    }

    /// The upper half of the double-width number `self:low` shifted left by `amount` modulo the width.
    #[must_use]
    #[track_caller]
    pub fn funnel_shl(self, low: Self, amount: impl IntoVal<'k, u32>) -> Self {
        let width = self.bit_width();
        let amount = self.u32s(amount) & (width - 1u32);
        let bits = low.bitwise_shr(width - amount);
        amount.eq(0u32).select(self, (self << amount) | bits)
    }

    /// The lower half of the double-width number `self:low` shifted right by `amount` modulo the width.
    #[must_use]
    #[track_caller]
    pub fn funnel_shr(self, low: Self, amount: impl IntoVal<'k, u32>) -> Self {
        let width = self.bit_width();
        let amount = self.u32s(amount) & (width - 1u32);
        amount.eq(0u32).select(low, (self << (width - amount)) | low.bitwise_shr(amount))
    }

    /// A right shift that brings in zeros, whatever the type's sign.
    fn bitwise_shr(self, amount: Val<'k, u32>) -> Self {
        let shifted = self >> amount;
        shifted & self.low_ones(self.bit_width() - (amount & (self.bit_width() - 1u32)))
    }
}

impl<'k> Val<'k, bool> {
    /// The lanes of the subgroup in which the value is true, as bits: those of lanes 32 × `word` to
    /// 32 × `word` + 31.
    #[track_caller]
    pub fn subgroup_ballot(self, lane: Val<'k, u32>, word: impl IntoVal<'k, u32>) -> Val<'k, u32> {
        let zero = self.kernel().lit(0u32);
        let bit = self.kernel().lit(1u32) << (lane & 31u32);
        let here = self & (lane >> 5u32).eq(zero | word);
        here.select(bit, zero).subgroup_or()
    }
}
