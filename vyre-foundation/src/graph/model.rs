//! The tables of a graph.

use std::fmt;
use std::sync::Arc;

use vyre_spec::{DataType, Value};

use super::dims::describe;
use super::{Dim, DimId, GraphNodeId, GraphParamId, GraphValueId};
use crate::check::Checked;
use crate::ir::{BufferId, Program};

/// Programs and typed values between them.
///
/// A graph is made by [`super::GraphBuilder`], the text parser, the wire decoder or
/// [`ProgramGraph::from_program`], is always sound and always in normal form: first the values that no node
/// computes, in declaration order, then those of each node; dimensions, programs and nodes by first use. So equal
/// graphs are equal values, with equal text and wire bytes.
#[derive(Clone)]
pub struct ProgramGraph {
    pub(super) name: String,
    pub(super) dims: Vec<Dim>,
    /// How many of `dims` declarations name; the others follow from them.
    pub(super) declared_dims: usize,
    pub(super) params: Vec<GraphParam>,
    pub(super) programs: Vec<Checked<Program>>,
    pub(super) values: Vec<GraphValue>,
    pub(super) nodes: Vec<GraphNode>,
    pub(super) outputs: Vec<GraphOutput>,
    /// Elements of each value.
    pub(super) elements: Vec<DimId>,
    /// Points or workgroups of each node.
    pub(super) extents: Vec<Option<[DimId; 3]>>,
    pub(super) requirements: Vec<Requirement>,
}

/// A scalar that each run is given.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GraphParam {
    /// Its name, unique among parameters, values and symbols.
    pub name: String,
    /// Its type.
    pub ty: DataType,
}

/// A value: an array of elements that is computed or bound once in a run, and then read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GraphValue {
    /// Its name, unique among parameters, values and symbols.
    pub name: String,
    /// Its element type, laid out as in C on the host.
    pub element: DataType,
    /// Elements per axis, the last contiguous; without an axis it has one element.
    pub shape: Vec<DimId>,
    /// Where it comes from.
    pub source: Source,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// These bytes.
    Constant(Arc<[u8]>),
    /// Each run is given it.
    Input,
    /// The run before: what its `next` was then. In the first run it is what the caller binds, else zeros;
    /// without `next` it stays so.
    Retained {
        /// The value that the next run finds.
        next: Option<GraphValueId>,
    },
    /// A node computes it.
    Node {
        /// The node.
        node: GraphNodeId,
        /// The output buffer of the node's program.
        buffer: BufferId,
    },
}

/// How long a value stays what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lifetime {
    /// As long as the graph.
    Constant,
    /// For one run, which is given it.
    Invocation,
    /// From run to run.
    Retained,
    /// From the node that computes it to its last reader.
    Intermediate,
}

impl Lifetime {
    /// The name in text form and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Invocation => "input",
            Self::Retained => "retained",
            Self::Intermediate => "intermediate",
        }
    }
}

impl GraphValue {
    /// How long the value stays what it is. (An output is any of these.)
    pub const fn lifetime(&self) -> Lifetime {
        match self.source {
            Source::Constant(_) => Lifetime::Constant,
            Source::Input => Lifetime::Invocation,
            Source::Retained { .. } => Lifetime::Retained,
            Source::Node { .. } => Lifetime::Intermediate,
        }
    }
}

/// One run of a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GraphNode {
    /// Its name, unique among nodes.
    pub name: String,
    /// Its program's position among the graph's.
    pub program: u32,
    /// The value of each `ReadOnly`, `Uniform` and `ReadWrite` buffer, in declaration order.
    pub inputs: Vec<GraphValueId>,
    /// The value that each `ReadWrite` and `WriteOnly` buffer becomes, in declaration order.
    pub outputs: Vec<GraphValueId>,
    /// The values of the program's parameters, in declaration order.
    pub params: Vec<ParamSource>,
    /// Replaces the workgroup counts of a workgroup launch.
    pub counts: Option<[DimId; 3]>,
}

/// Where a program's parameter comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParamSource {
    /// A constant of the parameter's type.
    Literal(Value),
    /// A parameter of the graph, of the same type.
    Param(GraphParamId),
    /// A dimension's number, which the parameter's type must hold; that is an integer.
    Dim(DimId),
}

/// A value that a run gives back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GraphOutput {
    /// Its name, unique among outputs.
    pub name: String,
    /// The value; any, and the same may be given back under several names.
    pub value: GraphValueId,
}

/// An equality of lengths that only a run can check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Requirement {
    /// A node's input has as many elements as its program's buffer declares.
    Length {
        /// The node.
        node: GraphNodeId,
        /// The buffer of the node's program.
        buffer: BufferId,
        /// The value that is bound to it.
        value: GraphValueId,
        /// The elements that the buffer needs.
        needs: DimId,
    },
    /// A retained value has as many elements as what it becomes.
    Update {
        /// The retained value.
        value: GraphValueId,
        /// What it becomes.
        next: GraphValueId,
    },
    /// A constant has as many elements as its shape says.
    Constant {
        /// The value.
        value: GraphValueId,
    },
    /// A buffer of workgroup counts has three elements.
    Counts {
        /// The node.
        node: GraphNodeId,
        /// The value that is bound to it.
        value: GraphValueId,
    },
}

