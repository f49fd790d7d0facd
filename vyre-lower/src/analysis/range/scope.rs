//! What holds where: conditions of the branches around a node, and of those that the flow left behind.

use vyre_foundation::ir::{Expr, ExprId, Node, NodeId, RegionId};
use vyre_spec::DataType;
use vyre_spec::ops::{BinaryOp, UnaryOp};

use super::Verdict;
use super::fact::{Fact, Likely, MOST_NEEDS, Range, union};
use super::{Poly, Ranges};

/// Facts that hold for now, and how to take them back.
#[derive(Default)]
pub(super) struct Scope {
    /// The facts that gave way, oldest first.
    past: Vec<(ExprId, Option<Fact>)>,
    /// How many facts of an expression hold for now.
    refined: std::collections::BTreeMap<ExprId, u32>,
}

/// What is left to do.
enum Step {
    Nodes(RegionId, usize),
    /// The condition holds, or does not, from here on.
    Refine(ExprId, bool),
    /// Takes facts back until so many are left.
    Close(usize),
}

/// Parts of a condition, and expressions that one comparison says something about, at most.
const MOST_PARTS: usize = 16;

/// Expressions that are derived again under the conditions around an access, at most.
const MOST_DERIVED: usize = 32;

impl Ranges<'_> {
    /// Finds out about each access, in text order.
    pub(super) fn judge(&mut self) {
        let program = self.program;
        let leaves = self.leaves();
        let mut variables = vec![None; program.nodes().len()];
        for (i, expr) in (0..).zip(program.exprs()) {
            if let Expr::LoopVar(node) = *expr {
                variables[node.index()] = Some(ExprId::new(i));
            }
        }
        let mut scope = Scope::default();
        let mut steps = vec![Step::Nodes(program.body(), 0)];
        while let Some(step) = steps.pop() {
            let (region, position) = match step {
                Step::Nodes(region, position) => (region, position),
                Step::Refine(condition, holds) => {
                    self.refine(condition, holds, &mut scope);
                    continue;
                }
                Step::Close(mark) => {
                    self.close(mark, &mut scope);
                    continue;
                }
            };
            let Some(&id) = program.region(region).get(position) else { continue };
            steps.push(Step::Nodes(region, position + 1));
            let mark = scope.past.len();
            match *program.node(id) {
                Node::Load { place, index } | Node::Store { place, index, .. } => {
                    self.access(id, place, index, &mut scope);
                }
                Node::Atomic { place, index, .. } => self.access(id, place, index, &mut scope),
                Node::Tile { tile, action } => {
                    if let Some((place, index, stride, layout)) = action.memory() {
                        let (first, narrowed) = self.within(index, &mut scope);
                        let (apart, _) = self.within(stride, &mut scope);
                        let lines = program.tile(tile).ty.lines(layout);
                        let verdict = match self.last_of_tile(&first, &apart, lines) {
                            Some(whole) => self.decide(place, index, &whole, narrowed),
                            None => Verdict::Guarded("the tile's last element may be anywhere"),
                        };
                        self.verdicts[id.index()] = Some(verdict);
                    }
                }
                Node::If { condition, then, otherwise } => {
                    // Who comes past a branch that always leaves did not take it.
                    if leaves[then.index()] {
                        steps.push(Step::Refine(condition, false));
                    }
                    if leaves[otherwise.index()] {
                        steps.push(Step::Refine(condition, true));
                    }
                    for (region, holds) in [(otherwise, false), (then, true)] {
                        if !program.region(region).is_empty() {
                            steps.push(Step::Close(mark));
                            steps.push(Step::Nodes(region, 0));
                            steps.push(Step::Refine(condition, holds));
                        }
                    }
                }
                Node::For { body, .. } => {
                    steps.push(Step::Close(mark));
                    steps.push(Step::Nodes(body, 0));
                    // Its bounds may be known better here than where they were made.
                    if let (false, Some(variable)) = (scope.refined.is_empty(), variables[id.index()]) {
                        if self.known[variable.index()].is_some() {
                            let fact = self.derive(variable);
                            self.replace(variable, fact, &mut scope);
                        }
                    }
                }
                Node::While { head, condition, body } => {
                    steps.push(Step::Close(mark));
                    steps.push(Step::Nodes(body, 0));
                    steps.push(Step::Refine(condition, true));
                    steps.push(Step::Nodes(head, 0));
                }
                _ => {}
            }
        }
        // What the flow past a branch of the body told holds behind it only.
        self.close(0, &mut scope);
    }

    /// Whether the flow never reaches the end of each region.
    fn leaves(&self) -> Vec<bool> {
        let program = self.program;
        let mut leaves = vec![false; program.regions().len()];
        // Regions are numbered in text order, so a region comes before those inside it.
        for i in (0..leaves.len()).rev() {
            let last = program.region(RegionId::new(i as u32)).last();
            leaves[i] = match last.map(|&node| program.node(node)) {
                Some(Node::Break | Node::Continue | Node::Return) => true,
                Some(Node::If { then, otherwise, .. }) => leaves[then.index()] && leaves[otherwise.index()],
                _ => false,
            };
        }
        leaves
    }

    fn access(&mut self, id: NodeId, place: vyre_foundation::ir::Place, index: ExprId, scope: &mut Scope) {
        let (fact, narrowed) = self.within(index, scope);
        let verdict = self.decide(place, index, &fact, narrowed);
        self.verdicts[id.index()] = Some(verdict);
    }

    /// From the first to the last element of a tile whose lines are a stride apart. Strides are not negative.
    fn last_of_tile(&self, first: &Fact, stride: &Fact, (lines, neighbours): (u32, u32)) -> Option<Fact> {
        if !self.atoms.never_negative(&stride.sure.lo) {
            return None;
        }
        let (lines, neighbours) = (i128::from(lines) - 1, i128::from(neighbours) - 1);
        let whole = |first: &Range, stride: &Range| {
            let hi = first.hi.add(&stride.hi.scaled(lines)?)?.plus(neighbours)?;
            Some(Range { lo: first.lo.clone(), hi })
        };
        let sure = whole(&first.sure, &stride.sure)?;
        if first.likely.is_none() && stride.likely.is_none() {
            return Some(Fact::sure(sure));
        }
        let range = whole(first.best(), stride.best())?;
        let needs = union(first.needs().to_vec(), stride.needs());
        let likely = (needs.len() <= MOST_NEEDS).then(|| Box::new(Likely { range, needs }));
        Some(Fact { sure, likely })
    }

    /// What is known of an expression in this scope, and whether the scope had a part in it.
    fn within(&mut self, index: ExprId, scope: &mut Scope) -> (Fact, bool) {
        if scope.refined.is_empty() || scope.refined.contains_key(&index) {
            return (self.fact(index), !scope.refined.is_empty());
        }
        // The operands, down to what the scope refines, if they are few.
        let mut found = std::collections::BTreeSet::from([index]);
        let mut open = vec![index];
        let mut narrowed = false;
        while let Some(id) = open.pop() {
            if scope.refined.contains_key(&id) {
                narrowed = true;
                continue;
            }
            for operand in self.program.expr(id).operands() {
                if found.len() < MOST_DERIVED && found.insert(operand) {
                    open.push(operand);
                }
            }
        }
        if !narrowed {
            return (self.fact(index), false);
        }
        let mark = scope.past.len();
        // Operands have lower numbers than their users.
        for id in found {
            let bare = self.program.expr(id).operands().next().is_none();
            if bare || scope.refined.contains_key(&id) || self.known[id.index()].is_none() {
                continue;
            }
            let fact = self.derive(id);
            scope.past.push((id, self.known[id.index()].replace(fact)));
        }
        let fact = self.fact(index);
        while scope.past.len() > mark {
            if let Some((id, old)) = scope.past.pop() {
                self.known[id.index()] = old;
            }
        }
        (fact, true)
    }

    fn close(&mut self, mark: usize, scope: &mut Scope) {
        while scope.past.len() > mark {
            let Some((id, old)) = scope.past.pop() else { return };
            self.known[id.index()] = old;
            if let Some(count) = scope.refined.get_mut(&id) {
                *count -= 1;
                if *count == 0 {
                    scope.refined.remove(&id);
                }
            }
        }
    }

    fn replace(&mut self, id: ExprId, fact: Fact, scope: &mut Scope) {
        scope.past.push((id, self.known[id.index()].replace(fact)));
        *scope.refined.entry(id).or_default() += 1;
    }

    /// Makes use of a condition that holds, or does not.
    fn refine(&mut self, condition: ExprId, holds: bool, scope: &mut Scope) {
        let mut parts = vec![(condition, holds)];
        for _ in 0..MOST_PARTS {
            let Some((id, holds)) = parts.pop() else { return };
            match *self.program.expr(id) {
                Expr::Unary(UnaryOp::Not, a) => parts.push((a, !holds)),
                Expr::Binary(BinaryOp::BitAnd, a, b) if holds && self.is_bool(a) => {
                    parts.extend([(a, true), (b, true)]);
                }
                Expr::Binary(BinaryOp::BitOr, a, b) if !holds && self.is_bool(a) => {
                    parts.extend([(a, false), (b, false)]);
                }
                Expr::Binary(op, a, b) if self.facts.type_of(a).is_int() => {
                    self.compare(op, holds, a, b, scope);
                }
                _ => {}
            }
        }
    }

    fn is_bool(&self, id: ExprId) -> bool {
        self.facts.type_of(id) == DataType::Bool
    }

    fn compare(&mut self, op: BinaryOp, holds: bool, a: ExprId, b: ExprId, scope: &mut Scope) {
        // Each as: the first is at most the second plus a number.
        match (op, holds) {
            (BinaryOp::Lt, true) | (BinaryOp::Ge, false) => self.at_most(a, b, -1, scope),
            (BinaryOp::Le, true) | (BinaryOp::Gt, false) => self.at_most(a, b, 0, scope),
            (BinaryOp::Gt, true) | (BinaryOp::Le, false) => self.at_most(b, a, -1, scope),
            (BinaryOp::Ge, true) | (BinaryOp::Lt, false) => self.at_most(b, a, 0, scope),
            (BinaryOp::Eq, true) | (BinaryOp::Ne, false) => {
                self.at_most(a, b, 0, scope);
                self.at_most(b, a, 0, scope);
            }
            _ => {}
        }
    }

    /// `a ≤ b + offset`.
    fn at_most(&mut self, a: ExprId, b: ExprId, offset: i128, scope: &mut Scope) {
        let (left, right) = (self.fact(a), self.fact(b));
        let above = |range: &Range| range.hi.plus(offset);
        let below = |range: &Range| range.lo.plus(offset.saturating_neg());
        let bounds = (above(&right.sure), above(right.best()));
        self.bound(a, &left, bounds, right.needs(), End::Upper, scope);
        let bounds = (below(&left.sure), below(left.best()));
        self.bound(b, &right, bounds, left.needs(), End::Lower, scope);
    }

    /// Narrows an expression to one side of a bound, and what it was made from by a constant with it.
    fn bound(
        &mut self,
        id: ExprId,
        fact: &Fact,
        (sure, best): (Option<Poly>, Option<Poly>),
        needs: &[Poly],
        end: End,
        scope: &mut Scope,
    ) {
        let (Some(mut sure), Some(mut best)) = (sure, best) else { return };
        let (mut id, mut fact) = (id, fact.clone());
        for _ in 0..MOST_PARTS {
            if self.known[id.index()].is_none() {
                return;
            }
            let Some(narrower) = self.narrower(&fact, (&sure, &best), needs, end) else { return };
            if narrower != fact {
                self.replace(id, narrower, scope);
            }
            // What is known of the operand by its value plus a constant, which did not wrap.
            let (operand, offset) = match *self.program.expr(id) {
                Expr::Binary(BinaryOp::Add, x, y) => match (self.constant(x), self.constant(y)) {
                    (_, Some(n)) => (x, n),
                    (Some(n), _) => (y, n),
                    _ => return,
                },
                Expr::Binary(BinaryOp::Sub, x, y) => match self.constant(y) {
                    Some(n) => (x, -n),
                    None => return,
                },
                Expr::Cast(_, _, x) if self.facts.type_of(x).is_int() => (x, 0),
                _ => return,
            };
            let inner = self.fact(operand);
            let exact = (inner.sure.lo.plus(offset), inner.sure.hi.plus(offset));
            let (Some(lo), Some(hi)) = exact else { return };
            let all = Range::of_type(self.facts.type_of(id));
            if !(self.atoms.at_most(&all.lo, &lo) && self.atoms.at_most(&hi, &all.hi)) {
                return;
            }
            let (Some(s), Some(b)) = (sure.plus(-offset), best.plus(-offset)) else { return };
            (sure, best, id, fact) = (s, b, operand, inner);
        }
    }

    fn constant(&self, id: ExprId) -> Option<i128> {
        self.known[id.index()].as_ref()?.sure.as_constant()
    }

    /// The fact with one end moved to the bound, where that is narrower.
    fn narrower(
        &mut self,
        fact: &Fact,
        (sure, best): (&Poly, &Poly),
        needs: &[Poly],
        end: End,
    ) -> Option<Fact> {
        let narrow = |ranges: &mut Self, range: &Range, bound: &Poly| match end {
            End::Upper => Some(Range { lo: range.lo.clone(), hi: ranges.atoms.min(&range.hi, bound)? }),
            End::Lower => Some(Range { lo: ranges.atoms.max(&range.lo, bound)?, hi: range.hi.clone() }),
        };
        let surely = narrow(self, &fact.sure, sure)?;
        let likely = if fact.likely.is_some() || !needs.is_empty() {
            let range = narrow(self, fact.best(), best)?;
            let needs = union(fact.needs().to_vec(), needs);
            (needs.len() <= MOST_NEEDS && range != surely).then(|| Box::new(Likely { range, needs }))
        } else {
            None
        };
        Some(Fact { sure: surely, likely })
    }
}

/// An end of a range.
#[derive(Clone, Copy)]
enum End {
    Lower,
    Upper,
}
