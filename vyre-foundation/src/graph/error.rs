//! What is wrong with a graph, and where.

use std::fmt;

use super::{DimId, GraphNodeId, GraphParamId, GraphValueId};
use crate::build::Finding;
use crate::diag::Diagnostic;

/// The place in a graph that a diagnostic is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GraphSite {
    /// The graph as a whole.
    Graph,
    /// A symbol, where it is declared; of a graph that is not finished, its id is not that of the finished one.
    Dim(DimId),
    /// A parameter's declaration.
    Param(GraphParamId),
    /// A value's declaration, or the node that computes it.
    Value(GraphValueId),
    /// A node.
    Node(GraphNodeId),
    /// An output, by its position.
    Output(u32),
}

/// One finding about a graph.
pub type GraphDiagnostic = Diagnostic<GraphSite>;

/// Everything that is wrong with a graph that a [`super::GraphBuilder`] recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphError {
    graph: String,
    findings: Vec<Finding<GraphSite>>,
}

impl GraphError {
    pub(super) fn new(graph: String, findings: Vec<Finding<GraphSite>>) -> Self {
        Self { graph, findings }
    }

    /// The graph's name.
    pub fn graph(&self) -> &str {
        &self.graph
    }

    /// The findings: those of calls, then those of the finished graph in its order.
    pub fn findings(&self) -> &[Finding<GraphSite>] {
        &self.findings
    }

    /// The diagnostics alone.
    pub fn diagnostics(&self) -> impl Iterator<Item = &GraphDiagnostic> {
        self.findings.iter().map(|finding| &finding.diagnostic)
    }
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "graph `{}` is wrong:", self.graph)?;
        self.findings.iter().try_for_each(|finding| write!(f, "\n{finding}"))
    }
}

impl std::error::Error for GraphError {}
