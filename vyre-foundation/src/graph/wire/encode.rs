//! Graphs to bytes.

use super::{MAGIC, VERSION, tags};
use crate::graph::{Dim, DimId, GraphNode, GraphValue, ParamSource, ProgramGraph, Source};
use crate::wire::Writer;

/// The graph's canonical bytes.
pub fn encode(graph: &ProgramGraph) -> Vec<u8> {
    let mut bytes = encode_unsealed(graph);
    let hash = blake3::hash(&bytes);
    bytes.extend_from_slice(hash.as_bytes());
    bytes
}

/// The bytes that the content hash is of.
pub(crate) fn encode_unsealed(graph: &ProgramGraph) -> Vec<u8> {
    let mut out = Writer::default();
    out.bytes.extend_from_slice(&MAGIC);
    out.bytes.extend_from_slice(&VERSION.to_le_bytes());
    out.string(graph.name());
    out.count(graph.params().len());
    for param in graph.params() {
        out.string(&param.name);
        out.byte(param.ty.tag());
    }
    // What follows from the programs is not written.
    out.count(graph.declared_dims().len());
    for (id, dim) in (0..).zip(graph.declared_dims()) {
        write_dim(&mut out, DimId::new(id), dim);
    }
    out.count(graph.programs().len());
    for program in graph.programs() {
        out.blob(&crate::wire::encode_unsealed(program));
    }
    let sources: Vec<_> =
        graph.values().iter().take_while(|value| !matches!(value.source, Source::Node { .. })).collect();
    out.count(sources.len());
    for value in sources {
        write_source(&mut out, value);
    }
    out.count(graph.nodes().len());
    for node in graph.nodes() {
        write_node(&mut out, graph, node);
    }
    out.count(graph.outputs().len());
    for output in graph.outputs() {
        out.string(&output.name);
        out.id(output.value.raw());
    }
    out.bytes
}

fn write_dim(out: &mut Writer, id: DimId, dim: &Dim) {
    match (dim, dim.op()) {
        (Dim::Literal(n), _) => {
            out.byte(tags::LITERAL);
            out.number(*n);
        }
        (Dim::Symbol(name), _) => {
            out.byte(tags::SYMBOL);
            out.string(name);
        }
        (Dim::Param(param), _) => {
            out.byte(tags::PARAM);
            out.id(param.raw());
        }
        (_, Some((op, a, b))) => {
            out.byte(op.tag);
            out.back(id.raw(), a.raw());
            out.back(id.raw(), b.raw());
        }
        // Every dimension with operands has a row.
        (_, None) => {}
    }
}

fn write_source(out: &mut Writer, value: &GraphValue) {
    out.string(&value.name);
    out.byte(value.element.tag());
    out.count(value.shape.len());
    value.shape.iter().for_each(|dim| out.id(dim.raw()));
    match &value.source {
        Source::Constant(bytes) => {
            out.byte(tags::CONSTANT);
            out.blob(bytes);
        }
        Source::Retained { next } => {
            out.byte(tags::RETAINED);
            out.number(next.map_or(0, |next| u64::from(next.raw()) + 1));
        }
        Source::Input | Source::Node { .. } => out.byte(tags::INPUT),
    }
}

fn write_node(out: &mut Writer, graph: &ProgramGraph, node: &GraphNode) {
    out.string(&node.name);
    out.id(node.program);
    // How many inputs, outputs and parameters there are, the program says.
    node.inputs.iter().for_each(|value| out.id(value.raw()));
    for &output in &node.outputs {
        out.string(&graph.value(output).name);
    }
    for param in &node.params {
        match *param {
            ParamSource::Literal(value) => {
                out.byte(tags::OF_LITERAL);
                out.value(value);
            }
            ParamSource::Param(id) => {
                out.byte(tags::OF_PARAM);
                out.id(id.raw());
            }
            ParamSource::Dim(id) => {
                out.byte(tags::OF_DIM);
                out.id(id.raw());
            }
        }
    }
    out.byte(node.counts.is_some().into());
    node.counts.into_iter().flatten().for_each(|dim| out.id(dim.raw()));
}
