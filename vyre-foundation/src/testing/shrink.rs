//! Making a failing case small.

use std::collections::BTreeMap;

use vyre_spec::{Comparison, Value};

use super::GeneratedCase;
use super::ops::moves_bits;
use super::rebuild::{Edits, rebuild};
use crate::check::Checked;
use crate::ir::{Count, Expr, ExprId, Node, NodeId, Program};
use crate::machine::{Finding, MachineOptions, Report, Schedule};

/// Candidates that are tried, at most.
const BUDGET: u32 = 3000;
/// Instructions that a candidate may execute.
const STEPS: u64 = 4 << 20;

/// A smaller case for which `fails` still holds, given one for which it does: nodes left out, branches and
/// loops replaced by their bodies, expressions by constants or their operands, inputs and parameters by
/// zeros.
///
/// Every case that `fails` sees is checked, has inputs that fit its launch, and ends. It has no race, meets no
/// subnormal and does not depend on the order of invocations, unless the given one does too: otherwise what
/// is left might fail for another reason.
pub fn shrink(case: GeneratedCase, fails: &mut dyn FnMut(&GeneratedCase) -> bool) -> GeneratedCase {
    let allowed =
        Manner::of(&case).unwrap_or(Manner { races: true, subnormals: true, ordered: true, payloads: true });
    let mut shrinker = Shrinker { case, fails, allowed, left: BUDGET };
    loop {
        let before = (size(&shrinker.case), shrinker.left);
        shrinker.nodes();
        shrinker.inlines();
        shrinker.exprs();
        shrinker.params();
        shrinker.inputs();
        if size(&shrinker.case) == before.0 || shrinker.left == 0 {
            return shrinker.case;
        }
    }
}

/// What a failing case may do without that being the failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Manner {
    races: bool,
    subnormals: bool,
    /// Its result depends on the order of invocations.
    ordered: bool,
    /// A float that may be NaN is shown as bits, its payload included.
    payloads: bool,
}

impl Manner {
    /// How a case behaves on the reference machine; `None` if it cannot be run to its end.
    fn of(case: &GeneratedCase) -> Option<Self> {
        let options = MachineOptions {
            subgroup_size: case.subgroup_size,
            sanitize: true,
            watch_subnormals: true,
            step_budget: Some(STEPS),
            ..MachineOptions::default()
        };
        let in_order = case.run(&options).ok()?;
        if in_order.reports.iter().any(|r| matches!(r.finding, Finding::StepBudget { .. })) {
            return None;
        }
        let disorder = |r: &Report| matches!(r.finding, Finding::Race { .. } | Finding::Divergent { .. });
        let schedule = Schedule::Seeded(case.seed);
        let seeded = case.run(&MachineOptions { schedule, sanitize: false, ..options }).ok()?;
        Some(Self {
            races: in_order.reports.iter().any(disorder),
            subnormals: in_order.subnormals,
            payloads: shows_payloads(&case.program),
            ordered: case.compare(Comparison::EXACT, &in_order.outputs, &seeded.outputs).is_err(),
        })
    }

    fn within(self, allowed: Self) -> bool {
        self.races <= allowed.races
            && self.subnormals <= allowed.subnormals
            && self.ordered <= allowed.ordered
            && self.payloads <= allowed.payloads
    }
}

/// Whether a float that may be NaN is shown as bits: one that is neither a literal nor chosen by a comparison
/// of itself, as the generator does.
fn shows_payloads(program: &Checked<Program>) -> bool {
    let is_number = |e: ExprId| match *program.expr(e) {
        Expr::Literal(value) => !value.is_nan(),
        Expr::Ternary(_, test, _, _) => matches!(*program.expr(test), Expr::Binary(_, a, b) if a == b),
        _ => false,
    };
    program.exprs().iter().any(|expr| match *expr {
        Expr::Cast(op, to, a) => {
            let from = program.facts().type_of(a);
            from.is_float() && moves_bits(op, from, to) && !is_number(a)
        }
        _ => false,
    })
}

/// What shrinking makes less: nodes, expressions, non-zero literals, parameters and inputs.
fn size(case: &GeneratedCase) -> [usize; 5] {
    let literals = case.program.exprs().iter();
    let non_zero = literals.filter(|e| matches!(e, Expr::Literal(v) if v.bits() != 0)).count();
    let params = case.program.params().iter();
    let params = params.filter(|p| case.params.get(&p.name).is_some_and(|v| v.bits() != 0)).count();
    let bytes = case.inputs.iter().flatten().map(|&b| 1 + usize::from(b != 0)).sum();
    [case.program.nodes().len(), case.program.exprs().len(), non_zero, params, bytes]
}

struct Shrinker<'f> {
    case: GeneratedCase,
    fails: &'f mut dyn FnMut(&GeneratedCase) -> bool,
    allowed: Manner,
    left: u32,
}

