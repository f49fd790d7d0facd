//! Races that are certain wherever they are reached. Others are the reference machine's to find.
//!
//! In a workgroup of several invocations, with "one element" an index that is the same for all of them and
//! not known to be out of bounds, and in flow that all of them share:
//!
//! * They do not store to one element a value that is each one's own.
//! * They do not reach a plain store and an atomic of one element with no barrier between the two.

use std::collections::HashMap;

use crate::diag::{Code, Diagnostic, Site};
use crate::ir::{Count, Expr, ExprId, Extent, Node, NodeId, Place, Program};

use super::declarations::workgroup_invocations;
use super::facts::Uniformity;
use super::tree::{Tree, ids};
use super::uniformity::Solution;

/// The last access to each element.
type Accesses = HashMap<(Place, ExprId), NodeId>;

/// Empties both; new tables, because clearing one costs its capacity each time.
fn forget(plain: &mut Accesses, atomic: &mut Accesses) {
    (*plain, *atomic) = (Accesses::new(), Accesses::new());
}

pub(crate) fn check(program: &Program, tree: &Tree, solution: &Solution, findings: &mut Vec<Diagnostic>) {
    let Some(size) = program.launch().workgroup_size() else { return };
    if workgroup_invocations(size) == Some(1) {
        return;
    }
    let shared = |level: Uniformity| level <= Uniformity::Workgroup;
    let one_element = |id: NodeId, place: Place, index: ExprId| {
        !matches!(place, Place::Private(_))
            && shared(solution.flow[id.index()])
            && shared(solution.exprs[index.index()])
            && may_be_in_bounds(program, place, index)
    };
    for (id, node) in ids(program) {
        let Node::Store { place, index, value } = *node else { continue };
        if one_element(id, place, index) && !shared(solution.exprs[value.index()]) {
            let message = format!(
                "every invocation of a workgroup stores its own value to one element of `{}`",
                program.place(place).0
            );
            findings.push(
                Diagnostic::new(Code::Race, Site::Node(id), message)
                    .with_help("let one invocation store, use an atomic, or give each its own element"),
            );
        }
    }
    let barriers = regions_with_barriers(program, tree);
    for nodes in program.regions() {
        // The last plain and atomic access to each element since a barrier.
        let (mut plain, mut atomic) = (Accesses::new(), Accesses::new());
        for &id in nodes {
            let node = program.node(id);
            let (place, index, other) = match *node {
                Node::Barrier { .. } => {
                    forget(&mut plain, &mut atomic);
                    continue;
                }
                Node::Store { place, index, .. } => {
                    plain.insert((place, index), id);
                    (place, index, atomic.get(&(place, index)))
                }
                Node::Atomic { place, index, .. } => {
                    atomic.insert((place, index), id);
                    (place, index, plain.get(&(place, index)))
                }
                _ => {
                    if node.regions().any(|region| barriers[region.index()]) {
                        forget(&mut plain, &mut atomic);
                    }
                    continue;
                }
            };
            let Some(&other) = other else { continue };
            if one_element(id, place, index) {
                let message = format!(
                    "an atomic and a plain store of one element of `{}` meet without a barrier between them",
                    program.place(place).0
                );
                findings.push(
                    Diagnostic::new(Code::Race, Site::Node(id), message)
                        .with_related(Site::Node(other), "the other access")
                        .with_help("put a barrier between them, or use an atomic exchange for both"),
                );
            }
        }
    }
}

/// Whether an index is not a constant out of a known length.
fn may_be_in_bounds(program: &Program, place: Place, index: ExprId) -> bool {
    let Expr::Literal(value) = *program.expr(index) else { return true };
    let length = match place {
        Place::Shared(id) => Some(u64::from(program.shared_array(id).len)),
        Place::Private(id) => Some(u64::from(program.private_array(id).len)),
        Place::Buffer(id) => match program.buffer(id).count {
            Count::Extent(extent) => match *program.extent(extent) {
                Extent::Literal(length) => Some(length),
                _ => None,
            },
            Count::Bytes => None,
        },
    };
    // A negative index has bits above any length.
    length.is_none_or(|length| value.bits() < length)
}

/// For each region, whether a barrier stands in it, at any depth.
fn regions_with_barriers(program: &Program, tree: &Tree) -> Vec<bool> {
    let mut has = vec![false; program.regions().len()];
    // Regions are numbered after those that hold them.
    for (i, nodes) in program.regions().iter().enumerate().rev() {
        has[i] |= nodes.iter().any(|&node| matches!(program.node(node), Node::Barrier { .. }));
        if let (true, Some((holder, _))) = (has[i], tree.parents[i]) {
            has[tree.node_regions[holder.index()].index()] = true;
        }
    }
    has
}
