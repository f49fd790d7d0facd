//! Polynomials over what the host knows at each launch: lengths, parameters and extents.
//!
//! They are exact: coefficients are `i128`, and whatever does not fit gives nothing instead of wrapping.

use std::collections::HashMap;

use vyre_foundation::ir::{BufferId, ParamId};
use vyre_spec::Axis;

/// A value that the host knows at launch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Atom {
    /// Elements of a buffer whose count comes from the bound bytes.
    Length(BufferId),
    /// An integer parameter.
    Param(ParamId),
    /// Workgroups of the launch.
    Extent(Axis),
    /// A quotient rounded down; the divisor is at least 1, or there is no value.
    Quotient(Poly, Poly),
    /// The smaller.
    Min(Poly, Poly),
    /// The larger.
    Max(Poly, Poly),
}

/// An atom's position in its table.
type AtomId = u32;

/// A product of up to [`DEGREE`] atoms, in order; unused places hold [`NONE`].
type Monomial = [AtomId; DEGREE];

pub(super) const DEGREE: usize = 3;
pub(super) const NONE: AtomId = AtomId::MAX;

/// Terms of a polynomial, at most. More than that is not worth knowing.
const MOST_TERMS: usize = 10;

/// Atoms with operands of a program, at most. More than that is not worth knowing.
const MOST_COMPOSED: usize = 1 << 12;

/// The least and the greatest value.
pub(crate) type Interval = (i128, i128);

/// What is known about a number of which nothing is known.
pub(crate) const ANYTHING: Interval = (i128::MIN, i128::MAX);

/// A polynomial in normal form: terms by their monomials, none with coefficient 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Poly {
    pub(crate) constant: i128,
    pub(super) terms: Vec<(Monomial, i128)>,
}

impl From<i128> for Poly {
    fn from(constant: i128) -> Self {
        Self { constant, terms: Vec::new() }
    }
}

impl Poly {
    fn atom(id: AtomId) -> Self {
        Self { constant: 0, terms: vec![([id, NONE, NONE], 1)] }
    }

    /// The value, if it is a constant.
    pub(crate) fn as_constant(&self) -> Option<i128> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The atom, if it is just that.
    pub(crate) fn as_atom(&self) -> Option<AtomId> {
        match self.terms[..] {
            [([id, NONE, NONE], 1)] if self.constant == 0 => Some(id),
            _ => None,
        }
    }

