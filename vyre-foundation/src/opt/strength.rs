//! Strength reduction: divisions by powers of two become cheaper ops of the same value.
//!
//! | of | becomes | because |
//! | --- | --- | --- |
//! | unsigned `x / 2^k` | `x >> k` | a quotient that is rounded down |
//! | unsigned `x % 2^k` | `x & (2^k - 1)` | the low bits |
//! | float `x / ±2^k` | `x * ±2^-k` | both are exact, but for the one rounding to a subnormal that both have |
//!
//! Signed quotients round toward zero, so they are none of these; what a device does about them is as good as what
//! could be written here. A product by a power of two stays: every GPU multiplies and adds in one instruction, and
//! the ranges and alignments that lowering proves follow from products. For the same reasons, the product of a
//! loop variable is not made a running sum.

use vyre_spec::ops::BinaryOp;
use vyre_spec::{DataType, Value};

use crate::check::Checked;
use crate::ir::{Arena, Expr, ExprId, Program};

use super::Outcome;
use super::rewrite::{NewExprs, Rewriter};

pub(super) fn run(program: &Checked<Program>) -> Outcome {
    let divides = |expr: &Expr| match *expr {
        Expr::Binary(BinaryOp::Div | BinaryOp::Rem, _, b) => matches!(program.expr(b), Expr::Literal(_)),
        _ => false,
    };
    if !program.exprs().iter().any(divides) {
        return Ok(None);
    }
    Rewriter::new(program, Arena::with_declarations_of(program), rule).finish_in_place()
}

fn rule(new: &mut NewExprs, expr: Expr, ty: DataType) -> ExprId {
    let Expr::Binary(op @ (BinaryOp::Div | BinaryOp::Rem), x, divisor) = expr else {
        return new.make(expr, ty);
    };
    let Expr::Literal(divisor) = new.get(divisor) else { return new.make(expr, ty) };
    let (op, operand) = if let (BinaryOp::Div, Some(inverse)) = (op, inverse(divisor)) {
        (BinaryOp::Mul, inverse)
    } else if ty.is_int() && !ty.is_signed_int() && divisor.bits().is_power_of_two() {
        match op {
            BinaryOp::Div => {
                let amount = BinaryOp::Shr.rule().second(ty);
                (BinaryOp::Shr, Value::from_bits(amount, divisor.bits().ilog2().into()))
            }
            _ => (BinaryOp::BitAnd, Value::from_bits(ty, divisor.bits() - 1)),
        }
    } else {
        return new.make(expr, ty);
    };
    let operand = new.make(Expr::Literal(operand), operand.ty());
    new.make(Expr::Binary(op, x, operand), ty)
}

/// The inverse of a float that is a power of two, if neither is subnormal.
fn inverse(divisor: Value) -> Option<Value> {
    let number = divisor.as_f64()?;
    // Every float type is exact in f64; its mantissa has 52 bits.
    let power = number.is_normal() && number.to_bits() & ((1 << 52) - 1) == 0;
    let inverse = Value::from_f64(divisor.ty(), 1.0 / number);
    let normal = |value: Value| value.is_finite() && !value.is_subnormal();
    (power && normal(divisor) && normal(inverse) && inverse.as_f64() == Some(1.0 / number)).then_some(inverse)
}
