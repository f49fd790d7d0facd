//! What is known of an integer expression: the least and the greatest value, as host arithmetic.

use vyre_spec::DataType;

use crate::contract::poly::Poly;

/// The least and the greatest value. Where the code that computes the value does not run, it may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) lo: Poly,
    pub(crate) hi: Poly,
}

impl Range {
    pub(crate) fn new(lo: impl Into<Poly>, hi: impl Into<Poly>) -> Self {
        Self { lo: lo.into(), hi: hi.into() }
    }

    /// A single value.
    pub(crate) fn exactly(value: Poly) -> Self {
        Self { lo: value.clone(), hi: value }
    }

    /// The value, if there is only one and it is a constant.
    pub(crate) fn as_constant(&self) -> Option<i128> {
        self.lo.as_constant().filter(|_| self.lo == self.hi)
    }

    /// All values of an integer type.
    pub(crate) fn of_type(ty: DataType) -> Self {
        let bits = 8 * ty.size();
        if ty.is_signed_int() {
            Self::new(-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
        } else if ty == DataType::Bool {
            Self::new(0, 1)
        } else {
            Self::new(0, (1i128 << bits) - 1)
        }
    }
}

/// The range of an expression, and what it is when the launch keeps to a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fact {
    /// What always holds.
    pub(crate) sure: Range,
    /// What else holds under conditions.
    pub(crate) likely: Option<Box<Likely>>,
}

/// A range that holds where the needs are at least 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Likely {
    pub(crate) range: Range,
    pub(crate) needs: Vec<Poly>,
}

/// Conditions of one range, at most.
pub(crate) const MOST_NEEDS: usize = 6;

impl Fact {
    pub(crate) fn sure(range: Range) -> Self {
        Self { sure: range, likely: None }
    }

    /// The range under the most conditions.
    pub(crate) fn best(&self) -> &Range {
        self.likely.as_ref().map_or(&self.sure, |likely| &likely.range)
    }

    /// The conditions of [`Fact::best`].
    pub(crate) fn needs(&self) -> &[Poly] {
        self.likely.as_ref().map_or(&[], |likely| &likely.needs)
    }
}

/// Both lists, each condition once.
pub(crate) fn union(mut a: Vec<Poly>, b: &[Poly]) -> Vec<Poly> {
    for need in b {
        if !a.contains(need) {
            a.push(need.clone());
        }
    }
    a
}
