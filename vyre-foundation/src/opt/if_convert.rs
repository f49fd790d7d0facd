//! If-conversion: a branch that only chooses what variables become is a selection.
//!
//! `if c { set x = a; }` becomes `set x = select(c, a, x)`. Expressions are pure and total, so computing both sides
//! changes nothing but the time that it takes; so only short branches are converted, of ops that a device has as one
//! cheap instruction. Without branches, lowering can vectorise, and a variable that is set once is just its value.
//! Branches with loads, stores, jumps or anything else of effect stay.

use vyre_spec::ops::{BinaryOp, TernaryOp};
use vyre_spec::{DataType, ErrorBound};

use crate::check::Checked;
use crate::check::tree::{Tree, ids};
use crate::ir::{Arena, Expr, ExprId, Node, NodeId, Program, RegionId, VarId};

use super::Outcome;
use super::rewrite::{Keep, Rewriter, keep};

/// Reads and writes of variables in both arms, at most.
const NODES: usize = 8;
/// Ops that only the arms need, at most.
const OPS: u32 = 8;

pub(super) fn run(program: &Checked<Program>) -> Outcome {
    let is_if = |node: &Node| matches!(node, Node::If { .. });
    if !program.nodes().iter().any(is_if) {
        return Ok(None);
    }
    let tree = Tree::of(program);
    let costs = costs(program, &tree);
    let convertible: Vec<bool> = ids(program).map(|(_, node)| converts(program, node, &costs)).collect();
    if !convertible.contains(&true) {
        return Ok(None);
    }
    let mut rewriter = Rewriter::new(program, Arena::with_declarations_of(program), keep as Keep);
    rewriter.changed = true;
    let mut gone = vec![false; program.regions().len()];
    for (i, nodes) in (0..).map(RegionId::new).zip(program.regions()) {
        if gone[i.index()] {
            continue;
        }
        for &id in nodes {
            match *program.node(id) {
                Node::If { condition, then, otherwise } if convertible[id.index()] => {
                    (gone[then.index()], gone[otherwise.index()]) = (true, true);
                    Conversion { rewriter: &mut rewriter, region: i, before: Vec::new() }
                        .convert(condition, then, otherwise);
                }
                _ => {
                    rewriter.set_node(id);
                    rewriter.new.arena.place_node(i, id);
                }
            }
        }
    }
    rewriter.finish()
}

/// For each node, what the ops cost that it is the first to use; [`u32::MAX`] if some is not cheap.
fn costs(program: &Checked<Program>, tree: &Tree) -> Vec<u32> {
    let mut costs = vec![0u32; program.nodes().len()];
    for (i, expr) in program.exprs().iter().enumerate() {
        let ty = program.facts().type_of(ExprId::new(i as u32));
        let exact = match *expr {
            Expr::Unary(op, _) => op.bound() == ErrorBound::Exact,
            Expr::Binary(op, ..) => op.bound() == ErrorBound::Exact && op != BinaryOp::Rem,
            Expr::Ternary(op, ..) => op.bound() == ErrorBound::Exact,
            Expr::Cast(..) => true,
            _ => continue,
        };
        // Wider and narrower types than a word take several instructions.
        let cheap = exact && matches!(ty, DataType::Bool | DataType::U32 | DataType::I32 | DataType::F32);
        let cost = &mut costs[tree.first_use[i].index()];
        *cost = if cheap { cost.saturating_add(1) } else { u32::MAX };
    }
    costs
}

fn converts(program: &Program, node: &Node, costs: &[u32]) -> bool {
    let Node::If { then, otherwise, .. } = *node else { return false };
    let (mut nodes, mut ops, mut sets) = (0usize, 0u32, false);
    for &id in program.region(then).iter().chain(program.region(otherwise)) {
        match program.node(id) {
            Node::Get { .. } => {}
            Node::Set { .. } => sets = true,
            _ => return false,
        }
        nodes += 1;
        ops = ops.saturating_add(costs[id.index()]);
        if nodes > NODES {
            return false;
        }
    }
    sets && ops <= OPS
}

struct Conversion<'r, 'a> {
    rewriter: &'r mut Rewriter<'a, Keep>,
    /// The region of the branch.
    region: RegionId,
    /// What variables hold before it, where something asks.
    before: Vec<(VarId, ExprId)>,
}

impl Conversion<'_, '_> {
    fn convert(&mut self, condition: ExprId, then: RegionId, otherwise: RegionId) {
        let condition = self.rewriter.map(condition);
        let [then, otherwise] = [then, otherwise].map(|arm| self.arm(arm));
        let mut set: Vec<VarId> = Vec::new();
        for &(var, _) in then.iter().chain(&otherwise) {
            if !set.contains(&var) {
                set.push(var);
            }
        }
        for var in set {
            let [yes, no] =
                [&then, &otherwise].map(|arm| last(arm, var).unwrap_or_else(|| self.value_before(var)));
            let new = &mut self.rewriter.new;
            let ty = new.type_of(yes);
            let value = match yes == no {
                true => yes,
                false => new.make(Expr::Ternary(TernaryOp::Select, condition, yes, no), ty),
            };
            new.arena.push(self.region, Node::Set { var, value });
        }
    }

    /// What an arm makes of the variables that it writes.
    fn arm(&mut self, arm: RegionId) -> Vec<(VarId, ExprId)> {
        let program = self.rewriter.program;
        let mut written: Vec<(VarId, ExprId)> = Vec::new();
        for &id in program.region(arm) {
            match *program.node(id) {
                Node::Get { var } => {
                    let value = last(&written, var).unwrap_or_else(|| self.value_before(var));
                    self.rewriter.replace_result(id, value);
                }
                Node::Set { var, value } => written.push((var, self.rewriter.map(value))),
                _ => {}
            }
        }
        written
    }

    fn value_before(&mut self, var: VarId) -> ExprId {
        if let Some(value) = last(&self.before, var) {
            return value;
        }
        let ty = self.rewriter.program.var(var).ty;
        let get: NodeId = self.rewriter.new.arena.push(self.region, Node::Get { var });
        let value = self.rewriter.result(get, ty);
        self.before.push((var, value));
        value
    }
}

fn last(values: &[(VarId, ExprId)], var: VarId) -> Option<ExprId> {
    values.iter().rev().find(|(other, _)| *other == var).map(|&(_, value)| value)
}
