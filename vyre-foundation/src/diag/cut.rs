//! Text without the middle parts of its longest lines, so that a finding in a file of one long line is shown
//! in a few words.

use std::borrow::Cow;
use std::ops::Range;

use codespan_reporting::files::{Error, Files, SimpleFile};

/// Bytes of a line that is shown whole.
const LONGEST: usize = 300;

/// Bytes that are kept on either side of a place in a longer one.
const AROUND: usize = 60;

const MARK: &str = "…";

/// A text with parts left out, and the file that it is of.
pub(super) struct Cut<'a> {
    file: SimpleFile<&'a str, String>,
    whole: &'a str,
    /// What was left out: places in the whole text, in order.
    gaps: Vec<Range<usize>>,
}

impl<'a> Cut<'a> {
    /// `text` without the parts of long lines that are far from the ends of all `places`.
    pub(super) fn new(name: &'a str, text: &'a str, places: &[Range<usize>]) -> Self {
        let mut ends: Vec<usize> = places.iter().flat_map(|place| [place.start, place.end]).collect();
        ends.sort_unstable();
        let mut gaps: Vec<Range<usize>> = Vec::new();
        let mut line = 0..0;
        // Up to where this line is kept, as far as is known.
        let mut kept = 0;
        for end in ends {
            if gaps.is_empty() && line.end == 0 || end > line.end {
                gap(text, &mut gaps, kept..line.end);
                let start = text[..end].rfind('\n').map_or(0, |at| at + 1);
                line = start..text[end..].find('\n').map_or(text.len(), |at| end + at);
                kept = start;
            }
            if line.len() > LONGEST {
                gap(text, &mut gaps, kept..end.saturating_sub(AROUND));
                kept = kept.max((end + AROUND).min(line.end));
            } else {
                kept = line.end;
            }
        }
        gap(text, &mut gaps, kept..line.end);
        let mut shown = String::new();
        let mut from = 0;
        for gap in &gaps {
            shown += &text[from..gap.start];
            shown += MARK;
            from = gap.end;
        }
        shown += &text[from..];
        Self { file: SimpleFile::new(name, shown), whole: text, gaps }
    }

    /// Where a place of the whole text is in the cut one.
    pub(super) fn range(&self, place: Range<usize>) -> Range<usize> {
        let moved = |at: usize| {
            let before = self.gaps.iter().take_while(|gap| gap.end <= at);
            before.fold(at, |to, gap| to - gap.len() + MARK.len())
        };
        moved(place.start)..moved(place.end)
    }

    /// Where a place of the cut text is in the whole one.
    fn origin(&self, at: usize) -> usize {
        self.gaps.iter().fold(
            at,
            |from, gap| {
                if gap.start < from { from + gap.len() - MARK.len() } else { from }
            },
        )
    }
}

/// Adds a gap at boundaries of characters, unless its mark would be as long.
fn gap(text: &str, gaps: &mut Vec<Range<usize>>, range: Range<usize>) {
    let (mut start, mut end) = (range.start, range.end);
    while start < end && !text.is_char_boundary(start) {
        start += 1;
    }
    while end > start && !text.is_char_boundary(end) {
        end -= 1;
    }
    if end > start + MARK.len() {
        gaps.push(start..end);
    }
}

/// A sentence without its middle, if it is long: it may quote what the text holds.
pub(super) fn sentence(text: &str) -> Cow<'_, str> {
    if text.len() <= LONGEST {
        return Cow::Borrowed(text);
    }
    let mut gaps = Vec::new();
    gap(text, &mut gaps, LONGEST / 2..text.len() - LONGEST / 2);
    match gaps.first() {
        Some(gap) => Cow::Owned(format!("{}{MARK}{}", &text[..gap.start], &text[gap.end..])),
        None => Cow::Borrowed(text),
    }
}

impl<'a> Files<'a> for Cut<'a> {
    type FileId = ();
    type Name = &'a str;
    type Source = &'a str;

    fn name(&'a self, (): ()) -> Result<Self::Name, Error> {
        Ok(self.file.name())
    }

    fn source(&'a self, (): ()) -> Result<Self::Source, Error> {
        Ok(self.file.source())
    }

    fn line_index(&'a self, (): (), byte: usize) -> Result<usize, Error> {
        self.file.line_index((), byte)
    }

    fn line_range(&'a self, (): (), line: usize) -> Result<Range<usize>, Error> {
        self.file.line_range((), line)
    }

    /// The column in the whole line.
    fn column_number(&'a self, (): (), _line: usize, byte: usize) -> Result<usize, Error> {
        let before = self.whole.get(..self.origin(byte)).unwrap_or(self.whole);
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        Ok(1 + before[start..].chars().count())
    }
}
