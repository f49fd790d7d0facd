//! What a builder has recorded.

use std::collections::HashMap;

use super::Caller;
use super::handle::What;
use crate::build::{Finding, FreeNames};
use crate::check::{Checked, is_reserved};
use crate::digest::ProgramId;
use crate::graph::assemble::{Draft, ValueRef};
use crate::graph::derive::Known;
use crate::graph::{Dim, DimTable, GraphDiagnostic, GraphError, GraphNodeId, GraphSite, GraphValueId};
use crate::ir::Program;

#[derive(Default)]
pub(super) struct State {
    pub(super) draft: Draft,
    pub(super) dims: DimTable,
    /// What is known of each source and of each computed value.
    pub(super) sources: Vec<Known<'static>>,
    pub(super) computed: Vec<Known<'static>>,
    /// Whether nodes and their outputs have names of the caller's.
    pub(super) named: Vec<(bool, bool)>,
    /// Positions of programs that were seen, by the address of their proof, which they keep alive.
    pub(super) seen: HashMap<usize, (Checked<Program>, u32)>,
    pub(super) by_id: HashMap<ProgramId, u32>,
    pub(super) lines: Lines,
    pub(super) findings: Vec<Finding<GraphSite>>,
}

#[derive(Default)]
pub(super) struct Lines {
    pub(super) symbols: HashMap<String, Caller>,
    pub(super) params: Vec<Caller>,
    pub(super) sources: Vec<Caller>,
    /// The node of each computed value.
    pub(super) computed: Vec<u32>,
    pub(super) nodes: Vec<Caller>,
    pub(super) outputs: Vec<Caller>,
}

impl State {
    pub(super) fn known(&self, what: What) -> Option<&Known<'static>> {
        match what {
            What::Param(_) => None,
            What::Value(ValueRef::Source(at)) => self.sources.get(at as usize),
            What::Value(ValueRef::Computed(at)) => self.computed.get(at as usize),
        }
    }

    /// A place that has the line of a value, whatever its number will be.
    pub(super) fn site(&self, value: ValueRef) -> GraphSite {
        match value {
            ValueRef::Source(at) => GraphSite::Value(GraphValueId::new(at)),
            ValueRef::Computed(at) => {
                let node = self.lines.computed.get(at as usize).copied().unwrap_or(0);
                GraphSite::Node(GraphNodeId::new(node))
            }
        }
    }

    pub(super) fn report(&mut self, diagnostic: GraphDiagnostic, at: Caller) {
        let related = vec![None; diagnostic.related.len()];
        self.findings.push(Finding { diagnostic, line: Some(at), related });
    }

    /// Records findings and gives them back.
    pub(super) fn fail(&mut self, diagnostics: Vec<GraphDiagnostic>, at: Caller) -> GraphError {
        let first = self.findings.len();
        for diagnostic in diagnostics {
            self.report(diagnostic, at);
        }
        GraphError::new(self.draft.name.clone(), self.findings.get(first..).unwrap_or_default().to_vec())
    }

    /// The position of a program; equal ones are one.
    pub(super) fn program(&mut self, program: &Checked<Program>) -> u32 {
        let next = self.draft.programs.len() as u32;
        if let Some(&(_, at)) = self.seen.get(&program.address()) {
            return at;
        }
        let at = *self.by_id.entry(program.id()).or_insert(next);
        if at == next {
            self.draft.programs.push(program.clone());
        }
        self.seen.insert(program.address(), (program.clone(), at));
        at
    }

    /// Names nodes and computed values that the caller did not name, by names that nothing has.
    pub(super) fn name_the_rest(&mut self) {
        let (mut values, mut nodes) = (FreeNames::default(), FreeNames::default());
        let sources = self.draft.sources.iter().map(|source| &source.name);
        let params = self.draft.params.iter().map(|param| &param.name);
        sources.chain(params).chain(self.lines.symbols.keys()).for_each(|name| values.take(name));
        for (node, &(named, results)) in self.draft.nodes.iter().zip(&self.named) {
            if named {
                nodes.take(&node.name);
            }
            if results {
                node.outputs.iter().for_each(|name| values.take(name));
            }
        }
        for (node, &(named, results)) in self.draft.nodes.iter_mut().zip(&self.named) {
            if !named {
                let wish = std::mem::take(&mut node.name);
                // A program may be named by a word of the language.
                node.name = nodes.free(if is_reserved(&wish) { wish + "_" } else { wish });
            }
            if !results {
                for name in &mut node.outputs {
                    *name = values.free(std::mem::take(name));
                }
            }
        }
    }
}

impl Lines {
    pub(super) fn line(&self, site: GraphSite, sources: usize, dims: &[Dim]) -> Option<Caller> {
        let node = |id: u32| self.nodes.get(id as usize).copied();
        match site {
            GraphSite::Graph => None,
            GraphSite::Dim(id) => match dims.get(id.index()) {
                Some(Dim::Symbol(name)) => self.symbols.get(name).copied(),
                _ => None,
            },
            GraphSite::Param(id) => self.params.get(id.index()).copied(),
            GraphSite::Value(id) => match id.index().checked_sub(sources) {
                None => self.sources.get(id.index()).copied(),
                Some(computed) => self.computed.get(computed).and_then(|&at| node(at)),
            },
            GraphSite::Node(id) => node(id.raw()),
            GraphSite::Output(at) => self.outputs.get(at as usize).copied(),
        }
    }
}
