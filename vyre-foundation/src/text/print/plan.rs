//! Which expressions a text names by `let`, and where.
//!
//! An expression is named if it is used more than once, or if its text would be deep or long. Its `let`
//! stands in the deepest region that holds all its uses, just before the first. In a program that passes
//! the checker that is in the scope of all that the expression reads: its home holds all uses, and what it
//! reads comes before the first of them. In one that does not, what is out of scope is read by number.

use std::collections::HashMap;

use super::points::{Point, Points};
use crate::ir::{Expr, ExprId, Node, NodeId, Program};

/// Nested calls and operators that one statement may have.
const DEEPEST: u32 = 8;
/// Ops that one statement may have.
const LONGEST: u32 = 12;

pub(super) struct Plan {
    pub(super) points: Points,
    /// The `let`s of each point that has any, operands before users.
    lets: HashMap<u32, Vec<ExprId>>,
    /// The expression that reads each node's result or loop variable.
    read_by: Vec<Option<ExprId>>,
}

impl Plan {
    pub(super) fn of(program: &Program) -> Self {
        let points = Points::of(program);
        let exprs = program.exprs();
        let mut uses = vec![0u32; exprs.len()];
        let mut span: Vec<Option<(Point, Point)>> = vec![None; exprs.len()];
        for (i, node) in (0..).zip(program.nodes()) {
            let point = points.of_operands(NodeId::new(i), node);
            for operand in node.operands() {
                uses[operand.index()] += 1;
                widen(&mut span[operand.index()], point);
            }
        }
        let mut read_by = vec![None; program.nodes().len()];
        for (i, expr) in (0..).zip(exprs) {
            for operand in expr.operands() {
                uses[operand.index()] = uses[operand.index()].saturating_add(1);
            }
            match *expr {
                Expr::Result(node) if program.node(node).has_result() => {
                    read_by[node.index()] = Some(ExprId::new(i));
                }
                Expr::LoopVar(node) if matches!(program.node(node), Node::For { .. }) => {
                    read_by[node.index()] = Some(ExprId::new(i));
                }
                _ => {}
            }
        }
        let named = named(exprs, &uses);
        let mut lets: HashMap<u32, Vec<ExprId>> = HashMap::new();
        // Users have higher ids than their operands, so each expression's uses are all known in time.
        for (i, expr) in exprs.iter().enumerate().rev() {
            let Some((first, last)) = span[i] else { continue };
            let point = if named[i] { points.common(first, last) } else { first };
            if named[i] {
                lets.entry(point.0).or_default().push(ExprId::new(i as u32));
            }
            for operand in expr.operands() {
                widen(&mut span[operand.index()], point);
            }
        }
        for list in lets.values_mut() {
            list.reverse();
        }
        Self { points, lets, read_by }
    }

    /// The expression that reads a node's result or loop variable.
    pub(super) fn read_by(&self, node: NodeId) -> Option<ExprId> {
        self.read_by[node.index()]
    }

    pub(super) fn has_lets(&self, point: Point) -> bool {
        self.lets.contains_key(&point.0)
    }

    pub(super) fn take_lets(&mut self, point: Point) -> Vec<ExprId> {
        self.lets.remove(&point.0).unwrap_or_default()
    }
}

fn widen(span: &mut Option<(Point, Point)>, point: Point) {
    *span = Some(span.map_or((point, point), |(first, last)| (first.min(point), last.max(point))));
}

fn is_leaf(expr: &Expr) -> bool {
    expr.operands().next().is_none()
}

fn named(exprs: &[Expr], uses: &[u32]) -> Vec<bool> {
    let mut named = vec![false; exprs.len()];
    // Depth and number of ops of each expression's text, 0 for a name or a leaf.
    let mut sizes = vec![(0u32, 0u32); exprs.len()];
    for (i, expr) in exprs.iter().enumerate() {
        if is_leaf(expr) {
            continue;
        }
        let (depth, ops) = expr.operands().fold((1, 1), |(depth, ops), operand| {
            let (d, n) = sizes[operand.index()];
            (depth.max(d + 1), ops + n)
        });
        named[i] = uses[i] > 1 || depth > DEEPEST || ops > LONGEST;
        if !named[i] {
            sizes[i] = (depth, ops);
        }
    }
    named
}
