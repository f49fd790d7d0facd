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
    /// What each buffer is to it, and its one store.
    buffers: Vec<(Role, Option<OnlyStore>)>,
}

/// What is bound to a kernel's program, and over what it runs.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub(crate) uses: Vec<Use>,
    pub(crate) params: Vec<ParamSource>,
    pub(crate) extents: Option<[DimId; 3]>,
    pub(crate) counts: Option<[DimId; 3]>,
    pub(crate) nodes: Vec<GraphNodeId>,
}

impl Kernel {
    /// The kernel of a program and what is bound to it.
    pub(crate) fn new(program: Checked<Program>, bound: Bound) -> Self {
        let Bound { uses, params, extents, counts, nodes } = bound;
        let buffers = roles(&program);
        Self { program, uses, params, extents, counts, nodes, buffers }
    }

    /// The kernel that runs a node as it is.
    pub(crate) fn of_node(graph: &ProgramGraph, id: GraphNodeId) -> Self {
        let (node, program) = (graph.node(id), graph.program_of(id));
        let (mut inputs, mut outputs) = (node.inputs.iter().copied(), node.outputs.iter().copied());
        let uses = program.buffers().iter().map(|buffer| Use {
            input: if buffer.access.is_input() { inputs.next() } else { None },
            output: if buffer.access.is_output() { outputs.next() } else { None },
        });
        let (uses, params) = (uses.collect(), node.params.clone());
        let (extents, counts, nodes) = (graph.extents(id), node.counts, vec![id]);
        Self::new(program.clone(), Bound { uses, params, extents, counts, nodes })
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
        self.buffers.get(buffer.index()).map_or(Role::InPlace, |(role, _)| *role)
    }

    /// The one store to a buffer, if every invocation of a domain makes it, once.
    pub(crate) fn only_store(&self, buffer: BufferId) -> Option<OnlyStore> {
        self.buffers.get(buffer.index()).and_then(|(_, store)| *store)
    }
}

/// What each buffer is to a program, and its one store, if every invocation of a domain makes it, once.
fn roles(program: &Checked<Program>) -> Vec<(Role, Option<OnlyStore>)> {
    let returns = program.nodes().iter().any(|node| matches!(node, Node::Return));
    let may_be_one = matches!(program.launch(), Launch::Domain { .. }) && !returns;
    // How many nodes write each buffer, and the last that stores to it as `only_store` wants it.
    let mut writes = vec![(0u32, None); program.buffers().len()];
    let accesses = || {
        let nodes = (0..).map(NodeId::new).zip(program.nodes());
        nodes.filter_map(|(id, node)| match node.place() {
            Some(Place::Buffer(buffer)) => Some((id, node, buffer.index())),
            _ => None,
        })
    };
    for (id, node, buffer) in accesses().filter(|(_, node, _)| !matches!(node, Node::Load { .. })) {
        let Some((count, store)) = writes.get_mut(buffer) else { continue };
        *count = count.saturating_add(1);
        *store = match *node {
            Node::Store { index, value, .. } if program.facts().region_of(id) == program.body() => {
                Some(OnlyStore { node: id, index, value })
            }
            _ => None,
        };
    }
    let only = |&(count, store): &(u32, Option<OnlyStore>)| store.filter(|_| count == 1 && may_be_one);
    let stores: Vec<Option<OnlyStore>> = writes.iter().map(only).collect();
    // A `ReadWrite` buffer may as well be two, the old value and the new one, if every invocation stores one element,
    // once, and loads that element only, before it does.
    let mut is_split: Vec<bool> = stores.iter().map(Option::is_some).collect();
    for (id, node, buffer) in accesses() {
        if let (Node::Load { index, .. }, Some(&Some(store))) = (node, stores.get(buffer)) {
            if *index != store.index || id >= store.node {
                is_split[buffer] = false;
            }
        }
    }
    let role = |(access, is_split): (Access, bool)| match access {
        Access::ReadOnly | Access::Uniform => Role::Read,
        Access::WriteOnly => Role::Write,
        Access::ReadWrite if is_split => Role::Split,
        Access::ReadWrite => Role::InPlace,
    };
    let access = program.buffers().iter().map(|buffer| buffer.access);
    access.zip(is_split).map(role).zip(stores).collect()
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
