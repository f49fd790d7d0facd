//! Impact invalidation, against an oracle that follows the definition round by round.
#![allow(clippy::unwrap_used, reason = "a failure here fails the test")]

use vyre_driver::BackendError;
use vyre_driver::impact::RuleChange;

/// A graph with the parts that a [`RuleChange`] borrows.
#[derive(Clone, Debug, Default)]
struct Graph {
    n: usize,
    changed: Vec<u32>,
    adj: Vec<u32>,
    state: Vec<u32>,
    join: Vec<u32>,
}

impl Graph {
    fn empty(n: usize) -> Self {
        let square = vec![0; n * n];
        Self { n, changed: vec![0; n], adj: square.clone(), state: square.clone(), join: square }
    }

    fn random(random: &mut fastrand::Rng) -> Self {
        let n = random.usize(0..90);
        // From almost no edges to dense, and cells of any value that is not 0.
        let mut cells = |count: usize, edges_per_row: usize| -> Vec<u32> {
            let odds = random.usize(0..=edges_per_row);
            (0..count).map(|_| if random.usize(0..n.max(1)) < odds { random.u32(1..) } else { 0 }).collect()
        };
        let (changed, adj) = (cells(n, 3), cells(n * n, 2));
        let (state, join) = (cells(n * n, 3), cells(n * n, 2));
        Self { n, changed, adj, state, join }
    }

    fn change(&self, max_iterations: u32) -> RuleChange<'_> {
        RuleChange {
            intervention_mask: &self.changed,
            rule_adj: &self.adj,
            state: &self.state,
            join_rules: &self.join,
            n: self.n as u32,
            max_iterations,
        }
    }

    /// The definition, literally: both closures one edge a round over whole matrices, then each entry.
    fn oracle(&self, rounds: u32, lineage: &[u32]) -> Vec<bool> {
        let n = self.n;
        let mut impacted: Vec<bool> = self.changed.iter().map(|&cell| cell != 0).collect();
        let mut closed: Vec<bool> = self.state.iter().map(|&cell| cell != 0).collect();
        for _ in 0..rounds {
            let (before, row_before) = (impacted.clone(), closed.clone());
            for j in 0..n {
                impacted[j] |= (0..n).any(|i| before[i] && self.adj[i * n + j] != 0);
                for r in 0..n {
                    closed[r * n + j] |= (0..n).any(|d| row_before[r * n + d] && self.join[d * n + j] != 0);
                }
            }
            if (before, row_before) == (impacted.clone(), closed.clone()) {
                break;
            }
        }
        let goes = |rule: usize| impacted[rule] || (0..n).any(|e| impacted[e] && closed[rule * n + e]);
        lineage.iter().map(|&rule| (rule as usize) < n && goes(rule as usize)).collect()
    }
}

#[test]
fn the_host_algorithm_is_the_definition() {
    let seed = fastrand::u64(..);
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut gone, mut stayed, mut cut) = (0, 0, 0);
    for case in 0..300 {
        let graph = Graph::random(&mut random);
        let lineage: Vec<u32> = (0..random.usize(0..60))
            .map(|_| if random.u8(..) < 20 { random.u32(..) } else { random.u32(0..graph.n as u32 + 2) })
            .collect();
        let rounds = if random.bool() { random.u32(0..5) } else { random.u32(..) };
        let impact = graph.change(rounds).impact(&lineage).unwrap();
        assert_eq!(impact.goes, graph.oracle(rounds, &lineage), "seed {seed}, case {case}, {rounds} rounds");
        if impact.is_closed {
            assert_eq!(impact.goes, graph.oracle(u32::MAX, &lineage), "seed {seed}, case {case}");
        }
        gone += impact.goes.iter().filter(|&&goes| goes).count();
        stayed += impact.goes.iter().filter(|&&goes| !goes).count();
        cut += usize::from(!impact.is_closed);
    }
    // The cases are worth something only if they differ.
    assert!(gone > 100 && stayed > 100 && cut > 5, "{gone} gone, {stayed} stayed, {cut} cut short");
}

