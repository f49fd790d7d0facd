//! Loops on a driver that ends all loops of an invocation together, silently, after some iterations.
//!
//! Such drivers run the lanes of a subgroup in lockstep and count, for all loops together, every iteration
//! that some lane takes part in, the last one that only finds the loop's end included. A loop that no lane
//! enters may still count one.
//!
//! * Where the iterations of all loops surely stay within the limit, nothing is done.
//! * Where they surely pass it, the program is refused.
//! * Otherwise each lane counts its own iterations, and passing the lane's share of the limit is a trap.
//!   The share is the limit, less what the uncounted loops take, divided by the number of times that the
//!   lanes' counts can add up: loops that the workgroup enters and leaves together add up as one; another
//!   loop adds the greatest count of any lane each time that the group enters it, but all loops together
//!   never more than all lanes' counts.

use vyre_foundation::check::{Facts, Uniformity};
use vyre_foundation::ir::{Node, NodeId, Program, RegionId};

use super::range::Ranges;
use crate::grid_sync::split::Part;

/// Lanes of a subgroup, at most, where the profile does not say: 512-bit vectors of words.
const MOST_LANES: u64 = 16;

/// What must be counted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Nothing.
    Free,
    /// The loops with a weight, each of its iterations by that weight, to at most `share` per lane.
    Count {
        /// The weight of each node.
        weights: Vec<Option<u32>>,
        /// The limit of a lane's count.
        share: u32,
    },
    /// The program passes the limit whatever its input.
    Refuse {
        /// The loop with which it does.
        node: NodeId,
        /// Iterations that it surely runs.
        trips: u64,
    },
}

/// One loop.
struct Loop {
    node: NodeId,
    /// The loop around it, by position.
    outer: Option<usize>,
    /// Whether it stands under an `if` inside that loop.
    conditional: bool,
    /// Whether all invocations of a workgroup make the same trips.
    uniform: bool,
    /// Trips each time that it is entered: at least and, where known, at most.
    trips: (u64, Option<u64>),
    /// Iterations that it surely runs each time that it is entered, inner loops included.
    least: u64,
    /// Iterations that it runs each time that it is entered, at most, inner loops included.
    most: u64,
    /// Iterations where no lane enters it.
    empty: u64,
}

/// Decides what to count in a part of the program. `limit` is the driver's, `points` how
/// often each invocation runs the body; `before` counts iterations that precede the body;
/// `retries` tells the nodes that lowering makes loops of.
pub(crate) fn plan(
    (program, part): (&Program, &Part),
    facts: &Facts,
    ranges: &Ranges<'_>,
    (limit, points): (u32, u64),
    before: u64,
    lanes: Option<u32>,
    retries: impl Fn(&Node) -> bool,
) -> Plan {
    let limit = u64::from(limit);
    let mut loops = collect(program, part, facts, ranges, retries);
    // Inner loops come after outer ones.
    for i in (0..loops.len()).rev() {
        let Loop { trips, outer, conditional, .. } = loops[i];
        loops[i].least = trips.0.saturating_mul(loops[i].least.saturating_add(1));
        let most = trips.1.map(|n| n.saturating_add(1).saturating_mul(loops[i].most.saturating_add(1)));
        loops[i].most = most.unwrap_or(u64::MAX);
        loops[i].empty += 1;
        if let Some(outer) = outer {
            let Loop { least, most, empty, .. } = loops[i];
            if !conditional {
                loops[outer].least = loops[outer].least.saturating_add(least);
            }
            loops[outer].most = loops[outer].most.saturating_add(most);
            loops[outer].empty += empty;
        }
    }
    let mut least = 0u64;
    for entry in loops.iter().filter(|l| l.outer.is_none() && !l.conditional) {
        least = least.saturating_add(entry.least);
        if least > limit {
            return Plan::Refuse { node: entry.node, trips: least };
        }
    }
    let roots = || loops.iter().filter(|l| l.outer.is_none());
    // The points of an invocation that remain at the end of a row have a loop of their own.
    let around = if points > 1 { points } else { 0 };
    let most = roots()
        .fold(before.saturating_add(around), |sum, l| sum.saturating_add(l.most.saturating_mul(points)));
    if most <= limit {
        return Plan::Free;
    }
    let lanes = lanes.map_or(MOST_LANES, |n| u64::from(n.max(1)));
    count(program, &loops, limit, before, lanes)
}

