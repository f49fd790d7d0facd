//! Sets of rules as words of bits, and relations between rules as one set for each rule.

/// Rules of one word.
const WORD: usize = u64::BITS as usize;

/// A set of the rules `0..n`. Bits from `n` on are never set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rules {
    words: Vec<u64>,
}

impl Rules {
    /// No rule of `n`.
    pub(super) fn none(n: usize) -> Self {
        Self { words: vec![0; n.div_ceil(WORD)] }
    }

    /// The rules whose cell is not 0.
    pub(super) fn of_cells(cells: &[u32]) -> Self {
        Self { words: cells.chunks(WORD).map(nonzero).collect() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    pub(super) fn contains(&self, rule: usize) -> bool {
        self.words.get(rule / WORD).is_some_and(|word| word >> (rule % WORD) & 1 != 0)
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, more)| *word |= more);
    }

    pub(super) fn remove(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, less)| *word &= !less);
    }

    /// Adds the rules whose cell is not 0.
    pub(super) fn add_cells(&mut self, cells: &[u32]) {
        self.words.iter_mut().zip(cells.chunks(WORD)).for_each(|(word, cells)| *word |= nonzero(cells));
    }

    /// Whether a rule of the set has a cell that is not 0.
    pub(super) fn meets_cells(&self, cells: &[u32]) -> bool {
        self.words
            .iter()
            .zip(cells.chunks(WORD))
            .any(|(&word, cells)| word != 0 && word & nonzero(cells) != 0)
    }

    /// The rules, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(at, &word)| {
            // Each step drops the lowest bit that is set.
            std::iter::successors(Some(word), |bits| Some(bits & bits.wrapping_sub(1)))
                .take_while(|&bits| bits != 0)
                .map(move |bits| at * WORD + bits.trailing_zeros() as usize)
        })
    }
}

/// The positions of up to 64 cells that are not 0, as bits.
fn nonzero(cells: &[u32]) -> u64 {
    // Most cells of a real relation are 0, and this test is one vector instruction for several of them.
    if cells.iter().fold(0, |any, cell| any | cell) == 0 {
        return 0;
    }
    cells.iter().enumerate().fold(0, |bits, (i, &cell)| bits | u64::from(cell != 0) << i)
}

/// The columns of an n × n relation that is given by rows: for each rule, those that reach it in one edge.
pub(super) fn columns(cells: &[u32], n: usize) -> Vec<Rules> {
    let mut columns = vec![Rules::none(n); n];
    let Some(rows_per_block) = n.checked_mul(WORD).filter(|&cells| cells > 0) else { return columns };
    for (word, rows) in cells.chunks(rows_per_block).enumerate() {
        for first in (0..n).step_by(WORD) {
            let mut block = [0; WORD];
            for (bits, row) in block.iter_mut().zip(rows.chunks(n)) {
                *bits = row.get(first..n.min(first + WORD)).map_or(0, nonzero);
            }
            if block.iter().all(|&bits| bits == 0) {
                continue;
            }
            transpose(&mut block);
            for (column, bits) in columns.iter_mut().skip(first).zip(block) {
                if let Some(word) = column.words.get_mut(word) {
                    *word = bits;
                }
            }
        }
    }
    columns
}

/// Transposes a block of 64 × 64 bits: bit j of word i becomes bit i of word j. Halves are exchanged across
/// the diagonal, then quarters in each half, and so on down to single bits.
fn transpose(block: &mut [u64; WORD]) {
    let mut width = WORD / 2;
    let mut low = u64::MAX >> width;
    while width > 0 {
        for i in (0..WORD).filter(|i| i & width == 0) {
            let exchanged = (block[i] >> width ^ block[i + width]) & low;
            block[i] ^= exchanged << width;
            block[i + width] ^= exchanged;
        }
        width /= 2;
        low ^= low << width;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_the_transposed_relation_at_every_size_around_a_word() {
        for n in [0, 1, 2, 63, 64, 65, 128, 131] {
            let cells: Vec<u32> =
                (0..n * n).map(|i| ((i as u32).wrapping_mul(0x9E37_79B9) >> 29 == 0) as u32 * 7).collect();
            let columns = columns(&cells, n);
            assert_eq!(columns.len(), n);
            for (e, column) in columns.iter().enumerate() {
                let expected: Vec<usize> = (0..n).filter(|d| cells[d * n + e] != 0).collect();
                assert_eq!(column.iter().collect::<Vec<_>>(), expected, "column {e} of {n}");
            }
        }
    }

    #[test]
    fn sets_keep_what_is_put_in() {
        let cells: Vec<u32> = (0..130).map(|i| u32::from(i % 13 == 0) << (i % 32)).collect();
        let mut rules = Rules::of_cells(&cells);
        let multiples: Vec<usize> = (0..130).step_by(13).collect();
        assert_eq!(rules.iter().collect::<Vec<_>>(), multiples);
        assert!(rules.contains(117) && !rules.contains(116) && !rules.contains(4000));
        assert!(rules.meets_cells(&cells));
        rules.remove(&Rules::of_cells(&cells));
        assert!(rules.is_empty() && !rules.meets_cells(&cells));
    }
}
