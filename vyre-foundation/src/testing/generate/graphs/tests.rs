//! Random graphs: that they are sound, that their forms are inverse, and that no order of invocations changes what they
//! give.

use super::{GraphConfig, generate_graph};
use crate::graph::{GraphNodeId, Lifetime, Source, wire};
use crate::ir::Launch;
use crate::machine::{MachineOptions, Schedule};
use crate::text::{parse_graph, print_graph};

const SEEDS: std::ops::Range<u64> = 0..60;

#[test]
fn random_graphs_are_what_they_should_be() {
    let config = GraphConfig::default();
    let (mut groups, mut shared_reads, mut updates, mut outputs_twice, mut inputs_out) = (0, 0, 0, 0, 0);
    let mut ran = 0;
    for seed in SEEDS {
        let case = generate_graph(seed, &config);
        let graph = &case.graph;
        assert!((20..=200).contains(&graph.nodes().len()), "seed {seed}: {} nodes", graph.nodes().len());
        let workgroups =
            |id: &GraphNodeId| matches!(graph.program_of(*id).launch(), Launch::Workgroups { .. });
        groups += graph.node_ids().filter(workgroups).count();
        let mut reads = vec![0; graph.values().len()];
        graph.nodes().iter().flat_map(|node| &node.inputs).for_each(|value| reads[value.index()] += 1);
        shared_reads += reads.iter().filter(|&&count| count > 1).count();
        updates +=
            graph.values().iter().filter(|v| matches!(v.source, Source::Retained { next: Some(_) })).count();
        let mut values: Vec<_> = graph.outputs().iter().map(|output| output.value).collect();
        inputs_out += values.iter().filter(|&&v| graph.value(v).lifetime() == Lifetime::Invocation).count();
        values.sort_unstable();
        outputs_twice += values.windows(2).filter(|pair| pair[0] == pair[1]).count();

        assert_eq!(wire::decode(&wire::encode(graph)).unwrap(), *graph, "seed {seed}");
        assert_eq!(parse_graph(&print_graph(graph)).unwrap().0, *graph, "seed {seed}");
        let again = generate_graph(seed, &config);
        assert_eq!((&again.graph, &again.inputs), (graph, &case.inputs), "seed {seed}");
        let options = MachineOptions { watch_subnormals: true, ..MachineOptions::default() };
        let done = case.evaluate(&options).unwrap();
        // Nodes were run when they were drawn.
        assert!(!done.subnormals, "seed {seed}");
        ran += done.outputs.iter().filter(|bytes| bytes.iter().any(|&byte| byte != 0)).count();
        let shuffled = MachineOptions { schedule: Schedule::Seeded(seed), ..MachineOptions::default() };
        assert_eq!(case.evaluate(&shuffled).unwrap().outputs, done.outputs, "seed {seed}");
    }
    // Of some thousand nodes and 60 graphs, each kind has many.
    for count in [groups, shared_reads, updates, outputs_twice, inputs_out, ran] {
        assert!(count > 20, "{:?}", [groups, shared_reads, updates, outputs_twice, inputs_out, ran]);
    }
}
