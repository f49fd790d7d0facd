//! Index arithmetic: what keeps invocations on their own elements and loops short.

use vyre_spec::ops::{BinaryOp, CastOp, TernaryOp};
use vyre_spec::{DataType, Value};

use super::Generator;
use crate::ir::{Expr, ExprId};

impl Generator<'_> {
    pub(super) fn add(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.arena.expr(Expr::Binary(BinaryOp::Add, a, b))
    }

    pub(super) fn mul(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.arena.expr(Expr::Binary(BinaryOp::Mul, a, b))
    }

    /// The launch index of another lane of the workgroup: `own − local + lane`.
    pub(super) fn segment_lane(&mut self, own: ExprId, local: ExprId, lane: ExprId) -> ExprId {
        let first = self.arena.expr(Expr::Binary(BinaryOp::Sub, own, local));
        self.add(first, lane)
    }

    /// `a < b`.
    pub(super) fn less(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.arena.expr(Expr::Binary(BinaryOp::Lt, a, b))
    }

    pub(super) fn and(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.arena.expr(Expr::Binary(BinaryOp::BitAnd, a, b))
    }

    /// A `u32` below `n`.
    pub(super) fn below(&mut self, n: u32, uniform: bool) -> ExprId {
        let value = self.expr(DataType::U32, uniform);
        let n = self.literal_u32(n.max(1));
        self.arena.expr(Expr::Binary(BinaryOp::Rem, value, n))
    }

    /// The value in another type.
    pub(super) fn convert(&mut self, value: ExprId, from: DataType, to: DataType) -> ExprId {
        if from == to { value } else { self.arena.expr(Expr::Cast(CastOp::Convert, to, value)) }
    }

    /// `value`, or `number` where it is a NaN.
    pub(super) fn number_or(&mut self, value: ExprId, number: ExprId) -> ExprId {
        let is_number = self.arena.expr(Expr::Binary(BinaryOp::Eq, value, value));
        self.arena.expr(Expr::Ternary(TernaryOp::Select, is_number, value, number))
    }

    /// `base × zone + something below zone`: elements that belong to `base` alone.
    pub(super) fn in_zone(&mut self, base: ExprId, zone: u32) -> ExprId {
        if zone == 1 {
            return base;
        }
        let zone_size = self.literal_u32(zone);
        let start = self.mul(base, zone_size);
        let inside = self.below(zone, false);
        self.add(start, inside)
    }

    /// Now and then an index of another integer type, or one that is out of bounds in some or all
    /// invocations; never one of another invocation's elements of an array with `len` elements.
    pub(super) fn vary(&mut self, index: ExprId, len: u64) -> ExprId {
        match self.rng.u32(0..10) {
            0 => {
                let Some(ty) = self.index_type(len, false) else { return index };
                self.convert(index, DataType::U32, ty)
            }
            1 => {
                let condition = self.expr(DataType::Bool, false);
                let far = u32::try_from(len).unwrap_or(u32::MAX).saturating_add(self.rng.u32(0..3));
                let far = if self.rng.bool() { far } else { u32::MAX - self.rng.u32(0..2) };
                let far = self.literal_u32(far);
                self.arena.expr(Expr::Ternary(TernaryOp::Select, condition, index, far))
            }
            2 => {
                let Some(ty) = self.index_type(len, true) else { return index };
                let condition = self.expr(DataType::Bool, false);
                let negative = self.rng.u64(1..4).wrapping_neg();
                let negative = self.literal(Value::from_bits(ty, negative));
                let index = self.convert(index, DataType::U32, ty);
                self.arena.expr(Expr::Ternary(TernaryOp::Select, condition, index, negative))
            }
            _ => index,
        }
    }

    /// An integer type that has every index of `len` elements: in a narrower one, two would be the same.
    fn index_type(&mut self, len: u64, signed: bool) -> Option<DataType> {
        let fits = |ty: &DataType| {
            let bits = ty.width() - u32::from(ty.is_signed_int());
            ty.is_int() && (ty.is_signed_int() || !signed) && len < (1 << bits.min(63))
        };
        let types: Vec<DataType> = self.config.types().into_iter().filter(fits).collect();
        self.pick(&types)
    }
}
