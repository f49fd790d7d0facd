//! Stores at a stride that together have every element: `y[2 * i]` and `y[2 * i + 1]`.

use vyre_foundation::check::Facts;
use vyre_foundation::ir::{BufferId, ExprId, Node, NodeId, Place, Program, RegionId};

use super::flow::Flow;
use super::lanes::{Lanes, Spread};
use super::memory::split;
use super::{VECTOR_BYTES, window::Window};

/// Stores that become whole vectors at the last one.
#[derive(Clone, Debug)]
pub(crate) struct Joined {
    /// The stores, by what constants add to their index, which is one more from each to the next.
    pub(crate) members: Vec<NodeId>,
    /// The one at which all are done.
    pub(crate) last: NodeId,
    /// The elements of the first member, in vectors that all members fill.
    pub(crate) window: Window,
}

/// A member, until all are found.
struct Candidate {
    node: NodeId,
    buffer: BufferId,
    root: ExprId,
    plus: i64,
    step: i32,
    rest: u32,
}

/// Finds such stores. `suits` says whether a store has a proof.
pub(super) fn find(
    program: &Program,
    facts: &Facts,
    lanes: &Lanes,
    flow: &Flow,
    suits: impl Fn(NodeId) -> bool,
) -> Vec<Joined> {
    let mut found = Vec::new();
    for region in (0..program.regions().len() as u32).map(RegionId::new).filter(|&r| !flow.is_apart(r)) {
        let mut open: Vec<Candidate> = Vec::new();
        for &node in program.region(region) {
            let touched = match *program.node(node) {
                Node::Store { place: Place::Buffer(buffer), index, .. } => {
                    match candidate(program, facts, lanes, node, buffer, index).filter(|c| suits(c.node)) {
                        Some(new) => {
                            // One of another kind would come after those that are open.
                            let alike = |c: &Candidate| {
                                c.buffer != buffer
                                    || (c.root, c.step) == (new.root, new.step) && c.plus != new.plus
                            };
                            if !open.iter().all(alike) {
                                open.retain(|c| c.buffer != buffer);
                            }
                            open.push(new);
                            if let Some(joined) = whole(program, lanes, &open, buffer, node) {
                                found.push(joined);
                                open.retain(|c| c.buffer != buffer);
                            }
                            continue;
                        }
                        None => Some(buffer),
                    }
                }
                Node::Load { place: Place::Buffer(buffer), .. } => Some(buffer),
                Node::Declare { .. } | Node::Get { .. } | Node::Set { .. } => continue,
                _ => None,
            };
            open.retain(|c| touched.is_some_and(|buffer| c.buffer != buffer));
        }
    }
    found
}

fn candidate(
    program: &Program,
    facts: &Facts,
    lanes: &Lanes,
    node: NodeId,
    buffer: BufferId,
    index: ExprId,
) -> Option<Candidate> {
    let Spread::Linear { step, rest: Some(rest) } = lanes.of(index) else { return None };
    let (root, plus) = split(program, index);
    let usage = facts.usage(Place::Buffer(buffer));
    (step.abs() > 1 && step.abs() <= 4 && !usage.atomic).then_some(Candidate {
        node,
        buffer,
        root,
        plus,
        step,
        rest,
    })
}

/// The open stores to a buffer, if they have every element of some vectors.
fn whole(
    program: &Program,
    lanes: &Lanes,
    open: &[Candidate],
    buffer: BufferId,
    last: NodeId,
) -> Option<Joined> {
    let mut members: Vec<&Candidate> = open.iter().filter(|c| c.buffer == buffer).collect();
    members.sort_by_key(|c| c.plus);
    let first = members.first()?;
    let step = first.step;
    if members.len() != step.unsigned_abs() as usize
        || !(0..).zip(&members).all(|(i, c)| c.plus == first.plus + i)
    {
        return None;
    }
    let points = lanes.points();
    let size = program.place(Place::Buffer(buffer)).1.size();
    let vector = (VECTOR_BYTES / size).min(points);
    let start = (first.rest % vector) as i32;
    let lowest = start + (step * (points as i32 - 1)).min(0);
    let window = Window { first: start, step, points, vector };
    (lowest.rem_euclid(vector as i32) == 0).then(|| Joined {
        members: members.iter().map(|c| c.node).collect(),
        last,
        window,
    })
}
