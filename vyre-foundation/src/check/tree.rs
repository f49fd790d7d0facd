//! The region tree: who holds what, which region dominates which, and where each expression is used
//! first. One walk in text order, with its own stack.

use crate::ir::{ExprId, Node, NodeId, Program, RegionId};

/// The loop that `break` and `continue` in a region belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Enclosing {
    /// None.
    Nothing,
    /// The body of this loop.
    Body(NodeId),
    /// The head of this `while`.
    Head(NodeId),
}

/// The shape of a program.
#[derive(Debug)]
pub(crate) struct Tree {
    /// The region of each node.
    pub(crate) node_regions: Vec<RegionId>,
    /// The holder of each region and the region that dominates it, as in [`super::Facts`].
    pub(crate) parents: Vec<Option<(NodeId, RegionId)>>,
    /// How many regions hold each region.
    pub(crate) depths: Vec<u32>,
    /// The innermost loop around each region's nodes.
    pub(crate) loops: Vec<Enclosing>,
    /// The first node that uses each expression.
    pub(crate) first_use: Vec<NodeId>,
    /// When the walk entered and left each region, in the order of dominance: a `while`'s body lies inside
    /// its head.
    entered: Vec<u32>,
    left: Vec<u32>,
    /// The number of nodes before the end of each region.
    ends: Vec<u32>,
}

struct Frame {
    region: RegionId,
    position: usize,
    /// The body of a `while` whose head this is.
    tail: Option<RegionId>,
}

impl Tree {
    pub(crate) fn of(program: &Program) -> Self {
        let regions = program.regions().len();
        let mut tree = Self {
            node_regions: vec![program.body(); program.nodes().len()],
            parents: vec![None; regions],
            depths: vec![0; regions],
            loops: vec![Enclosing::Nothing; regions],
            first_use: first_uses(program),
            entered: vec![0; regions],
            left: vec![0; regions],
            ends: vec![0; regions],
        };
        tree.walk(program);
        tree
    }

    fn walk(&mut self, program: &Program) {
        let mut clock = 0;
        let mut tick = || {
            clock += 1;
            clock
        };
        let mut seen = 0;
        let mut stack = vec![Frame { region: program.body(), position: 0, tail: None }];
        while let Some(frame) = stack.last_mut() {
            let region = frame.region;
            if frame.position == 0 {
                self.entered[region.index()] = tick();
            }
            let nodes = program.region(region);
            if frame.position == nodes.len() {
                self.ends[region.index()] = seen;
            }
            let node = nodes.get(frame.position).copied();
            frame.position += 1;
            let Some(node) = node else {
                if let Some(body) = frame.tail.take() {
                    stack.push(Frame { region: body, position: 0, tail: None });
                } else {
                    self.left[region.index()] = tick();
                    stack.pop();
                }
                continue;
            };
            seen = node.raw() + 1;
            self.node_regions[node.index()] = region;
            let held = *program.node(node);
            match held {
                Node::While { head, body, .. } => {
                    self.hold(node, region, head, region, Enclosing::Head(node));
                    self.hold(node, head, body, region, Enclosing::Body(node));
                    stack.push(Frame { region: head, position: 0, tail: Some(body) });
                }
                _ => {
                    let inside = match held {
                        Node::For { .. } => Enclosing::Body(node),
                        _ => self.loops[region.index()],
                    };
                    for child in held.regions() {
                        self.hold(node, region, child, region, inside);
                    }
                    let frames = held.regions().rev();
                    stack.extend(frames.map(|region| Frame { region, position: 0, tail: None }));
                }
            }
        }
    }

    fn hold(
        &mut self,
        node: NodeId,
        dominator: RegionId,
        child: RegionId,
        around: RegionId,
        inside: Enclosing,
    ) {
        self.parents[child.index()] = Some((node, dominator));
        self.depths[child.index()] = self.depths[around.index()] + 1;
        self.loops[child.index()] = inside;
    }

    /// Whether everything in `inner` runs inside an execution of `outer`: they are one, or `outer` holds
    /// it, or `outer` is the head of the `while` around it.
    pub(crate) fn dominates(&self, outer: RegionId, inner: RegionId) -> bool {
        self.entered[outer.index()] <= self.entered[inner.index()]
            && self.left[inner.index()] <= self.left[outer.index()]
    }

    /// Where a node evaluates its operands: the region, and the first node that is too late to be read
    /// there. The condition of a `while` is evaluated at the end of its head.
    pub(crate) fn operand_scope(&self, id: NodeId, node: &Node) -> (RegionId, NodeId) {
        match *node {
            Node::While { head, .. } => (head, self.end(head)),
            _ => (self.node_regions[id.index()], id),
        }
    }

    /// The first node after a region, and so after all that it holds.
    pub(crate) fn end(&self, region: RegionId) -> NodeId {
        NodeId::new(self.ends[region.index()])
    }

    /// Whether a node at `def` has run wherever something in `region`, before the node `limit`, runs.
    pub(crate) fn available(&self, def: NodeId, region: RegionId, limit: NodeId) -> bool {
        def < limit && self.dominates(self.node_regions[def.index()], region)
    }
}

/// Expressions are numbered by first use, operands before users, so those that a node uses first are the
/// ones up to its operands that no node before it had.
fn first_uses(program: &Program) -> Vec<NodeId> {
    let mut uses = Vec::with_capacity(program.exprs().len());
    for (id, node) in ids(program) {
        for operand in node.operands() {
            uses.resize(uses.len().max(operand.index() + 1), id);
        }
    }
    uses.resize(program.exprs().len(), NodeId::new(0));
    uses
}

/// The nodes with their ids, in text order.
pub(crate) fn ids(program: &Program) -> impl Iterator<Item = (NodeId, &Node)> {
    program.nodes().iter().enumerate().map(|(i, node)| (NodeId::new(i as u32), node))
}

/// The expressions with their ids, operands before users.
pub(crate) fn expr_ids(program: &Program) -> impl Iterator<Item = (ExprId, &crate::ir::Expr)> {
    program.exprs().iter().enumerate().map(|(i, expr)| (ExprId::new(i as u32), expr))
}
