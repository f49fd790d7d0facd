//! Which shared arrays need no zeroing, as the workgroup writes every element before any is read.

use vyre_foundation::check::Facts;
use vyre_foundation::ir::{Expr, ExprId, Node, Place, Program, SharedId};
use vyre_spec::{Axis, BuiltIn, MemoryOrdering};

use crate::grid_sync::split::Part;

/// Whether a part of the body, before anything else happens to the array, stores the element of each invocation's own
/// index outside every branch and loop, and until the workgroup has met after that, uses no other.
pub(crate) fn written_first(program: &Program, facts: &Facts, part: &Part, array: SharedId) -> bool {
    let Some(size) = program.launch().workgroup_size() else { return false };
    let invocations = size.iter().fold(1u64, |product, &n| product.saturating_mul(u64::from(n)));
    let covers = u64::from(program.shared_array(array).len) <= invocations;
    let is_own = |index: ExprId| match *program.expr(index) {
        Expr::BuiltIn(BuiltIn::LocalIndex) => true,
        Expr::BuiltIn(BuiltIn::LocalId(Axis::X)) => size[1] == 1 && size[2] == 1,
        _ => false,
    };
    let mut written = false;
    // In text order a node comes before those of its regions, and these before the next node.
    for id in part.all_nodes() {
        let outside = facts.region_of(id) == part.region;
        match *program.node(id) {
            // Who has returned stores nothing.
            Node::Return if !written => return false,
            Node::Barrier { ordering: MemoryOrdering::Workgroup | MemoryOrdering::WorkgroupAndStorage }
                if written && outside =>
            {
                return true;
            }
            node if node.place() != Some(Place::Shared(array)) => {}
            Node::Store { index, .. } if !written => {
                if !(outside && covers && is_own(index)) {
                    return false;
                }
                written = true;
            }
            Node::Load { index, .. } | Node::Store { index, .. } | Node::Atomic { index, .. }
                if !(written && is_own(index)) =>
            {
                return false;
            }
            Node::Tile { .. } => return false,
            _ => {}
        }
    }
    true
}
