//! Host quantities, such as lengths and extents, in a form in which equal ones are found to be equal: a product of a
//! literal and of atoms.
//!
//! An atom is a dimension, a parameter of the graph, or a sum, difference, rounded-up quotient, minimum or maximum of two
//! quantities. Equality here is proof that two are equal at every launch; inequality proves nothing.

use std::collections::BTreeMap;

use vyre_foundation::graph::{DimId, GraphParamId};

/// An operation that is no product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Op {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Quotient, rounded up.
    CeilDiv,
    /// The smaller.
    Min,
    /// The larger.
    Max,
}

/// What a quantity is a product of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Atom {
    /// A dimension that is a symbol.
    Symbol(DimId),
    /// A parameter of the graph.
    Param(GraphParamId),
    /// An operation of two quantities.
    Op(Op, Quantity, Quantity),
    /// The number of workgroups that a buffer has, or something else of which nothing is known.
    Unknown(u32),
}

/// Factors of a quantity, at most: a dimension can be a square of squares, with more factors than memory has room for.
const MOST_ATOMS: usize = 64;

/// A product of a literal and atoms.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Quantity {
    factor: u64,
    /// Positions in the table of [`Quantities`], in ascending order, each as often as it is a factor.
    atoms: Vec<u32>,
}

impl Quantity {
    /// A number.
    pub(crate) fn literal(factor: u64) -> Self {
        Self { factor, atoms: Vec::new() }
    }

    /// 1.
    pub(crate) fn one() -> Self {
        Self::literal(1)
    }

    /// The number, if it is one.
    pub(crate) fn as_literal(&self) -> Option<u64> {
        self.atoms.is_empty().then_some(self.factor)
    }

    /// Whether it is 1.
    pub(crate) fn is_one(&self) -> bool {
        self.as_literal() == Some(1)
    }

    /// The literal factor.
    pub(crate) fn factor(&self) -> u64 {
        self.factor
    }

    /// The atoms, as positions in the table.
    pub(crate) fn atoms(&self) -> &[u32] {
        &self.atoms
    }

    /// The product; `None` if its literal does not fit, or it has too many factors.
    pub(crate) fn times(&self, other: &Self) -> Option<Self> {
        let factor = self.factor.checked_mul(other.factor)?;
        if factor == 0 {
            return Some(Self::literal(0));
        }
        if self.atoms.len() + other.atoms.len() > MOST_ATOMS {
            return None;
        }
        let mut atoms: Vec<u32> = self.atoms.iter().chain(&other.atoms).copied().collect();
        atoms.sort_unstable();
        Some(Self { factor, atoms })
    }

    /// What times `other` this is, if that shows in its factors.
    pub(crate) fn divided_by(&self, other: &Self) -> Option<Self> {
        if other.factor == 0 || !self.factor.is_multiple_of(other.factor) {
            return None;
        }
        let mut atoms = self.atoms.clone();
        for atom in &other.atoms {
            let at = atoms.binary_search(atom).ok()?;
            atoms.remove(at);
        }
        Some(Self { factor: self.factor / other.factor, atoms })
    }
}

/// The table of atoms.
#[derive(Clone, Debug, Default)]
pub(crate) struct Quantities {
    atoms: Vec<Atom>,
    known: BTreeMap<Atom, u32>,
    unknowns: u32,
}

impl Quantities {
    /// The quantity that an atom is.
    pub(crate) fn atom(&mut self, atom: Atom) -> Quantity {
        let next = self.atoms.len() as u32;
        let position = *self.known.entry(atom.clone()).or_insert(next);
        if position == next {
            self.atoms.push(atom);
        }
        Quantity { factor: 1, atoms: vec![position] }
    }

    /// A quantity that is equal to no other.
    pub(crate) fn unknown(&mut self) -> Quantity {
        self.unknowns += 1;
        self.atom(Atom::Unknown(self.unknowns))
    }

    /// The atom at a position.
    pub(crate) fn get(&self, position: u32) -> Option<&Atom> {
        self.atoms.get(position as usize)
    }

    /// The quantity that the atom at a position is.
    pub(crate) fn at(&self, position: u32) -> Quantity {
        Quantity { factor: 1, atoms: vec![position] }
    }

    /// The product.
    pub(crate) fn product(&mut self, a: &Quantity, b: &Quantity) -> Quantity {
        match a.times(b) {
            Some(product) => product,
            // The launch is an error then, unless almost all of its factors are 1 or one is 0.
            None => self.unknown(),
        }
    }

    /// The result of an operation; of two literals it is one, unless the host's arithmetic fails.
    pub(crate) fn op(&mut self, op: Op, a: Quantity, b: Quantity) -> Quantity {
        if let (Some(x), Some(y)) = (a.as_literal(), b.as_literal()) {
            let result = match op {
                Op::Add => x.checked_add(y),
                Op::Sub => x.checked_sub(y),
                Op::CeilDiv => (y > 0).then(|| x.div_ceil(y)),
                Op::Min => Some(x.min(y)),
                Op::Max => Some(x.max(y)),
            };
            return result.map_or_else(|| self.unknown(), Quantity::literal);
        }
        let commutes = matches!(op, Op::Add | Op::Min | Op::Max);
        let zero = Some(0);
        match op {
            Op::Add if a.as_literal() == zero => return b,
            Op::Add | Op::Sub if b.as_literal() == zero => return a,
            Op::CeilDiv if b.is_one() => return a,
            Op::Min | Op::Max if a == b => return a,
            _ => {}
        }
        let (a, b) = if commutes && b < a { (b, a) } else { (a, b) };
        self.atom(Atom::Op(op, a, b))
    }
}
