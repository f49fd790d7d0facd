//! Where each expression is evaluated.
//!
//! An expression is pure and total, so it may be evaluated wherever its operands exist. It stands before the
//! earliest node of the deepest region that all its uses share, but outside every loop that its operands'
//! homes allow. So each is evaluated once, and its instruction dominates every use.

use vyre_foundation::check::Facts;
use vyre_foundation::ir::{ExprId, Node, NodeId, Program, RegionId};

use crate::grid_sync::split::Part;

/// A place in a region: before a node, or at its end.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Position {
    region: RegionId,
    /// The node's number, or [`END`]. Nodes are numbered in text order.
    before: u32,
}

/// After every node. Only a `while`'s condition and body stand there, at the end of its head, and what a part
/// saves at its end.
const END: u32 = u32::MAX;

/// What is evaluated where, operands before users.
pub(crate) struct Placement {
    before_node: Vec<Vec<ExprId>>,
    at_end: Vec<Vec<ExprId>>,
}

impl Placement {
    /// Places the expressions of a part of the program, inside the part.
    pub(crate) fn new(program: &Program, facts: &Facts, part: &Part) -> Self {
        let tree = Tree::new(program, facts, part.region);
        let count = program.exprs().len();
        let mut uses: Vec<Option<Position>> = vec![None; count];
        for id in part.all_nodes() {
            let node = program.node(id);
            let position = match *node {
                Node::While { head, .. } => Position { region: head, before: END },
                _ => Position { region: facts.region_of(id), before: id.raw() },
            };
            for operand in node.operands() {
                tree.join(&mut uses[operand.index()], position);
            }
        }
        if let Some(branch) = part.saves {
            let position = Position { region: part.region, before: END };
            for operand in program.node(branch).operands() {
                tree.join(&mut uses[operand.index()], position);
            }
        }
        let mut placement = Self {
            before_node: vec![Vec::new(); program.nodes().len()],
            at_end: vec![Vec::new(); program.regions().len()],
        };
        let mut placed = vec![None; count];
        // Users have higher numbers than their operands.
        for i in (0..count).rev() {
            let id = ExprId::new(i as u32);
            let Some(position) = uses[i].map(|position| tree.hoist(position, facts.home(id))) else {
                continue;
            };
            placed[i] = Some(position);
            for operand in program.expr(id).operands() {
                tree.join(&mut uses[operand.index()], position);
            }
        }
        for (i, position) in placed.into_iter().enumerate() {
            let Some(Position { region, before }) = position else { continue };
            let list = if before == END {
                &mut placement.at_end[region.index()]
            } else {
                &mut placement.before_node[before as usize]
            };
            list.push(ExprId::new(i as u32));
        }
        placement
    }

    /// What is evaluated right before a node.
    pub(crate) fn before(&self, node: NodeId) -> Vec<ExprId> {
        self.before_node[node.index()].clone()
    }

    /// What is evaluated at the end of a region.
    pub(crate) fn at_end(&self, region: RegionId) -> Vec<ExprId> {
        self.at_end[region.index()].clone()
    }
}

/// The tree of regions under dominance.
struct Tree<'a> {
    facts: &'a Facts,
    /// The region that holds everything.
    root: RegionId,
    depth: Vec<u32>,
    loops: Vec<u32>,
}

impl<'a> Tree<'a> {
    fn new(program: &Program, facts: &'a Facts, root: RegionId) -> Self {
        let count = program.regions().len();
        let (mut depth, mut loops) = (vec![0; count], vec![0; count]);
        // Regions are numbered in text order, so a parent comes before its children.
        for i in 0..count {
            if let Some((node, parent)) = facts.parent(RegionId::new(i as u32)) {
                depth[i] = depth[parent.index()] + 1;
                let enters_loop = match program.node(node) {
                    Node::For { .. } => true,
                    Node::While { head, .. } => head.index() == i,
                    _ => false,
                };
                loops[i] = loops[parent.index()] + u32::from(enters_loop);
            }
        }
        Self { facts, root, depth, loops }
    }

    /// The position outside the region that holds this one.
    fn raise(&self, position: Position) -> Option<Position> {
        let (node, region) = self.facts.parent(position.region)?;
        // The body of a `while` hangs below its head, not below the node's own region.
        let before = if region == self.facts.region_of(node) { node.raw() } else { END };
        Some(Position { region, before })
    }

    /// The latest position that dominates both.
    fn join(&self, known: &mut Option<Position>, other: Position) {
        let (Some(mut a), mut b) = (*known, other) else {
            *known = Some(other);
            return;
        };
        while a.region != b.region {
            let deeper =
                if self.depth[a.region.index()] >= self.depth[b.region.index()] { &mut a } else { &mut b };
            match self.raise(*deeper) {
                Some(raised) => *deeper = raised,
                None => break,
            }
        }
        *known = Some(Position { region: a.region, before: a.before.min(b.before) });
    }

    /// The deepest position in as few loops as possible, up to the home.
    fn hoist(&self, position: Position, home: RegionId) -> Position {
        let loops = |p: Position| self.loops[p.region.index()];
        let (mut best, mut at) = (position, position);
        while at.region != home && at.region != self.root {
            let Some(raised) = self.raise(at) else { break };
            at = raised;
            if loops(at) < loops(best) {
                best = at;
            }
        }
        best
    }
}
