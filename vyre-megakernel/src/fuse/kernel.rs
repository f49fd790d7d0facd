//! A kernel of a plan under construction: a program and what is bound to it.

use vyre_foundation::check::Checked;
use vyre_foundation::graph::{DimId, GraphNodeId, GraphValueId, ParamSource, ProgramGraph};
use vyre_foundation::ir::{BufferId, Launch, Node, NodeId, Place, Program};
use vyre_spec::Access;

use super::context::Context;
use super::form::{Form, Leaves, forms, launch_leaves};
use super::plan::Use;
use super::quantity::Quantity;

/// A program with the values of its buffers and the sources of its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    pub(crate) program: Checked<Program>,
    /// The value or values of each buffer.
    pub(crate) uses: Vec<Use>,
    pub(crate) params: Vec<ParamSource>,
    /// Points or workgroups; `None` if a buffer has the counts.
    pub(crate) extents: Option<[DimId; 3]>,
    /// Replaces the workgroup counts of the program.
    pub(crate) counts: Option<[DimId; 3]>,
    /// The nodes of the graph whose work it does.
    pub(crate) nodes: Vec<GraphNodeId>,
}

impl Kernel {
    /// The kernel that runs a node as it is.
    pub(crate) fn of_node(graph: &ProgramGraph, id: GraphNodeId) -> Self {
        let (node, program) = (graph.node(id), graph.program_of(id));
        let (mut inputs, mut outputs) = (node.inputs.iter().copied(), node.outputs.iter().copied());
        let uses = program.buffers().iter().map(|buffer| Use {
            input: if buffer.access.is_input() { inputs.next() } else { None },
            output: if buffer.access.is_output() { outputs.next() } else { None },
        });
        Self {
            uses: uses.collect(),
            program: program.clone(),
            params: node.params.clone(),
            extents: graph.extents(id),
            counts: node.counts,
            nodes: vec![id],
        }
    }

    /// The values that it reads, each once.
    pub(crate) fn inputs(&self) -> Vec<GraphValueId> {
        let mut values: Vec<_> = self.uses.iter().filter_map(|one| one.input).collect();
        values.sort_unstable();
        values.dedup();
        values
    }

    /// The values that it computes.
    pub(crate) fn outputs(&self) -> Vec<GraphValueId> {
        self.uses.iter().filter_map(|one| one.output).collect()
    }

    /// The nodes of the graph whose work this and another kernel do, each once and in order.
    pub(crate) fn nodes_with(&self, other: &Self) -> Vec<GraphNodeId> {
        let mut nodes = [self.nodes.as_slice(), other.nodes.as_slice()].concat();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// The first value that it changes in place, of those that `is` says.
    pub(crate) fn changed(&self, is: impl Fn(GraphValueId) -> bool) -> Option<GraphValueId> {
        let inputs =
            self.program.buffer_ids().filter_map(|buffer| Some((buffer, self.values(buffer).input?)));
        let mut asked = inputs.filter(|&(_, value)| is(value));
        asked.find(|&(buffer, _)| self.role(buffer) == Role::InPlace).map(|(_, value)| value)
    }

    /// The buffer that becomes a value.
    pub(crate) fn output(&self, value: GraphValueId) -> Option<BufferId> {
        let at = self.uses.iter().position(|one| one.output == Some(value))?;
        Some(BufferId::new(at as u32))
    }

    /// The values of a buffer.
    pub(crate) fn values(&self, buffer: BufferId) -> Use {
        self.uses.get(buffer.index()).copied().unwrap_or_default()
    }

    /// Points or workgroups per axis.
    pub(crate) fn extent(&self, cx: &Context) -> Option<[Quantity; 3]> {
        self.extents.map(|extents| extents.map(|dim| cx.dim(dim).clone()))
    }

    /// What is known of the leaves of its expressions.
    pub(crate) fn leaves(&self, cx: &mut Context) -> Leaves {
        let mut leaves = launch_leaves(self.program.launch(), self.extent(cx));
        let params = self.params.iter().zip(self.program.params());
        leaves.params = params.map(|(&source, param)| cx.param(source, param.ty)).collect();
        let length = |one: &Use| {
            let value = one.input.or(one.output);
            value.map_or_else(Quantity::one, |value| cx.value(value).length.clone())
        };
        leaves.lengths = self.uses.iter().map(length).collect();
        leaves
    }

    /// The forms of its expressions, and its leaves.
    pub(crate) fn forms(&self, cx: &mut Context) -> (Vec<Option<Form>>, Leaves) {
        let mut leaves = self.leaves(cx);
        (forms(cx, &self.program, &mut leaves), leaves)
    }

    /// Whether a run can end with a trap, also that of a loop that goes on for too long.
    pub(crate) fn may_trap(&self) -> bool {
        self.program.nodes().iter().any(|node| matches!(node, Node::Trap { .. } | Node::While { .. }))
    }

    /// Whether it runs over a domain.
    pub(crate) fn is_domain(&self) -> bool {
        matches!(self.program.launch(), Launch::Domain { .. })
    }

    /// The nodes that access a buffer, in text order.
    pub(crate) fn accesses(&self, buffer: BufferId) -> impl Iterator<Item = (NodeId, &Node)> {
        let nodes = (0..).map(NodeId::new).zip(self.program.nodes());
        nodes.filter(move |(_, node)| node.place() == Some(Place::Buffer(buffer)))
    }

    /// How a buffer is accessed.
    pub(crate) fn role(&self, buffer: BufferId) -> Role {
        match self.program.buffer(buffer).access {
            Access::ReadOnly | Access::Uniform => Role::Read,
            Access::WriteOnly => Role::Write,
            Access::ReadWrite if self.is_split(buffer) => Role::Split,
            Access::ReadWrite => Role::InPlace,
        }
    }

    /// The one store to a buffer, if every invocation of a domain makes it, once.
    pub(crate) fn only_store(&self, buffer: BufferId) -> Option<OnlyStore> {
        if !self.is_domain() {
            return None;
        }
        let mut writes = self.accesses(buffer).filter(|(_, node)| !matches!(node, Node::Load { .. }));
        let (id, node) = writes.next()?;
        let Node::Store { index, value, .. } = *node else { return None };
        let returns = self.program.nodes().iter().any(|node| matches!(node, Node::Return));
        let only = writes.next().is_none() && !returns;
        let unconditional = self.program.facts().region_of(id) == self.program.body();
        (only && unconditional).then_some(OnlyStore { node: id, index, value })
    }

    /// Whether a `ReadWrite` buffer may as well be two, the old value and the new one: every invocation stores one
    /// element, once, and loads that element only, before it does.
    fn is_split(&self, buffer: BufferId) -> bool {
        let Some(store) = self.only_store(buffer) else { return false };
        self.accesses(buffer).all(|(id, node)| match *node {
            Node::Load { index, .. } => index == store.index && id < store.node,
            _ => id == store.node,
        })
    }
}

/// The one store of an invocation to a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OnlyStore {
    pub(crate) node: NodeId,
    pub(crate) index: vyre_foundation::ir::ExprId,
    pub(crate) value: vyre_foundation::ir::ExprId,
}

/// What a buffer is to its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// An input.
    Read,
    /// An output.
    Write,
    /// An input and, elsewhere, an output.
    Split,
    /// An input that becomes the output in place.
    InPlace,
}