/// Shares the limit out among the loops that are not known to be short.
fn count(program: &Program, loops: &[Loop], limit: u64, before: u64, lanes: u64) -> Plan {
    // Short loops are not counted: outermost ones while they leave half of the limit, inner ones if each
    // entry takes little of it.
    let mut counted = vec![false; loops.len()];
    let mut spent = before;
    for (i, entry) in loops.iter().enumerate() {
        counted[i] = match entry.outer {
            None => spent.saturating_add(entry.most) > limit / 2,
            Some(outer) => counted[outer] && entry.most > limit / 64,
        };
        if entry.outer.is_none() {
            spent = spent.saturating_add(if counted[i] { entry.empty } else { entry.most });
        }
    }
    let mut weights = vec![None; program.nodes().len()];
    let mut inner = vec![1u64; loops.len()];
    for (i, entry) in loops.iter().enumerate() {
        if let Some(outer) = entry.outer {
            inner[outer] += if counted[i] { entry.empty } else { entry.most.min(limit) };
        }
    }
    let (mut uniform, mut divergent) = (0u64, 0u64);
    for (i, entry) in loops.iter().enumerate().filter(|&(i, _)| counted[i]) {
        weights[entry.node.index()] = Some(u32::try_from(inner[i]).unwrap_or(u32::MAX));
        if entry.uniform {
            uniform = 1;
            continue;
        }
        let mut entries = 1u64;
        let mut at = entry.outer;
        while let Some(outer) = at {
            let trips = loops[outer].trips.1.unwrap_or(u64::MAX);
            entries = entries.saturating_mul(trips.saturating_add(1));
            at = loops[outer].outer;
        }
        divergent = divergent.saturating_add(entries);
    }
    let times = uniform.saturating_add(divergent).clamp(1, lanes);
    let share = limit.saturating_sub(spent) / times;
    match loops.first() {
        Some(first) if share == 0 => Plan::Refuse { node: first.node, trips: spent.saturating_add(1) },
        _ => Plan::Count { weights, share: u32::try_from(share).unwrap_or(u32::MAX) },
    }
}

fn collect(
    program: &Program,
    part: &Part,
    facts: &Facts,
    ranges: &Ranges<'_>,
    retries: impl Fn(&Node) -> bool,
) -> Vec<Loop> {
    let returns = program.nodes().iter().any(|node| matches!(node, Node::Return));
    // Of each region: the loop around its nodes, and whether an `if` stands between.
    let mut around: Vec<(Option<usize>, bool)> = vec![(None, false); program.regions().len()];
    let mut loops: Vec<Loop> = Vec::new();
    for (i, node) in (0..).zip(program.nodes()) {
        let id = NodeId::new(i);
        let (outer, conditional) = around[facts.region_of(id).index()];
        match *node {
            Node::If { then, otherwise, .. } => {
                around[then.index()] = (outer, true);
                around[otherwise.index()] = (outer, true);
            }
            Node::Break | Node::Continue => {
                // A trip may then be the last, or skip inner loops.
                if let Some(own) = outer {
                    loops[own].trips.0 = 0;
                }
            }
            _ => {}
        }
        let is_loop = matches!(node, Node::For { .. } | Node::While { .. });
        if !part.has(id) || !is_loop && !retries(node) {
            continue;
        }
        let mut trips = trips(node, ranges);
        if returns {
            trips.0 = 0;
        }
        for region in node.regions() {
            around[region.index()] = (Some(loops.len()), false);
        }
        let uniform = is_loop && is_uniform(program, facts, id);
        loops.push(Loop { node: id, outer, conditional, uniform, trips, least: 0, most: 0, empty: 0 });
    }
    loops
}

/// Trips of a loop: at least and, where known, at most.
fn trips(node: &Node, ranges: &Ranges<'_>) -> (u64, Option<u64>) {
    let Node::For { start, end, step, .. } = *node else { return (0, None) };
    let (Some(from), Some(to), Some(by)) = (ranges.range(start), ranges.range(end), ranges.range(step))
    else {
        return (0, None);
    };
    let count = |distance: i64, stride: i64| (distance.max(0) as u64).div_ceil(stride.max(1) as u64);
    // Without a step above zero there is no trip.
    let least = if by.0 > 0 { count(to.0.saturating_sub(from.1), by.1) } else { 0 };
    (least, Some(count(to.1.saturating_sub(from.0), by.0)))
}

/// Whether all invocations of a workgroup make the same trips of a loop: whether they share the flow inside.
fn is_uniform(program: &Program, facts: &Facts, id: NodeId) -> bool {
    let node = program.node(id);
    let first = node.regions().find_map(|region: RegionId| program.region(region).first());
    match first {
        Some(&first) => facts.flow(first) <= Uniformity::Workgroup,
        None => {
            facts.flow(id) <= Uniformity::Workgroup
                && node.operands().all(|e| facts.uniformity(e) <= Uniformity::Workgroup)
        }
    }
}
