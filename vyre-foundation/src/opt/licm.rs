//! Loop-invariant reads leave their loops. Expressions need no pass: they are pure, and lowering places each outside of
//! the loops that it does not depend on. What a loop can hold on to are the reads:
//!
//! * loads of `readonly` and `uniform` buffers at an index that exists before the loop;
//! * loads of private and shared arrays that nothing in the loop writes, nor, of shared ones, a barrier orders;
//! * reads of variables that the loop does not write.
//!
//! Such a read gives the same in each trip, and out of bounds it gives 0, so it may be made before. It must stand in the
//! loop's own region, with no jump before it, so that every trip makes it: then only a counted loop without a trip makes
//! one read more. The body of a `while` keeps its loads, as its condition may be what proves their bounds.

use vyre_spec::{Access, MemoryOrdering};

use crate::check::Checked;
use crate::check::tree::{Tree, ids};
use crate::ir::{Arena, Node, NodeId, Place, Program, RegionId};

use super::Outcome;
use super::rewrite::{Rewriter, keep};

pub(super) fn run(program: &Checked<Program>) -> Outcome {
    if !program.nodes().iter().any(|node| matches!(node, Node::For { .. } | Node::While { .. })) {
        return Ok(None);
    }
    let loops = Loops::new(program);
    let mut before: Vec<Vec<NodeId>> = vec![Vec::new(); program.nodes().len()];
    let mut moved = vec![false; program.nodes().len()];
    for (id, _) in ids(program) {
        if let Some(holder) = loops.outermost(id) {
            before[holder.index()].push(id);
            moved[id.index()] = true;
        }
    }
    if !moved.contains(&true) {
        return Ok(None);
    }
    let mut rewriter = Rewriter::new(program, Arena::with_declarations_of(program), keep);
    rewriter.changed = true;
    for (i, nodes) in (0..).zip(program.regions()) {
        for &id in nodes.iter().filter(|id| !moved[id.index()]) {
            for &id in before[id.index()].iter().chain([&id]) {
                rewriter.set_node(id);
                rewriter.new.arena.place_node(RegionId::new(i), id);
            }
        }
    }
    rewriter.finish()
}

/// Nodes that reads must not pass, each list in text order.
struct Obstacles {
    /// Stores and atomics of each shared and private array.
    shared: Vec<Vec<NodeId>>,
    privates: Vec<Vec<NodeId>>,
    /// Declarations and writes of each variable.
    vars: Vec<Vec<NodeId>>,
    barriers: Vec<NodeId>,
    jumps: Vec<NodeId>,
    /// Barriers of the grid, where a program is cut, and nodes that work on memory by other ways.
    cuts: Vec<NodeId>,
}

impl Obstacles {
    fn of(program: &Program) -> Self {
        let mut found = Self {
            shared: vec![Vec::new(); program.shared().len()],
            privates: vec![Vec::new(); program.privates().len()],
            vars: vec![Vec::new(); program.vars().len()],
            barriers: Vec::new(),
            jumps: Vec::new(),
            cuts: Vec::new(),
        };
        for (id, node) in ids(program) {
            let list = match *node {
                Node::Store { place, .. } | Node::Atomic { place, .. } => match place {
                    Place::Shared(array) => &mut found.shared[array.index()],
                    Place::Private(array) => &mut found.privates[array.index()],
                    // What is loaded early is never written.
                    _ => continue,
                },
                Node::Declare { var, .. } | Node::Set { var, .. } => &mut found.vars[var.index()],
                Node::Break | Node::Continue | Node::Return => &mut found.jumps,
                Node::Load { .. }
                | Node::Get { .. }
                | Node::If { .. }
                | Node::For { .. }
                | Node::While { .. }
                | Node::Subgroup { .. }
                | Node::Trap { .. } => continue,
                Node::Barrier { ordering } if ordering != MemoryOrdering::GridSync => &mut found.barriers,
                _ => &mut found.cuts,
            };
            list.push(id);
        }
        found
    }
}

struct Loops<'a> {
    program: &'a Checked<Program>,
    tree: Tree,
    obstacles: Obstacles,
}

impl<'a> Loops<'a> {
    fn new(program: &'a Checked<Program>) -> Self {
        Self { program, tree: Tree::of(program), obstacles: Obstacles::of(program) }
    }

    /// The outermost loop before which a node can stand, if any.
    fn outermost(&self, id: NodeId) -> Option<NodeId> {
        let node = self.program.node(id);
        if !matches!(node, Node::Load { .. } | Node::Get { .. }) {
            return None;
        }
        let mut outermost = None;
        let mut region = self.tree.node_regions[id.index()];
        while let Some((holder, _)) = self.tree.parents[region.index()] {
            if !self.invariant(id, node, holder, region) {
                break;
            }
            outermost = Some(holder);
            region = self.tree.node_regions[holder.index()];
        }
        outermost
    }

    /// Whether a node in a region of a loop gives the same before it.
    fn invariant(&self, id: NodeId, node: &Node, holder: NodeId, region: RegionId) -> bool {
        let (program, tree, obstacles) = (self.program, &self.tree, &self.obstacles);
        let in_body = match *program.node(holder) {
            Node::For { .. } => false,
            Node::While { body, .. } => body == region,
            _ => return false,
        };
        let Some(last) = program.node(holder).regions().last() else { return false };
        let none = |list: &[NodeId], end: NodeId| {
            let first = list.partition_point(|at| *at <= holder);
            list.get(first).is_none_or(|at| *at >= end)
        };
        let free = |list: &[NodeId]| none(list, tree.end(last));
        if !none(&obstacles.jumps, id) || !free(&obstacles.cuts) {
            return false;
        }
        let outside = tree.node_regions[holder.index()];
        match *node {
            Node::Get { var } => free(&obstacles.vars[var.index()]),
            Node::Load { place, index } if !in_body => {
                let exists = tree.dominates(program.facts().home(index), outside);
                exists
                    && match place {
                        Place::Buffer(buffer) => {
                            matches!(program.buffer(buffer).access, Access::ReadOnly | Access::Uniform)
                        }
                        Place::Shared(array) => {
                            free(&obstacles.shared[array.index()]) && free(&obstacles.barriers)
                        }
                        Place::Private(array) => free(&obstacles.privates[array.index()]),
                    }
            }
            _ => false,
        }
    }
}
