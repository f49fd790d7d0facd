//! Unrolling: short counted loops of constant bounds become their trips, one after the other.
//!
//! Then the loop variable is a constant in each trip, so indices are constants too, array elements are forwarded, and
//! what is left has no branch. Only innermost loops without `break` and `continue` are unrolled, where all trips together
//! have at most [`NODES`] nodes and [`OPS`] ops, or there is one trip: longer code would press on registers and the
//! instruction cache. A variable that the body declares is declared once and set in the other trips.

use vyre_spec::{MemoryOrdering, Value};

use crate::check::Checked;
use crate::check::tree::{Tree, ids};
use crate::ir::{Arena, Expr, ExprId, LookupMap, Node, NodeId, Program, RegionId};

use super::Outcome;
use super::rewrite::{Keep, Rewriter, keep};

/// Trips of a loop, at most.
const TRIPS: i128 = 8;
/// Nodes and ops of all its trips, at most.
const NODES: u32 = 32;
const OPS: u32 = 96;

pub(super) fn run(program: &Checked<Program>) -> Outcome {
    if !program.nodes().iter().any(|node| matches!(node, Node::For { .. })) {
        return Ok(None);
    }
    let tree = Tree::of(program);
    let mut ops = vec![0u32; program.nodes().len()];
    for (expr, user) in program.exprs().iter().zip(&tree.first_use) {
        ops[user.index()] += u32::from(expr.operands().next().is_some());
    }
    let values: Vec<Vec<Value>> = ids(program).map(|(id, _)| trips(program, &tree, id, &ops)).collect();
    if values.iter().all(Vec::is_empty) {
        return Ok(None);
    }
    let mut rewriter = Rewriter::new(program, Arena::with_declarations_of(program), keep as Keep);
    rewriter.changed = true;
    // Each frame is a region and the position of its next node.
    let mut stack = vec![(program.body(), 0usize)];
    while let Some((region, position)) = stack.pop() {
        let Some(&id) = program.region(region).get(position) else { continue };
        stack.push((region, position + 1));
        match (*program.node(id), values[id.index()].as_slice()) {
            (Node::For { body, .. }, values @ [_, ..]) => {
                for (trip, &value) in values.iter().enumerate() {
                    let copied = LookupMap::default();
                    let nodes = LookupMap::default();
                    Copy {
                        tree: &tree,
                        rewriter: &mut rewriter,
                        holder: id,
                        body,
                        value,
                        trip,
                        copied,
                        nodes,
                    }
                    .copy(region);
                }
            }
            (node, _) => {
                rewriter.set_node(id);
                rewriter.new.arena.place_node(region, id);
                stack.extend(node.regions().rev().map(|child| (child, 0)));
            }
        }
    }
    rewriter.finish()
}

/// The loop variable in each trip of a loop that is unrolled; empty for what is not.
fn trips(program: &Program, tree: &Tree, id: NodeId, ops: &[u32]) -> Vec<Value> {
    let Node::For { start, end, step, body } = *program.node(id) else { return Vec::new() };
    let literal = |id: ExprId| match *program.expr(id) {
        Expr::Literal(value) => Some(value),
        _ => None,
    };
    let (Some(start), Some(end), Some(step)) = (literal(start), literal(end), literal(step)) else {
        return Vec::new();
    };
    let (Some(first), Some(last), Some(stride)) = (start.as_int(), end.as_int(), step.as_int()) else {
        return Vec::new();
    };
    if stride <= 0 || first >= last {
        return Vec::new();
    }
    let trips = (last - first + stride - 1) / stride;
    if trips > TRIPS || !copies(program, tree, id, body, trips as u32, ops) {
        return Vec::new();
    }
    (0..trips).map(|trip| Value::from_bits(start.ty(), (first + trip * stride) as u64)).collect()
}

/// Whether a body can be and is worth being copied.
fn copies(program: &Program, tree: &Tree, id: NodeId, body: RegionId, trips: u32, ops: &[u32]) -> bool {
    let (mut size, mut cost) = (0u32, 0u32);
    for at in (id.raw() + 1..tree.end(body).raw()).map(NodeId::new) {
        let outer = tree.node_regions[at.index()] == body;
        match program.node(at) {
            Node::For { .. } | Node::While { .. } | Node::Break | Node::Continue => return false,
            Node::Barrier { ordering: MemoryOrdering::GridSync } => return false,
            // The next trip's would be another variable.
            Node::Declare { .. } if !outer && trips > 1 => return false,
            // Nothing may follow it.
            Node::Return if outer => return false,
            _ => {}
        }
        (size, cost) = (size + 1, cost.saturating_add(ops[at.index()]));
        if trips > 1 && (size.saturating_mul(trips) > NODES || cost.saturating_mul(trips) > OPS) {
            return false;
        }
    }
    true
}

/// One trip under construction.
struct Copy<'c, 'a> {
    tree: &'c Tree,
    rewriter: &'c mut Rewriter<'a, Keep>,
    holder: NodeId,
    body: RegionId,
    /// The loop variable.
    value: Value,
    trip: usize,
    /// The trip's own expressions and nodes.
    copied: LookupMap<ExprId, ExprId>,
    nodes: LookupMap<NodeId, NodeId>,
}

impl Copy<'_, '_> {
    fn copy(&mut self, into: RegionId) {
        let program = self.rewriter.program;
        // A region is copied whole before those that its nodes hold, which read its results.
        let mut tasks = vec![(self.body, into)];
        while let Some((old, new)) = tasks.pop() {
            for &id in program.region(old) {
                let node = program.node(id).map_operands(|operand| self.expr(operand));
                let node = node.map_regions(|region| {
                    let copy = self.rewriter.new.arena.region();
                    tasks.push((region, copy));
                    copy
                });
                let node = match node {
                    Node::Declare { var, init } if self.trip > 0 => Node::Set { var, value: init },
                    node => node,
                };
                let copy = self.rewriter.new.arena.push(new, node);
                self.nodes.insert(id, copy);
            }
        }
    }

    /// The trip's expression for an old one.
    fn expr(&mut self, root: ExprId) -> ExprId {
        let program = self.rewriter.program;
        let mut stack = vec![root];
        while let Some(&id) = stack.last() {
            if self.copied.contains_key(&id) {
                stack.pop();
                continue;
            }
            if !self.tree.dominates(self.body, self.rewriter.facts.home(id)) {
                let same = self.rewriter.map(id);
                self.copied.insert(id, same);
                continue;
            }
            let expr = *program.expr(id);
            let depth = stack.len();
            stack.extend(expr.operands().filter(|operand| !self.copied.contains_key(operand)));
            if stack.len() > depth {
                continue;
            }
            stack.pop();
            let expr = match expr {
                Expr::LoopVar(node) if node == self.holder => Expr::Literal(self.value),
                Expr::Result(node) => Expr::Result(self.nodes.get(&node).copied().unwrap_or(node)),
                expr => expr.map_operands(|operand| self.copied.get(&operand).copied().unwrap_or(operand)),
            };
            let ty = self.rewriter.facts.type_of(id);
            let new = self.rewriter.new.make(expr, ty);
            self.copied.insert(id, new);
        }
        self.copied.get(&root).copied().unwrap_or(root)
    }
}