    /// The atoms that it reads.
    pub(crate) fn atoms(&self) -> impl Iterator<Item = AtomId> + '_ {
        self.terms.iter().flat_map(|(monomial, _)| monomial.iter().copied()).filter(|&id| id != NONE)
    }

    /// The same over atoms with other numbers.
    pub(crate) fn renumbered(&self, number: &mut impl FnMut(AtomId) -> AtomId) -> Self {
        let mut terms = Vec::with_capacity(self.terms.len());
        for &(monomial, coefficient) in &self.terms {
            let mut other = monomial.map(|id| if id == NONE { NONE } else { number(id) });
            other.sort_unstable();
            terms.push((other, coefficient));
        }
        terms.sort_unstable();
        Self { constant: self.constant, terms }
    }

    /// `self + scale × other`.
    pub(crate) fn add_scaled(&self, other: &Self, scale: i128) -> Option<Self> {
        let constant = self.constant.checked_add(other.constant.checked_mul(scale)?)?;
        if other.terms.is_empty() {
            return Some(Self { constant, terms: self.terms.clone() });
        }
        let mut terms = self.terms.clone();
        for &(monomial, coefficient) in &other.terms {
            let coefficient = coefficient.checked_mul(scale)?;
            match terms.binary_search_by_key(&monomial, |term| term.0) {
                Ok(at) => {
                    terms[at].1 = terms[at].1.checked_add(coefficient)?;
                    if terms[at].1 == 0 {
                        terms.remove(at);
                    }
                }
                Err(at) if coefficient != 0 => terms.insert(at, (monomial, coefficient)),
                Err(_) => {}
            }
        }
        (terms.len() <= MOST_TERMS).then_some(Self { constant, terms })
    }

    pub(crate) fn add(&self, other: &Self) -> Option<Self> {
        self.add_scaled(other, 1)
    }

    pub(crate) fn sub(&self, other: &Self) -> Option<Self> {
        self.add_scaled(other, -1)
    }

    /// `self + n`.
    pub(crate) fn plus(&self, n: i128) -> Option<Self> {
        Some(Self { constant: self.constant.checked_add(n)?, terms: self.terms.clone() })
    }

    pub(crate) fn scaled(&self, scale: i128) -> Option<Self> {
        Self::default().add_scaled(self, scale)
    }

    pub(crate) fn mul(&self, other: &Self) -> Option<Self> {
        let mut product = self.scaled(other.constant)?;
        for &(right, factor) in &other.terms {
            let mut partial = Self::default();
            if self.constant != 0 {
                partial.terms.push((right, self.constant.checked_mul(factor)?));
            }
            for &(left, coefficient) in &self.terms {
                let term = (times(left, right)?, coefficient.checked_mul(factor)?);
                partial = partial.add(&Self { constant: 0, terms: vec![term] })?;
            }
            product = product.add(&partial)?;
        }
        Some(product)
    }

    /// The quotient by a constant, where every coefficient is a multiple of it.
    fn exact_quotient(&self, divisor: i128) -> Option<Self> {
        let exact = |n: i128| (n % divisor == 0).then_some(n / divisor);
        let terms: Option<Vec<_>> = self.terms.iter().map(|&(m, c)| Some((m, exact(c)?))).collect();
        Some(Self { constant: exact(self.constant)?, terms: terms? })
    }

    /// The value for the values of the atoms.
    pub(crate) fn eval(&self, values: &[Option<i128>]) -> Option<i128> {
        let mut sum = self.constant;
        for &(monomial, coefficient) in &self.terms {
            let mut product = coefficient;
            for id in monomial.into_iter().filter(|&id| id != NONE) {
                product = product.checked_mul(values.get(id as usize).copied().flatten()?)?;
            }
            sum = sum.checked_add(product)?;
        }
        Some(sum)
    }

    /// Its positive and its negative part: `self = positive − negative`.
    pub(crate) fn sides(&self) -> (Self, Self) {
        let mut sides = (Self::from(self.constant.max(0)), Self::from(self.constant.min(0).saturating_neg()));
        for &(monomial, coefficient) in &self.terms {
            if coefficient > 0 {
                sides.0.terms.push((monomial, coefficient));
            } else {
                sides.1.terms.push((monomial, coefficient.saturating_neg()));
            }
        }
        sides
    }

    /// Its terms as text.
    pub(crate) fn text(&self, atom: &impl Fn(AtomId) -> String) -> String {
        let mut parts = Vec::new();
        for &(monomial, coefficient) in &self.terms {
            let mut factors: Vec<String> = monomial.into_iter().filter(|&id| id != NONE).map(atom).collect();
            if coefficient != 1 {
                factors.insert(0, coefficient.to_string());
            }
            parts.push(factors.join(" * "));
        }
        if self.constant != 0 || parts.is_empty() {
            parts.push(self.constant.to_string());
        }
        parts.join(" + ").replace("+ -", "- ")
    }
}

/// The product of two monomials, if it is not too long.
fn times(a: Monomial, b: Monomial) -> Option<Monomial> {
    let mut factors: Vec<AtomId> = a.into_iter().chain(b).filter(|&id| id != NONE).collect();
    factors.sort_unstable();
    factors.resize(DEGREE.max(factors.len()), NONE);
    factors.try_into().ok()
}

fn product(a: Interval, b: Interval) -> Interval {
    let products = [(a.0, b.0), (a.0, b.1), (a.1, b.0), (a.1, b.1)].map(|(x, y)| x.checked_mul(y));
    let known: Vec<i128> = products.into_iter().flatten().collect();
    match (known.len(), known.iter().min(), known.iter().max()) {
        (4, Some(&low), Some(&high)) => (low, high),
        _ => ANYTHING,
    }
}

fn sum(a: Interval, b: Interval) -> Interval {
    match (a.0.checked_add(b.0), a.1.checked_add(b.1)) {
        (Some(low), Some(high)) => (low, high),
        _ => ANYTHING,
    }
}

