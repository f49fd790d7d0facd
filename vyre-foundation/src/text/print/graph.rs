//! Graphs as text: their programs, then the graph.

use std::collections::{BTreeMap, HashSet};

use vyre_spec::Value;

use super::print_with_map;
use crate::graph::dims::write_dim;
use crate::graph::{Dim, DimId, GraphNode, GraphNodeId, GraphValueId, ParamSource, ProgramGraph, Source};
use crate::text::{GraphMap, SourceMap, Span, literal};

/// Nested operations that a dimension's text may have; deeper and shared ones are named.
const DEEPEST: u32 = 8;

/// The graph's text.
pub fn print_graph(graph: &ProgramGraph) -> String {
    print_graph_with_map(graph).0
}

/// The graph's text, and where each part stands in it.
pub fn print_graph_with_map(graph: &ProgramGraph) -> (String, GraphMap) {
    let mut printer = Printer {
        graph,
        out: String::new(),
        map: GraphMap {
            dims: vec![Span::default(); graph.dims().len()],
            values: vec![Span::default(); graph.values().len()],
            ..GraphMap::default()
        },
        names: vec![None; graph.dims().len()],
        programs: Vec::new(),
    };
    printer.programs();
    printer.graph();
    (printer.out, printer.map)
}

struct Printer<'g> {
    graph: &'g ProgramGraph,
    out: String,
    map: GraphMap,
    /// Numbers of the generated names of dimensions.
    names: Vec<Option<u32>>,
    /// What nodes call each program.
    programs: Vec<String>,
}

