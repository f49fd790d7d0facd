//! "Did you mean": the known name that a wrong one is closest to.

/// Names longer than this are not compared, so that the work stays small.
const LONGEST: usize = 64;

/// The candidate closest to `word`, if it is close enough to be a slip: at most one edit in three letters.
pub(crate) fn closest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LONGEST {
        return None;
    }
    let limit = (word.len() / 3).max(1);
    candidates
        .filter(|c| c.len() <= LONGEST && c.len().abs_diff(word.len()) <= limit)
        .map(|c| (distance(word.as_bytes(), c.as_bytes()), c))
        .filter(|&(d, _)| d <= limit)
        .min()
        .map(|(_, c)| c)
}

/// The Levenshtein distance, with one row of the table.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (y, cell) in b.iter().zip(row.iter_mut().skip(1)) {
            let new = (diagonal + usize::from(x != y)).min(left + 1).min(*cell + 1);
            diagonal = std::mem::replace(cell, new);
            left = new;
        }
    }
    // The first column is not kept in the row: it matters only for an empty `b`.
    if b.is_empty() { a.len() } else { row.last().copied().unwrap_or(a.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_worked_by_hand() {
        for (a, b, d) in
            [("", "", 0), ("abc", "", 3), ("", "ab", 2), ("kitten", "sitting", 3), ("point", "piont", 2)]
        {
            assert_eq!(distance(a.as_bytes(), b.as_bytes()), d, "{a} {b}");
        }
    }

    #[test]
    fn a_slip_is_found_and_a_stranger_is_not() {
        let names = ["input", "output", "len"];
        assert_eq!(closest("inptu", names.into_iter()), None);
        assert_eq!(closest("inputs", names.into_iter()), Some("input"));
        assert_eq!(closest("outptu", names.into_iter()), Some("output"));
        assert_eq!(closest("elephant", names.into_iter()), None);
    }
}