/// The atoms of a program, each once, and what is known of them.
#[derive(Debug, Default)]
pub(crate) struct Atoms {
    pub(crate) list: Vec<Atom>,
    bounds: Vec<Interval>,
    /// For looking up only.
    known: HashMap<Atom, AtomId>,
    /// Polynomials that are never negative where the kernel runs.
    facts: Vec<Poly>,
}

/// Facts that are kept, at most.
const MOST_FACTS: usize = 24;

/// How deep a proof replaces atoms by their bounds, and how often in all.
const PATIENCE: u32 = 4;
const FUEL: u32 = 64;

impl Atoms {
    /// The polynomial that is just this atom, which lies in the interval.
    pub(crate) fn leaf(&mut self, atom: Atom, bounds: Interval) -> Poly {
        if let Some(&id) = self.known.get(&atom) {
            return Poly::atom(id);
        }
        let id = self.list.len() as AtomId;
        self.known.insert(atom.clone(), id);
        self.list.push(atom);
        self.bounds.push(bounds);
        Poly::atom(id)
    }

    /// As [`Atoms::leaf`], of an atom with operands.
    fn composed(&mut self, atom: Atom, bounds: Interval) -> Option<Poly> {
        let known = self.known.contains_key(&atom);
        (known || self.list.len() < MOST_COMPOSED).then(|| self.leaf(atom, bounds))
    }

    /// Adds what is known: the polynomial lies in the interval wherever the kernel runs.
    pub(crate) fn learn(&mut self, poly: &Poly, (low, high): Interval) {
        if let Some(id) = poly.as_atom() {
            let bounds = &mut self.bounds[id as usize];
            *bounds = (bounds.0.max(low), bounds.1.min(high));
            return;
        }
        if poly.as_constant().is_some() {
            return;
        }
        let above = poly.plus(low.saturating_neg());
        let below = Poly::from(high).sub(poly);
        for fact in [above, below].into_iter().flatten() {
            if self.facts.len() < MOST_FACTS && !self.facts.contains(&fact) {
                self.facts.push(fact);
            }
        }
    }

    /// The quotient rounded down, of a divisor that is at least 1.
    pub(crate) fn quotient(&mut self, a: &Poly, b: &Poly) -> Option<Poly> {
        if let Some(divisor) = b.as_constant().filter(|&n| n > 0) {
            if let Some(n) = a.as_constant() {
                return Some(Poly::from(n.div_euclid(divisor)));
            }
            if let Some(exact) = a.exact_quotient(divisor) {
                return Some(exact);
            }
        }
        let (numerator, divisor) = (self.bounds(a), self.bounds(b));
        // A divisor above 1 brings a number nearer to 0, and never past -1.
        let bounds = match b.as_constant() {
            Some(n) if n > 0 && numerator != ANYTHING => {
                (numerator.0.div_euclid(n), numerator.1.div_euclid(n))
            }
            _ if divisor.0 >= 1 => (numerator.0.min(0), numerator.1.max(-1)),
            _ => ANYTHING,
        };
        self.composed(Atom::Quotient(a.clone(), b.clone()), bounds)
    }

    /// The smaller.
    pub(crate) fn min(&mut self, a: &Poly, b: &Poly) -> Option<Poly> {
        if self.at_most(a, b) {
            return Some(a.clone());
        }
        if self.at_most(b, a) {
            return Some(b.clone());
        }
        let ((a0, a1), (b0, b1)) = (self.bounds(a), self.bounds(b));
        let (a, b) = if a <= b { (a, b) } else { (b, a) };
        self.composed(Atom::Min(a.clone(), b.clone()), (a0.min(b0), a1.min(b1)))
    }

    /// The larger.
    pub(crate) fn max(&mut self, a: &Poly, b: &Poly) -> Option<Poly> {
        if self.at_most(a, b) {
            return Some(b.clone());
        }
        if self.at_most(b, a) {
            return Some(a.clone());
        }
        let ((a0, a1), (b0, b1)) = (self.bounds(a), self.bounds(b));
        let (a, b) = if a <= b { (a, b) } else { (b, a) };
        self.composed(Atom::Max(a.clone(), b.clone()), (a0.max(b0), a1.max(b1)))
    }

