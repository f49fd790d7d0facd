//! The search for a plan: pairs of kernels become one, the earliest first, as long as that pays.
//!
//! It is greedy and deterministic: kernels are visited in the order of the graph, and of the ways to make a pair one the
//! cheapest is taken. Every way that is tried is a candidate of the budget, and costs work.

mod candidate;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use vyre_foundation::graph::{GraphNodeId, GraphValueId, ProgramGraph, Source};
use vyre_spec::DeviceProfile;

use super::context::Context;
use super::cost::Worth;
use super::kernel::Kernel;
use super::place::place;
use super::plan::{Cost, Fusion, Group, Plan, Rejection};
use super::prune::prune;
use super::quantity::Quantity;
use super::reject::RejectReason;
use super::{Facts, SearchBudget};
use candidate::{ALL, Candidate, REGISTERS, Way};

/// How many kernels behind it a kernel is compared with, to run beside it.
const BESIDE: usize = 8;

/// Points or workgroups, and the size of workgroups.
type LaunchKey = ([Quantity; 3], Option<[u32; 3]>);

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The time was spent.
    #[error(
        "the search for a plan took longer than its budget of {limit:?}: give it more time, or fewer candidates"
    )]
    Time {
        /// The budget.
        limit: Duration,
    },
}

/// A plan of few kernels for a device.
///
/// # Errors
/// If the budget's time is spent.
pub fn plan(
    graph: &ProgramGraph,
    profile: &DeviceProfile,
    facts: &Facts,
    budget: &SearchBudget,
) -> Result<Plan, PlanError> {
    let mut search = Search::new(graph, profile, facts, budget);
    // Registers first: what they hold need not be shared, and a kernel that is dissolved is in nobody's way.
    search.neighbours(&REGISTERS)?;
    search.neighbours(&ALL)?;
    search.beside()?;
    search.prune();
    Ok(search.finish())
}

/// A kernel of the search.
struct Entry {
    kernel: Kernel,
    cost: Cost,
    /// The same in bytes.
    price: u64,
    how: Vec<Fusion>,
    /// Differs from that of every other kernel that there was.
    version: u32,
}

struct Search<'g> {
    graph: &'g ProgramGraph,
    profile: &'g DeviceProfile,
    worth: Worth,
    cx: Context,
    entries: Vec<Option<Entry>>,
    /// Values that are needed after the run.
    kept: BTreeSet<GraphValueId>,
    /// Which kernel computes each value.
    makers: BTreeMap<GraphValueId, usize>,
    /// Which kernels read each value.
    readers: BTreeMap<GraphValueId, BTreeSet<usize>>,
    tried: BTreeSet<(u32, u32)>,
    reasons: BTreeMap<(GraphNodeId, GraphNodeId), RejectReason>,
    versions: u32,
    candidates: u32,
    work: u64,
    deadline: Option<(Instant, Duration)>,
}

impl<'g> Search<'g> {
    fn new(
        graph: &'g ProgramGraph,
        profile: &'g DeviceProfile,
        facts: &Facts,
        budget: &SearchBudget,
    ) -> Self {
        let next = graph.values().iter().filter_map(|value| match value.source {
            Source::Retained { next } => next,
            _ => None,
        });
        let mut search = Self {
            kept: graph.outputs().iter().map(|output| output.value).chain(next).collect(),
            cx: Context::new(graph, facts),
            worth: Worth::of(profile),
            graph,
            profile,
            entries: Vec::with_capacity(graph.nodes().len()),
            makers: BTreeMap::new(),
            readers: BTreeMap::new(),
            tried: BTreeSet::new(),
            reasons: BTreeMap::new(),
            versions: 0,
            candidates: budget.candidates,
            work: budget.work,
            deadline: budget.time.map(|limit| (Instant::now(), limit)),
        };
        for (i, id) in graph.node_ids().enumerate() {
            search.entries.push(None);
            search.put(i, Kernel::of_node(graph, id), Vec::new());
        }
        search
    }

    /// Makes kernels one with those whose values they read.
    fn neighbours(&mut self, ways: &[Way]) -> Result<(), PlanError> {
        self.tried.clear();
        for at in 0..self.entries.len() {
            // Each fusion may make another one possible.
            while self.fuse_into(at, ways)? {}
        }
        Ok(())
    }

