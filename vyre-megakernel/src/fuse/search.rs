//! The search for a plan: pairs of kernels become one, the earliest first, as long as that pays.
//!
//! It is greedy and deterministic: kernels are visited in the order of the graph, and of the ways to make a pair one the
//! cheapest is taken. Every way that is tried is a candidate of the budget, and costs work.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use vyre_foundation::graph::{GraphNodeId, GraphValueId, ProgramGraph, Source};
use vyre_spec::DeviceProfile;

use super::context::Context;
use super::cost::{Worth, shared_bytes};
use super::epilogue::append;
use super::inline::inline;
use super::kernel::Kernel;
use super::merge::merge;
use super::place::place;
use super::plan::{Cost, Fusion, Group, Plan, Rejection};
use super::prune::prune;
use super::quantity::Quantity;
use super::reject::RejectReason;
use super::rows::join;
use super::{Facts, SearchBudget};

/// How many kernels behind it a kernel is compared with, to run beside it.
const BESIDE: usize = 8;
/// Into how many readers a kernel may be dissolved.
const MOST_READERS: usize = 8;

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

/// A way of making one kernel of two, or of dissolving one in its readers.
struct Candidate {
    /// What stands in the place of each kernel that changes; `None` for those that go.
    changes: Vec<(usize, Option<Kernel>)>,
    how: Fusion,
    /// The kernels' costs, and their worth as bytes.
    before: u64,
    after: u64,
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

    fn put(&mut self, at: usize, kernel: Kernel, how: Vec<Fusion>) {
        for value in kernel.outputs() {
            self.makers.insert(value, at);
        }
        for value in kernel.inputs() {
            self.readers.entry(value).or_default().insert(at);
        }
        self.versions += 1;
        let (cost, price) = self.worth.of_kernel(&mut self.cx, &kernel);
        if let Some(slot) = self.entries.get_mut(at) {
            *slot = Some(Entry { kernel, cost, price, how, version: self.versions });
        }
    }

    fn take(&mut self, at: usize) -> Option<Entry> {
        let entry = self.entries.get_mut(at).and_then(Option::take)?;
        for value in entry.kernel.outputs() {
            if self.makers.get(&value) == Some(&at) {
                self.makers.remove(&value);
            }
        }
        for value in entry.kernel.inputs() {
            if let Some(readers) = self.readers.get_mut(&value) {
                readers.remove(&at);
            }
        }
        Some(entry)
    }

    fn entry(&self, at: usize) -> Option<&Entry> {
        self.entries.get(at).and_then(Option::as_ref)
    }

