//! A walk in text order for passes that know something at each point: what a node taught holds for what its
//! region dominates, until something changes it.

use crate::check::tree::Tree;
use crate::ir::{Node, NodeId, Program, RegionId};

use super::rewrite::{Keep, Rewriter};

/// What is known at a point of the walk, with a log to take back what a region taught.
pub(super) trait Knowledge {
    /// The length of the log.
    fn mark(&self) -> usize;

    /// Takes back what was learnt since the log had this length.
    fn undo(&mut self, mark: usize);

    /// Forgets what running the regions of a node may change, any number of times.
    fn forget(&mut self, holder: NodeId);

    /// Rewrites a node without regions; whether it stays.
    fn step(&mut self, rewriter: &mut Rewriter<'_, Keep>, id: NodeId) -> bool;
}

struct Frame {
    region: RegionId,
    position: usize,
    /// How long the log was when the region was entered.
    mark: usize,
    /// The loop whose head this is, and its body.
    tail: Option<(NodeId, RegionId)>,
    /// The node whose regions were just walked.
    done: Option<NodeId>,
}

impl Frame {
    fn new(region: RegionId, mark: usize) -> Self {
        Self { region, position: 0, mark, tail: None, done: None }
    }
}

/// Walks the program, each node where it was unless `known` drops it.
pub(super) fn walk(program: &Program, rewriter: &mut Rewriter<'_, Keep>, known: &mut impl Knowledge) {
    let mut stack = vec![Frame::new(program.body(), 0)];
    while let Some(frame) = stack.last_mut() {
        let region = frame.region;
        if let Some(holder) = frame.done.take() {
            known.forget(holder);
        }
        let Some(&id) = program.region(region).get(frame.position) else {
            if let Some((node, body)) = frame.tail.take() {
                // The condition is evaluated here, at the end of the head, which dominates the body.
                rewriter.set_node(node);
                stack.push(Frame::new(body, known.mark()));
            } else {
                known.undo(frame.mark);
                stack.pop();
            }
            continue;
        };
        frame.position += 1;
        match *program.node(id) {
            Node::While { head, body, .. } => {
                frame.done = Some(id);
                rewriter.new.arena.place_node(region, id);
                known.forget(id);
                stack.push(Frame { tail: Some((id, body)), ..Frame::new(head, known.mark()) });
            }
            ref node @ (Node::If { .. } | Node::For { .. }) => {
                frame.done = Some(id);
                rewriter.set_node(id);
                rewriter.new.arena.place_node(region, id);
                if matches!(node, Node::For { .. }) {
                    known.forget(id);
                }
                // Each is entered with what is known here: one undoes what it learnt before the next begins.
                let mark = known.mark();
                stack.extend(node.regions().rev().map(|child| Frame::new(child, mark)));
            }
            _ => {
                if known.step(rewriter, id) {
                    rewriter.new.arena.place_node(region, id);
                } else {
                    rewriter.changed = true;
                }
            }
        }
    }
}

/// The part of a list, in text order of its nodes, that lies inside a node's regions.
pub(super) fn inside<'l, T>(
    tree: &Tree,
    program: &Program,
    holder: NodeId,
    list: &'l [(NodeId, T)],
) -> &'l [(NodeId, T)] {
    let Some(last) = program.node(holder).regions().last() else { return &[] };
    let first = list.partition_point(|(node, _)| *node <= holder);
    let end = list.partition_point(|(node, _)| *node < tree.end(last));
    list.get(first..end).unwrap_or(&[])
}
