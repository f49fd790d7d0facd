//! Expressions that the host can evaluate at launch.
//!
//! An expression is host-known if it is made of literals, parameters, lengths, workgroup counts and the
//! variables of loops that the host unrolls, all of them integers or bools. Floats are left to the device:
//! what it makes of subnormals is its own affair, and host and device would have to agree.

use vyre_foundation::check::Facts;
use vyre_foundation::ir::{BufferId, Expr, ExprId, Node, ParamId, Program};
use vyre_foundation::launch::ResolvedLaunch;
use vyre_spec::ops::{BinaryOp, CastOp, TernaryOp, UnaryOp};
use vyre_spec::{Axis, BuiltIn, DataType, Value};

/// An expression that the host evaluates: ops in order, the last one its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostExpr {
    ops: Vec<HostOp>,
}

/// One op; operands are positions of earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HostOp {
    Literal(Value),
    Param(ParamId),
    Length(BufferId),
    WorkgroupCount(Axis),
    /// The variable of an unrolled loop, by the loop's number.
    LoopVar(u32),
    Unary(UnaryOp, u32),
    Binary(BinaryOp, u32, u32),
    Ternary(TernaryOp, u32, u32, u32),
    Cast(CastOp, DataType, u32),
}

impl HostExpr {
    /// The value in a launch of `workgroups`, with the unrolled loops' variables.
    pub(super) fn value(&self, launch: &ResolvedLaunch, workgroups: [u32; 3], vars: &[Value]) -> Value {
        let zero = Value::new(0u32);
        let mut values: Vec<Value> = Vec::with_capacity(self.ops.len());
        for op in &self.ops {
            let at = |i: u32| values.get(i as usize).copied().unwrap_or(zero);
            // Ops are total on the types that the checker admits, so each has a value.
            let value = match *op {
                HostOp::Literal(value) => Some(value),
                HostOp::Param(id) => launch.params.get(id.index()).copied(),
                HostOp::Length(id) => {
                    // Lengths are below 2^32: resolving the launch sees to it.
                    launch.lengths.get(id.index()).map(|&n| Value::from_bits(DataType::U32, n))
                }
                HostOp::WorkgroupCount(axis) => Some(Value::new(workgroups[axis.index()])),
                HostOp::LoopVar(number) => vars.get(number as usize).copied(),
                HostOp::Unary(op, a) => op.eval(at(a)),
                HostOp::Binary(op, a, b) => op.eval(at(a), at(b)),
                HostOp::Ternary(op, a, b, c) => op.eval(at(a), at(b), at(c)),
                HostOp::Cast(op, to, a) => op.eval(at(a), to),
            };
            values.push(value.unwrap_or(zero));
        }
        values.last().copied().unwrap_or(zero)
    }
}

/// Which expressions of a program are host-known.
pub(super) struct HostKnown<'a> {
    program: &'a Program,
    /// The initial value of each variable that is never set.
    inits: &'a [Option<ExprId>],
    known: Vec<bool>,
    /// The number of each loop that the host unrolls, by node.
    loops: &'a [Option<u32>],
}

impl<'a> HostKnown<'a> {
    pub(super) fn new(
        program: &'a Program,
        facts: &Facts,
        inits: &'a [Option<ExprId>],
        loops: &'a [Option<u32>],
    ) -> Self {
        let mut known: Vec<bool> = Vec::with_capacity(program.exprs().len());
        for (i, expr) in (0..).zip(program.exprs()) {
            let is_known = |id: ExprId| known.get(id.index()).copied().unwrap_or(false);
            let leaf = match *expr {
                Expr::Literal(_) | Expr::Param(_) | Expr::Length(_) => true,
                Expr::BuiltIn(built_in) => matches!(built_in, BuiltIn::WorkgroupCount(_)),
                Expr::LoopVar(node) => loops.get(node.index()).is_some_and(Option::is_some),
                Expr::Result(node) => match *program.node(node) {
                    Node::Get { var } => inits.get(var.index()).copied().flatten().is_some_and(is_known),
                    _ => false,
                },
                _ => expr.operands().all(is_known),
            };
            known.push(leaf && !facts.type_of(ExprId::new(i)).is_float());
        }
        Self { program, inits, known, loops }
    }

    /// The expression for the host, if it is host-known.
    pub(super) fn expr(&self, root: ExprId) -> Option<HostExpr> {
        if !self.known.get(root.index()).copied().unwrap_or(false) {
            return None;
        }
        // Operands have lower numbers than their users, the initial value of a variable than what reads it.
        let mut wanted = vec![false; root.index() + 1];
        wanted[root.index()] = true;
        for i in (0..=root.index()).rev().filter(|&i| self.known[i]) {
            if wanted[i] {
                let id = ExprId::new(i as u32);
                for operand in self.program.expr(id).operands().chain(self.alias(id)) {
                    *wanted.get_mut(operand.index())? = true;
                }
            }
        }
        let mut places: Vec<u32> = vec![0; root.index() + 1];
        let mut ops: Vec<HostOp> = Vec::new();
        for i in (0..=root.index()).filter(|&i| wanted[i]) {
            let id = ExprId::new(i as u32);
            let at = |x: ExprId| places[x.index()];
            if let Some(init) = self.alias(id) {
                places[i] = at(init);
                continue;
            }
            let op = match *self.program.expr(id) {
                Expr::Literal(value) => HostOp::Literal(value),
                Expr::Param(id) => HostOp::Param(id),
                Expr::Length(id) => HostOp::Length(id),
                Expr::BuiltIn(BuiltIn::WorkgroupCount(axis)) => HostOp::WorkgroupCount(axis),
                Expr::LoopVar(node) => HostOp::LoopVar(self.loops.get(node.index()).copied().flatten()?),
                Expr::Unary(op, a) => HostOp::Unary(op, at(a)),
                Expr::Binary(op, a, b) => HostOp::Binary(op, at(a), at(b)),
                Expr::Ternary(op, a, b, c) => HostOp::Ternary(op, at(a), at(b), at(c)),
                Expr::Cast(op, to, a) => HostOp::Cast(op, to, at(a)),
                Expr::BuiltIn(_) | Expr::Result(_) => return None,
            };
            places[i] = ops.len() as u32;
            ops.push(op);
        }
        // The root may stand for the initial value of a variable, which need not be the last op.
        ops.truncate(places[root.index()] as usize + 1);
        Some(HostExpr { ops })
    }

    /// What an expression that reads a variable stands for, if the variable is never set.
    fn alias(&self, id: ExprId) -> Option<ExprId> {
        let Expr::Result(node) = *self.program.expr(id) else { return None };
        let Node::Get { var } = *self.program.node(node) else { return None };
        self.inits.get(var.index()).copied().flatten()
    }
}