#[test]
fn rounds_bound_the_edges_of_both_paths() {
    // Changes go 0 → 1 → 2; rule 5 derives from 4, 4 from 3, and 3 from 2.
    let mut graph = Graph::empty(6);
    graph.changed[0] = 1;
    graph.adj[1] = 9;
    graph.adj[6 + 2] = 1;
    graph.state[5 * 6 + 4] = 1;
    graph.join[4 * 6 + 3] = 1;
    graph.join[3 * 6 + 2] = u32::MAX;
    let lineage = [0, 1, 2, 3, 4, 5, 6, u32::MAX];
    let goes = |rounds| {
        let impact = graph.change(rounds).impact(&lineage).unwrap();
        (impact.goes.iter().map(|&goes| u8::from(goes)).collect::<Vec<_>>(), impact.is_closed)
    };
    assert_eq!(goes(0), (vec![1, 0, 0, 0, 0, 0, 0, 0], false));
    assert_eq!(goes(1), (vec![1, 1, 0, 0, 0, 0, 0, 0], false));
    // Rule 2 is reached, and from rule 4, of which 5 derives, it is two edges of `join_rules` away. Rules 3
    // and 4 have no row in `state`.
    assert_eq!(goes(2), (vec![1, 1, 1, 0, 0, 1, 0, 0], true));
    assert_eq!(goes(u32::MAX), goes(2));
}

#[test]
fn without_a_change_nothing_goes_and_without_rules_nothing_is_tracked() {
    let mut graph = Graph::empty(3);
    graph.adj.fill(1);
    graph.state.fill(1);
    assert_eq!(graph.change(9).impact(&[0, 1, 2]).unwrap().goes, [false; 3]);
    assert_eq!(Graph::empty(0).change(9).impact(&[0, u32::MAX]).unwrap().goes, [false; 2]);
}

#[test]
fn each_part_of_a_wrong_length_is_named_with_the_length_it_needs() {
    let graph = Graph::empty(3);
    let wrong = |what, expected, got| Err(BackendError::WrongLength { what, expected, got });
    let parts: [(&str, fn(&mut Graph) -> &mut Vec<u32>, u64); 4] = [
        ("intervention_mask", |g| &mut g.changed, 3),
        ("rule_adj", |g| &mut g.adj, 9),
        ("state", |g| &mut g.state, 9),
        ("join_rules", |g| &mut g.join, 9),
    ];
    for (what, part, expected) in parts {
        for got in [expected - 1, expected + 1] {
            let mut graph = graph.clone();
            part(&mut graph).resize(got as usize, 0);
            assert_eq!(graph.change(1).impact(&[]), wrong(what, expected, got));
        }
    }
    // n × n is beyond 32 bits here.
    let huge = RuleChange { n: u32::MAX, ..graph.change(1) };
    assert_eq!(huge.impact(&[]), wrong("intervention_mask", u64::from(u32::MAX), 3));
}

#[test]
fn thousands_of_rules_in_a_chain_are_no_burden() {
    // The worst case for rounds: a chain through every rule, in both relations.
    let n = 2048;
    let mut graph = Graph::empty(n);
    graph.changed[0] = 1;
    for i in 1..n {
        graph.adj[(i - 1) * n + i] = 1;
        graph.join[i * n + i - 1] = 1;
    }
    let lineage: Vec<u32> = (0..n as u32).collect();
    let impact = graph.change(n as u32).impact(&lineage).unwrap();
    assert!(impact.is_closed && impact.goes.iter().all(|&goes| goes));
    let impact = graph.change(n as u32 / 2).impact(&lineage).unwrap();
    assert_eq!(impact.goes.iter().filter(|&&goes| goes).count(), n / 2 + 1);
    assert!(!impact.is_closed);
}
