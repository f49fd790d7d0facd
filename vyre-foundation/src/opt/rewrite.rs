//! What passes have in common: a new arena whose nodes and regions have the old ids, and a memoised map of
//! expressions into it.

use vyre_spec::DataType;

use crate::check::{Checked, Facts};
use crate::ir::{Arena, Expr, ExprId, Node, NodeId, Program, RegionId};

use super::Outcome;

/// A program being rewritten.
pub(super) struct Rewriter<'a, R> {
    pub(super) program: &'a Program,
    pub(super) facts: &'a Facts,
    pub(super) new: NewExprs,
    /// Makes an expression whose operands are new.
    rule: R,
    /// What stands for each node's result; itself where nothing else does.
    results: Vec<Option<ExprId>>,
    exprs: Vec<Option<ExprId>>,
    /// What `map` has yet to do; empty between calls.
    stack: Vec<ExprId>,
    /// Whether anything is other than it was.
    pub(super) changed: bool,
}

/// The new expressions with their types.
pub(super) struct NewExprs {
    pub(super) arena: Arena,
    types: Vec<DataType>,
}

impl NewExprs {
    /// The expression, which is well typed.
    pub(super) fn make(&mut self, expr: Expr, ty: DataType) -> ExprId {
        let id = self.arena.expr(expr);
        if id.index() == self.types.len() {
            self.types.push(ty);
        }
        id
    }

    pub(super) fn get(&self, id: ExprId) -> Expr {
        *self.arena.program().expr(id)
    }

    pub(super) fn type_of(&self, id: ExprId) -> DataType {
        self.types[id.index()]
    }
}

/// A rule that makes expressions as they are, as a type with a name.
pub(super) type Keep = fn(&mut NewExprs, Expr, DataType) -> ExprId;

/// Makes the expression as it is.
pub(super) fn keep(new: &mut NewExprs, expr: Expr, ty: DataType) -> ExprId {
    new.make(expr, ty)
}

impl<'a, R: FnMut(&mut NewExprs, Expr, DataType) -> ExprId> Rewriter<'a, R> {
    /// Starts with an arena that has the program's buffers, parameters and arrays, under their ids.
    pub(super) fn new(program: &'a Checked<Program>, mut arena: Arena, rule: R) -> Self {
        arena.reserve_for(program);
        for &node in program.nodes() {
            arena.node(node);
        }
        for _ in 1..program.regions().len() {
            arena.region();
        }
        Self {
            program,
            facts: program.facts(),
            new: NewExprs { arena, types: Vec::with_capacity(program.exprs().len()) },
            rule,
            results: vec![None; program.nodes().len()],
            exprs: vec![None; program.exprs().len()],
            stack: Vec::new(),
            changed: false,
        }
    }

    /// Makes every use of a node's result that is mapped from now on use this instead.
    pub(super) fn replace_result(&mut self, node: NodeId, with: ExprId) {
        self.results[node.index()] = Some(with);
        self.changed = true;
    }

    /// A node's own result, of this type.
    pub(super) fn result(&mut self, node: NodeId, ty: DataType) -> ExprId {
        self.new.make(Expr::Result(node), ty)
    }

    /// The new expression for an old one.
    pub(super) fn map(&mut self, root: ExprId) -> ExprId {
        if let Some(known) = self.exprs[root.index()] {
            return known;
        }
        let mut stack = std::mem::take(&mut self.stack);
        stack.push(root);
        while let Some(&id) = stack.last() {
            if self.exprs[id.index()].is_some() {
                stack.pop();
                continue;
            }
            let expr = *self.program.expr(id);
            let depth = stack.len();
            stack.extend(expr.operands().filter(|operand| self.exprs[operand.index()].is_none()));
            if stack.len() > depth {
                continue;
            }
            stack.pop();
            let replaced = match expr {
                Expr::Result(node) => self.results[node.index()],
                _ => None,
            };
            let exprs = &self.exprs;
            let mapped = expr.map_operands(|operand| exprs[operand.index()].unwrap_or(operand));
            let new = match replaced {
                Some(new) => new,
                None => {
                    let new = (self.rule)(&mut self.new, mapped, self.facts.type_of(id));
                    self.changed |= self.new.get(new) != mapped;
                    new
                }
            };
            self.exprs[id.index()] = Some(new);
        }
        self.stack = stack;
        self.exprs[root.index()].unwrap_or(root)
    }

    /// Sets a node, under its old id, to what it was with its operands mapped.
    pub(super) fn set_node(&mut self, id: NodeId) -> Node {
        let node = self.program.node(id).map_operands(|operand| self.map(operand));
        self.new.arena.replace_node(id, node);
        node
    }

    /// The program with every node kept where it was.
    pub(super) fn finish_in_place(mut self) -> Outcome {
        for (i, nodes) in (0..).zip(self.program.regions()) {
            for &id in nodes {
                self.set_node(id);
                self.new.arena.place_node(RegionId::new(i), id);
            }
        }
        self.finish()
    }

    /// The program, unless it is what it was.
    pub(super) fn finish(self) -> Outcome {
        if !self.changed {
            return Ok(None);
        }
        Ok(Some(self.new.arena.finish()?.0))
    }
}
