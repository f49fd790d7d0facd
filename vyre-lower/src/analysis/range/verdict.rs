//! Whether an access is in bounds, and why, or why not.

use vyre_foundation::ir::{Expr, ExprId, Node, Place};
use vyre_spec::BuiltIn;
use vyre_spec::ops::BinaryOp;

use super::fact::{Fact, union};
use super::{Poly, Ranges};

/// What was found about an access or an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is in bounds at every launch, for the reason.
    Proven(&'static str),
    /// It is where the conditions hold whose bits are set.
    Contract(u64),
    /// It may not be, for the reason.
    Guarded(&'static str),
}

/// Conditions of a contract, at most.
const MOST_CONDITIONS: usize = 64;

impl Ranges<'_> {
    /// Whether an index of which this is known lies inside the array.
    pub(super) fn decide(&mut self, place: Place, index: ExprId, fact: &Fact, narrowed: bool) -> Verdict {
        let length = self.length(place);
        let Some(last) = length.plus(-1) else { return Verdict::Guarded("the length is not known") };
        if self.atoms.never_negative(&fact.sure.lo) && self.atoms.at_most(&fact.sure.hi, &last) {
            let constant = fact.sure.hi.as_constant().is_some() && length.as_constant().is_some();
            return Verdict::Proven(match *self.program.expr(index) {
                _ if fact.sure.as_constant().is_some() => "constant index",
                _ if narrowed && !constant => "a condition around the access",
                _ if constant => "index range",
                Expr::BuiltIn(BuiltIn::Point(_)) => "the point of a domain as long as the buffer",
                Expr::LoopVar(_) => "a loop over the buffer's length",
                _ => "the index's range at every launch",
            });
        }
        let needs = [Some(fact.best().lo.clone()), last.sub(&fact.best().hi)];
        let [Some(low), Some(high)] = needs else { return Verdict::Guarded("the bounds are too large") };
        match self.under(fact.needs(), &[low, high]) {
            Some(bits) => Verdict::Contract(bits),
            None => Verdict::Guarded(self.obstacle(index)),
        }
    }

    /// The numbers of these conditions as bits, less those that always hold; `None` if one never does.
    fn under(&mut self, needs: &[Poly], more: &[Poly]) -> Option<u64> {
        let mut wanted = Vec::new();
        for need in union(needs.to_vec(), more) {
            if self.atoms.bounds(&need).1 < 0 {
                return None;
            }
            if !self.atoms.never_negative(&need) {
                wanted.push(need);
            }
        }
        // What another one implies goes without saying.
        for i in (0..wanted.len()).rev() {
            let implied = (0..wanted.len()).any(|j| j != i && self.atoms.at_most(&wanted[j], &wanted[i]));
            if implied {
                wanted.remove(i);
            }
        }
        let mut bits = 0;
        for need in wanted {
            let known = self.conditions.iter().position(|other| *other == need);
            let number = known.unwrap_or(self.conditions.len());
            if number >= MOST_CONDITIONS {
                return None;
            }
            if known.is_none() {
                self.conditions.push(need);
            }
            bits |= 1 << number;
        }
        Some(bits)
    }

    /// Why an index may lie outside, as far as its outermost op tells.
    fn obstacle(&self, index: ExprId) -> &'static str {
        match *self.program.expr(index) {
            Expr::Result(node) => match self.program.node(node) {
                Node::Get { .. } => "the index is a variable",
                _ => "the index comes from memory or other lanes",
            },
            Expr::Literal(_) => "the index is past the end",
            Expr::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Shl, ..) => {
                "the index may wrap or pass the end"
            }
            _ => "the index may pass the end",
        }
    }

    /// Whether the divisor of a division is never zero, nor −1 under the least dividend.
    pub(crate) fn divisor(&mut self, divisor: ExprId) -> Verdict {
        let fact = self.fact(divisor);
        let Some(least) = fact.sure.lo.plus(-1) else { return Verdict::Guarded("the divisor may be zero") };
        if self.atoms.never_negative(&least) {
            return Verdict::Proven("the divisor is at least 1");
        }
        let need = fact.best().lo.plus(-1);
        let bits = need.and_then(|need| self.under(fact.needs(), &[need]));
        bits.map_or(Verdict::Guarded("the divisor may be zero"), Verdict::Contract)
    }

    /// Whether a shift's amount is always below the width, in bits.
    pub(crate) fn amount(&mut self, amount: ExprId, width: u32) -> Verdict {
        let fact = self.fact(amount);
        let below = Poly::from(i128::from(width) - 1);
        if self.atoms.never_negative(&fact.sure.lo) && self.atoms.at_most(&fact.sure.hi, &below) {
            return Verdict::Proven("the amount is below the width");
        }
        let high = below.sub(&fact.best().hi);
        let needs = high.map(|high| [fact.best().lo.clone(), high]);
        let bits = needs.and_then(|needs| self.under(fact.needs(), &needs));
        bits.map_or(Verdict::Guarded("the amount may pass the width"), Verdict::Contract)
    }
}
