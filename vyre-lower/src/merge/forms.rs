//! Indices as sums: which of them are neighbours, and which begin a vector.
//!
//! An index is the sum of a constant and of values times factors, all modulo 2^32: the [`Form`] of what
//! computes it. Indices with the same terms differ by the difference of their constants. Beside it stands how
//! many of a value's lowest bits are surely zero.

use std::collections::BTreeMap;

use vyre_spec::DataType;
use vyre_spec::ops::{BinaryOp, CastOp, TernaryOp};

use crate::kernel::{InstId, Op};
use crate::writer::Writer;

/// Terms of a sum, at most: a value with more is a term itself.
const MOST_TERMS: usize = 6;

/// Rounds in which the zeros of locals are looked for, before they are given up.
const MOST_ROUNDS: usize = 8;

/// Zeros of the constant 0, and of everything that nothing is known against yet.
const ALL: u32 = 32;

/// A sum modulo 2^32.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Form {
    /// Values and their factors, which are not zero; by value, each once.
    pub(super) terms: Vec<(InstId, u32)>,
    pub(super) constant: u32,
}

impl Form {
    fn of(value: InstId) -> Self {
        Self { terms: vec![(value, 1)], constant: 0 }
    }

    fn scaled(&self, factor: u32) -> Self {
        let terms = self.terms.iter().map(|&(value, by)| (value, by.wrapping_mul(factor)));
        Self {
            terms: terms.filter(|&(_, by)| by != 0).collect(),
            constant: self.constant.wrapping_mul(factor),
        }
    }

    fn plus(&self, other: &Self) -> Option<Self> {
        if self.terms.len() + other.terms.len() > 2 * MOST_TERMS {
            return None;
        }
        let mut terms: BTreeMap<InstId, u32> = self.terms.iter().copied().collect();
        for &(value, by) in &other.terms {
            let sum = terms.entry(value).or_default();
            *sum = sum.wrapping_add(by);
        }
        let terms: Vec<_> = terms.into_iter().filter(|&(_, by)| by != 0).collect();
        let constant = self.constant.wrapping_add(other.constant);
        (terms.len() <= MOST_TERMS).then_some(Self { terms, constant })
    }

    fn as_constant(&self) -> Option<u32> {
        self.terms.is_empty().then_some(self.constant)
    }
}

/// The forms of the values that are asked about.
pub(super) struct Forms {
    forms: BTreeMap<InstId, Form>,
    /// Lowest bits that are zero, of terms.
    zeros: BTreeMap<InstId, u32>,
}

impl Forms {
    /// Works out the forms of `asked`.
    pub(super) fn new(w: &Writer, asked: Vec<InstId>) -> Self {
        let values = closure(w, asked);
        let mut forms = BTreeMap::new();
        for &id in &values {
            let form = form(w, &forms, id);
            forms.insert(id, form);
        }
        let zeros = zeros(w, &forms, &values);
        Self { forms, zeros }
    }

    /// The index of the first element of the vector that an index stands in, and which element that is; `None`
    /// if the index is not surely so many elements after the beginning of a vector.
    pub(super) fn aligned(&self, index: InstId, width: u32) -> Option<(Form, u32)> {
        let form = self.forms.get(&index)?;
        let is_multiple = form.terms.iter().all(|&(value, by)| {
            let zeros = self.zeros.get(&value).copied().unwrap_or(0);
            by.trailing_zeros().saturating_add(zeros) >= width.trailing_zeros()
        });
        let element = form.constant % width;
        is_multiple.then(|| (Form { terms: form.terms.clone(), constant: form.constant - element }, element))
    }
}

fn is_word(w: &Writer, id: InstId) -> bool {
    matches!(w.ty(id), DataType::U32 | DataType::I32)
}

/// What forms and zeros depend on, operands before users.
fn closure(w: &Writer, asked: Vec<InstId>) -> Vec<InstId> {
    // Of each local, what is put into it.
    let mut sets: BTreeMap<u32, Vec<InstId>> = BTreeMap::new();
    for inst in &w.insts {
        if let Op::Set(local, value) = inst.op {
            sets.entry(local.0).or_default().push(value);
        }
    }
    let mut seen = vec![false; w.insts.len()];
    let mut roots = asked;
    let mut values = Vec::new();
    while let Some(root) = roots.pop() {
        // Each value twice: to look at its operands, and after them.
        let mut left = vec![(root, false)];
        while let Some((id, operands_done)) = left.pop() {
            if operands_done {
                values.push(id);
                continue;
            }
            let Some(seen) = seen.get_mut(id.index()) else { continue };
            if std::mem::replace(seen, true) || !is_word(w, id) {
                continue;
            }
            left.push((id, true));
            match w.insts.get(id.index()).map(|inst| inst.op) {
                Some(Op::Binary(_, a, b) | Op::Ternary(TernaryOp::Select, _, a, b)) => {
                    left.extend([(a, false), (b, false)]);
                }
                Some(Op::Cast(CastOp::Bitcast, a)) => left.push((a, false)),
                // A local is looked into once, and for itself: it may be set to what is computed from it.
                Some(Op::Get(local)) => roots.extend(sets.remove(&local.0).into_iter().flatten()),
                _ => {}
            }
        }
    }
    values
}

