//! The checker: `Program` in, [`Checked`] or every diagnostic out.
//!
//! Each concern is a file whose header lists its invariants. All run on every program, except that
//! uniformity and races, which reason about what the program does, need one that is otherwise sound. All
//! are linear in the program and none recurses, so a program may be as long and its expressions as deep as
//! memory allows.

mod access;
mod declarations;
mod facts;
mod graph;
mod limits;
mod names;
mod races;
mod structure;
mod tiles;
pub(crate) mod tree;
mod types;
mod uniformity;
mod whole;

#[cfg(test)]
mod tests;

pub use facts::{Checkable, Checked, Facts, Uniformity, Usage};
pub use limits::{MAX_NESTING, MAX_TABLE};
pub(crate) use names::{Names, is_identifier, is_reserved};

use crate::diag::{Diagnostic, Site};
use crate::ir::Program;

use tree::Tree;

/// Proves a program sound, or says everything that is wrong with it.
///
/// # Errors
/// Every finding, in program order: the program as a whole, its declarations, then the body as it reads.
pub fn check(program: Program) -> Result<Checked<Program>, Vec<Diagnostic>> {
    match prove(&program, Races::Refused) {
        Ok(facts) => Ok(Checked::new(program, facts)),
        Err(findings) => Err(findings),
    }
}

/// Proves a program that an optimiser pass made of a checked one. A race that only now is certain, because
/// two indices turned out to be one expression, was there before and is no fault of the pass.
pub(crate) fn check_rewritten(program: Program) -> Result<Checked<Program>, Vec<Diagnostic>> {
    match prove(&program, Races::Ignored) {
        Ok(facts) => Ok(Checked::new(program, facts)),
        Err(findings) => Err(findings),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Races {
    Refused,
    Ignored,
}

fn prove(program: &Program, races: Races) -> Result<Facts, Vec<Diagnostic>> {
    let mut findings = Vec::new();
    let mut facts = Facts::default();
    let tree = Tree::of(program);
    names::check(program, &mut findings);
    declarations::check(program, &mut findings);
    limits::check(program, &tree, &mut findings);
    facts.expr_homes = structure::check(program, &tree, &mut findings);
    let types = types::check(program, &mut findings);
    access::check(program, &mut facts, &mut findings);
    tiles::declarations(program, &mut findings);
    // Each type that is missing has been reported where it went wrong.
    let known: Option<Vec<_>> = types.into_iter().collect();
    debug_assert!(known.is_some() || !findings.is_empty(), "a type is missing that nothing reported");
    if let (Some(types), true) = (known, findings.is_empty()) {
        let solution = uniformity::check(program, &tree, &mut findings);
        if findings.is_empty() && races == Races::Refused {
            races::check(program, &tree, &solution, &mut findings);
        }
        facts.expr_types = types;
        facts.expr_uniformity = solution.exprs;
        facts.node_flow = solution.flow;
    }
    if !findings.is_empty() {
        findings.sort_by_key(|finding| position(&tree, finding.site));
        return Err(findings);
    }
    facts.buffer_stored_whole = whole::stored(program);
    facts.node_regions = tree.node_regions;
    facts.region_parents = tree.parents;
    Ok(facts)
}

/// Where a place stands in program order. An expression comes just before the node that uses it first.
fn position(tree: &Tree, site: Site) -> (u8, u32, u8, u32) {
    match site {
        Site::Program => (0, 0, 0, 0),
        Site::Param(id) => (1, id.raw(), 0, 0),
        Site::Buffer(id) => (2, id.raw(), 0, 0),
        Site::Shared(id) => (3, id.raw(), 0, 0),
        Site::Private(id) => (4, id.raw(), 0, 0),
        Site::Tile(id) => (5, id.raw(), 0, 0),
        Site::Var(id) => (6, id.raw(), 0, 0),
        Site::Expr(id) => (7, tree.first_use[id.index()].raw(), 0, id.raw()),
        Site::Node(id) => (7, id.raw(), 1, 0),
    }
}