    /// The interval that the bounds of the atoms give.
    pub(crate) fn bounds(&self, poly: &Poly) -> Interval {
        let mut total = (poly.constant, poly.constant);
        for &(monomial, coefficient) in &poly.terms {
            let mut term = (coefficient, coefficient);
            for id in monomial.into_iter().filter(|&id| id != NONE) {
                term = product(term, self.bounds.get(id as usize).copied().unwrap_or(ANYTHING));
            }
            total = sum(total, term);
        }
        total
    }

    /// Whether `a ≤ b` wherever the kernel runs.
    pub(crate) fn at_most(&self, a: &Poly, b: &Poly) -> bool {
        b.sub(a).is_some_and(|difference| self.never_negative(&difference))
    }

    /// Whether the polynomial is at least 0 wherever the kernel runs. `false` says nothing.
    pub(crate) fn never_negative(&self, poly: &Poly) -> bool {
        if self.bounds(poly).0 >= 0 {
            return true;
        }
        if poly.terms.is_empty() {
            return false;
        }
        let mut fuel = FUEL;
        if self.replaced(poly, PATIENCE, &mut fuel) {
            return true;
        }
        self.facts
            .iter()
            .any(|fact| poly.sub(fact).is_some_and(|rest| self.holds(&rest, PATIENCE / 2, &mut fuel)))
    }

    fn holds(&self, poly: &Poly, patience: u32, fuel: &mut u32) -> bool {
        self.bounds(poly).0 >= 0 || self.replaced(poly, patience, fuel)
    }

