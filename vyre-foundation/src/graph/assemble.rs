//! The one way to make a [`ProgramGraph`]: a draft from the builder, the text or the wire form, brought to normal
//! form and checked.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use vyre_spec::DataType;

use super::derive::{Known, derive};
use super::dims::DimTable;
use super::{
    Dim, DimId, GraphDiagnostic, GraphNode, GraphNodeId, GraphOutput, GraphParam, GraphSite, GraphValue,
    GraphValueId, ParamSource, ProgramGraph, Requirement, Source, check,
};
use crate::check::Checked;
use crate::diag::{Code, Diagnostic};
use crate::ir::{Launch, Program};

/// A value of a draft: a source by its position, or an output by its position among those of all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueRef {
    Source(u32),
    Computed(u32),
}

/// A graph as it is declared. Ids and positions are in range, and operands of dimensions stand before users.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    pub(crate) name: String,
    pub(crate) dims: Vec<Dim>,
    pub(crate) params: Vec<GraphParam>,
    pub(crate) programs: Vec<Checked<Program>>,
    pub(crate) sources: Vec<DraftSource>,
    pub(crate) nodes: Vec<DraftNode>,
    pub(crate) outputs: Vec<(String, ValueRef)>,
}

/// A value that no node computes.
#[derive(Clone, Debug)]
pub(crate) struct DraftSource {
    pub(crate) name: String,
    pub(crate) element: DataType,
    pub(crate) shape: Vec<DimId>,
    pub(crate) kind: DraftKind,
}

#[derive(Clone, Debug)]
pub(crate) enum DraftKind {
    Constant(Arc<[u8]>),
    Input,
    Retained { next: Option<ValueRef> },
}

/// A node; its outputs are named.
#[derive(Clone, Debug)]
pub(crate) struct DraftNode {
    pub(crate) name: String,
    pub(crate) program: u32,
    pub(crate) inputs: Vec<ValueRef>,
    pub(crate) outputs: Vec<String>,
    pub(crate) params: Vec<ParamSource>,
    pub(crate) counts: Option<[DimId; 3]>,
}

/// Findings about nodes, after which the others are not looked at: what they say may be long.
const MOST_FINDINGS: usize = 100;

/// Makes the graph, or says what is wrong with it, in the graph's order.
pub(crate) fn assemble(draft: Draft) -> Result<ProgramGraph, Vec<GraphDiagnostic>> {
    let mut findings = Vec::new();
    check::limits(&draft, &mut findings);
    if !findings.is_empty() {
        return Err(findings);
    }
    let mut assembly = Assembly::new(&draft);
    assembly.declared_dims();
    check::names(&draft, &mut findings);
    check::integer_params(&draft, &mut findings);
    assembly.findings = findings;
    assembly.programs();
    assembly.sources();
    for at in 0..draft.nodes.len() {
        if assembly.findings.len() >= MOST_FINDINGS {
            return assembly.finish();
        }
        assembly.node(at);
    }
    assembly.retained();
    assembly.finish()
}

struct Assembly<'a> {
    draft: &'a Draft,
    /// The names of values, by id.
    names: Vec<&'a str>,
    dims: DimTable,
    /// Where the draft's dimensions are.
    moved: Vec<Option<DimId>>,
    declared_dims: usize,
    programs: Vec<Checked<Program>>,
    /// Where the draft's programs are, if a node uses them.
    program_at: Vec<Option<u32>>,
    values: Vec<GraphValue>,
    elements: Vec<DimId>,
    /// Whether the shape of each value is known: it is not after an error.
    known: Vec<bool>,
    nodes: Vec<GraphNode>,
    extents: Vec<Option<[DimId; 3]>>,
    requirements: Vec<Requirement>,
    findings: Vec<GraphDiagnostic>,
}

impl<'a> Assembly<'a> {
    fn new(draft: &'a Draft) -> Self {
        let sources = draft.sources.iter().map(|source| &source.name);
        let computed = draft.nodes.iter().flat_map(|node| &node.outputs);
        Self {
            draft,
            names: sources.chain(computed).map(String::as_str).collect(),
            dims: DimTable::default(),
            moved: vec![None; draft.dims.len()],
            declared_dims: 0,
            programs: Vec::new(),
            program_at: vec![None; draft.programs.len()],
            values: Vec::new(),
            elements: Vec::new(),
            known: Vec::new(),
            nodes: Vec::new(),
            extents: Vec::new(),
            requirements: Vec::new(),
            findings: Vec::new(),
        }
    }

    fn id(&self, value: ValueRef) -> GraphValueId {
        GraphValueId::new(match value {
            ValueRef::Source(at) => at,
            ValueRef::Computed(at) => self.draft.sources.len() as u32 + at,
        })
    }

    fn dim(&mut self, dim: DimId) -> DimId {
        self.dims.bring(&self.draft.dims, &mut self.moved, dim)
    }

    /// Numbers the dimensions that declarations name, by first use.
    fn declared_dims(&mut self) {
        let draft = self.draft;
        for source in &draft.sources {
            for &dim in &source.shape {
                self.dim(dim);
            }
        }
        for node in &draft.nodes {
            for param in &node.params {
                if let ParamSource::Dim(dim) = *param {
                    self.dim(dim);
                }
            }
            for dim in node.counts.into_iter().flatten() {
                self.dim(dim);
            }
        }
        self.declared_dims = self.dims.table().len();
    }

