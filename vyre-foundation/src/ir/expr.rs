//! Pure expressions: total, free of time, safe to hoist.

use vyre_spec::ops::{BinaryOp, CastOp, TernaryOp, UnaryOp};
use vyre_spec::{BuiltIn, DataType, Value};

use super::{BufferId, ExprId, NodeId, ParamId};

/// A pure expression; what depends on time is a [`super::Node`] with a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// A constant.
    Literal(Value),
    /// A parameter of the dispatch.
    Param(ParamId),
    /// A value that the launch gives the invocation.
    BuiltIn(BuiltIn),
    /// The number of elements of a buffer, a `u32`.
    Length(BufferId),
    /// The result of a node.
    Result(NodeId),
    /// The variable of a counted loop.
    LoopVar(NodeId),
    /// An op of one operand.
    Unary(UnaryOp, ExprId),
    /// An op of two operands.
    Binary(BinaryOp, ExprId, ExprId),
    /// An op of three operands.
    Ternary(TernaryOp, ExprId, ExprId, ExprId),
    /// A conversion to the type.
    Cast(CastOp, DataType, ExprId),
}

impl Expr {
    /// The operands, in order.
    pub fn operands(&self) -> impl Iterator<Item = ExprId> + use<> {
        let (a, b, c) = match *self {
            Self::Unary(_, a) | Self::Cast(_, _, a) => (Some(a), None, None),
            Self::Binary(_, a, b) => (Some(a), Some(b), None),
            Self::Ternary(_, a, b, c) => (Some(a), Some(b), Some(c)),
            Self::Literal(_)
            | Self::Param(_)
            | Self::BuiltIn(_)
            | Self::Length(_)
            | Self::Result(_)
            | Self::LoopVar(_) => (None, None, None),
        };
        [a, b, c].into_iter().flatten()
    }

    /// The expression with each operand replaced by what `f` gives for it.
    #[must_use]
    pub fn map_operands(self, mut f: impl FnMut(ExprId) -> ExprId) -> Self {
        match self {
            Self::Unary(op, a) => Self::Unary(op, f(a)),
            Self::Binary(op, a, b) => {
                let a = f(a);
                Self::Binary(op, a, f(b))
            }
            Self::Ternary(op, a, b, c) => {
                let (a, b) = (f(a), f(b));
                Self::Ternary(op, a, b, f(c))
            }
            Self::Cast(op, ty, a) => Self::Cast(op, ty, f(a)),
            leaf => leaf,
        }
    }

    /// The node whose result or loop variable this reads.
    pub fn node(&self) -> Option<NodeId> {
        match *self {
            Self::Result(node) | Self::LoopVar(node) => Some(node),
            _ => None,
        }
    }
}
