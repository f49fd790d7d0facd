//! Impact invalidation.
#![cfg(feature = "conformance")]
#![allow(clippy::unwrap_used, reason = "a failure here fails the test")]

use vyre_driver::BackendError;
use vyre_driver::conformance::RuleGraph;
use vyre_driver::impact::RuleChange;

#[test]
fn host_and_programs_give_what_the_definition_does() {
    let report = vyre_driver::conformance::impact(&vyre_driver::ReferenceBackend::new(), 0..150);
    for failure in &report.failures {
        println!("{failure}");
    }
    assert!(report.failures.is_empty(), "{} of {} graphs", report.failures.len(), report.programs);
    assert!(report.compared > 2_000, "{} entries", report.compared);
}

#[test]
fn rounds_bound_the_edges_of_both_paths() {
    // Changes go 0 → 1 → 2; rule 5 derives from 4, 4 from 3, and 3 from 2.
    let mut graph = RuleGraph::empty(6);
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
    let mut graph = RuleGraph::empty(3);
    graph.adj.fill(1);
    graph.state.fill(1);
    assert_eq!(graph.change(9).impact(&[0, 1, 2]).unwrap().goes, [false; 3]);
    assert_eq!(RuleGraph::empty(0).change(9).impact(&[0, u32::MAX]).unwrap().goes, [false; 2]);
}

#[test]
fn each_part_of_a_wrong_length_is_named_with_the_length_it_needs() {
    let graph = RuleGraph::empty(3);
    let wrong = |what, expected, got| Err(BackendError::WrongLength { what, expected, got });
    type Part = fn(&mut RuleGraph) -> &mut Vec<u32>;
    let parts: [(&str, Part, u64); 4] = [
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
    let mut graph = RuleGraph::empty(n);
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