    /// Numbers the programs that nodes run, by first use; equal ones are one.
    fn programs(&mut self) {
        let mut by_id = HashMap::new();
        for node in &self.draft.nodes {
            let at = node.program as usize;
            let (Some(None), Some(program)) = (self.program_at.get(at), self.draft.programs.get(at)) else {
                continue;
            };
            let next = self.programs.len() as u32;
            let number = *by_id.entry(program.id()).or_insert(next);
            if number == next {
                self.programs.push(program.clone());
            }
            self.program_at[at] = Some(number);
        }
    }

    fn value(&mut self, name: String, element: DataType, shape: Vec<DimId>, source: Source, known: bool) {
        self.elements.push(self.dims.product(&shape));
        self.known.push(known);
        self.values.push(GraphValue { name, element, shape, source });
    }

    fn sources(&mut self) {
        let draft = self.draft;
        for (i, source) in (0..).zip(&draft.sources) {
            let shape: Vec<_> = source.shape.iter().map(|&dim| self.dim(dim)).collect();
            let kind = match &source.kind {
                DraftKind::Constant(bytes) => Source::Constant(Arc::clone(bytes)),
                DraftKind::Input => Source::Input,
                DraftKind::Retained { next } => Source::Retained { next: next.map(|next| self.id(next)) },
            };
            self.value(source.name.clone(), source.element, shape, kind, true);
            if let DraftKind::Constant(bytes) = &source.kind {
                self.constant(GraphValueId::new(i), bytes.len() as u64);
            }
        }
    }

    fn constant(&mut self, id: GraphValueId, bytes: u64) {
        let value = &self.values[id.index()];
        let size = u64::from(value.element.size());
        let message = match self.dims.as_literal(self.elements[id.index()]) {
            _ if !bytes.is_multiple_of(size) => {
                format!("`{}` has {bytes} bytes, no whole number of {} elements", value.name, value.element)
            }
            None => {
                self.requirements.push(Requirement::Constant { value: id });
                return;
            }
            Some(needs) if needs != bytes / size => {
                format!("`{}` has {} elements, but its shape has {needs}", value.name, bytes / size)
            }
            Some(_) => return,
        };
        self.findings.push(
            Diagnostic::new(Code::GraphShape, GraphSite::Value(id), message)
                .with_help("change the shape, or give as many elements as it has"),
        );
    }

    fn node(&mut self, at: usize) {
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
            let buffer = buffers.next().unwrap_or(crate::ir::BufferId::new(0));
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

    /// Checks what retained values become.
    fn retained(&mut self) {
        for at in 0..self.draft.sources.len() {
            let Source::Retained { next: Some(next) } = self.values[at].source else { continue };
            let (value, becomes) = (&self.values[at], &self.values[next.index()]);
            let id = GraphValueId::new(at as u32);
            if !self.known[next.index()] {
                continue;
            }
            let (had, has) = (self.elements[at], self.elements[next.index()]);
            let (code, message) = match (self.dims.as_literal(had), self.dims.as_literal(has)) {
                _ if value.element != becomes.element => {
                    let (a, b) = (value.element, becomes.element);
                    let message =
                        format!("`{}` is of {a}, but becomes `{}`, of {b}", value.name, becomes.name);
                    (Code::GraphType, message)
                }
                _ if had == has => continue,
                (Some(a), Some(b)) => {
                    let message =
                        format!("`{}` has {a} elements, but becomes `{}`, of {b}", value.name, becomes.name);
                    (Code::GraphShape, message)
                }
                _ => {
                    self.requirements.push(Requirement::Update { value: id, next });
                    continue;
                }
            };
            self.findings.push(
                Diagnostic::new(code, GraphSite::Value(id), message)
                    .with_related(GraphSite::Value(next), "what it becomes")
                    .with_help("a retained value keeps its type and number of elements"),
            );
        }
    }

    fn finish(mut self) -> Result<ProgramGraph, Vec<GraphDiagnostic>> {
        if !self.findings.is_empty() {
            self.findings.sort_by_key(|finding| position(finding.site, self.draft.sources.len()));
            return Err(self.findings);
        }
        let outputs = self.draft.outputs.iter();
        let outputs = outputs.map(|(name, value)| GraphOutput { name: name.clone(), value: self.id(*value) });
        Ok(ProgramGraph {
            name: self.draft.name.clone(),
            outputs: outputs.collect(),
            dims: self.dims.into_table(),
            declared_dims: self.declared_dims,
            params: self.draft.params.clone(),
            programs: self.programs,
            values: self.values,
            nodes: self.nodes,
            elements: self.elements,
            extents: self.extents,
            requirements: self.requirements,
        })
    }
}

/// The type of what is given for a parameter; of a dimension it does not matter.
pub(super) fn param_type(param: &ParamSource, params: &[GraphParam]) -> DataType {
    match *param {
        ParamSource::Literal(value) => value.ty(),
        ParamSource::Param(id) => params.get(id.index()).map_or(DataType::U32, |param| param.ty),
        ParamSource::Dim(_) => DataType::U32,
    }
}

/// Where a place stands in the order of a graph.
fn position(site: GraphSite, sources: usize) -> (u8, u32) {
    match site {
        GraphSite::Graph => (0, 0),
        GraphSite::Dim(id) => (1, id.raw()),
        GraphSite::Param(id) => (2, id.raw()),
        GraphSite::Value(id) if id.index() < sources => (3, id.raw()),
        GraphSite::Node(id) => (4, id.raw()),
        GraphSite::Value(id) => (5, id.raw()),
        GraphSite::Output(at) => (6, at),
    }
}