impl Shrinker<'_> {
    /// Takes a candidate if it fails too.
    fn take(&mut self, candidate: GeneratedCase) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        if !Manner::of(&candidate).is_some_and(|manner| manner.within(self.allowed)) {
            return false;
        }
        let fails = (self.fails)(&candidate);
        if fails {
            self.case = candidate;
        }
        fails
    }

    fn edit(&mut self, edits: &Edits) -> bool {
        match rebuild(&self.case.program, edits) {
            Some(program) if *program != *self.case.program => {
                let candidate = GeneratedCase { program, ..self.case.clone() };
                self.take(candidate)
            }
            _ => false,
        }
    }

    /// Leaves out runs of nodes, the long ones first.
    fn nodes(&mut self) {
        let mut length = self.case.program.nodes().len();
        while length > 0 {
            let mut end = self.case.program.nodes().len();
            while end > 0 {
                // From the end, so that users go before what they use.
                let start = end.saturating_sub(length);
                let drop = (start as u32..end as u32).map(NodeId::new).collect();
                self.edit(&Edits { drop, ..Edits::default() });
                end = start.min(self.case.program.nodes().len());
            }
            length /= 2;
        }
    }

    /// Replaces branches and loops by what they hold.
    fn inlines(&mut self) {
        let mut index = 0;
        while let Some(node) = self.case.program.nodes().get(index) {
            let id = NodeId::new(index as u32);
            let regions: Vec<_> = match *node {
                Node::While { body, .. } => vec![body],
                other => other.regions().collect(),
            };
            let replaced = regions.into_iter().any(|region| {
                self.edit(&Edits { inline: BTreeMap::from([(id, region)]), ..Edits::default() })
            });
            index += usize::from(!replaced);
        }
    }

    /// Replaces expressions by simpler ones, users first.
    fn exprs(&mut self) {
        let mut index = self.case.program.exprs().len();
        while index > 0 {
            index = (index - 1).min(self.case.program.exprs().len().saturating_sub(1));
            let id = ExprId::new(index as u32);
            let Some(&expr) = self.case.program.exprs().get(index) else { return };
            let ty = self.case.program.facts().type_of(id);
            let simple = |v: Value| v == Value::zero(ty) || v == Value::one(ty);
            if matches!(expr, Expr::Literal(v) if simple(v)) {
                continue;
            }
            let constant = |value| Edits { constants: BTreeMap::from([(id, value)]), ..Edits::default() };
            let same = |program: &Checked<Program>, e: ExprId| program.facts().type_of(e) == ty;
            // Before the first edit: it renumbers.
            let operands: Vec<_> =
                expr.operands().filter(|&e| e < id && same(&self.case.program, e)).collect();
            let mut done = self.edit(&constant(Value::zero(ty))) || self.edit(&constant(Value::one(ty)));
            for alias in operands {
                done =
                    done || self.edit(&Edits { aliases: BTreeMap::from([(id, alias)]), ..Edits::default() });
            }
        }
    }

    fn params(&mut self) {
        let params: Vec<_> =
            self.case.program.params().iter().map(|p| (p.name.clone(), Value::zero(p.ty))).collect();
        for (name, zero) in params {
            if self.case.params.get(&name).is_some_and(|v| v != zero) {
                let params = self.case.params.clone().with(name, zero);
                let candidate = GeneratedCase { params, ..self.case.clone() };
                self.take(candidate);
            }
        }
    }

    /// Shortens inputs whose length is free, then zeroes what can be.
    fn inputs(&mut self) {
        let inputs: Vec<_> = self.case.program.inputs().collect();
        for (i, id) in inputs.into_iter().enumerate() {
            let buffer = self.case.program.buffer(id).clone();
            let size = buffer.element.size() as usize;
            if buffer.count == Count::Bytes {
                for keep in [0, 1, 2] {
                    let bytes = self.case.inputs.get(i).map_or(0, Vec::len);
                    let shorter = if keep == 2 { bytes / size / 2 * size } else { keep * size };
                    if shorter < bytes {
                        let mut candidate = self.case.clone();
                        candidate.inputs[i].truncate(shorter);
                        self.take(candidate);
                    }
                }
            }
            let mut span = self.case.inputs.get(i).map_or(0, |bytes| bytes.len() / size.max(1));
            while span > 0 {
                let bytes = self.case.inputs[i].len();
                for start in (0..bytes).step_by(span * size) {
                    let end = (start + span * size).min(bytes);
                    if self.case.inputs[i][start..end].iter().any(|&b| b != 0) {
                        let mut candidate = self.case.clone();
                        candidate.inputs[i][start..end].fill(0);
                        self.take(candidate);
                    }
                }
                span /= 2;
            }
        }
    }
}
