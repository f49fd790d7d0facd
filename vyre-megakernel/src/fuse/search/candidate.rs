//! What a way of making one kernel of two gives, and what it saves.

use std::collections::BTreeSet;

use vyre_foundation::graph::GraphValueId;

use super::Search;
use crate::fuse::cost::shared_bytes;
use crate::fuse::epilogue::append;
use crate::fuse::inline::inline;
use crate::fuse::kernel::Kernel;
use crate::fuse::merge::merge;
use crate::fuse::plan::Fusion;
use crate::fuse::reject::RejectReason;
use crate::fuse::rows::join;

/// Into how many readers a kernel may be dissolved.
const MOST_READERS: usize = 8;

/// A way of making one kernel of two, or of dissolving one in its readers.
pub(super) struct Candidate {
    /// What stands in the place of each kernel that changes; `None` for those that go.
    pub(super) changes: Vec<(usize, Option<Kernel>)>,
    pub(super) how: Fusion,
    /// The kernels' costs, and their worth as bytes.
    pub(super) before: u64,
    pub(super) after: u64,
}

/// The ways of making one kernel of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Merge,
    Join,
    Append,
    Dissolve,
    Inline,
}

/// The ways through registers alone.
pub(super) const REGISTERS: [Way; 4] = [Way::Merge, Way::Dissolve, Way::Inline, Way::Append];
/// Every way.
pub(super) const ALL: [Way; 5] = [Way::Merge, Way::Dissolve, Way::Inline, Way::Append, Way::Join];

impl Candidate {
    /// By how much less the kernels cost; negative if they cost more.
    pub(super) fn saves(&self) -> i128 {
        i128::from(self.before) - i128::from(self.after)
    }
}

impl Search<'_> {
    /// What a way of making two kernels one gives; `None` for a reason if it is not one for them.
    pub(super) fn candidate(
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
    pub(super) fn built(
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
}