macro_rules! tables {
    ($($(#[$doc:meta])* $all:ident $one:ident $id:ident $item:ty;)*) => {$(
        $(#[$doc])*
        pub fn $all(&self) -> &[$item] {
            &self.$all
        }

        /// The entry with this id, which is of this graph.
        #[allow(clippy::indexing_slicing, reason = "ids of a graph are in range: assembling it checks")]
        pub fn $one(&self, id: $id) -> &$item {
            &self.$all[id.index()]
        }
    )*};
}

impl ProgramGraph {
    /// The graph's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    tables! {
        /// The dimensions, operands before users.
        dims dim DimId Dim;
        /// The parameters, in declaration order.
        params param GraphParamId GraphParam;
        /// The values: those that no node computes, in declaration order, then those of each node.
        values value GraphValueId GraphValue;
        /// The nodes, in an order in which they can run.
        nodes node GraphNodeId GraphNode;
    }

    /// The dimensions that declarations name; those after them follow from the programs.
    pub fn declared_dims(&self) -> &[Dim] {
        self.dims.get(..self.declared_dims).unwrap_or(&self.dims)
    }

    /// The distinct programs, by first use.
    pub fn programs(&self) -> &[Checked<Program>] {
        &self.programs
    }

    /// The program of a node, which is of this graph.
    #[allow(clippy::indexing_slicing, reason = "ids of a graph are in range: assembling it checks")]
    pub fn program_of(&self, node: GraphNodeId) -> &Checked<Program> {
        &self.programs[self.node(node).program as usize]
    }

    /// What a run gives back, in declaration order.
    pub fn outputs(&self) -> &[GraphOutput] {
        &self.outputs
    }

    /// The ids of the values.
    pub fn value_ids(&self) -> impl ExactSizeIterator<Item = GraphValueId> + use<> {
        (0..self.values.len() as u32).map(GraphValueId::new)
    }

    /// The ids of the nodes.
    pub fn node_ids(&self) -> impl ExactSizeIterator<Item = GraphNodeId> + use<> {
        (0..self.nodes.len() as u32).map(GraphNodeId::new)
    }

    /// The value of this name. It takes time linear in the number of values.
    pub fn value_named(&self, name: &str) -> Option<GraphValueId> {
        self.value_ids().find(|&id| self.value(id).name == name)
    }

    /// Whether a run gives the value back.
    pub fn is_output(&self, value: GraphValueId) -> bool {
        self.outputs.iter().any(|output| output.value == value)
    }

    /// The number of elements of a value of this graph.
    #[allow(clippy::indexing_slicing, reason = "the table is parallel to the values")]
    pub fn elements(&self, value: GraphValueId) -> DimId {
        self.elements[value.index()]
    }

    /// Over what a node of this graph runs: the points of its program's domain, or its workgroups; `None` if a
    /// buffer has the counts.
    #[allow(clippy::indexing_slicing, reason = "the table is parallel to the nodes")]
    pub fn extents(&self, node: GraphNodeId) -> Option<[DimId; 3]> {
        self.extents[node.index()]
    }

    /// The equalities of lengths that a run has to check.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// A dimension as text, such as `n * 2`; a long one is cut.
    pub fn dim_text(&self, dim: DimId) -> String {
        let param =
            |id: GraphParamId| self.params.get(id.index()).map_or_else(String::new, |p| p.name.clone());
        describe(&self.dims, param, dim)
    }

    /// A value's type as text, such as `f32[n, 4]`.
    pub fn type_text(&self, value: GraphValueId) -> String {
        format!("{}{}", self.value(value).element, self.shape_text(value))
    }

    /// A value's shape as text, such as `[n, 4]`.
    pub fn shape_text(&self, value: GraphValueId) -> String {
        let shape: Vec<_> = self.value(value).shape.iter().map(|&dim| self.dim_text(dim)).collect();
        format!("[{}]", shape.join(", "))
    }
}

impl PartialEq for ProgramGraph {
    fn eq(&self, other: &Self) -> bool {
        // What is not compared follows from what is.
        self.name == other.name
            && self.params == other.params
            && self.values == other.values
            && self.nodes == other.nodes
            && self.outputs == other.outputs
            && self.dims == other.dims
            && self.programs.len() == other.programs.len()
            && self.programs.iter().zip(&other.programs).all(|(a, b)| a.same(b) || **a == **b)
    }
}

impl Eq for ProgramGraph {}

impl fmt::Debug for ProgramGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let programs: Vec<&Program> = self.programs.iter().map(|program| &**program).collect();
        f.debug_struct("ProgramGraph")
            .field("name", &self.name)
            .field("dims", &self.dims)
            .field("params", &self.params)
            .field("programs", &programs)
            .field("values", &self.values)
            .field("nodes", &self.nodes)
            .field("outputs", &self.outputs)
            .finish_non_exhaustive()
    }
}
