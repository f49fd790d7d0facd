//! Folding: an op of constants is the constant that its row's evaluation gives.
//!
//! The evaluations are the semantics, so folding cannot differ from them. Two kinds of results are left to
//! the device, where they would not be what every device and host agrees on:
//!
//! * of float ops whose row allows an error, so that one program has one rounding;
//! * NaNs that are computed: their sign and payload are the host's.

use vyre_spec::ops::TernaryRule;
use vyre_spec::{DataType, ErrorBound, Value};

use crate::check::Checked;
use crate::ir::{Arena, Expr, ExprId, Program};

use super::Outcome;
use super::rewrite::{NewExprs, Rewriter};

pub(super) fn run(program: &Checked<Program>) -> Outcome {
    let constant = |id: ExprId| literal(program, id);
    if !program.exprs().iter().any(|&expr| value(&constant, expr).is_some()) {
        return Ok(None);
    }
    Rewriter::new(program, Arena::with_declarations_of(program), rule).finish_in_place()
}

fn rule(new: &mut NewExprs, expr: Expr, ty: DataType) -> ExprId {
    match value(&|id| literal(new.arena.program(), id), expr) {
        Some(value) => new.make(Expr::Literal(value), ty),
        None => new.make(expr, ty),
    }
}

fn literal(program: &Program, id: ExprId) -> Option<Value> {
    match *program.expr(id) {
        Expr::Literal(value) => Some(value),
        _ => None,
    }
}

/// The constant that an expression comes to, by the constants that its operands are.
fn value(constant: &dyn Fn(ExprId) -> Option<Value>, expr: Expr) -> Option<Value> {
    let exact = |bound: ErrorBound, operand: Value| bound == ErrorBound::Exact || !operand.ty().is_float();
    let result = match expr {
        Expr::Unary(op, a) => {
            let a = constant(a)?;
            op.eval(a).filter(|_| exact(op.bound(), a))?
        }
        Expr::Binary(op, a, b) => {
            let (a, b) = (constant(a)?, constant(b)?);
            op.eval(a, b).filter(|_| exact(op.bound(), a))?
        }
        Expr::Ternary(op, a, b, c) => {
            let (a, b, c) = (constant(a)?, constant(b)?, constant(c)?);
            let result = op.eval(a, b, c).filter(|_| exact(op.bound(), b))?;
            if matches!(op.rule(), TernaryRule::Select(_)) {
                // It chooses, and computes nothing.
                return Some(result);
            }
            result
        }
        Expr::Cast(op, to, a) => {
            let a = constant(a)?;
            let result = op.eval(a, to)?;
            if !a.ty().is_float() {
                // No NaN comes of a number: this one is the integer's own bits.
                return Some(result);
            }
            result
        }
        Expr::Literal(_)
        | Expr::Param(_)
        | Expr::BuiltIn(_)
        | Expr::Length(_)
        | Expr::Result(_)
        | Expr::LoopVar(_) => return None,
    };
    (!result.is_nan()).then_some(result)
}
