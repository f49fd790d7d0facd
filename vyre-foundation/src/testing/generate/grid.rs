//! Grid barriers: put into a finished program, where the whole launch shares the flow.
//!
//! More order changes no result of a program without races. The loops around a barrier have bounds that the
//! host knows at launch, so that every backend can run the program.

use fastrand::Rng;
use vyre_spec::{BuiltIn, MemoryOrdering};

use crate::check::{Checked, Facts, Uniformity, check};
use crate::diag::Diagnostic;
use crate::ir::{Arena, Expr, Node, NodeId, Program, RegionId};

/// Barriers that a program gets, at most.
const MOST: usize = 8;

/// The program with grid barriers before some of its nodes.
///
/// # Errors
/// If the checker refuses it, which is a fault of this module.
pub(super) fn with_barriers(
    program: &Checked<Program>,
    rng: &mut Rng,
) -> Result<Checked<Program>, Vec<Diagnostic>> {
    let known = host_known(program, program.facts());
    let unrolled = unrolled(program, program.facts(), &known);
    let mut places: Vec<NodeId> = (0..program.nodes().len() as u32)
        .map(NodeId::new)
        .filter(|&id| program.facts().flow(id) == Uniformity::Launch)
        .filter(|&id| unrolled[program.facts().region_of(id).index()])
        .collect();
    rng.shuffle(&mut places);
    places.truncate(rng.usize(1..=MOST));
    let mut arena = Arena::with_declarations_of(program);
    let mut exprs = Vec::with_capacity(program.exprs().len());
    for expr in program.exprs() {
        let mapped = expr.map_operands(|e| exprs.get(e.index()).copied().unwrap_or(e));
        exprs.push(arena.expr(mapped));
    }
    for _ in 1..program.regions().len() {
        arena.region();
    }
    for node in program.nodes() {
        arena.node(node.map_operands(|e| exprs.get(e.index()).copied().unwrap_or(e)));
    }
    for (i, nodes) in (0..).zip(program.regions()) {
        for &node in nodes {
            if places.contains(&node) {
                arena.push(RegionId::new(i), Node::Barrier { ordering: MemoryOrdering::GridSync });
            }
            arena.place_node(RegionId::new(i), node);
        }
    }
    let (program, _) = arena.finish().map_err(|e| {
        vec![Diagnostic::new(crate::diag::Code::Structure, crate::diag::Site::Program, e.to_string())]
    })?;
    check(program)
}

/// Which expressions the host knows at launch: no floats, and nothing that memory or a variable holds.
fn host_known(program: &Program, facts: &Facts) -> Vec<bool> {
    let mut known: Vec<bool> = Vec::with_capacity(program.exprs().len());
    for (i, expr) in (0..).zip(program.exprs()) {
        let leaf = match *expr {
            Expr::Literal(_) | Expr::Param(_) | Expr::Length(_) | Expr::LoopVar(_) => true,
            Expr::BuiltIn(built_in) => matches!(built_in, BuiltIn::WorkgroupCount(_)),
            Expr::Result(_) => false,
            _ => expr.operands().all(|e| known.get(e.index()).copied().unwrap_or(false)),
        };
        known.push(leaf && !facts.type_of(crate::ir::ExprId::new(i)).is_float());
    }
    known
}

/// Which regions stand only in branches, and in counted loops with bounds that the host knows.
fn unrolled(program: &Program, facts: &Facts, known: &[bool]) -> Vec<bool> {
    let mut unrolled = vec![true; program.regions().len()];
    for i in 0..program.regions().len() {
        // A region comes after the one that its holder stands in.
        if let Some((holder, _)) = facts.parent(RegionId::new(i as u32)) {
            let node = program.node(holder);
            let allowed = match node {
                Node::If { .. } => true,
                Node::For { .. } => node.operands().all(|e| known[e.index()]),
                _ => false,
            };
            unrolled[i] = allowed && unrolled[facts.region_of(holder).index()];
        }
    }
    unrolled
}
