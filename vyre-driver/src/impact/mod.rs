//! Which cached artifacts a change of rules invalidates.
//!
//! There are `n` rules, named `0..n`, and every cell that is not 0 counts as set. With K = `max_iterations`:
//!
//! - A rule is *impacted* if a path of at most K edges of `rule_adj` leads to it from a rule that
//!   `intervention_mask` marks; a marked rule is, by the path of no edges. The cell `[i][j]` (row i, column j,
//!   row-major) is the edge i → j: a change in i reaches j.
//! - The *closed provenance row* of a rule r has the rules to which a path of at most K edges of `join_rules`
//!   leads from a rule of row r of `state`: those from which r derives, whatever those derive from, and so on.
//!   The cell `[d][e]` of `join_rules` is the edge d → e: d derives from e. The rule r itself is in its row only
//!   if such a path ends there.
//! - A cached entry has one rule, its lineage cell. It *goes* exactly if that rule is impacted, or if the
//!   rule's closed provenance row has an impacted rule. A lineage cell of `n` or more says that the entry is
//!   not tracked: it stays.
//!
//! So `max_iterations` bounds each of the two closures, counted in rounds in which every path grows by one
//! edge. Where it is reached before the closures are complete, longer paths do not count: entries may stay
//! that complete closures would remove, and [`Impact::is_closed`] is false. `max_iterations = n` always
//! suffices, as the shortest path between two rules has fewer than n edges. Stopping early is cheap to avoid:
//! rounds end when nothing is added, so a large bound costs nothing.

mod bits;
mod device;

pub use device::impacted_by_program;

use bits::{Rules, columns};

use crate::BackendError;

/// A change of rules, and how rules depend on each other; the module's documentation defines each part.
#[derive(Clone, Copy, Debug)]
pub struct RuleChange<'a> {
    /// `n` cells: the rules that changed.
    pub intervention_mask: &'a [u32],
    /// `n` × `n` cells: `[i][j]`, a change in i reaches j.
    pub rule_adj: &'a [u32],
    /// `n` × `n` cells: row r, the rules from which r derives.
    pub state: &'a [u32],
    /// `n` × `n` cells: `[d][e]`, whatever derives from d derives from e.
    pub join_rules: &'a [u32],
    /// The number of rules.
    pub n: u32,
    /// The most edges of a path, in each of the two closures.
    pub max_iterations: u32,
}

/// What a change of rules does to cached entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impact {
    /// For each entry, whether it goes.
    pub goes: Vec<bool>,
    /// Whether a larger `max_iterations` would reach no further rule: `goes` is then what complete closures
    /// give.
    pub is_closed: bool,
}

impl RuleChange<'_> {
    /// Checks that every part is as long as `n` says.
    ///
    /// # Errors
    /// [`BackendError::WrongLength`] for the first that is not, with the length that it must have.
    pub fn check(&self) -> Result<(), BackendError> {
        let (n, square) = (u64::from(self.n), u64::from(self.n) * u64::from(self.n));
        check_length("intervention_mask", n, self.intervention_mask)?;
        check_length("rule_adj", square, self.rule_adj)?;
        check_length("state", square, self.state)?;
        check_length("join_rules", square, self.join_rules)
    }

    /// Decides for each entry whether it goes; `lineage` has one rule for each entry. Time is linear in the
    /// cells: the work is on whole words of bits, and each rule is expanded once.
    ///
    /// # Errors
    /// As [`RuleChange::check`].
    pub fn impact(&self, lineage: &[u32]) -> Result<Impact, BackendError> {
        self.check()?;
        let n = self.intervention_mask.len();
        let changed = Rules::of_cells(self.intervention_mask);
        if changed.is_empty() {
            return Ok(Impact { goes: vec![false; lineage.len()], is_closed: true });
        }
        let (impacted, forward) = closure(changed, n, self.max_iterations, |rule, reached| {
            reached.add_cells(row_of(self.rule_adj, n, rule));
        });
        // A closed row has an impacted rule exactly if the row of `state` has one from which an impacted rule
        // is reached: one closure backwards from the impacted rules, in place of one for each row.
        let derived = columns(self.join_rules, n);
        let (leading, backward) = closure(impacted.clone(), n, self.max_iterations, |rule, reached| {
            if let Some(column) = derived.get(rule) {
                reached.add(column);
            }
        });
        let mut known: Vec<Option<bool>> = vec![None; n];
        let mut goes = |&rule: &u32| {
            let Some(known) = known.get_mut(rule as usize) else { return false };
            *known.get_or_insert_with(|| {
                let rule = rule as usize;
                impacted.contains(rule) || leading.meets_cells(row_of(self.state, n, rule))
            })
        };
        Ok(Impact { goes: lineage.iter().map(&mut goes).collect(), is_closed: forward && backward })
    }
}

/// Row `rule` of an n × n relation.
fn row_of(cells: &[u32], n: usize, rule: usize) -> &[u32] {
    cells.get(rule * n..).and_then(|rows| rows.get(..n)).unwrap_or_default()
}

/// The rules that paths of at most `limit` edges reach from `start`, and whether no longer path reaches more.
/// `expand` adds the rules that one edge reaches from a rule.
fn closure(start: Rules, n: usize, limit: u32, expand: impl Fn(usize, &mut Rules)) -> (Rules, bool) {
    let mut reached = start.clone();
    let mut newest = start;
    let mut rounds = 0;
    while !newest.is_empty() {
        let mut next = Rules::none(n);
        newest.iter().for_each(|rule| expand(rule, &mut next));
        next.remove(&reached);
        if rounds == limit {
            return (reached, next.is_empty());
        }
        reached.add(&next);
        newest = next;
        rounds += 1;
    }
    (reached, true)
}

/// Refuses a slice that is not as long as it must be.
///
/// # Errors
/// [`BackendError::WrongLength`].
pub fn check_length<T>(what: &'static str, expected: u64, got: &[T]) -> Result<(), BackendError> {
    let got = got.len() as u64;
    if got == expected { Ok(()) } else { Err(BackendError::WrongLength { what, expected, got }) }
}
