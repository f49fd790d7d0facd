//! The operations of host-side extents in text and wire form, one row each.

use super::{Extent, ExtentId};

/// One operation of two extents.
#[derive(Clone, Copy)]
pub(crate) struct ExtentOp {
    /// Its wire tag.
    pub(crate) tag: u8,
    /// Its name in a call, or its symbol.
    pub(crate) text: &'static str,
    /// The symbol's binding strength; 0 for a name.
    pub(crate) precedence: u8,
    /// Makes the extent.
    pub(crate) make: fn(ExtentId, ExtentId) -> Extent,
    /// The value; `None` where it is outside of 0 to 2^64 - 1 or divides by zero.
    pub(crate) eval: fn(u64, u64) -> Option<u64>,
}

const OPS: [ExtentOp; 6] = [
    ExtentOp { tag: 3, text: "+", precedence: 11, make: Extent::Add, eval: u64::checked_add },
    ExtentOp { tag: 4, text: "-", precedence: 11, make: Extent::Sub, eval: u64::checked_sub },
    ExtentOp { tag: 5, text: "*", precedence: 12, make: Extent::Mul, eval: u64::checked_mul },
    ExtentOp {
        tag: 6,
        text: "ceil_div",
        precedence: 0,
        make: Extent::CeilDiv,
        eval: |a, b| (b != 0).then(|| a.div_ceil(b.max(1))),
    },
    ExtentOp { tag: 7, text: "min", precedence: 0, make: Extent::Min, eval: |a, b| Some(a.min(b)) },
    ExtentOp { tag: 8, text: "max", precedence: 0, make: Extent::Max, eval: |a, b| Some(a.max(b)) },
];

impl ExtentOp {
    /// The operation with this symbol.
    pub(crate) fn from_symbol(symbol: &str) -> Option<Self> {
        OPS.into_iter().find(|op| op.precedence > 0 && op.text == symbol)
    }

    /// The operation with this name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        OPS.into_iter().find(|op| op.precedence == 0 && op.text == name)
    }

    /// The operation with this wire tag.
    pub(crate) fn from_tag(tag: u8) -> Option<Self> {
        OPS.into_iter().find(|op| op.tag == tag)
    }

    /// The operation and operands of an extent that has operands.
    pub(crate) fn of(extent: Extent) -> Option<(Self, ExtentId, ExtentId)> {
        let [a, b] = extent.operands()?;
        let op = OPS.into_iter().find(|op| (op.make)(a, b) == extent)?;
        Some((op, a, b))
    }

    /// The names, for suggestions.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        OPS.into_iter().filter(|op| op.precedence == 0).map(|op| op.text)
    }
}