fn form(w: &Writer, known: &BTreeMap<InstId, Form>, id: InstId) -> Form {
    let of = |id: InstId| known.get(&id).cloned().unwrap_or_else(|| Form::of(id));
    let sum = match w.insts.get(id.index()).map(|inst| inst.op) {
        Some(Op::Constant(value)) => Some(Form { terms: Vec::new(), constant: value.bits() as u32 }),
        Some(Op::Binary(BinaryOp::Add, a, b)) => of(a).plus(&of(b)),
        Some(Op::Binary(BinaryOp::Sub, a, b)) => of(a).plus(&of(b).scaled(u32::MAX)),
        Some(Op::Binary(BinaryOp::Mul, a, b)) => {
            let (a, b) = (of(a), of(b));
            let by = |a: &Form, b: &Form| b.as_constant().map(|factor| a.scaled(factor));
            by(&a, &b).or_else(|| by(&b, &a))
        }
        Some(Op::Binary(BinaryOp::Shl, a, b)) => {
            let by = of(b).as_constant().filter(|&bits| bits < 32);
            by.map(|bits| of(a).scaled(1 << bits))
        }
        Some(Op::Cast(CastOp::Bitcast, a)) if is_word(w, a) => Some(of(a)),
        _ => None,
    };
    sum.unwrap_or_else(|| Form::of(id))
}

/// How many of the lowest bits of each value are surely zero. Of locals the most is presumed, and taken back
/// as far as what is put into them says otherwise, until nothing does.
fn zeros(w: &Writer, forms: &BTreeMap<InstId, Form>, values: &[InstId]) -> BTreeMap<InstId, u32> {
    let mut locals = vec![ALL; w.locals.len()];
    let mut zeros = BTreeMap::new();
    for round in 0..=MOST_ROUNDS {
        if round == MOST_ROUNDS {
            locals.fill(0);
        }
        for &id in values {
            let n = of_value(w, forms, &zeros, &locals, id);
            zeros.insert(id, n);
        }
        let mut next = locals.clone();
        for inst in &w.insts {
            if let Op::Set(local, value) = inst.op {
                let n = zeros.get(&value).copied().unwrap_or(0);
                if let Some(least) = next.get_mut(local.index()) {
                    *least = n.min(*least);
                }
            }
        }
        if next == locals {
            break;
        }
        locals = next;
    }
    zeros
}

fn of_value(
    w: &Writer,
    forms: &BTreeMap<InstId, Form>,
    known: &BTreeMap<InstId, u32>,
    locals: &[u32],
    id: InstId,
) -> u32 {
    let of = |id: InstId| known.get(&id).copied().unwrap_or(0);
    match forms.get(&id) {
        Some(form) if form.terms != [(id, 1)] => {
            let terms = form.terms.iter().map(|&(value, by)| of(value).saturating_add(by.trailing_zeros()));
            return terms.fold(form.constant.trailing_zeros(), u32::min).min(ALL);
        }
        _ => {}
    }
    match w.insts.get(id.index()).map(|inst| inst.op) {
        Some(Op::Binary(BinaryOp::BitAnd, a, b)) => of(a).max(of(b)),
        Some(Op::Binary(BinaryOp::Mul, a, b)) => of(a).saturating_add(of(b)).min(ALL),
        Some(Op::Binary(
            BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::BitOr
            | BinaryOp::BitXor
            | BinaryOp::Min
            | BinaryOp::Max
            | BinaryOp::Rem,
            a,
            b,
        ))
        | Some(Op::Ternary(TernaryOp::Select, _, a, b)) => of(a).min(of(b)),
        Some(Op::Binary(BinaryOp::Shl, a, _)) => of(a),
        Some(Op::Cast(CastOp::Bitcast, a)) => of(a),
        Some(Op::Get(local)) => locals.get(local.index()).copied().unwrap_or(0),
        _ => 0,
    }
}
