//! Which place of a text each part of a graph comes from.

use std::collections::HashMap;

use super::{SourceMap, Span};
use crate::graph::GraphSite;

/// Where each part of a graph stands in its text; ids are the graph's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphMap {
    pub(crate) graph: Span,
    pub(crate) dims: Vec<Span>,
    /// Places of symbols by name, until the graph's table is known.
    pub(crate) symbols: HashMap<String, Span>,
    pub(crate) params: Vec<Span>,
    pub(crate) values: Vec<Span>,
    pub(crate) nodes: Vec<Span>,
    pub(crate) outputs: Vec<Span>,
    pub(crate) programs: Vec<SourceMap>,
}

impl GraphMap {
    /// The bytes that a site stands at: a declaration without its end, a node whole, a computed value's name. Empty
    /// at 0 for what the text does not have.
    pub fn span(&self, site: GraphSite) -> Span {
        let found = match site {
            GraphSite::Graph => Some(&self.graph),
            GraphSite::Dim(id) => self.dims.get(id.index()),
            GraphSite::Param(id) => self.params.get(id.index()),
            GraphSite::Value(id) => self.values.get(id.index()),
            GraphSite::Node(id) => self.nodes.get(id.index()),
            GraphSite::Output(at) => self.outputs.get(at as usize),
        };
        found.copied().unwrap_or_default()
    }

    /// Where the parts of the graph's programs stand, in the order of the graph's table.
    pub fn programs(&self) -> &[SourceMap] {
        &self.programs
    }
}
