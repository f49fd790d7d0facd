//! Identities: rewrites that the laws of the op rows allow, and the ones that hold by a rule's form.
//!
//! | rewrite | because |
//! | --- | --- |
//! | `c ∘ x` to `x ∘ c` | commutative: constants stand on the right |
//! | `x ∘ 0` to `x`, `x ∘ 1` to `x`, `x ∘ 0` to 0 | neutral and absorbing elements |
//! | `x ∘ x` to `x`, 0, true or false | idempotent and self laws |
//! | `(x ∘ c) ∘ d` to `x ∘ (c ∘ d)` | associative, of integers |
//! | `∘ ∘ x` to `x` | involution |
//! | `select(c, x, x)` to `x`, `select(true, x, y)` to `x` | what a selection is |
//! | a cast of `x` to its own type to `x` | what a cast is |
//!
//! The laws whose names end in `Int` hold for integers and bool, and so does idempotence here (a NaN's
//! payload is nobody's); the rest for every type. None but those is used: `x + 0.0` is not `x` for −0.0.

use vyre_spec::ops::{BinaryOp, BinaryRule, Law, TernaryRule, UnaryOp};
use vyre_spec::{DataType, Value};

use crate::check::Checked;
use crate::ir::{Arena, Expr, ExprId, Program};

use super::Outcome;
use super::rewrite::{NewExprs, Rewriter};

pub(super) fn run(program: &Checked<Program>) -> Outcome {
    Rewriter::new(program, Arena::with_declarations_of(program), rule).finish_in_place()
}

fn rule(new: &mut NewExprs, expr: Expr, ty: DataType) -> ExprId {
    match expr {
        Expr::Unary(op, a) => unary(new, op, a),
        Expr::Binary(op, a, b) => binary(new, op, a, b, ty),
        Expr::Ternary(op, a, b, c) if matches!(op.rule(), TernaryRule::Select(_)) => match constant(new, a) {
            Some(condition) => Some(if condition == Value::new(true) { b } else { c }),
            None => (b == c).then_some(b),
        },
        Expr::Cast(_, to, a) => (new.type_of(a) == to).then_some(a),
        _ => None,
    }
    .unwrap_or_else(|| new.make(expr, ty))
}

fn constant(new: &NewExprs, id: ExprId) -> Option<Value> {
    match new.get(id) {
        Expr::Literal(value) => Some(value),
        _ => None,
    }
}

fn unary(new: &NewExprs, op: UnaryOp, a: ExprId) -> Option<ExprId> {
    match new.get(a) {
        Expr::Unary(inner, x) if inner == op && op.laws().contains(&Law::Involution) => Some(x),
        _ => None,
    }
}

fn binary(new: &mut NewExprs, op: BinaryOp, a: ExprId, b: ExprId, ty: DataType) -> Option<ExprId> {
    let has = |law: Law| op.laws().contains(&law);
    let operand = new.type_of(a);
    let bits = !operand.is_float();
    // Commutative ops have operands of one type.
    let commutes = has(Law::Commutative) && matches!(op.rule(), BinaryRule::Same(_) | BinaryRule::Compare(_));
    let swaps = commutes && constant(new, a).is_some() && constant(new, b).is_none();
    let (a, b) = if swaps { (b, a) } else { (a, b) };

    if let Some(value) = constant(new, b) {
        if bits && value == Value::zero(value.ty()) {
            if has(Law::RightZeroInt) {
                return Some(a);
            }
            if has(Law::AnnihilatorZeroInt) {
                return Some(b);
            }
        }
        if value == Value::one(value.ty()) && has(Law::RightOne) {
            return Some(a);
        }
        if bits && has(Law::AssociativeInt) {
            if let Expr::Binary(inner, x, c) = new.get(a) {
                if let Some(folded) = constant(new, c).filter(|_| inner == op).and_then(|c| op.eval(c, value))
                {
                    let folded = new.make(Expr::Literal(folded), ty);
                    return Some(new.make(Expr::Binary(op, x, folded), ty));
                }
            }
        }
    }
    if a == b && bits {
        let known = if has(Law::Idempotent) {
            return Some(a);
        } else if has(Law::SelfZeroInt) {
            Value::zero(ty)
        } else if has(Law::SelfTrueInt) {
            Value::new(true)
        } else if has(Law::SelfFalseInt) {
            Value::new(false)
        } else {
            return None;
        };
        return Some(new.make(Expr::Literal(known), ty));
    }
    swaps.then(|| new.make(Expr::Binary(op, a, b), ty))
}
