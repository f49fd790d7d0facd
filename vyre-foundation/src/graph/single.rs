//! The graph that is one program.

use vyre_spec::Access;

use super::assemble::{Draft, DraftKind, DraftNode, DraftSource, ValueRef, assemble};
use super::derive::Counter;
use super::{Dim, DimTable, GraphDiagnostic, GraphParam, GraphParamId, ParamSource, ProgramGraph};
use crate::build::FreeNames;
use crate::check::{Checked, is_reserved};
use crate::ir::{Count, Program};

impl ProgramGraph {
    /// The graph that runs one program: its inputs, parameters and outputs have the names of the program's, and
    /// a run gives what a dispatch of the program gives. A buffer as long as its bytes has a symbol as its shape.
    pub fn from_program(program: &Checked<Program>) -> Self {
        single(program).unwrap_or_else(|findings| {
            debug_assert!(false, "a checked program makes a sound graph: {findings:?}");
            Self::empty(program.name())
        })
    }

    /// A graph without anything in it.
    fn empty(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            dims: Vec::new(),
            declared_dims: 0,
            params: Vec::new(),
            programs: Vec::new(),
            values: Vec::new(),
            nodes: Vec::new(),
            outputs: Vec::new(),
            elements: Vec::new(),
            extents: Vec::new(),
            requirements: Vec::new(),
        }
    }
}

fn single(program: &Checked<Program>) -> Result<ProgramGraph, Vec<GraphDiagnostic>> {
    let mut names = FreeNames::default();
    program.buffers().iter().for_each(|buffer| names.take(&buffer.name));
    program.params().iter().for_each(|param| names.take(&param.name));
    let ids = 0..program.params().len() as u32;
    let sources: Vec<_> = ids.map(|i| ParamSource::Param(GraphParamId::new(i))).collect();
    let mut dims = DimTable::default();
    let mut counter = Counter::new(program, &sources);
    for id in program.inputs() {
        let buffer = program.buffer(id);
        if buffer.count == Count::Bytes {
            let symbol = names.free(format!("len_{}", buffer.name));
            counter.lengths[id.index()] = Some(dims.intern(Dim::Symbol(symbol)));
        }
    }
    let mut draft = Draft { name: program.name().to_owned(), ..Draft::default() };
    let params = program.params().iter().map(|param| GraphParam { name: param.name.clone(), ty: param.ty });
    draft.params = params.collect();
    let mut node = DraftNode {
        name: if is_reserved(program.name()) {
            format!("{}_", program.name())
        } else {
            program.name().to_owned()
        },
        program: 0,
        inputs: Vec::new(),
        outputs: Vec::new(),
        params: sources.clone(),
        counts: None,
    };
    for (id, buffer) in program.buffer_ids().zip(program.buffers()) {
        if buffer.access.is_input() {
            let length = match (counter.lengths[id.index()], buffer.count) {
                (Some(length), _) => length,
                // Parameters of the graph are not known to be negative here.
                (None, Count::Extent(extent)) => {
                    counter.extent(&mut dims, extent).unwrap_or_else(|_| dims.literal(0))
                }
                (None, Count::Bytes) => dims.literal(0),
            };
            node.inputs.push(ValueRef::Source(draft.sources.len() as u32));
            draft.sources.push(DraftSource {
                name: buffer.name.clone(),
                element: buffer.element,
                shape: vec![length],
                kind: DraftKind::Input,
            });
        }
        if buffer.access.is_output() {
            let position = node.outputs.len() as u32;
            let updated = buffer.access == Access::ReadWrite;
            node.outputs.push(if updated { names.free(buffer.name.clone()) } else { buffer.name.clone() });
            draft.outputs.push((buffer.name.clone(), ValueRef::Computed(position)));
        }
    }
    draft.nodes.push(node);
    draft.programs.push(program.clone());
    draft.dims = dims.into_table();
    assemble(draft)
}
