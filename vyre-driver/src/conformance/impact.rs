//! Impact invalidation: the definition followed literally, the host algorithm, and the programs on a device.

use std::ops::Range;

use super::{Failure, Report};
use crate::impact::{Impact, RuleChange, impacted_by_program};
use crate::optimizer::OptimizerDispatcher;

/// Compares random changes of rules on a dispatcher, one for each seed. Graphs go from almost no edges to
/// dense, and bounds from no rounds to as many as can be.
pub fn impact(dispatcher: &dyn OptimizerDispatcher, seeds: Range<u64>) -> Report {
    let mut report = Report::default();
    for seed in seeds {
        report.programs += 1;
        let mut random = fastrand::Rng::with_seed(seed);
        // The host's words of bits are worth graphs of more than one word; the oracle and the device, whose
        // work is the square of the rules and more, are given small ones most of the time.
        let limit = if seed.is_multiple_of(4) { 140 } else { 24 };
        let graph = RuleGraph::random(&mut random, limit);
        let lineage: Vec<u32> = (0..random.usize(0..60))
            .map(|_| if random.u8(..) < 20 { random.u32(..) } else { random.u32(0..graph.n as u32 + 2) })
            .collect();
        let rounds = if random.bool() { random.u32(0..5) } else { random.u32(..) };
        report.compared += lineage.len() as u64;
        if let Err(message) = compare(dispatcher, &graph.change(rounds), &lineage) {
            let case = format!("seed {seed}: {} rules, {rounds} rounds", graph.n);
            report.failures.push(Failure { case, message });
        }
    }
    report
}

fn compare(
    dispatcher: &dyn OptimizerDispatcher,
    change: &RuleChange<'_>,
    lineage: &[u32],
) -> Result<(), String> {
    let host = change.impact(lineage).map_err(|error| error.to_string())?;
    let device = impacted_by_program(dispatcher, change, lineage).map_err(|error| error.to_string())?;
    if device != host {
        return Err(format!("the device gives {device:?}, the host {host:?}"));
    }
    let Impact { goes, is_closed } = host;
    let want = by_definition(change, change.max_iterations, lineage);
    if goes != want {
        return Err(format!("the host gives {goes:?}, the definition {want:?}"));
    }
    if is_closed && goes != by_definition(change, u32::MAX, lineage) {
        return Err("the closures are said to be complete and are not".into());
    }
    Ok(())
}

/// The definition, literally: both closures one edge a round over whole matrices, then each entry.
fn by_definition(change: &RuleChange<'_>, rounds: u32, lineage: &[u32]) -> Vec<bool> {
    let n = change.n as usize;
    let mut impacted: Vec<bool> = change.intervention_mask.iter().map(|&cell| cell != 0).collect();
    let mut closed: Vec<bool> = change.state.iter().map(|&cell| cell != 0).collect();
    for _ in 0..rounds {
        let (before, row_before) = (impacted.clone(), closed.clone());
        for j in 0..n {
            impacted[j] |= (0..n).any(|i| before[i] && change.rule_adj[i * n + j] != 0);
            for r in 0..n {
                closed[r * n + j] |=
                    (0..n).any(|d| row_before[r * n + d] && change.join_rules[d * n + j] != 0);
            }
        }
        if before == impacted && row_before == closed {
            break;
        }
    }
    let goes = |rule: usize| impacted[rule] || (0..n).any(|e| impacted[e] && closed[rule * n + e]);
    lineage.iter().map(|&rule| (rule as usize) < n && goes(rule as usize)).collect()
}

/// What a [`RuleChange`] borrows: its fields under shorter names.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "the fields of `RuleChange` say what they are")]
pub struct RuleGraph {
    pub n: usize,
    pub changed: Vec<u32>,
    pub adj: Vec<u32>,
    pub state: Vec<u32>,
    pub join: Vec<u32>,
}

impl RuleGraph {
    /// `n` rules without an edge, of which none has changed.
    pub fn empty(n: usize) -> Self {
        let square = vec![0; n * n];
        Self { n, changed: vec![0; n], adj: square.clone(), state: square.clone(), join: square }
    }

    fn random(random: &mut fastrand::Rng, limit: usize) -> Self {
        let n = random.usize(0..limit);
        // Cells are of any value, as every one that is not 0 counts.
        let mut cells = |count: usize, edges_per_row: usize| -> Vec<u32> {
            let odds = random.usize(0..=edges_per_row);
            (0..count).map(|_| if random.usize(0..n.max(1)) < odds { random.u32(1..) } else { 0 }).collect()
        };
        let (changed, adj) = (cells(n, 3), cells(n * n, 2));
        let (state, join) = (cells(n * n, 3), cells(n * n, 2));
        Self { n, changed, adj, state, join }
    }

    /// The change, with this bound.
    pub fn change(&self, max_iterations: u32) -> RuleChange<'_> {
        RuleChange {
            intervention_mask: &self.changed,
            rule_adj: &self.adj,
            state: &self.state,
            join_rules: &self.join,
            n: self.n as u32,
            max_iterations,
        }
    }
}
