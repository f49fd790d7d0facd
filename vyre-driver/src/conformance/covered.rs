//! What the suite runs, op by op and type by type: documentation lists nothing else.

use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_spec::ops::{AtomicOp, BinaryOp, CastOp, SubgroupOp, TernaryOp, UnaryOp};
use vyre_spec::{DataType, ErrorBound, NanRule};

use super::{lanes, ops};

/// A row of an op table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    /// An op of one operand.
    Unary(UnaryOp),
    /// An op of two operands.
    Binary(BinaryOp),
    /// An op of three operands.
    Ternary(TernaryOp),
    /// A conversion.
    Cast(CastOp),
    /// An atomic op on an element of a buffer.
    Atomic(AtomicOp),
    /// An op over the lanes of a subgroup.
    Subgroup(SubgroupOp),
}

macro_rules! of_row {
    ($self:ident, $op:ident => $value:expr) => {
        match $self {
            Row::Unary($op) => $value,
            Row::Binary($op) => $value,
            Row::Ternary($op) => $value,
            Row::Cast($op) => $value,
            Row::Atomic($op) => $value,
            Row::Subgroup($op) => $value,
        }
    };
}

impl Row {
    /// The op's name in text.
    pub const fn name(self) -> &'static str {
        of_row!(self, op => op.name())
    }

    /// Its infix or prefix symbol and precedence, if it has one.
    pub const fn symbol(self) -> Option<(&'static str, u8)> {
        of_row!(self, op => op.symbol())
    }

    /// What it computes, and where its bound is from.
    pub const fn doc(self) -> &'static str {
        of_row!(self, op => op.doc())
    }

    /// What it makes of NaN.
    pub const fn nan_rule(self) -> NanRule {
        match self {
            Self::Unary(op) => op.nan_rule(),
            Self::Binary(op) => op.nan_rule(),
            Self::Ternary(op) => op.nan_rule(),
            Self::Cast(_) | Self::Atomic(_) | Self::Subgroup(_) => NanRule::AsEvaluated,
        }
    }

    /// How far a device may be off.
    pub const fn bound(self) -> ErrorBound {
        match self {
            Self::Unary(op) => op.bound(),
            Self::Binary(op) => op.bound(),
            Self::Ternary(op) => op.bound(),
            Self::Cast(_) | Self::Atomic(_) | Self::Subgroup(_) => ErrorBound::Exact,
        }
    }
}

/// An op at its types, as the suite runs it.
#[derive(Clone, Debug)]
pub struct Covered {
    /// The op.
    pub row: Row,
    /// The operands' types; the first decides which evaluation it is.
    pub operands: Vec<DataType>,
    /// The result's.
    pub result: DataType,
    /// A program of loads, the op and a store.
    pub program: Checked<Program>,
}

/// Every op and type that [`super::ops`], [`super::atomics`] and [`super::subgroups`] run, table by table.
pub fn covered() -> Vec<Covered> {
    ops::covered().into_iter().chain(lanes::covered()).collect()
}