    /// Whether the polynomial is at least 0 when an atom gives way to what bounds it. Goes no deeper than
    /// `patience`.
    fn replaced(&self, poly: &Poly, patience: u32, fuel: &mut u32) -> bool {
        let Some(patience) = patience.checked_sub(1) else { return false };
        let mut holds = |other: Option<Poly>| {
            let Some(left) = fuel.checked_sub(1) else { return false };
            *fuel = left;
            other.is_some_and(|p| self.holds(&p, patience, fuel))
        };
        for (at, &(monomial, coefficient)) in poly.terms.iter().enumerate() {
            for (place, &id) in monomial.iter().enumerate().filter(|&(_, &id)| id != NONE) {
                let mut rest = monomial;
                rest[place] = NONE;
                rest.sort_unstable();
                // The other factors must not turn the inequality round.
                let factor = |id: &AtomId| *id == NONE || self.bounds[*id as usize].0 >= 0;
                if !rest.iter().all(factor) {
                    continue;
                }
                let rest = match rest {
                    [NONE, ..] => Poly::from(1),
                    _ => Poly { constant: 0, terms: vec![(rest, 1)] },
                };
                // The polynomial with the atom replaced by `bound`, all times `scale`.
                let with = |bound: &Poly, scale: i128| {
                    let mut others = poly.clone();
                    others.terms.remove(at);
                    others.scaled(scale)?.add(&rest.mul(bound)?.scaled(coefficient)?)
                };
                let found = match &self.list[id as usize] {
                    Atom::Min(a, b) if coefficient < 0 => holds(with(a, 1)) || holds(with(b, 1)),
                    Atom::Min(a, b) => holds(with(a, 1)) && holds(with(b, 1)),
                    Atom::Max(a, b) if coefficient > 0 => holds(with(a, 1)) || holds(with(b, 1)),
                    Atom::Max(a, b) => holds(with(a, 1)) && holds(with(b, 1)),
                    Atom::Quotient(a, b) => match b.as_constant() {
                        // a − (n − 1) ≤ n × quotient ≤ a.
                        Some(n) if n > 0 && coefficient < 0 => holds(with(a, n)),
                        Some(n) if n > 0 => a.plus(1 - n).is_some_and(|low| holds(with(&low, n))),
                        _ => false,
                    },
                    _ => false,
                };
                if found {
                    return true;
                }
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORD: Interval = (0, u32::MAX as i128);

    fn two(atoms: &mut Atoms) -> (Poly, Poly) {
        let n = atoms.leaf(Atom::Param(ParamId::new(0)), WORD);
        let m = atoms.leaf(Atom::Param(ParamId::new(1)), WORD);
        (n, m)
    }

    #[test]
    fn products_are_expanded_and_terms_cancel() {
        let mut atoms = Atoms::default();
        let (n, m) = two(&mut atoms);
        // (n - 1) m + m - 1 = n m - 1.
        let last = n.plus(-1).unwrap().mul(&m).unwrap().add(&m.plus(-1).unwrap()).unwrap();
        let area = n.mul(&m).unwrap();
        assert_eq!(last, area.plus(-1).unwrap());
        assert!(atoms.at_most(&last, &area));
        assert!(!atoms.at_most(&area, &last));
        assert_eq!(area.eval(&[Some(6), Some(7)]), Some(42));
        assert_eq!(area.eval(&[Some(6), None]), None);
        let huge = Poly::from(i128::MAX);
        assert_eq!(huge.plus(1), None);
        assert_eq!(huge.mul(&Poly::from(2)), None);
    }

    #[test]
    fn quotients_are_bounded_by_what_they_divide() {
        let mut atoms = Atoms::default();
        let (n, m) = two(&mut atoms);
        let rounded = |atoms: &mut Atoms, p: &Poly| {
            let quotient = atoms.quotient(p, &Poly::from(16)).unwrap();
            quotient.scaled(16).unwrap()
        };
        let down = rounded(&mut atoms, &n);
        let up = rounded(&mut atoms, &n.plus(15).unwrap());
        assert!(atoms.at_most(&down, &n) && atoms.at_most(&n, &up));
        assert!(!atoms.at_most(&n, &down) && !atoms.at_most(&up, &n));
        assert!(atoms.at_most(&up, &n.plus(15).unwrap()));
        assert!(!atoms.at_most(&up, &n.plus(14).unwrap()));
        // A third does not reach a half.
        let third = atoms.quotient(&m, &Poly::from(3)).unwrap();
        assert!(atoms.at_most(&third.scaled(3).unwrap(), &m));
        assert!(!atoms.at_most(&third.scaled(4).unwrap(), &m));
        assert_eq!(atoms.quotient(&n.scaled(8).unwrap(), &Poly::from(4)), n.scaled(2));
        assert_eq!(atoms.quotient(&Poly::from(-1), &Poly::from(4)), Some(Poly::from(-1)));
    }

    #[test]
    fn minima_and_maxima_are_bounded_on_their_own_side_only() {
        let mut atoms = Atoms::default();
        let (n, m) = two(&mut atoms);
        let (least, most) = (atoms.min(&n, &m).unwrap(), atoms.max(&n, &m).unwrap());
        assert!(atoms.at_most(&least, &n) && atoms.at_most(&least, &m));
        assert!(atoms.at_most(&n, &most) && atoms.at_most(&m, &most));
        assert!(atoms.at_most(&least, &most));
        assert!(!atoms.at_most(&n, &least) && !atoms.at_most(&most, &m));
        // Under a factor that may be negative nothing is known.
        let x = atoms.leaf(Atom::Param(ParamId::new(2)), (-5, 5));
        let (a, b) = (x.mul(&least).unwrap(), x.mul(&n).unwrap());
        assert!(!atoms.at_most(&a, &b) && !atoms.at_most(&b, &a));
    }

    #[test]
    fn facts_prove_what_bounds_do_not() {
        let mut atoms = Atoms::default();
        let (n, m) = two(&mut atoms);
        let area = n.mul(&m).unwrap();
        let limit = Poly::from(i128::from(u32::MAX));
        assert!(!atoms.at_most(&area, &limit));
        atoms.learn(&area, WORD);
        assert!(atoms.at_most(&area, &limit));
        assert!(atoms.at_most(&area.plus(-1).unwrap(), &limit));
        assert!(!atoms.at_most(&area.plus(1).unwrap(), &limit));
        assert!(!atoms.at_most(&Poly::from(1), &n));
        atoms.learn(&n, (1, 100));
        assert!(atoms.at_most(&Poly::from(1), &n) && atoms.at_most(&n, &Poly::from(100)));
    }
}
