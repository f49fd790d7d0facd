//! The registers and private memory of invocations that run together.

use std::ops::Range;

use super::code::{Code, Reg};

/// Registers and private arrays of some invocations. A register is a column, one 64-bit word for each
/// invocation, so that an op can be carried out for all of them at once.
pub(super) struct Bank {
    words: Vec<u64>,
    /// Invocations that it holds.
    lanes: usize,
    private: Vec<u64>,
    private_words: usize,
    /// The tiles of each subgroup.
    tiles: Vec<u64>,
    tile_words: usize,
    subgroup_size: usize,
}

/// Where the columns of a team are in those of its bank.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    pub(super) first: usize,
    pub(super) width: usize,
}

/// Every register but the one that is being written.
pub(super) struct Others<'b> {
    below: &'b [u64],
    above: &'b [u64],
    written: usize,
    lanes: usize,
    span: Span,
}

impl Others<'_> {
    #[inline]
    pub(super) fn column(&self, reg: Reg) -> &[u64] {
        let reg = reg as usize;
        let (words, reg) =
            if reg < self.written { (self.below, reg) } else { (self.above, reg - self.written - 1) };
        let start = reg * self.lanes + self.span.first;
        &words[start..start + self.span.width]
    }
}

impl Bank {
    /// Registers for `lanes` invocations, with what the launch fixes.
    pub(super) fn new(code: &Code, lanes: usize) -> Self {
        let mut words = Vec::with_capacity(code.template.len() * lanes);
        for &word in &code.template {
            words.resize(words.len() + lanes, word);
        }
        let private_words = code.private_words;
        let (tile_words, subgroup_size) = (code.tile_words, code.subgroup_size.max(1));
        let tiles = vec![0; tile_words * lanes.div_ceil(subgroup_size)];
        let private = vec![0; private_words * lanes];
        Self { words, lanes, private, private_words, tiles, tile_words, subgroup_size }
    }

    fn range(&self, reg: Reg, span: Span) -> Range<usize> {
        let start = reg as usize * self.lanes + span.first;
        start..start + span.width
    }

    #[inline]
    pub(super) fn column(&self, reg: Reg, span: Span) -> &[u64] {
        &self.words[self.range(reg, span)]
    }

    #[inline]
    pub(super) fn column_mut(&mut self, reg: Reg, span: Span) -> &mut [u64] {
        let range = self.range(reg, span);
        &mut self.words[range]
    }

    /// A column to write and the others to read; no instruction reads the register that it writes.
    #[inline]
    pub(super) fn apart(&mut self, written: Reg, span: Span) -> (&mut [u64], Others<'_>) {
        self.parts(written, span).0
    }

    /// As [`Bank::apart`], with the private words of all lanes.
    #[inline]
    pub(super) fn parts(&mut self, written: Reg, span: Span) -> ((&mut [u64], Others<'_>), &mut [u64]) {
        let (lanes, written) = (self.lanes, written as usize);
        let (below, rest) = self.words.split_at_mut(written * lanes);
        let (column, above) = rest.split_at_mut(lanes);
        let column = &mut column[span.first..span.first + span.width];
        let private = &mut self.private[span.first * self.private_words..];
        ((column, Others { below, above, written, lanes, span }), private)
    }

    /// The private words of the lanes of a span, lane by lane, and the registers.
    pub(super) fn private_mut(&mut self, span: Span) -> &mut [u64] {
        let start = span.first * self.private_words;
        &mut self.private[start..start + span.width * self.private_words]
    }

    /// The tiles of the subgroups of a span, subgroup by subgroup.
    pub(super) fn tiles_mut(&mut self, span: Span) -> &mut [u64] {
        let start = span.first / self.subgroup_size * self.tile_words;
        &mut self.tiles[start..start + span.width.div_ceil(self.subgroup_size) * self.tile_words]
    }

    /// The registers to read, and the private words from a span on to write.
    #[inline]
    pub(super) fn reading(&mut self, span: Span) -> (Others<'_>, &mut [u64]) {
        let registers = self.words.len();
        let others = Others { below: &self.words, above: &[], written: registers, lanes: self.lanes, span };
        (others, &mut self.private[span.first * self.private_words..])
    }
}
