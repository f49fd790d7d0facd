//! Which buffers a launch is sure to store whole, so that nobody need clear them first.
//!
//! Proven for one case, the common one: a domain of one axis, as long as the buffer, whose every invocation
//! stores the element of its own point and cannot return before.

use vyre_spec::{Axis, BuiltIn};

use crate::ir::{BufferId, Count, Expr, Extent, ExtentId, Launch, Node, Place, Program};

/// For each buffer, whether every element is stored by every launch that succeeds.
pub(crate) fn stored(program: &Program) -> Vec<bool> {
    let mut whole = vec![false; program.buffers().len()];
    let Launch::Domain { extent: [points, ..], axes: 1 } = program.launch() else { return whole };
    if program.nodes().iter().any(|node| matches!(node, Node::Return)) {
        return whole;
    }
    for &node in program.region(program.body()) {
        let Node::Store { place: Place::Buffer(buffer), index, .. } = *program.node(node) else { continue };
        if *program.expr(index) == Expr::BuiltIn(BuiltIn::Point(Axis::X)) {
            whole[buffer.index()] = counts(program, points, buffer);
        }
    }
    whole
}

/// Whether an extent is always a buffer's number of elements.
fn counts(program: &Program, extent: ExtentId, buffer: BufferId) -> bool {
    let extent = defining(program, extent);
    match program.buffer(buffer).count {
        Count::Extent(count) => extent == defining(program, count),
        Count::Bytes => *program.extent(extent) == Extent::Length(buffer),
    }
}

/// The extent that defines a length, if it is one.
fn defining(program: &Program, mut extent: ExtentId) -> ExtentId {
    // Counts have no cycle, so each buffer is passed at most once.
    for _ in program.buffers() {
        let Extent::Length(buffer) = *program.extent(extent) else { break };
        let Count::Extent(count) = program.buffer(buffer).count else { break };
        extent = count;
    }
    extent
}
