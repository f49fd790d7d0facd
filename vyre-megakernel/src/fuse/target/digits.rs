//! Arithmetic on indices, of which forms are known: quotients, remainders and digits that need no division, and what
//! depends on where an index lies.

use vyre_foundation::ir::{Expr, ExprId, Node, RegionId};
use vyre_spec::ops::{BinaryOp, TernaryOp};
use vyre_spec::{DataType, Value};

use super::Target;
use crate::fuse::form::{Component, Form, Term};
use crate::fuse::quantity::Quantity;
use crate::fuse::reject::RejectReason;

impl Target<'_> {
    /// Runs what is put into the region that this gives where one `u32` is below another.
    pub(crate) fn where_below(&mut self, at: RegionId, index: ExprId, limit: ExprId) -> RegionId {
        let condition = self.binary(BinaryOp::Lt, index, limit);
        self.branch(at, condition)
    }

    /// Runs what is put into the region that this gives where two are equal.
    pub(crate) fn where_equal(&mut self, at: RegionId, a: ExprId, b: ExprId) -> RegionId {
        let condition = self.binary(BinaryOp::Eq, a, b);
        self.branch(at, condition)
    }

    fn branch(&mut self, at: RegionId, condition: ExprId) -> RegionId {
        let (then, otherwise) = (self.arena.region(), self.arena.region());
        self.arena.push(at, Node::If { condition, then, otherwise });
        then
    }

    /// A value, or zero where an index is not below a limit.
    pub(crate) fn zero_beyond(&mut self, value: ExprId, index: ExprId, limit: ExprId) -> ExprId {
        let ty = self.type_of(value);
        let is_below = self.binary(BinaryOp::Lt, index, limit);
        let zero = self.literal(Value::zero(ty));
        self.make(Expr::Ternary(TernaryOp::Select, is_below, value, zero), ty)
    }

    /// The sum of two.
    pub(crate) fn plus(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(BinaryOp::Add, a, b)
    }

    /// The product of two.
    pub(crate) fn times(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(BinaryOp::Mul, a, b)
    }

    /// An expression, or a simpler one that has its value: a quotient or remainder of digits is some of them.
    pub(crate) fn simplified(&mut self, expr: Expr, ty: DataType) -> ExprId {
        if let Expr::Binary(op @ (BinaryOp::Div | BinaryOp::Rem), a, b) = expr {
            let by = self.form(b).and_then(Form::as_constant);
            let by = by.filter(|_| ty == DataType::U32);
            if let Some((high, low)) = by.and_then(|by| self.parts(a, &by)) {
                if let Ok(simple) = self.sum(if op == BinaryOp::Div { &high } else { &low }) {
                    return simple;
                }
            }
        }
        self.make(expr, ty)
    }

    /// A quotient and remainder by a quantity of what is below 2^32; simple where the form shows what they are.
    pub(crate) fn quotient(&mut self, a: ExprId, by: &Quantity) -> Result<ExprId, RejectReason> {
        if by.is_one() {
            return Ok(a);
        }
        if let Some((high, _)) = self.parts(a, by) {
            return self.sum(&high);
        }
        let by = self.quantity(by)?;
        Ok(self.binary(BinaryOp::Div, a, by))
    }

    /// The remainder.
    pub(crate) fn remainder(&mut self, a: ExprId, by: &Quantity) -> Result<ExprId, RejectReason> {
        if by.is_one() {
            return Ok(self.number(0));
        }
        if let Some((_, low)) = self.parts(a, by) {
            return self.sum(&low);
        }
        let by = self.quantity(by)?;
        Ok(self.binary(BinaryOp::Rem, a, by))
    }

    /// The digits of a sum above and below a place: `a` is `by` × the first + the second, which is below `by`.
    fn parts(&self, a: ExprId, by: &Quantity) -> Option<(Form, Form)> {
        let (digits, total) = self.form(a)?.digits(&self.leaves)?;
        // Without wrapping: all digits together count up to some value's length.
        if !self.cx.is_length(&total?) {
            return None;
        }
        let (mut low, mut high) = (Vec::new(), Vec::new());
        let mut place = Quantity::one();
        for (component, stride) in digits {
            if high.is_empty() && place != *by {
                place = place.times(&self.leaves.bound(component)?)?;
                low.push((component, stride));
            } else {
                high.push((component, stride.divided_by(by)?));
            }
        }
        (place == *by).then_some((Form(high), Form(low)))
    }

    /// The digit of an index that has terms of these strides; `None` if it is not told apart from others.
    pub(crate) fn digit(
        &mut self,
        index: ExprId,
        terms: &[Term],
        stride: &Quantity,
    ) -> Result<Option<ExprId>, RejectReason> {
        let form = self.form(index).cloned().unwrap_or_default();
        let strides: Vec<&Quantity> = terms.iter().map(|(_, stride)| stride).collect();
        let own: Vec<Term> = form.0.into_iter().filter(|(_, stride)| strides.contains(&stride)).collect();
        if own.len() != terms.len() {
            return Ok(None);
        }
        let divided = |(component, of): &Term| Some((*component, of.divided_by(stride)?));
        match own.iter().map(divided).collect::<Option<Vec<Term>>>() {
            Some(digit) => self.sum(&Form(digit)).map(Some),
            None => Ok(None),
        }
    }

    /// The expression that a form is of.
    pub(crate) fn sum(&mut self, form: &Form) -> Result<ExprId, RejectReason> {
        let mut sum = None;
        for (component, stride) in &form.0 {
            let value = match *component {
                Component::One => self.number(1),
                Component::BuiltIn(built_in) => self.built_in(built_in),
                Component::Expr(id) => id,
            };
            let term = if stride.is_one() {
                value
            } else {
                let stride = self.quantity(stride)?;
                self.times(value, stride)
            };
            sum = Some(match sum {
                None => term,
                Some(sum) => self.plus(sum, term),
            });
        }
        Ok(sum.unwrap_or_else(|| self.number(0)))
    }

    /// Whether an index is sure to be below a length.
    pub(crate) fn is_below(&self, index: ExprId, length: &Quantity) -> bool {
        let Some(form) = self.form(index) else { return false };
        if let (Some(n), Some(limit)) = (form.as_constant().and_then(|n| n.as_literal()), length.as_literal())
        {
            return n < limit;
        }
        let Some((_, Some(total))) = form.digits(&self.leaves) else { return false };
        total == *length && self.cx.is_length(length) && !form.0.is_empty()
    }
}
