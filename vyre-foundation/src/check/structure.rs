//! Structure and scope.
//!
//! * `break` and `continue` stand in the body of a loop; in the head of a `while` they are refused, for
//!   there is no trip yet that they could end.
//! * Nothing follows `break`, `continue` or `return` in their region, and the head of a `while` does not end
//!   in `return`.
//! * Every variable is declared by exactly one node, and read and written only after it, in its region or
//!   one that it dominates.
//! * The regions whose results and loop variables an expression reads are comparable by dominance; the
//!   deepest is the expression's home.
//! * An operand's home dominates the place of use, and the results that it reads are made before.
//! * Only nodes that give a result are read, and only counted loops have a loop variable.

use crate::diag::{Code, Diagnostic, Site};
use crate::ir::{Expr, ExprId, Node, NodeId, Program, RegionId};

use super::tree::{Enclosing, Tree, expr_ids, ids};

/// Checks control flow, variables and dominance; gives each expression's home.
pub(crate) fn check(program: &Program, tree: &Tree, findings: &mut Vec<Diagnostic>) -> Vec<RegionId> {
    control(program, tree, findings);
    variables(program, tree, findings);
    let homes = Homes::of(program, tree, findings);
    homes.check_uses(program, tree, findings);
    homes.regions
}

fn control(program: &Program, tree: &Tree, findings: &mut Vec<Diagnostic>) {
    for (id, node) in ids(program) {
        let word = match node {
            Node::Break => "break",
            Node::Continue => "continue",
            Node::While { head, .. } => {
                if let Some(&last) = program.region(*head).last() {
                    if matches!(program.node(last), Node::Return) {
                        findings.push(
                            Diagnostic::new(
                                Code::Unreachable,
                                Site::Node(id),
                                "the condition of this `while` can never be evaluated",
                            )
                            .with_related(Site::Node(last), "its head always returns here")
                            .with_help("make the `return` conditional, or remove the loop"),
                        );
                    }
                }
                continue;
            }
            _ => continue,
        };
        match tree.loops[tree.node_regions[id.index()].index()] {
            Enclosing::Body(_) => {}
            Enclosing::Nothing => findings.push(
                Diagnostic::new(
                    Code::LoopControl,
                    Site::Node(id),
                    format!("`{word}` is outside of any loop"),
                )
                .with_help("use `return` to end the invocation"),
            ),
            Enclosing::Head(holder) => findings.push(
                Diagnostic::new(
                    Code::LoopControl,
                    Site::Node(id),
                    format!("`{word}` is in the head of a `while`, before a trip has begun"),
                )
                .with_related(Site::Node(holder), "the loop")
                .with_help("make it part of the loop's condition, or move it into the body"),
            ),
        }
    }
    for region in program.regions() {
        let ends = |id: &NodeId| matches!(program.node(*id), Node::Break | Node::Continue | Node::Return);
        let Some(position) = region.iter().position(ends) else { continue };
        if let Some(&dead) = region.get(position + 1) {
            findings.push(
                Diagnostic::new(Code::Unreachable, Site::Node(dead), "this can never run")
                    .with_related(Site::Node(region[position]), "control always leaves here")
                    .with_help("remove what follows"),
            );
        }
    }
}

fn variables(program: &Program, tree: &Tree, findings: &mut Vec<Diagnostic>) {
    let mut declared: Vec<Option<NodeId>> = vec![None; program.vars().len()];
    for (id, node) in ids(program) {
        let Node::Declare { var, .. } = *node else { continue };
        match declared[var.index()] {
            None => declared[var.index()] = Some(id),
            Some(first) => findings.push(
                Diagnostic::new(
                    Code::VariableScope,
                    Site::Node(id),
                    format!("variable `{}` is declared again", program.var(var).name),
                )
                .with_related(Site::Node(first), "declared here first")
                .with_help("set it here, or declare another variable"),
            ),
        }
    }
    for (i, declaration) in (0..).zip(&declared) {
        if declaration.is_none() {
            let var = crate::ir::VarId::new(i);
            findings.push(
                Diagnostic::new(
                    Code::VariableScope,
                    Site::Var(var),
                    format!("variable `{}` is declared by no node", program.var(var).name),
                )
                .with_help("declare it, with an initial value, where its scope begins"),
            );
        }
    }
    for (id, node) in ids(program) {
        let (Node::Get { var } | Node::Set { var, .. }) = *node else { continue };
        let Some(declaration) = declared[var.index()] else { continue };
        if !tree.available(declaration, tree.node_regions[id.index()], id) {
            let verb = if matches!(node, Node::Get { .. }) { "read" } else { "set" };
            findings.push(
                Diagnostic::new(
                    Code::VariableScope,
                    Site::Node(id),
                    format!("variable `{}` is {verb} outside of its scope", program.var(var).name),
                )
                .with_related(Site::Node(declaration), "its scope is the rest of the region from here")
                .with_help("declare it earlier, in a region that holds every use"),
            );
        }
    }
}

