//! A graph of what makes what divergent, and its least solution.
//!
//! Each point has a level, at least that of every point with an edge to it. There are four levels, so a
//! point is raised at most three times and solving is linear in the edges. Each raise remembers where it came
//! from, by the steps that are worth telling, so that an explanation is short however long the path.

use std::collections::VecDeque;

use crate::ir::{ExprId, Node, NodeId, Program, RegionId, VarId};

use super::facts::Uniformity;

/// What has a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Point {
    /// An expression's value.
    Expr(ExprId),
    /// A node's result, or the value that it writes.
    Effect(NodeId),
    /// The flow that reaches a node.
    Flow(NodeId),
    /// A variable's value.
    Var(VarId),
    /// The flow that enters a region, on any trip.
    Entry(RegionId),
    /// The flow that reaches the returns in a region.
    Returns(RegionId),
    /// The flow that reaches the breaks and continues in a region that belong to a loop around it.
    Jumps(RegionId),
}

#[derive(Clone, Copy)]
struct Step {
    from: Point,
    to: Point,
    /// The step before it on the path.
    before: Option<u32>,
}

/// Why a point has its level.
#[derive(Clone, Copy)]
struct Reason {
    origin: Point,
    last: Option<u32>,
}

pub(crate) struct Graph {
    /// For each node, whether it is a jump.
    jumps: Vec<bool>,
    exprs: usize,
    nodes: usize,
    vars: usize,
    regions: usize,
    edges: Vec<(Point, Point)>,
    seeds: Vec<(Point, Uniformity)>,
    levels: Vec<Uniformity>,
    reasons: Vec<Option<Reason>>,
    steps: Vec<Step>,
}

/// The longest explanation.
const TOLD_STEPS: usize = 4;

impl Graph {
    pub(crate) fn new(program: &Program) -> Self {
        let (exprs, nodes) = (program.exprs().len(), program.nodes().len());
        let (vars, regions) = (program.vars().len(), program.regions().len());
        let points = exprs + 2 * nodes + vars + 3 * regions;
        let is_jump = |node: &Node| matches!(node, Node::Break | Node::Continue | Node::Return);
        Self {
            jumps: program.nodes().iter().map(is_jump).collect(),
            exprs,
            nodes,
            vars,
            regions,
            edges: Vec::new(),
            seeds: Vec::new(),
            levels: vec![Uniformity::Launch; points],
            reasons: vec![None; points],
            steps: Vec::new(),
        }
    }

    /// Makes `to` at least as divergent as `from`.
    pub(crate) fn edge(&mut self, from: Point, to: Point) {
        self.edges.push((from, to));
    }

    /// Makes a point at least as divergent as a level.
    pub(crate) fn seed(&mut self, point: Point, level: Uniformity) {
        if level > Uniformity::Launch {
            self.seeds.push((point, level));
        }
    }

    fn index(&self, point: Point) -> usize {
        match point {
            Point::Expr(id) => id.index(),
            Point::Effect(id) => self.exprs + id.index(),
            Point::Flow(id) => self.exprs + self.nodes + id.index(),
            Point::Var(id) => self.exprs + 2 * self.nodes + id.index(),
            Point::Entry(id) => self.exprs + 2 * self.nodes + self.vars + id.index(),
            Point::Returns(id) => self.exprs + 2 * self.nodes + self.vars + self.regions + id.index(),
            Point::Jumps(id) => self.exprs + 2 * self.nodes + self.vars + 2 * self.regions + id.index(),
        }
    }

    /// Finds the least levels that satisfy every edge and seed.
    pub(crate) fn solve(&mut self) {
        let sources: Vec<usize> = self.edges.iter().map(|&(from, _)| self.index(from)).collect();
        // The edges of point p are sorted[first[p]..first[p + 1]].
        let mut first = vec![0u32; self.levels.len() + 1];
        for &source in &sources {
            first[source + 1] += 1;
        }
        for i in 1..first.len() {
            first[i] += first[i - 1];
        }
        let mut next = first.clone();
        let mut sorted = vec![0u32; sources.len()];
        for (edge, &source) in sources.iter().enumerate() {
            sorted[next[source] as usize] = edge as u32;
            next[source] += 1;
        }
        for level in [Uniformity::Divergent, Uniformity::Subgroup, Uniformity::Workgroup] {
            let mut queue = VecDeque::new();
            for (point, seed) in std::mem::take(&mut self.seeds) {
                if seed != level {
                    self.seeds.push((point, seed));
                } else if self.raise(point, level, Reason { origin: point, last: None }) {
                    queue.push_back(point);
                }
            }
            // Breadth first, so that the reason kept is a nearest one.
            while let Some(from) = queue.pop_front() {
                let at = self.index(from);
                let Some(reason) = self.reasons[at] else { continue };
                for position in first[at]..first[at + 1] {
                    let (_, to) = self.edges[sorted[position as usize] as usize];
                    if self.levels[self.index(to)] < level {
                        let reason = self.extend(reason, from, to);
                        self.raise(to, level, reason);
                        queue.push_back(to);
                    }
                }
            }
        }
    }

    fn raise(&mut self, point: Point, level: Uniformity, reason: Reason) -> bool {
        let at = self.index(point);
        let higher = self.levels[at] < level;
        if higher {
            self.levels[at] = level;
            self.reasons[at] = Some(reason);
        }
        higher
    }

    /// The reason of `to`, which follows from `from`'s: with a further step where that is worth telling.
    fn extend(&mut self, reason: Reason, from: Point, to: Point) -> Reason {
        let told = match (from, to) {
            (Point::Expr(_), Point::Entry(_)) | (Point::Effect(_), Point::Var(_)) => true,
            (Point::Flow(node), Point::Returns(_) | Point::Jumps(_) | Point::Entry(_)) => {
                self.jumps[node.index()]
            }
            _ => false,
        };
        if !told {
            return reason;
        }
        self.steps.push(Step { from, to, before: reason.last });
        Reason { last: Some(self.steps.len() as u32 - 1), ..reason }
    }

    pub(crate) fn level(&self, point: Point) -> Uniformity {
        self.levels[self.index(point)]
    }

    /// Where a point's level comes from in the end; the point itself if it has none.
    pub(crate) fn origin(&self, point: Point) -> Point {
        self.reasons[self.index(point)].map_or(point, |reason| reason.origin)
    }

    /// The nearest steps by which a point got its level, last first.
    pub(crate) fn steps(&self, point: Point) -> impl Iterator<Item = (Point, Point)> + '_ {
        let mut next = self.reasons[self.index(point)].and_then(|reason| reason.last);
        std::iter::from_fn(move || {
            let step = self.steps[next? as usize];
            next = step.before;
            Some((step.from, step.to))
        })
        .take(TOLD_STEPS)
    }
}
