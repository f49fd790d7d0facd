//! The launch contract: conditions on lengths, parameters and extents that proofs of a kernel rest on.
//!
//! A driver evaluates them on the host for each launch, in exact arithmetic; where one fails it uses the
//! kernel that was lowered without them.

mod bytes;
pub(crate) mod poly;

use vyre_foundation::launch::ResolvedLaunch;

use self::poly::{Atom, Atoms, Poly};

/// What must hold of a launch for a kernel to be right. Without conditions, every launch will do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contract {
    /// Atoms that the conditions read; each reads only those before it.
    atoms: Vec<Atom>,
    conditions: Vec<Condition>,
}

/// One condition: a polynomial is at least 0.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Condition {
    poly: Poly,
    text: String,
}

/// Bytes of an atom's text, at most.
const MOST_TEXT: usize = 160;

impl Contract {
    /// Whether there is nothing to check.
    pub fn is_empty(&self) -> bool {
        self.conditions.is_empty()
    }

    /// The conditions as text, by number.
    pub fn conditions(&self) -> impl Iterator<Item = &str> {
        self.conditions.iter().map(|condition| condition.text.as_str())
    }

    /// Whether every condition holds of a launch. A condition whose arithmetic leaves 128 bits does not.
    pub fn holds(&self, launch: &ResolvedLaunch) -> bool {
        if self.conditions.is_empty() {
            return true;
        }
        let mut values: Vec<Option<i128>> = Vec::with_capacity(self.atoms.len());
        for atom in &self.atoms {
            let value = match atom {
                Atom::Length(id) => launch.lengths.get(id.index()).map(|&n| i128::from(n)),
                Atom::Param(id) => launch.params.get(id.index()).and_then(|value| value.as_int()),
                Atom::Extent(axis) => Some(i128::from(launch.extent[axis.index()])),
                Atom::Quotient(a, b) => {
                    let divisor = b.eval(&values).filter(|&n| n > 0);
                    a.eval(&values).zip(divisor).and_then(|(a, b)| a.checked_div_euclid(b))
                }
                Atom::Min(a, b) => a.eval(&values).zip(b.eval(&values)).map(|(a, b)| a.min(b)),
                Atom::Max(a, b) => a.eval(&values).zip(b.eval(&values)).map(|(a, b)| a.max(b)),
            };
            values.push(value);
        }
        self.conditions.iter().all(|condition| condition.poly.eval(&values).is_some_and(|n| n >= 0))
    }

    /// The contract of these conditions, with the atoms that they read. `name` gives an atom without
    /// operands its name.
    pub(crate) fn new(atoms: &Atoms, conditions: &[Poly], name: &dyn Fn(&Atom) -> String) -> Self {
        let mut used = vec![false; atoms.list.len()];
        let mark = |poly: &Poly, used: &mut Vec<bool>| poly.atoms().for_each(|id| used[id as usize] = true);
        for poly in conditions {
            mark(poly, &mut used);
        }
        // Atoms read only those before them.
        for (i, atom) in atoms.list.iter().enumerate().rev() {
            if let (true, Atom::Quotient(a, b) | Atom::Min(a, b) | Atom::Max(a, b)) = (used[i], atom) {
                mark(a, &mut used);
                mark(b, &mut used);
            }
        }
        let mut numbers = vec![0u32; atoms.list.len()];
        let mut contract = Self::default();
        let mut texts: Vec<String> = Vec::with_capacity(atoms.list.len());
        for (i, atom) in atoms.list.iter().enumerate() {
            if !used[i] {
                texts.push(String::new());
                continue;
            }
            let renumbered = |p: &Poly| p.renumbered(&mut |id| numbers[id as usize]);
            let side = |p: &Poly| p.text(&|id| texts[id as usize].clone());
            let (own, text) = match atom {
                Atom::Quotient(a, b) => {
                    (Atom::Quotient(renumbered(a), renumbered(b)), format!("div({}, {})", side(a), side(b)))
                }
                Atom::Min(a, b) => {
                    (Atom::Min(renumbered(a), renumbered(b)), format!("min({}, {})", side(a), side(b)))
                }
                Atom::Max(a, b) => {
                    (Atom::Max(renumbered(a), renumbered(b)), format!("max({}, {})", side(a), side(b)))
                }
                leaf => (leaf.clone(), name(leaf)),
            };
            numbers[i] = contract.atoms.len() as u32;
            contract.atoms.push(own);
            // Texts of texts could grow without end.
            texts.push(if text.len() > MOST_TEXT { format!("value {i}") } else { text });
        }
        for poly in conditions {
            let (left, right) = poly.sides();
            let side = |p: &Poly| p.text(&|id| texts[id as usize].clone());
            let text = format!("{} >= {}", side(&left), side(&right));
            contract
                .conditions
                .push(Condition { poly: poly.renumbered(&mut |id| numbers[id as usize]), text });
        }
        contract
    }
}
