//! Random graphs: that they are sound, that their forms are inverse, and that no order of invocations changes what they
//! give.

use fastrand::Rng;

use super::{GraphConfig, generate_graph};
use crate::graph::{EvaluateError, GraphNodeId, Inputs, Lifetime, ProgramGraph, Source, evaluate, wire};
use crate::ir::Launch;
use crate::machine::{MachineOptions, Schedule};
use crate::testing::{GenConfig, generate, mutate};
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

#[test]
fn one_program_gives_as_a_graph_what_it_gives_alone() {
    let (mut traps, mut ran) = (0, 0);
    for seed in 0..300 {
        let config = GenConfig { traps: true, indirect: seed % 3 == 0, ..GenConfig::default() };
        let case = generate(seed, &config);
        let graph = ProgramGraph::from_program(&case.program);
        assert_eq!(wire::decode(&wire::encode(&graph)).unwrap(), graph, "seed {seed}");
        assert_eq!(parse_graph(&print_graph(&graph)).unwrap().0, graph, "seed {seed}");
        let options = MachineOptions { subgroup_size: case.subgroup_size, ..MachineOptions::default() };
        let mut inputs = Inputs::new().params(case.params.clone());
        for (id, bytes) in case.program.inputs().zip(&case.inputs) {
            inputs = inputs.value(&case.program.buffer(id).name, bytes);
        }
        let alone = case.run(&options).unwrap();
        match (evaluate(&graph, &inputs, &options), alone.trap) {
            (Ok(done), None) => {
                assert_eq!(done.outputs, alone.outputs, "seed {seed}");
                ran += 1;
            }
            (Err(EvaluateError::Trap { trap, .. }), Some(want)) => {
                assert_eq!(trap, want, "seed {seed}");
                traps += 1;
            }
            (got, want) => panic!("seed {seed}: {got:?}, but alone {want:?}"),
        }
    }
    assert!(ran > 200 && traps > 0, "{ran} ran, {traps} trapped");
}

#[test]
fn damaged_random_graphs_are_refused_or_other_graphs() {
    let config = GraphConfig { max_nodes: 40, ..GraphConfig::default() };
    let mut rng = Rng::with_seed(7);
    let (mut bytes_read, mut texts_read) = (0, 0);
    for seed in 0..15 {
        let graph = generate_graph(seed, &config).graph;
        let mut bytes = wire::encode(&graph);
        bytes.truncate(bytes.len() - 32);
        let text = print_graph(&graph);
        for _ in 0..40 {
            // What a writer that is not ours might give: damaged, and with a hash that fits.
            let mut damaged = mutate::bytes(&bytes, &mut rng);
            let hash = blake3::hash(&damaged);
            damaged.extend_from_slice(hash.as_bytes());
            if let Ok(graph) = wire::decode(&damaged) {
                assert_eq!(wire::encode(&graph), damaged);
                bytes_read += 1;
            }
            if let Ok((graph, _)) = parse_graph(&mutate::text(&text, &mut rng)) {
                assert_eq!(parse_graph(&print_graph(&graph)).unwrap().0, graph);
                texts_read += 1;
            }
        }
    }
    assert!(bytes_read > 5 && texts_read > 5, "{bytes_read} of bytes, {texts_read} of texts");
}
