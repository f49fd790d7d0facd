//! Which branches and loops the points of an invocation take together.

use vyre_foundation::check::Facts;
use vyre_foundation::ir::{Node, NodeId, Program, RegionId};

use super::lanes::Lanes;

/// How the points go through the body.
#[derive(Debug)]
pub(crate) struct Flow {
    /// Of each node that holds others, whether all points go through it in lockstep.
    together: Vec<bool>,
    /// Of each region, whether points run it one by one.
    apart: Vec<bool>,
}

impl Flow {
    /// Looks at every branch and loop.
    pub(crate) fn new(program: &Program, facts: &Facts, lanes: &Lanes) -> Self {
        let nodes = || (0..).map(NodeId::new).zip(program.nodes());
        let mut together: Vec<bool> = program
            .nodes()
            .iter()
            .map(|node| match *node {
                Node::If { condition, .. } => lanes.is_same(condition),
                Node::For { start, end, step, .. } => [start, end, step].iter().all(|&e| lanes.is_same(e)),
                Node::While { .. } => false,
                _ => true,
            })
            .collect();
        // Points that leave a loop at different times have different trips.
        for (id, _) in nodes().filter(|(_, node)| matches!(node, Node::Break | Node::Continue)) {
            let (mut region, mut parts) = (facts.region_of(id), false);
            while let Some((node, parent)) = facts.parent(region) {
                if matches!(program.node(node), Node::If { .. }) {
                    parts |= !together[node.index()];
                    region = parent;
                    continue;
                }
                together[node.index()] &= !parts;
                break;
            }
        }
        let mut apart = vec![false; program.regions().len()];
        // Regions are numbered in text order, so a parent comes before its children.
        for i in 0..apart.len() {
            if let Some((node, parent)) = facts.parent(RegionId::new(i as u32)) {
                apart[i] = apart[parent.index()] || !together[node.index()];
            }
        }
        Self { together, apart }
    }

    /// Whether all points go through a node in lockstep, if those of its region do.
    pub(crate) fn is_together(&self, node: NodeId) -> bool {
        self.together[node.index()]
    }

    /// Whether points run a region one by one.
    pub(crate) fn is_apart(&self, region: RegionId) -> bool {
        self.apart[region.index()]
    }
}