    fn price(&self, at: usize) -> u64 {
        self.entry(at).map_or(0, |entry| entry.price)
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

    /// What kernels that are to run beside one another have in common; `None` of one whose counts are in a buffer.
    fn launch(&self, at: usize) -> Option<LaunchKey> {
        let kernel = &self.entry(at)?.kernel;
        Some((kernel.extent(&self.cx)?, kernel.program.launch().workgroup_size()))
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

    /// The kernels that read what a kernel computes, each once.
    fn users(&self, at: usize) -> BTreeSet<usize> {
        let outputs = self.entry(at).map_or_else(Vec::new, |entry| entry.kernel.outputs());
        outputs.iter().filter_map(|value| self.readers.get(value)).flatten().copied().collect()
    }

    /// The kernels that compute what a kernel reads, each once.
    fn sources(&self, at: usize) -> BTreeSet<usize> {
        let inputs = self.entry(at).map_or_else(Vec::new, |entry| entry.kernel.inputs());
        inputs.iter().filter_map(|value| self.makers.get(value)).copied().collect()
    }

    /// All kernels that need what a kernel computes or compute what it needs, over others too. Each costs work.
    fn related(&mut self, at: usize) -> BTreeSet<usize> {
        let mut related = BTreeSet::new();
        for next in [Self::users, Self::sources] {
            let mut stack = vec![at];
            while let Some(one) = stack.pop().filter(|_| !self.is_spent()) {
                self.spend(1);
                stack.extend(next(self, one).into_iter().filter(|&at| related.insert(at)));
            }
        }
        related
    }

    /// Whether a kernel needs, over others, what another one computes. Each that is looked at costs work.
    fn is_between(&mut self, from: usize, to: usize) -> bool {
        let mut seen = self.users(from);
        seen.remove(&to);
        let mut stack: Vec<usize> = seen.iter().copied().collect();
        while let Some(at) = stack.pop() {
            self.spend(1);
            // What is not known is taken for so.
            if at == to || self.work == 0 {
                return true;
            }
            stack.extend(self.users(at).into_iter().filter(|&at| seen.insert(at)));
        }
        false
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

    /// What a way of making two kernels one gives; `None` for a reason if it is not one for them.
    fn candidate(
        &mut self,
        way: Way,
        first: usize,
        second: usize,
    ) -> Result<Candidate, Option<RejectReason>> {
        let (Some(a), Some(b)) = (self.entry(first), self.entry(second)) else { return Err(None) };
        let both_domains = a.kernel.is_domain() && b.kernel.is_domain();
        let outputs = a.kernel.outputs();
        let reads = b.kernel.inputs().iter().any(|value| outputs.contains(value));
        let readers = self.users(first);
        let is_kept = outputs.iter().any(|value| self.kept.contains(value));
        let fits = match way {
            Way::Merge => both_domains && a.kernel.extent(&self.cx) == b.kernel.extent(&self.cx),
            Way::Join => !a.kernel.is_domain(),
            Way::Append => reads && b.kernel.is_domain(),
            Way::Dissolve => reads && a.kernel.is_domain() && !is_kept && readers.len() <= MOST_READERS,
            Way::Inline => reads && a.kernel.is_domain() && (is_kept || readers.len() > 1),
        };
        if !fits {
            // The reason of a pair of which no way is one.
            return Err((way == Way::Merge).then_some(RejectReason::Launches));
        }
        if self.is_spent() {
            return Err(Some(RejectReason::Budget));
        }
        let (a, b) = (a.kernel.clone(), b.kernel.clone());
        if matches!(way, Way::Merge | Way::Join | Way::Append) && self.is_between(first, second) {
            return Err(Some(if self.is_spent() { RejectReason::Budget } else { RejectReason::Between }));
        }
        if matches!(way, Way::Merge | Way::Join | Way::Append) && a.may_trap() {
            // The first trap of a run stays the first.
            let between = self.entries.get(first + 1..second).unwrap_or_default().iter().flatten();
            if between.into_iter().any(|entry| entry.kernel.may_trap()) {
                return Err(Some(RejectReason::Effect("a trap, as has a kernel between the two")));
            }
        }
        let mut keep: BTreeSet<GraphValueId> = BTreeSet::new();
        for &value in &outputs {
            let others =
                self.readers.get(&value).is_some_and(|readers| readers.iter().any(|&at| at != second));
            if others || self.kept.contains(&value) {
                keep.insert(value);
            }
        }
        let mut before = self.price(second);
        let mut changes = Vec::new();
        match way {
            Way::Merge | Way::Join | Way::Append => {
                before = before.saturating_add(self.price(first));
                let one = match way {
                    Way::Merge => merge(&mut self.cx, &a, &b, &keep),
                    Way::Append => append(&mut self.cx, &a, &b, &keep),
                    _ => join(&mut self.cx, &a, &b, &keep),
                };
                changes.extend([(second, Some(self.built(one, &[&a, &b])?)), (first, None)]);
            }
            Way::Inline => {
                let one = inline(&mut self.cx, &a, &b);
                changes.push((second, Some(self.built(one, &[&a, &b])?)));
            }
            Way::Dissolve => {
                before = self.price(first);
                for reader in readers {
                    before = before.saturating_add(self.price(reader));
                    let Some(entry) = self.entry(reader) else { continue };
                    let kernel = entry.kernel.clone();
                    let one = inline(&mut self.cx, &a, &kernel);
                    changes.push((reader, Some(self.built(one, &[&a, &kernel])?)));
                }
                changes.push((first, None));
            }
        }
        let mut after = 0u64;
        for kernel in changes.iter().filter_map(|(_, kernel)| kernel.as_ref()) {
            after = after.saturating_add(self.worth.of_kernel(&mut self.cx, kernel).1);
        }
        let how = match way {
            Way::Merge => Fusion::Merged,
            Way::Join => Fusion::Workgroups,
            Way::Append => Fusion::Epilogue,
            Way::Dissolve | Way::Inline => Fusion::Inlined,
        };
        Ok(Candidate { changes, how, before, after })
    }

    /// A kernel that was built of others, if the device takes it; counts it, also if it was refused when it was built.
    fn built(
        &mut self,
        kernel: Result<Kernel, RejectReason>,
        of: &[&Kernel],
    ) -> Result<Kernel, Option<RejectReason>> {
        self.candidates = self.candidates.saturating_sub(1);
        let size = |kernel: &Kernel| (kernel.program.nodes().len() + kernel.program.exprs().len()) as u64;
        match &kernel {
            Ok(kernel) => self.spend(size(kernel)),
            Err(RejectReason::Limit { .. } | RejectReason::Refused(_)) => {
                self.spend(of.iter().map(|kernel| size(kernel)).sum());
            }
            Err(_) => {}
        }
        let kernel = kernel.map_err(Some)?;
        let program = &kernel.program;
        let buffers = kernel.uses.len() as u64 + u64::from(program.facts().has_trap());
        let limits = [
            ("the number of buffers", buffers, u64::from(self.profile.max_storage_bindings)),
            ("the shared memory in bytes", shared_bytes(&kernel), u64::from(self.profile.max_shared_bytes)),
        ];
        for (what, value, limit) in limits {
            if value > limit {
                return Err(Some(RejectReason::Limit { what, value, limit }));
            }
        }
        Ok(kernel)
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

    /// The kernels, each after those that it needs, otherwise by their position.
    fn order(&self) -> Vec<usize> {
        let mut left: BTreeMap<usize, BTreeSet<usize>> = (0..self.entries.len())
            .filter(|&at| self.entry(at).is_some())
            .map(|at| (at, self.sources(at)))
            .collect();
        let mut users: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (&at, needs) in &left {
            needs.iter().for_each(|&need| users.entry(need).or_default().push(at));
        }
        let mut ready: BTreeSet<usize> =
            left.iter().filter(|(_, needs)| needs.is_empty()).map(|(&at, _)| at).collect();
        let mut order = Vec::with_capacity(left.len());
        while let Some(at) = ready.pop_first() {
            order.push(at);
            for &user in users.get(&at).into_iter().flatten() {
                if let Some(needs) = left.get_mut(&user) {
                    needs.remove(&at);
                    if needs.is_empty() {
                        ready.insert(user);
                    }
                }
            }
        }
        order
    }
}

/// The ways of making one kernel of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Merge,
    Join,
    Append,
    Dissolve,
    Inline,
}

const REGISTERS: [Way; 4] = [Way::Merge, Way::Dissolve, Way::Inline, Way::Append];
const ALL: [Way; 5] = [Way::Merge, Way::Dissolve, Way::Inline, Way::Append, Way::Join];

impl Candidate {
    fn saves(&self) -> i128 {
        i128::from(self.before) - i128::from(self.after)
    }
}
