//! The ids of operations.

use std::collections::HashSet;
use std::fmt;
use std::sync::OnceLock;

use vyre_spec::ops::{AtomicOp, BinaryOp, CastOp, SubgroupOp, TernaryOp, UnaryOp};

/// An operation of the tables in [`vyre_spec::ops`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OpId {
    /// Of one operand.
    Unary(UnaryOp),
    /// Of two operands.
    Binary(BinaryOp),
    /// Of three operands.
    Ternary(TernaryOp),
    /// A conversion.
    Cast(CastOp),
    /// Of an array's element, at once.
    Atomic(AtomicOp),
    /// Of the lanes of a subgroup.
    Subgroup(SubgroupOp),
}

impl OpId {
    /// The op's name in text form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unary(op) => op.name(),
            Self::Binary(op) => op.name(),
            Self::Ternary(op) => op.name(),
            Self::Cast(op) => op.name(),
            Self::Atomic(op) => op.name(),
            Self::Subgroup(op) => op.name(),
        }
    }

    /// Every op, table by table, in row order.
    pub fn all() -> impl Iterator<Item = Self> {
        let values = UnaryOp::ALL.iter().map(|&op| Self::Unary(op));
        let values = values.chain(BinaryOp::ALL.iter().map(|&op| Self::Binary(op)));
        let values = values.chain(TernaryOp::ALL.iter().map(|&op| Self::Ternary(op)));
        let values = values.chain(CastOp::ALL.iter().map(|&op| Self::Cast(op)));
        let values = values.chain(AtomicOp::ALL.iter().map(|&op| Self::Atomic(op)));
        values.chain(SubgroupOp::ALL.iter().map(|&op| Self::Subgroup(op)))
    }

    /// Every op, those of subgroups only if asked for.
    pub(crate) fn set(subgroups: bool) -> &'static HashSet<Self> {
        static WITH: OnceLock<HashSet<OpId>> = OnceLock::new();
        static WITHOUT: OnceLock<HashSet<OpId>> = OnceLock::new();
        let cell = if subgroups { &WITH } else { &WITHOUT };
        cell.get_or_init(|| Self::all().filter(|op| subgroups || !matches!(op, Self::Subgroup(_))).collect())
    }
}

impl fmt::Display for OpId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