impl Printer<'_> {
    fn at(&self) -> u32 {
        // A text beyond 4 GiB has no places; parsing refuses it.
        u32::try_from(self.out.len()).unwrap_or(u32::MAX)
    }

    fn from(&self, start: u32) -> Span {
        Span::new(start, self.at())
    }

    fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn programs(&mut self) {
        // Programs of one name are told apart by their position among those.
        let mut same: BTreeMap<&str, u32> = BTreeMap::new();
        for program in self.graph.programs() {
            *same.entry(program.name()).or_default() += 1;
        }
        let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
        for program in self.graph.programs() {
            let name = program.name();
            let number = seen.entry(name).or_default();
            let call = if same.get(name) == Some(&1) { name.to_owned() } else { format!("{name}.{number}") };
            *number += 1;
            self.programs.push(call);
            let (text, map) = print_with_map(program);
            self.map.programs.push(moved(map, self.at()));
            self.push(&text);
            self.push("\n");
        }
    }

    fn graph(&mut self) {
        let graph = self.graph;
        let start = self.at();
        self.push("graph ");
        self.push(graph.name());
        self.map.graph = self.from(start);
        self.push(" {\n");
        for (i, dim) in graph.declared_dims().iter().enumerate() {
            if let Dim::Symbol(name) = dim {
                let start = self.line("dim ");
                self.push(name);
                self.map.dims[i] = self.from(start);
                self.push(";\n");
            }
        }
        for param in graph.params() {
            let start = self.line("param ");
            self.push(&format!("{}: {}", param.name, param.ty));
            let span = self.from(start);
            self.map.params.push(span);
            self.push(";\n");
        }
        self.named_dims();
        for id in graph.value_ids() {
            self.source(id);
        }
        for (id, node) in graph.node_ids().zip(graph.nodes()) {
            self.node(id, node);
        }
        for output in graph.outputs() {
            let start = self.line("output ");
            self.push(&format!("{} = {}", output.name, graph.value(output.value).name));
            let span = self.from(start);
            self.map.outputs.push(span);
            self.push(";\n");
        }
        self.push("}\n");
    }

    fn line(&mut self, word: &str) -> u32 {
        self.push("    ");
        let start = self.at();
        self.push(word);
        start
    }

    /// Names the deep dimensions and those that would be written several times.
    fn named_dims(&mut self) {
        let graph = self.graph;
        let dims = graph.declared_dims();
        let mut uses = vec![0u32; dims.len()];
        let shapes = graph.values().iter().take_while(|value| !matches!(value.source, Source::Node { .. }));
        let params = graph.nodes().iter().flat_map(|node| &node.params).filter_map(|param| match *param {
            ParamSource::Dim(dim) => Some(dim),
            _ => None,
        });
        let counts = graph.nodes().iter().filter_map(|node| node.counts).flatten();
        let operands = dims.iter().filter_map(Dim::operands).flatten();
        let written = shapes.flat_map(|value| value.shape.iter().copied()).chain(params).chain(counts);
        for dim in written.chain(operands) {
            if let Some(count) = uses.get_mut(dim.index()) {
                *count = count.saturating_add(1);
            }
        }
        let mut taken: HashSet<String> = graph.values().iter().map(|value| value.name.clone()).collect();
        taken.extend(graph.params().iter().map(|param| param.name.clone()));
        taken.extend(dims.iter().filter_map(|dim| match dim {
            Dim::Symbol(name) => Some(name.clone()),
            _ => None,
        }));
        let mut free = (0u32..).filter(|number| !taken.contains(&format!("d{number}")));
        let mut depths = vec![0u32; dims.len()];
        for (i, dim) in dims.iter().enumerate() {
            let Some([a, b]) = dim.operands() else { continue };
            let depth = 1 + depths[a.index()].max(depths[b.index()]);
            // What is written in a few words may be written again.
            if depth <= 1 || (uses[i] <= 1 && depth <= DEEPEST) {
                depths[i] = depth;
                continue;
            }
            let Some(number) = free.next() else { continue };
            self.line("dim ");
            self.push(&format!("d{number} = "));
            self.dim(DimId::new(i as u32));
            self.push(";\n");
            self.names[i] = Some(number);
        }
    }

    fn dim(&mut self, id: DimId) {
        let (graph, names) = (self.graph, &self.names);
        let param = |id| graph.param(id).name.clone();
        let name = |id: DimId| names.get(id.index()).copied().flatten().map(|number| format!("d{number}"));
        write_dim(&mut self.out, usize::MAX, graph.dims(), &param, &name, id);
    }

    fn dims(&mut self, dims: &[DimId]) {
        for (i, &dim) in dims.iter().enumerate() {
            if i > 0 {
                self.push(", ");
            }
            self.dim(dim);
        }
    }

    fn source(&mut self, id: GraphValueId) {
        let graph = self.graph;
        let value = graph.value(id);
        let start = match value.source {
            Source::Node { .. } => return,
            _ => self.line(value.lifetime().name()),
        };
        self.push(&format!(" {}: {}[", value.name, value.element));
        self.dims(&value.shape);
        self.push("]");
        let span = self.from(start);
        self.map.values[id.index()] = span;
        match &value.source {
            Source::Constant(bytes) => self.constant(value.element, bytes),
            Source::Retained { next: Some(next) } => {
                self.push(" becomes ");
                self.push(&graph.value(*next).name);
            }
            _ => {}
        }
        self.push(";\n");
    }

    /// A constant's elements, or its bytes where they are no elements' own.
    fn constant(&mut self, element: vyre_spec::DataType, bytes: &[u8]) {
        let size = element.size() as usize;
        let own = |chunk: &[u8]| {
            let bits = Value::from_le_bytes(element, chunk).bits();
            bits.to_le_bytes().iter().zip(chunk).all(|(a, b)| a == b)
        };
        let plain = bytes.chunks(size).all(own);
        self.push(if plain { " = {" } else { " = bytes {" });
        let mut separator = " ";
        for chunk in bytes.chunks(if plain { size } else { 1 }) {
            self.push(separator);
            separator = ", ";
            if plain {
                literal::write(&mut self.out, Value::from_le_bytes(element, chunk));
            } else {
                self.push(&chunk.first().copied().unwrap_or_default().to_string());
            }
        }
        self.push(" }");
    }

    fn node(&mut self, id: GraphNodeId, node: &GraphNode) {
        let graph = self.graph;
        let start = self.line("node ");
        self.push(&node.name);
        self.push(": ");
        for (i, &output) in node.outputs.iter().enumerate() {
            if i > 0 {
                self.push(", ");
            }
            let start = self.at();
            self.push(&graph.value(output).name);
            let span = self.from(start);
            self.map.values[output.index()] = span;
        }
        if !node.outputs.is_empty() {
            self.push(" = ");
        }
        let call = self.programs.get(node.program as usize).cloned().unwrap_or_default();
        self.push(&call);
        self.push("(");
        let mut separator = "";
        for param in &node.params {
            self.push(separator);
            separator = ", ";
            match *param {
                ParamSource::Literal(value) => literal::write(&mut self.out, value),
                ParamSource::Param(id) => self.push(&graph.param(id).name),
                ParamSource::Dim(dim) => match graph.dim(dim) {
                    Dim::Symbol(name) => self.push(name),
                    _ => {
                        self.push("dim(");
                        self.dim(dim);
                        self.push(")");
                    }
                },
            }
        }
        for &input in &node.inputs {
            self.push(separator);
            separator = ", ";
            self.push(&graph.value(input).name);
        }
        self.push(")");
        if let Some(counts) = node.counts {
            self.push(" counts(");
            self.dims(&counts);
            self.push(")");
        }
        let span = self.from(start);
        debug_assert_eq!(self.map.nodes.len(), id.index());
        self.map.nodes.push(span);
        self.push(";\n");
    }
}

/// A program's map in a text where the program begins so far in.
fn moved(mut map: SourceMap, by: u32) -> SourceMap {
    let tables = [
        &mut map.buffers,
        &mut map.params,
        &mut map.shared,
        &mut map.privates,
        &mut map.tiles,
        &mut map.vars,
        &mut map.nodes,
        &mut map.exprs,
    ];
    for span in tables.into_iter().flatten().chain([&mut map.program]) {
        *span = Span::new(span.start.saturating_add(by), span.end.saturating_add(by));
    }
    map
}
