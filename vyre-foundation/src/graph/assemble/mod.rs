//! The one way to make a [`ProgramGraph`]: a draft from the builder, the text or the wire form, brought to normal
//! form and checked.

mod draft;
mod lengths;
mod node;

use std::collections::HashMap;
use std::sync::Arc;

use vyre_spec::DataType;

use super::dims::DimTable;
use super::{
    DimId, GraphDiagnostic, GraphNode, GraphOutput, GraphSite, GraphValue, GraphValueId, ParamSource,
    ProgramGraph, Requirement, Source, check,
};
use crate::check::Checked;
use crate::ir::Program;
pub(crate) use draft::{Draft, DraftKind, DraftNode, DraftSource, ValueRef, param_type};

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
