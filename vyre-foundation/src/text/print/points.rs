//! The places of a body where a `let` may stand, and which of them dominate which.
//!
//! A point is just before a node, or at the end of a `while`'s head, where its condition is evaluated.
//! Points are numbered in text order. Regions form a tree by scope of names: a region's parent is the
//! region of the node that holds it, but a `while`'s body is a child of its head. Each region hangs on a
//! point of its parent. A region's subtree is a contiguous range of points.

use crate::ir::{Node, NodeId, Program, RegionId};

/// A point, numbered in text order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Point(pub(super) u32);

/// A region's place in the tree. `jump` is a far ancestor, so that searches upward take a logarithmic
/// number of steps (Myers, "An applicative random-access stack", 1983).
#[derive(Clone, Copy)]
struct Link {
    parent: RegionId,
    anchor: Point,
    depth: u32,
    jump: RegionId,
}

/// The points of a program.
pub(super) struct Points {
    /// The region of each point.
    regions: Vec<RegionId>,
    nodes: Vec<Point>,
    /// The point at the end of a `while`'s head, by the head.
    ends: Vec<Option<Point>>,
    links: Vec<Link>,
}

enum Step {
    Node(RegionId, usize),
    EndOfHead { head: RegionId, body: RegionId },
}

impl Points {
    pub(super) fn of(program: &Program) -> Self {
        let root = Link { parent: program.body(), anchor: Point(0), depth: 0, jump: program.body() };
        let mut points = Self {
            regions: Vec::new(),
            nodes: vec![Point(0); program.nodes().len()],
            ends: vec![None; program.regions().len()],
            links: vec![root; program.regions().len()],
        };
        let mut steps = vec![Step::Node(program.body(), 0)];
        while let Some(step) = steps.pop() {
            match step {
                Step::Node(region, position) => {
                    let Some(&id) = program.region(region).get(position) else { continue };
                    steps.push(Step::Node(region, position + 1));
                    let point = points.add(region);
                    points.nodes[id.index()] = point;
                    match *program.node(id) {
                        Node::While { head, body, .. } => {
                            points.link(head, region, point);
                            steps.push(Step::EndOfHead { head, body });
                            steps.push(Step::Node(head, 0));
                        }
                        node => {
                            for child in node.regions().rev() {
                                points.link(child, region, point);
                                steps.push(Step::Node(child, 0));
                            }
                        }
                    }
                }
                Step::EndOfHead { head, body } => {
                    let point = points.add(head);
                    points.ends[head.index()] = Some(point);
                    points.link(body, head, point);
                    steps.push(Step::Node(body, 0));
                }
            }
        }
        points
    }

    fn add(&mut self, region: RegionId) -> Point {
        self.regions.push(region);
        Point(self.regions.len() as u32 - 1)
    }

    fn link(&mut self, child: RegionId, parent: RegionId, anchor: Point) {
        let up = self.links[parent.index()];
        let far = self.links[up.jump.index()];
        let farther = self.links[far.jump.index()];
        let jump = if up.depth - far.depth == far.depth - farther.depth { far.jump } else { parent };
        self.links[child.index()] = Link { parent, anchor, depth: up.depth + 1, jump };
    }

    /// Where a node's operands are read.
    pub(super) fn of_operands(&self, id: NodeId, node: &Node) -> Point {
        match node {
            Node::While { head, .. } => self.end(*head).unwrap_or(self.nodes[id.index()]),
            _ => self.nodes[id.index()],
        }
    }

    /// The point before a node.
    pub(super) fn before(&self, id: NodeId) -> Point {
        self.nodes[id.index()]
    }

    /// The point at the end of a `while`'s head.
    pub(super) fn end(&self, head: RegionId) -> Option<Point> {
        self.ends[head.index()]
    }

    /// The last point whose names are in scope at two points and which is not after the first of them,
    /// `first` being the earlier one in the text.
    pub(super) fn common(&self, first: Point, last: Point) -> Point {
        let (a, b) = (self.regions[first.0 as usize], self.regions[last.0 as usize]);
        let ancestor = self.ancestor(a, b);
        let depth = self.links[ancestor.index()].depth;
        if self.links[a.index()].depth == depth {
            return first;
        }
        let child = self.lift(a, depth + 1);
        self.links[child.index()].anchor
    }

    /// The ancestor of a region at a depth not below its own.
    fn lift(&self, mut region: RegionId, depth: u32) -> RegionId {
        while self.links[region.index()].depth > depth {
            let Link { parent, jump, .. } = self.links[region.index()];
            region = if self.links[jump.index()].depth >= depth { jump } else { parent };
        }
        region
    }

    /// The deepest common ancestor.
    fn ancestor(&self, a: RegionId, b: RegionId) -> RegionId {
        let depth = self.links[a.index()].depth.min(self.links[b.index()].depth);
        let (mut a, mut b) = (self.lift(a, depth), self.lift(b, depth));
        while a != b {
            let (x, y) = (self.links[a.index()], self.links[b.index()]);
            (a, b) = if x.jump != y.jump { (x.jump, y.jump) } else { (x.parent, y.parent) };
        }
        a
    }
}
