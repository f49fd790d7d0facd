//! Sets of lanes.

/// A set of the lanes of a team, whose number is fixed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Mask {
    /// Lane n is bit n % 64 of word n / 64; bits beyond the last lane are zero.
    words: Vec<u64>,
    count: usize,
}

impl Mask {
    /// No lane of `width`.
    pub(super) fn empty(width: usize) -> Self {
        Self { words: vec![0; width.div_ceil(64)], count: 0 }
    }

    /// Makes it all lanes of `width`.
    pub(super) fn fill(&mut self, width: usize) {
        self.words.clear();
        self.words.resize(width / 64, u64::MAX);
        if !width.is_multiple_of(64) {
            self.words.push((1 << (width % 64)) - 1);
        }
        self.count = width;
    }

    pub(super) fn clear(&mut self) {
        self.words.fill(0);
        self.count = 0;
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn contains(&self, lane: usize) -> bool {
        self.words.get(lane / 64).is_some_and(|word| word >> (lane % 64) & 1 != 0)
    }

    /// The lowest lane.
    pub(super) fn first(&self) -> Option<usize> {
        let word = self.words.iter().position(|&word| word != 0)?;
        Some(64 * word + self.words[word].trailing_zeros() as usize)
    }

    /// Calls `f` with each lane, in order.
    #[inline]
    pub(super) fn for_each(&self, mut f: impl FnMut(usize)) {
        for (i, &word) in self.words.iter().enumerate() {
            if word == u64::MAX {
                (64 * i..64 * i + 64).for_each(&mut f);
                continue;
            }
            let mut rest = word;
            while rest != 0 {
                f(64 * i + rest.trailing_zeros() as usize);
                rest &= rest - 1;
            }
        }
    }

    /// Takes the lanes of `other`, which has no lane of these and is left empty.
    pub(super) fn take(&mut self, other: &mut Self) {
        if other.is_empty() {
            return;
        }
        for (word, other) in self.words.iter_mut().zip(&mut other.words) {
            *word |= std::mem::take(other);
        }
        self.count += other.count;
        other.count = 0;
    }

    /// Gives the lanes for which `stays` does not hold to `leaving`, which has none of them.
    #[inline]
    pub(super) fn split(&mut self, leaving: &mut Self, stays: impl Fn(usize) -> bool) {
        let mut left = 0;
        for (i, (word, leaving)) in self.words.iter_mut().zip(&mut leaving.words).enumerate() {
            let mut kept = 0;
            if *word == u64::MAX {
                for bit in 0..64 {
                    kept |= u64::from(stays(64 * i + bit)) << bit;
                }
            } else {
                let mut rest = *word;
                while rest != 0 {
                    let bit = rest.trailing_zeros();
                    kept |= u64::from(stays(64 * i + bit as usize)) << bit;
                    rest &= rest - 1;
                }
            }
            let gone = *word & !kept;
            *leaving |= gone;
            *word = kept;
            left += gone.count_ones() as usize;
        }
        self.count -= left;
        leaving.count += left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(mask: &Mask) -> Vec<usize> {
        let mut lanes = Vec::new();
        mask.for_each(|lane| lanes.push(lane));
        assert_eq!(lanes.len(), mask.count());
        assert_eq!(lanes.first().copied(), mask.first());
        lanes
    }

    #[test]
    fn lanes_leave_and_come_back() {
        for width in [1, 63, 64, 65, 200] {
            let (mut active, mut other) = (Mask::default(), Mask::empty(width));
            active.fill(width);
            assert_eq!(lanes(&active), (0..width).collect::<Vec<_>>());
            active.split(&mut other, |lane| lane % 3 == 0);
            assert_eq!(lanes(&active), (0..width).filter(|l| l % 3 == 0).collect::<Vec<_>>());
            assert_eq!(lanes(&other), (0..width).filter(|l| l % 3 != 0).collect::<Vec<_>>());
            active.split(&mut other, |lane| lane % 2 == 0);
            assert_eq!(lanes(&active), (0..width).filter(|l| l % 6 == 0).collect::<Vec<_>>());
            assert!(active.contains(0) && !active.contains(width) && !active.contains(3));
            active.take(&mut other);
            assert_eq!(lanes(&active), (0..width).collect::<Vec<_>>());
            assert!(other.is_empty() && lanes(&other).is_empty());
        }
    }
}