    /// Makes a kernel one with the first of those that it reads with which that pays.
    fn fuse_into(&mut self, consumer: usize, ways: &[Way]) -> Result<bool, PlanError> {
        let Some(entry) = self.entry(consumer) else { return Ok(false) };
        let inputs = entry.kernel.inputs();
        let mut producers: Vec<usize> =
            inputs.iter().filter_map(|value| self.makers.get(value)).copied().collect();
        producers.sort_unstable_by(|a, b| b.cmp(a));
        producers.dedup();
        for producer in producers {
            if self.consider(producer, consumer, ways)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Makes independent kernels of equal launches one.
    fn beside(&mut self) -> Result<(), PlanError> {
        let mut alike: BTreeMap<LaunchKey, Vec<usize>> = BTreeMap::new();
        for at in 0..self.entries.len() {
            if let Some(launch) = self.launch(at) {
                alike.entry(launch).or_default().push(at);
            }
        }
        for at in 0..self.entries.len() {
            let Some(others) = self.launch(at).and_then(|launch| alike.get(&launch)) else { continue };
            let after = others.get(others.partition_point(|&other| other <= at)..).unwrap_or_default();
            if after.is_empty() {
                continue;
            }
            let related = self.related(at);
            let mut compared = 0;
            for &other in after {
                if self.is_spent() {
                    return Ok(());
                }
                self.spend(1);
                if self.entry(other).is_none() || related.contains(&other) {
                    continue;
                }
                compared += 1;
                // Once it is one with another kernel, that one is compared.
                if compared > BESIDE || self.consider(at, other, &ALL)? {
                    break;
                }
            }
        }
        Ok(())
    }

    fn is_spent(&self) -> bool {
        self.candidates == 0 || self.work == 0
    }

    fn spend(&mut self, work: u64) {
        self.work = self.work.saturating_sub(work);
    }

    /// Leaves out kernels and stores whose values nobody needs, such as those that all readers compute themselves.
    fn prune(&mut self) {
        // Readers come after what they read: without the last, one before may have none.
        for at in self.order().into_iter().rev() {
            if self.candidates == 0 {
                return;
            }
            let Some(entry) = self.entry(at) else { continue };
            let needed = |value: &GraphValueId| {
                self.kept.contains(value) || self.readers.get(value).is_some_and(|all| !all.is_empty())
            };
            let outputs = entry.kernel.outputs();
            let unneeded: BTreeSet<_> = outputs.iter().filter(|value| !needed(value)).copied().collect();
            if unneeded.is_empty() {
                continue;
            }
            if unneeded.len() == outputs.len() && !entry.kernel.may_trap() {
                self.take(at);
                continue;
            }
            let (kernel, how) = (entry.kernel.clone(), entry.how.clone());
            let pruned = prune(&mut self.cx, &kernel, &unneeded);
            if let Ok(kernel) = self.built(pruned, &[&kernel]) {
                self.take(at);
                self.put(at, kernel, how);
            }
        }
    }

    /// Tries all ways of making two kernels one, and takes the cheapest if it pays.
    fn consider(&mut self, first: usize, second: usize, ways: &[Way]) -> Result<bool, PlanError> {
        let (Some(a), Some(b)) = (self.entry(first), self.entry(second)) else { return Ok(false) };
        if first == second || !self.tried.insert((a.version, b.version)) {
            return Ok(false);
        }
        if let Some((start, limit)) = self.deadline {
            if start.elapsed() > limit {
                return Err(PlanError::Time { limit });
            }
        }
        let mut best: Option<Candidate> = None;
        let mut reason = None;
        for &way in ways {
            match self.candidate(way, first, second) {
                Ok(candidate) => {
                    if best.as_ref().is_none_or(|best| candidate.saves() > best.saves()) {
                        best = Some(candidate);
                    }
                }
                Err(None) => {}
                // That launches differ says least: it is so for most pairs, of which most are fused in spite of it.
                Err(Some(why)) if matches!(reason, None | Some(RejectReason::Launches)) => reason = Some(why),
                Err(Some(_)) => {}
            }
        }
        match best {
            Some(candidate) if candidate.after < candidate.before => {
                self.accept(candidate);
                Ok(true)
            }
            Some(Candidate { before, after, .. }) => {
                self.reject(first, second, RejectReason::Cost { before, after });
                Ok(false)
            }
            None => {
                if let Some(reason) = reason {
                    self.reject(first, second, reason);
                }
                Ok(false)
            }
        }
    }

    fn accept(&mut self, candidate: Candidate) {
        // Those that go first: what they computed is then computed by those that stay.
        let mut how = Vec::new();
        for (at, _) in candidate.changes.iter().filter(|(_, kernel)| kernel.is_none()) {
            how.extend(self.take(*at).map(|entry| entry.how).unwrap_or_default());
        }
        for (at, kernel) in candidate.changes {
            let (Some(kernel), Some(entry)) = (kernel, self.take(at)) else { continue };
            let mut how = [how.as_slice(), entry.how.as_slice()].concat();
            how.push(candidate.how);
            self.put(at, kernel, how);
        }
    }

    /// Notes why the nodes that two kernels are of are not one.
    fn reject(&mut self, first: usize, second: usize, reason: RejectReason) {
        let (Some(a), Some(b)) = (self.entry(first), self.entry(second)) else { return };
        let last = |entry: &Entry| entry.kernel.nodes.last().copied();
        let (Some(producer), Some(consumer)) = (last(a), last(b)) else { return };
        self.reasons.insert((producer, consumer), reason);
    }

    /// The kernels in an order in which they can run, and what became of the nodes.
    fn finish(self) -> Plan {
        let order = self.order();
        let (mut kernels, mut groups) = (Vec::with_capacity(order.len()), Vec::new());
        let mut entries = self.entries;
        for at in order {
            let Some(entry) = entries.get_mut(at).and_then(Option::take) else { continue };
            if entry.kernel.nodes.len() > 1 {
                groups.push(Group { nodes: entry.kernel.nodes.clone(), how: entry.how, cost: entry.cost });
            }
            kernels.push(entry.kernel);
        }
        let mut plan = place(self.graph, kernels);
        plan.groups = groups;
        let mut group_of: BTreeMap<GraphNodeId, BTreeSet<usize>> = BTreeMap::new();
        for (i, group) in plan.groups.iter().enumerate() {
            for &node in &group.nodes {
                group_of.entry(node).or_default().insert(i);
            }
        }
        let groups = |node: &GraphNodeId| group_of.get(node).cloned().unwrap_or_default();
        let apart = self.reasons.into_iter().filter(|((a, b), _)| groups(a).is_disjoint(&groups(b)));
        plan.rejected =
            apart.map(|((producer, consumer), reason)| Rejection { producer, consumer, reason }).collect();
        plan
    }
}