/// Where expressions exist.
struct Homes {
    regions: Vec<RegionId>,
    /// The node that decides an expression's home, and the last node whose result it reads.
    deepest: Vec<Option<NodeId>>,
    latest: Vec<Option<NodeId>>,
    /// Expressions that are wrong in themselves; their users are not reported again.
    poisoned: Vec<bool>,
}

impl Homes {
    fn of(program: &Program, tree: &Tree, findings: &mut Vec<Diagnostic>) -> Self {
        let count = program.exprs().len();
        let mut homes = Self {
            regions: vec![program.body(); count],
            deepest: vec![None; count],
            latest: vec![None; count],
            poisoned: vec![false; count],
        };
        for (id, expr) in expr_ids(program) {
            match *expr {
                Expr::Result(node) => homes.result(program, tree, id, node, findings),
                Expr::LoopVar(node) => homes.loop_variable(program, id, node, findings),
                _ => homes.combine(tree, id, expr, findings),
            }
        }
        homes
    }

    fn result(
        &mut self,
        program: &Program,
        tree: &Tree,
        id: ExprId,
        node: NodeId,
        out: &mut Vec<Diagnostic>,
    ) {
        if program.node(node).has_result() {
            self.regions[id.index()] = tree.node_regions[node.index()];
            self.deepest[id.index()] = Some(node);
            self.latest[id.index()] = Some(node);
        } else {
            self.poisoned[id.index()] = true;
            out.push(
                Diagnostic::new(Code::Structure, Site::Expr(id), "a node is read that gives no result")
                    .with_related(Site::Node(node), "the node")
                    .with_help("only loads, atomics, variable reads and subgroup ops give results"),
            );
        }
    }

    fn loop_variable(&mut self, program: &Program, id: ExprId, node: NodeId, out: &mut Vec<Diagnostic>) {
        if let Node::For { body, .. } = *program.node(node) {
            self.regions[id.index()] = body;
            self.deepest[id.index()] = Some(node);
        } else {
            self.poisoned[id.index()] = true;
            out.push(
                Diagnostic::new(Code::Structure, Site::Expr(id), "a node is read that has no loop variable")
                    .with_related(Site::Node(node), "the node")
                    .with_help("only counted loops have one"),
            );
        }
    }

    fn combine(&mut self, tree: &Tree, id: ExprId, expr: &Expr, findings: &mut Vec<Diagnostic>) {
        let at = id.index();
        for operand in expr.operands().map(ExprId::index) {
            self.poisoned[at] |= self.poisoned[operand];
            self.latest[at] = self.latest[at].max(self.latest[operand]);
            let (mine, theirs) = (self.regions[at], self.regions[operand]);
            if tree.dominates(mine, theirs) {
                if self.deepest[at].is_none() || mine != theirs {
                    self.deepest[at] = self.deepest[operand].or(self.deepest[at]);
                }
                self.regions[at] = theirs;
            } else if !tree.dominates(theirs, mine) && !self.poisoned[at] {
                self.poisoned[at] = true;
                let mut finding = Diagnostic::new(
                    Code::Dominance,
                    Site::Expr(id),
                    "an expression reads results of two regions that never exist together",
                );
                for node in [self.deepest[at], self.deepest[operand]].into_iter().flatten() {
                    finding = finding.with_related(Site::Node(node), "one of them");
                }
                findings.push(finding.with_help("carry one of them out of its region in a variable"));
            }
        }
    }

    fn check_uses(&self, program: &Program, tree: &Tree, findings: &mut Vec<Diagnostic>) {
        for (id, node) in ids(program) {
            let (region, limit) = tree.operand_scope(id, node);
            for operand in node.operands().filter(|operand| !self.poisoned[operand.index()]) {
                let at = operand.index();
                let (culprit, message, help) = if !tree.dominates(self.regions[at], region) {
                    let loop_variable =
                        self.deepest[at].is_some_and(|n| matches!(program.node(n), Node::For { .. }));
                    let what = if loop_variable { "loop variable" } else { "result" };
                    let message = format!("a {what} is used outside of the region where it exists");
                    (self.deepest[at], message, "carry it out of its region in a variable")
                } else if self.latest[at].is_some_and(|node| node >= limit) {
                    let message = "a result is used before it is made".to_owned();
                    (self.latest[at], message, "move the use behind it")
                } else {
                    continue;
                };
                let mut finding = Diagnostic::new(Code::Dominance, Site::Node(id), message);
                if let Some(culprit) = culprit {
                    finding = finding.with_related(Site::Node(culprit), "it is made here");
                }
                findings.push(finding.with_help(help));
            }
        }
    }
}
