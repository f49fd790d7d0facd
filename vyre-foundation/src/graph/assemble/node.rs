//! A node of a draft: what it is given, what follows from that, and what it computes.

use std::borrow::Cow;

use vyre_spec::DataType;

use super::{Assembly, param_type};
use crate::diag::{Code, Diagnostic};
use crate::graph::derive::{Known, derive};
use crate::graph::{
    GraphNode, GraphNodeId, GraphSite, GraphValueId, ParamSource, Requirement, Source, check,
};
use crate::ir::{BufferId, Launch};

impl Assembly<'_> {
    pub(super) fn node(&mut self, at: usize) {
        let draft = self.draft;
        let node = &draft.nodes[at];
        let id = GraphNodeId::new(at as u32);
        let site = GraphSite::Node(id);
        let Some(program) = draft.programs.get(node.program as usize) else { return };
        let inputs: Vec<GraphValueId> = node.inputs.iter().map(|&value| self.id(value)).collect();
        let mut known = Vec::with_capacity(inputs.len());
        let mut missing = false;
        for &input in &inputs {
            let Some(value) = self.values.get(input.index()) else {
                missing = true;
                let message = "a value is used before the node that computes it";
                self.findings.push(
                    Diagnostic::new(Code::GraphOrder, site, message)
                        .with_help("put the node that computes it first; a value cannot depend on itself"),
                );
                continue;
            };
            missing |= !self.known[input.index()];
            known.push(Known {
                name: Cow::Borrowed(self.names[input.index()]),
                element: value.element,
                shape: value.shape.clone(),
                elements: self.elements[input.index()],
            });
        }
        let mut params = node.params.clone();
        for param in &mut params {
            if let ParamSource::Dim(dim) = param {
                *dim = self.dim(*dim);
            }
        }
        let types: Vec<_> = params.iter().map(|param| param_type(param, &draft.params)).collect();
        let counts = node.counts.map(|counts| counts.map(|dim| self.dim(dim)));
        let outputs = node.outputs.len();
        let fits = known.len() == inputs.len()
            && check::arguments(site, program, &known, (&params, &types), outputs, &mut self.findings);
        check::counts(site, program, counts.is_some(), &mut self.findings);
        let derived = match fits && !missing {
            true => match derive(&mut self.dims, program, &known, &params, counts) {
                Ok(derived) => Some(derived),
                Err(negative) => {
                    self.findings.push(negative.finding(site));
                    None
                }
            },
            false => None,
        };
        for need in derived.iter().flat_map(|derived| &derived.needs) {
            match (self.dims.as_literal(need.has), self.dims.as_literal(need.needs)) {
                _ if need.has == need.needs => {}
                (Some(has), Some(needs)) => {
                    self.findings.push(check::length(site, program, need, &known, (has, needs)));
                }
                _ => self.requirements.push(Requirement::Length {
                    node: id,
                    buffer: need.buffer,
                    value: inputs[need.input],
                    needs: need.needs,
                }),
            }
        }
        if let (Launch::Indirect { counts, .. }, true) = (program.launch(), derived.is_some()) {
            let position = program.inputs().position(|input| input == counts);
            if let Some(&value) = position.and_then(|at| inputs.get(at)) {
                self.requirements.push(Requirement::Counts { node: id, value });
            }
        }
        let first = self.values.len() as u32;
        self.extents.push(derived.as_ref().and_then(|derived| derived.extents));
        let known = derived.is_some();
        let mut shapes = derived.map(|derived| derived.shapes).unwrap_or_default().into_iter();
        let mut buffers = program.outputs();
        for name in &node.outputs {
            // A name too many has been reported.
            let buffer = buffers.next().unwrap_or(BufferId::new(0));
            let element =
                program.buffers().get(buffer.index()).map_or(DataType::U32, |buffer| buffer.element);
            let source = Source::Node { node: id, buffer };
            self.value(name.clone(), element, shapes.next().unwrap_or_default(), source, known);
        }
        self.nodes.push(GraphNode {
            name: node.name.clone(),
            program: self.program_at.get(node.program as usize).copied().flatten().unwrap_or(0),
            inputs,
            outputs: (first..self.values.len() as u32).map(GraphValueId::new).collect(),
            params,
            counts,
        });
    }
}
