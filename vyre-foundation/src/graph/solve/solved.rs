//! What a run's sizes came to.

use std::collections::BTreeMap;

use vyre_spec::{DataType, Value};

use crate::graph::{Dim, DimId, GraphNodeId, GraphValueId, ParamSource, ProgramGraph};
use crate::launch::Params;

/// The sizes and parameters of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solved {
    pub(super) dims: Vec<u64>,
    pub(super) params: Vec<Value>,
    pub(super) symbols: BTreeMap<String, u64>,
}

impl Solved {
    /// The number that a dimension of the graph is.
    pub fn dim(&self, dim: DimId) -> u64 {
        self.dims.get(dim.index()).copied().unwrap_or(0)
    }

    /// The number that a symbol is.
    pub fn symbol(&self, name: &str) -> Option<u64> {
        self.symbols.get(name).copied()
    }

    /// The graph's parameters, in declaration order.
    pub fn params(&self) -> &[Value] {
        &self.params
    }

    /// The elements of a value.
    pub fn elements(&self, graph: &ProgramGraph, value: GraphValueId) -> u64 {
        self.dim(graph.elements(value))
    }

    /// The bytes of a value.
    pub fn bytes(&self, graph: &ProgramGraph, value: GraphValueId) -> u64 {
        self.elements(graph, value) * u64::from(graph.value(value).element.size())
    }

    /// What a parameter of a program is, given its type there.
    pub fn param(&self, source: ParamSource, ty: DataType) -> Value {
        match source {
            ParamSource::Literal(value) => value,
            ParamSource::Param(id) => self.params.get(id.index()).copied().unwrap_or(Value::zero(ty)),
            ParamSource::Dim(dim) => Value::from_bits(ty, self.dim(dim)),
        }
    }

    /// The parameters of a node's program, by name.
    pub fn node_params(&self, graph: &ProgramGraph, node: GraphNodeId) -> Params {
        let declared = graph.program_of(node).params().iter();
        let given = declared.zip(&graph.node(node).params);
        given.map(|(param, &source)| (param.name.clone(), self.param(source, param.ty))).collect()
    }

    /// The workgroup counts that replace those of a node's program.
    pub fn node_counts(&self, graph: &ProgramGraph, node: GraphNodeId) -> Option<[u32; 3]> {
        // Solving checked that they fit.
        graph
            .node(node)
            .counts
            .map(|counts| counts.map(|dim| u32::try_from(self.dim(dim)).unwrap_or(u32::MAX)))
    }
}

/// The value of a dimension with operands, whose values are known.
pub(super) fn operate(dim: &Dim, values: &[u64]) -> Result<u64, String> {
    let value = |id: DimId| values.get(id.index()).copied().unwrap_or(0);
    let Some((op, a, b)) = dim.op() else { return Ok(0) };
    let (a, b) = (value(a), value(b));
    (op.eval)(a, b).ok_or_else(|| format!("{a} {} {b} is outside 0 to 2^64 - 1", op.text))
}
