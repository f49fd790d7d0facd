//! Graphs as they are declared.

use std::sync::Arc;

use vyre_spec::DataType;

use crate::check::Checked;
use crate::graph::{Dim, DimId, GraphParam, ParamSource};
use crate::ir::Program;

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

/// The type of what is given for a parameter; of a dimension it does not matter.
pub(crate) fn param_type(param: &ParamSource, params: &[GraphParam]) -> DataType {
    match *param {
        ParamSource::Literal(value) => value.ty(),
        ParamSource::Param(id) => params.get(id.index()).map_or(DataType::U32, |param| param.ty),
        ParamSource::Dim(_) => DataType::U32,
    }
}
