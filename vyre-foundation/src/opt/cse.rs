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
use crate::ir::{Arena, BufferId, ExprId, LookupMap, Node, NodeId, Place, Program, VarId};

use super::Outcome;
use super::rewrite::{Keep, Rewriter, keep};
use super::scoped::{Knowledge, inside, walk};

pub(super) fn run(program: &Checked<Program>) -> Outcome {
    let reads = |node: &Node| matches!(node, Node::Get { .. } | Node::Set { .. } | Node::Load { .. });
    if !program.nodes().iter().any(reads) {
        return Ok(None);
    }
    let tree = Tree::of(program);
    let mut rewriter = Rewriter::new(program, Arena::with_declarations_of(program), keep as Keep);
    walk(program, &mut rewriter, &mut Known::new(program, &tree));
    rewriter.finish()
}

struct Known<'a> {
    program: &'a Program,
    tree: &'a Tree,
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

impl<'a> Known<'a> {
    fn new(program: &'a Program, tree: &'a Tree) -> Self {
        let writes = ids(program).filter_map(|(id, node)| match *node {
            Node::Set { var, .. } => Some((id, var)),
            _ => None,
        });
        Self {
            program,
            tree,
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
}

impl Knowledge for Known<'_> {
    fn mark(&self) -> usize {
        self.log.len()
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

    fn forget(&mut self, holder: NodeId) {
        let writes = std::mem::take(&mut self.writes);
        for &(_, var) in inside(self.tree, self.program, holder, &writes) {
            self.learn(var, None);
        }
        self.writes = writes;
    }

    fn step(&mut self, rewriter: &mut Rewriter<'_, Keep>, id: NodeId) -> bool {
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
                let value = rewriter.result(id, rewriter.program.var(var).ty);
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
                let value = rewriter.result(id, declaration.element);
                self.loads.insert((buffer, index), value);
                self.log.push(Learnt::Load(buffer, index));
            }
            _ => {}
        }
        true
    }
}
