//! Types of expressions as far as they can be told without the checker: for the step that a `for` leaves
//! out, and for what bools alone may do.

use vyre_spec::{DataType, Value};

use crate::ir::{Expr, ExprId, Node, Program};

/// Types worked out so far.
#[derive(Default)]
pub(crate) struct Types {
    known: Vec<State>,
}

#[derive(Clone, Copy, Default)]
enum State {
    #[default]
    New,
    Open,
    Done(Option<DataType>),
}

impl Types {
    /// The type of an expression, unless it breaks a rule of its op.
    pub(crate) fn of(&mut self, program: &Program, root: ExprId) -> Option<DataType> {
        self.known.resize(program.exprs().len(), State::New);
        let mut stack = vec![root];
        while let Some(&id) = stack.last() {
            match self.known.get(id.index()) {
                None | Some(State::Done(_)) => {
                    stack.pop();
                    continue;
                }
                Some(State::New) => {
                    self.known[id.index()] = State::Open;
                    let depth = stack.len();
                    stack.extend(needs(program, program.expr(id)));
                    if stack.len() > depth {
                        continue;
                    }
                }
                // The operands are done, or part of a cycle through a node's result.
                Some(State::Open) => {}
            }
            stack.pop();
            let ty = self.rule(program, program.expr(id));
            self.known[id.index()] = State::Done(ty);
        }
        self.get(root)
    }

    fn get(&self, id: ExprId) -> Option<DataType> {
        match self.known.get(id.index()) {
            Some(State::Done(ty)) => *ty,
            _ => None,
        }
    }

    fn rule(&self, program: &Program, expr: &Expr) -> Option<DataType> {
        match *expr {
            Expr::Literal(value) => Some(value.ty()),
            Expr::Param(id) => program.params().get(id.index()).map(|param| param.ty),
            Expr::BuiltIn(_) | Expr::Length(_) => Some(DataType::U32),
            Expr::Result(node) => match *program.nodes().get(node.index())? {
                Node::Load { place, .. } | Node::Atomic { place, .. } => Some(program.place(place).1),
                Node::Get { var } => program.vars().get(var.index()).map(|var| var.ty),
                Node::Subgroup { value, .. } | Node::Collective { value, .. } => self.get(value),
                _ => None,
            },
            Expr::LoopVar(node) => match *program.nodes().get(node.index())? {
                Node::For { start, .. } => self.get(start),
                _ => None,
            },
            Expr::Unary(op, a) => op.rule().result(self.get(a)?),
            Expr::Binary(op, a, b) => op.rule().result(self.get(a)?, self.get(b)?),
            Expr::Ternary(op, a, b, c) => op.rule().result(self.get(a)?, self.get(b)?, self.get(c)?),
            Expr::Cast(_, to, _) => Some(to),
        }
    }
}

/// The expressions whose types an expression's type needs.
fn needs(program: &Program, expr: &Expr) -> impl Iterator<Item = ExprId> + use<> {
    let through = match expr.node().and_then(|node| program.nodes().get(node.index())) {
        Some(Node::Subgroup { value, .. } | Node::Collective { value, .. }) => Some(*value),
        Some(Node::For { start, .. }) => Some(*start),
        _ => None,
    };
    expr.operands().chain(through)
}

/// The step that a `for` has where its text gives none.
pub(crate) fn default_step(types: &mut Types, program: &Program, start: ExprId) -> Value {
    Value::one(types.of(program, start).unwrap_or(DataType::U32))
}
