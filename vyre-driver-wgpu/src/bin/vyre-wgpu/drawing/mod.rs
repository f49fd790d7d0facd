//! Pictures of a graph before and after fusion: as Graphviz text here, as SVG in the module `svg`.

mod svg;

use std::fmt::Write as _;

use vyre_foundation::graph::{GraphNodeId, GraphValueId, ProgramGraph, Source};
use vyre_megakernel::Artifact;
use vyre_megakernel::fuse::Step;

pub(crate) use svg::svg;

/// Boxes and arrows between them; arrows go to later boxes.
#[derive(Default)]
pub(crate) struct Drawing {
    title: String,
    boxes: Vec<Box>,
    edges: Vec<Edge>,
}

struct Box {
    lines: Vec<String>,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Source,
    Kernel,
    Copy,
    Output,
}

struct Edge {
    from: usize,
    to: usize,
    label: String,
}

impl Drawing {
    fn add(&mut self, kind: Kind, lines: Vec<String>) -> usize {
        self.boxes.push(Box { lines, kind });
        self.boxes.len() - 1
    }

    fn edge(&mut self, graph: &ProgramGraph, from: Option<usize>, to: usize, value: GraphValueId) {
        let label = format!("{}: {}", graph.value(value).name, graph.type_text(value));
        if let Some(from) = from {
            self.edges.push(Edge { from, to, label });
        }
    }

    /// A box for each value that no node computes and that something reads; where each is.
    fn sources(&mut self, graph: &ProgramGraph) -> Vec<Option<usize>> {
        let mut place = |id: GraphValueId| {
            let value = graph.value(id);
            let role = value.lifetime().name();
            (!matches!(value.source, Source::Node { .. }))
                .then(|| self.add(Kind::Source, vec![format!("{role} {}", value.name)]))
        };
        graph.value_ids().map(&mut place).collect()
    }

    fn outputs(&mut self, graph: &ProgramGraph, made_by: &[Option<usize>]) {
        let made = |value: GraphValueId| made_by.get(value.index()).copied().flatten();
        for output in graph.outputs() {
            let to = self.add(Kind::Output, vec![format!("output {}", output.name)]);
            self.edge(graph, made(output.value), to, output.value);
        }
        for value in graph.values() {
            if let Source::Retained { next: Some(next) } = value.source {
                let to = self.add(Kind::Output, vec![format!("next {}", value.name)]);
                self.edge(graph, made(next), to, next);
            }
        }
    }

    /// The graph as it was given.
    pub(crate) fn before(graph: &ProgramGraph) -> Self {
        let mut drawing =
            Self { title: format!("{}: {} nodes", graph.name(), graph.nodes().len()), ..Self::default() };
        let mut made_by = drawing.sources(graph);
        for id in graph.node_ids() {
            let node = graph.node(id);
            let to = drawing.add(Kind::Kernel, vec![node.name.clone()]);
            for &value in &node.inputs {
                drawing.edge(graph, made_by.get(value.index()).copied().flatten(), to, value);
            }
            for value in &node.outputs {
                if let Some(made) = made_by.get_mut(value.index()) {
                    *made = Some(to);
                }
            }
        }
        drawing.outputs(graph, &made_by);
        drawing
    }

    /// What a run does.
    pub(crate) fn after(artifact: &Artifact) -> Self {
        let (graph, plan) = (artifact.graph(), artifact.plan());
        let kernels = plan.kernels();
        let title = format!("{}: {kernels} kernel{}", graph.name(), if kernels == 1 { "" } else { "s" });
        let mut drawing = Self { title, ..Self::default() };
        let mut made_by = drawing.sources(graph);
        let made =
            |made_by: &[Option<usize>], value: GraphValueId| made_by.get(value.index()).copied().flatten();
        for step in &plan.steps {
            match step {
                Step::Copy { from, to } => {
                    let at = drawing.add(Kind::Copy, vec!["copy".to_owned()]);
                    drawing.edge(graph, made(&made_by, *from), at, *from);
                    if let Some(made) = made_by.get_mut(to.index()) {
                        *made = Some(at);
                    }
                }
                Step::Run(run) => {
                    let name = |id: &GraphNodeId| graph.node(*id).name.clone();
                    let to = drawing.add(Kind::Kernel, run.nodes.iter().map(name).collect());
                    for used in &run.buffers {
                        if let Some(input) = used.input {
                            // In place, it is what was copied to the output's memory, if anything was.
                            let copied = used.output.and_then(|output| made(&made_by, output));
                            drawing.edge(graph, copied.or(made(&made_by, input)), to, input);
                        }
                    }
                    for output in run.buffers.iter().filter_map(|used| used.output) {
                        if let Some(made) = made_by.get_mut(output.index()) {
                            *made = Some(to);
                        }
                    }
                }
            }
        }
        drawing.outputs(graph, &made_by);
        drawing
    }
}

/// Graphviz text of pictures, each a cluster.
pub(crate) fn dot(drawings: &[Drawing]) -> String {
    let mut out = String::from("digraph vyre {\n  node [fontname=\"sans-serif\"];\n");
    for (cluster, drawing) in drawings.iter().enumerate() {
        let _ = writeln!(out, "  subgraph cluster_{cluster} {{\n    label={};", quoted(&drawing.title));
        for (at, shown) in drawing.boxes.iter().enumerate() {
            let shape = match shown.kind {
                Kind::Kernel => "box",
                Kind::Copy => "cds",
                Kind::Source | Kind::Output => "ellipse",
            };
            let label = quoted(&shown.lines.join("\n"));
            let _ = writeln!(out, "    b{cluster}_{at} [shape={shape}, label={label}];");
        }
        for edge in &drawing.edges {
            let (from, to, label) = (edge.from, edge.to, quoted(&edge.label));
            let _ = writeln!(out, "    b{cluster}_{from} -> b{cluster}_{to} [label={label}];");
        }
        out.push_str("  }\n");
    }
    out.push_str("}\n");
    out
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
