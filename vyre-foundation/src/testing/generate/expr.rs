//! Expressions.

use vyre_spec::{DataType, Value};

use super::super::ops::Recipe;
use super::Generator;
use crate::ir::{Expr, ExprId};

impl Generator<'_> {
    /// An expression of a type; `uniform` demands that a workgroup shares its value.
    pub(super) fn expr(&mut self, ty: DataType, uniform: bool) -> ExprId {
        let depth = self.rng.u32(0..=self.config.depth);
        self.expr_of(ty, depth, uniform)
    }

    /// Bounded by `depth`, which the configuration limits.
    fn expr_of(&mut self, ty: DataType, depth: u32, uniform: bool) -> ExprId {
        let recipes = self.recipes.giving(ty);
        if depth == 0 || recipes.is_empty() || self.rng.u32(0..8) == 0 {
            return self.leaf(ty, uniform);
        }
        let recipe = recipes[self.rng.usize(0..recipes.len())];
        let expr = match recipe {
            Recipe::Unary(op, a) => Expr::Unary(op, self.expr_of(a, depth - 1, uniform)),
            Recipe::Binary(op, a, b) => {
                let a = self.expr_of(a, depth - 1, uniform);
                Expr::Binary(op, a, self.expr_of(b, depth - 1, uniform))
            }
            Recipe::Ternary(op, a, b) => {
                let a = self.expr_of(a, depth - 1, uniform);
                let (b, c) = (self.expr_of(b, depth - 1, uniform), self.expr_of(b, depth - 1, uniform));
                Expr::Ternary(op, a, b, c)
            }
            Recipe::Cast { op, from, bits: true } if from.is_float() && self.config.exact => {
                // A NaN's payload must not show.
                let a = self.expr_of(from, depth - 1, uniform);
                let number = self.literal(Value::one(from));
                Expr::Cast(op, ty, self.number_or(a, number))
            }
            Recipe::Cast { op, from, bits: true } if ty.is_float() && !self.config.subnormals => {
                // Most small integers are subnormals.
                let bits = self.value(ty).bits();
                Expr::Cast(op, ty, self.literal(Value::from_bits(from, bits)))
            }
            Recipe::Cast { op, from, .. } => Expr::Cast(op, ty, self.expr_of(from, depth - 1, uniform)),
        };
        self.arena.expr(expr)
    }

    fn leaf(&mut self, ty: DataType, uniform: bool) -> ExprId {
        let pool = if uniform { &self.uniform } else { &self.pool };
        if let Some(values) = pool.get(&ty).filter(|v| !v.is_empty()) {
            if self.rng.u32(0..4) != 0 {
                // Late values are rare otherwise.
                let (a, b) = (self.rng.usize(0..values.len()), self.rng.usize(0..values.len()));
                return values[a.max(b)];
            }
        }
        let value = self.value(ty);
        self.literal(value)
    }

    pub(super) fn literal(&mut self, value: Value) -> ExprId {
        self.arena.expr(Expr::Literal(value))
    }

    pub(super) fn literal_u32(&mut self, n: u32) -> ExprId {
        self.literal(Value::new(n))
    }
}
