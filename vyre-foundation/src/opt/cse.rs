//! Redundant reads. Expressions are hash-consed, so equal ones are one already; what is left are the nodes.
//!
//! * A read of a variable whose value is known, from an earlier read, its declaration or a write, is that
//!   value; a write of the value that it has is dropped.
//! * A load from a `readonly` or `uniform` buffer is an earlier load at the same index: nothing writes it
//!   while the program runs.
//!
//! "Earlier" is earlier in the region or in one that dominates it, so the value exists wherever the read's
//! does. A variable's value stops being known after a block that writes it, and before a loop that does.

use vyre_spec::Access;

use crate::check::Checked;
use crate::check::tree::{Tree, ids};
use crate::ir::{Arena, BufferId, Expr, ExprId, LookupMap, Node, NodeId, Place, Program, RegionId, VarId};

use super::Outcome;
use super::rewrite::{NewExprs, Rewriter, keep};

pub(super) fn run(program: &Checked<Program>) -> Outcome {
    let tree = Tree::of(program);
    let mut rewriter = Rewriter::new(program, Arena::with_declarations_of(program), keep);
    let mut known = Known::new(program);
    let mut stack = vec![Frame::new(program.body(), 0)];
    while let Some(frame) = stack.last_mut() {
        let region = frame.region;
        if let Some(holder) = frame.done.take() {
            known.forget_writes_in(&tree, program, holder);
        }
        let Some(&id) = program.region(region).get(frame.position) else {
            if let Some((node, body)) = frame.tail.take() {
                // The condition is evaluated here, at the end of the head, which dominates the body.
                rewriter.set_node(node);
                stack.push(Frame::new(body, known.log.len()));
            } else {
                known.undo(frame.mark);
                stack.pop();
            }
            continue;
        };
        frame.position += 1;
        match *program.node(id) {
            Node::While { head, body, .. } => {
                frame.done = Some(id);
                rewriter.new.arena.place_node(region, id);
                known.forget_writes_in(&tree, program, id);
                stack.push(Frame { tail: Some((id, body)), ..Frame::new(head, known.log.len()) });
            }
            ref node @ (Node::If { .. } | Node::For { .. }) => {
                frame.done = Some(id);
                rewriter.set_node(id);
                rewriter.new.arena.place_node(region, id);
                if matches!(node, Node::For { .. }) {
                    known.forget_writes_in(&tree, program, id);
                }
                // Each is entered with what is known here: one undoes what it learnt before the next begins.
                let mark = known.log.len();
                stack.extend(node.regions().rev().map(|child| Frame::new(child, mark)));
            }
            _ => {
                if known.step(&mut rewriter, id) {
                    rewriter.new.arena.place_node(region, id);
                } else {
                    rewriter.changed = true;
                }
            }
        }
    }
    rewriter.finish()
}

struct Frame {
    region: RegionId,
    position: usize,
    /// How long the log was when the region was entered.
    mark: usize,
    /// The loop whose head this is, and its body.
    tail: Option<(NodeId, RegionId)>,
    /// The node whose regions were just walked.
    done: Option<NodeId>,
}

impl Frame {
    fn new(region: RegionId, mark: usize) -> Self {
        Self { region, position: 0, mark, tail: None, done: None }
    }
}

/// What is known at a point of the walk, with a log to take back what a region taught.
struct Known {
    vars: Vec<Option<ExprId>>,
    loads: LookupMap<(BufferId, ExprId), ExprId>,
    log: Vec<Learnt>,
    /// Every write to a variable, in text order.
    writes: Vec<(NodeId, VarId)>,
}

enum Learnt {
    /// A variable's value was this before.
    Var(VarId, Option<ExprId>),
    /// A load was new.
    Load(BufferId, ExprId),
}

impl Known {
    fn new(program: &Program) -> Self {
        let writes = ids(program).filter_map(|(id, node)| match *node {
            Node::Set { var, .. } => Some((id, var)),
            _ => None,
        });
        Self {
            vars: vec![None; program.vars().len()],
            loads: LookupMap::default(),
            log: Vec::new(),
            writes: writes.collect(),
        }
    }

    fn learn(&mut self, var: VarId, value: Option<ExprId>) {
        let before = std::mem::replace(&mut self.vars[var.index()], value);
        if before != value {
            self.log.push(Learnt::Var(var, before));
        }
    }

    fn undo(&mut self, mark: usize) {
        for learnt in self.log.drain(mark..).rev() {
            match learnt {
                Learnt::Var(var, before) => self.vars[var.index()] = before,
                Learnt::Load(buffer, index) => {
                    self.loads.remove(&(buffer, index));
                }
            }
        }
    }

    /// Forgets every variable that is written inside the node's regions.
    fn forget_writes_in(&mut self, tree: &Tree, program: &Program, holder: NodeId) {
        let Some(last) = program.node(holder).regions().last() else { return };
        let first = self.writes.partition_point(|&(node, _)| node <= holder);
        let end = self.writes.partition_point(|&(node, _)| node < tree.end(last));
        for position in first..end {
            let (_, var) = self.writes[position];
            self.learn(var, None);
        }
    }

    /// Rewrites a node without regions; whether it stays.
    fn step<R: FnMut(&mut NewExprs, Expr, vyre_spec::DataType) -> ExprId>(
        &mut self,
        rewriter: &mut Rewriter<'_, R>,
        id: NodeId,
    ) -> bool {
        match rewriter.set_node(id) {
            Node::Declare { var, init } => self.learn(var, Some(init)),
            Node::Set { var, value } => {
                if self.vars[var.index()] == Some(value) {
                    return false;
                }
                self.learn(var, Some(value));
            }
            Node::Get { var } => {
                if let Some(value) = self.vars[var.index()] {
                    rewriter.replace_result(id, value);
                    return false;
                }
                let ty = rewriter.program.var(var).ty;
                let value = rewriter.new.make(Expr::Result(id), ty);
                self.learn(var, Some(value));
            }
            Node::Load { place: Place::Buffer(buffer), index } => {
                let declaration = rewriter.program.buffer(buffer);
                if !matches!(declaration.access, Access::ReadOnly | Access::Uniform) {
                    return true;
                }
                if let Some(&value) = self.loads.get(&(buffer, index)) {
                    rewriter.replace_result(id, value);
                    return false;
                }
                let value = rewriter.new.make(Expr::Result(id), declaration.element);
                self.loads.insert((buffer, index), value);
                self.log.push(Learnt::Load(buffer, index));
            }
            _ => {}
        }
        true
    }
}
