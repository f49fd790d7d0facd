//! Redundant barriers: a barrier orders the accesses before it with those after it, so where there are none on one side,
//! it does nothing.
//!
//! * Of two barriers in one region with no access to shared memory or a buffer between them, the first takes on both
//!   orderings and the second goes.
//! * A barrier before the first access of the program, or after its last, goes, if it stands outside of
//!   every branch and loop.
//! * Among the invocations of a workgroup of one there is nothing to order; barriers of the grid stay.
//! * A barrier does not order shared memory in a program that has none, nor buffers that nothing writes.
//!
//! Accesses to private arrays, variables and buffers that cannot be written do not count: no other invocation sees them.

use vyre_spec::{Access, MemoryOrdering};

use crate::check::Checked;
use crate::ir::{Arena, Node, NodeId, Place, Program, RegionId};

use super::Outcome;
use super::rewrite::{Rewriter, keep};

pub(super) fn run(program: &Checked<Program>) -> Outcome {
    if !program.facts().has_barrier() {
        return Ok(None);
    }
    let orderings = orderings(program);
    let mut rewriter = Rewriter::new(program, Arena::with_declarations_of(program), keep);
    for (i, nodes) in (0..).map(RegionId::new).zip(program.regions()) {
        for &id in nodes {
            let node = rewriter.set_node(id);
            if let Node::Barrier { ordering } = node {
                let kept = orderings[id.index()];
                rewriter.changed |= kept != Some(ordering);
                let Some(ordering) = kept else { continue };
                rewriter.new.arena.replace_node(id, Node::Barrier { ordering });
            }
            rewriter.new.arena.place_node(i, id);
        }
    }
    rewriter.finish()
}

/// What each barrier has to order; `None` where it can go, and for other nodes.
fn orderings(program: &Program) -> Vec<Option<MemoryOrdering>> {
    let weakest = Weakest::of(program);
    let mut orderings = vec![None; program.nodes().len()];
    for (i, nodes) in (0..).map(RegionId::new).zip(program.regions()) {
        let whole = i == program.body();
        // The barrier after which nothing was accessed, and whether anything was at all.
        let (mut last, mut begun) = (None::<NodeId>, !whole);
        for &id in nodes {
            let node = program.node(id);
            if let Node::Barrier { ordering } = *node {
                match last.and_then(|last| orderings[last.index()].as_mut()) {
                    Some(first) => *first = both(*first, ordering),
                    None if begun => {
                        orderings[id.index()] = Some(ordering);
                        last = Some(id);
                    }
                    None => {}
                }
            } else if !is_apart(program, node) {
                (last, begun) = (None, true);
            }
        }
        if let (true, Some(last)) = (whole, last) {
            orderings[last.index()] = None;
        }
    }
    orderings.into_iter().map(|ordering| ordering.and_then(|ordering| weakest.of_barrier(ordering))).collect()
}

/// Whether no other invocation can tell when a node runs.
fn is_apart(program: &Program, node: &Node) -> bool {
    match *node {
        Node::Load { place, .. } | Node::Store { place, .. } => match place {
            Place::Private(_) => true,
            Place::Buffer(buffer) => {
                matches!(program.buffer(buffer).access, Access::ReadOnly | Access::Uniform)
            }
            _ => false,
        },
        Node::Declare { .. } | Node::Get { .. } | Node::Set { .. } => true,
        _ => false,
    }
}

/// The ordering of both.
fn both(a: MemoryOrdering, b: MemoryOrdering) -> MemoryOrdering {
    match (a, b) {
        (MemoryOrdering::GridSync, _) | (_, MemoryOrdering::GridSync) => MemoryOrdering::GridSync,
        _ if a == b => a,
        _ => MemoryOrdering::WorkgroupAndStorage,
    }
}

/// What barriers of a program can need to order.
struct Weakest {
    /// A workgroup has one invocation.
    alone: bool,
    /// Some buffer is written, some shared array used.
    buffers: bool,
    shared: bool,
}

impl Weakest {
    fn of(program: &Program) -> Self {
        let size = program.launch().workgroup_size();
        let mut weakest = Self { alone: size == Some([1; 3]), buffers: false, shared: false };
        for node in program.nodes() {
            match *node {
                Node::Store { place: Place::Buffer(_), .. }
                | Node::Atomic { place: Place::Buffer(_), .. } => {
                    weakest.buffers = true;
                }
                Node::Load { place, .. } | Node::Store { place, .. } | Node::Atomic { place, .. } => {
                    weakest.shared |= matches!(place, Place::Shared(_));
                }
                Node::Declare { .. }
                | Node::Get { .. }
                | Node::Set { .. }
                | Node::If { .. }
                | Node::For { .. }
                | Node::While { .. }
                | Node::Break
                | Node::Continue
                | Node::Return
                | Node::Barrier { .. }
                | Node::Subgroup { .. } => {}
                // A trap is seen by the host alone; what else there is may work on any memory.
                ref other => {
                    let any = !matches!(other, Node::Trap { .. });
                    (weakest.buffers, weakest.shared) = (weakest.buffers || any, weakest.shared || any);
                }
            }
        }
        weakest
    }

    fn of_barrier(&self, ordering: MemoryOrdering) -> Option<MemoryOrdering> {
        match ordering {
            MemoryOrdering::GridSync => Some(ordering),
            _ if self.alone => None,
            MemoryOrdering::WorkgroupAndStorage if !self.buffers => Some(MemoryOrdering::Workgroup),
            MemoryOrdering::WorkgroupAndStorage if !self.shared => Some(MemoryOrdering::Storage),
            _ => Some(ordering),
        }
    }
}
