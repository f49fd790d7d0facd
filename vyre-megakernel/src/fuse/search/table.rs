//! The kernels of a search: who computes and who reads each value, what needs what, and in which order they can run.

use std::collections::{BTreeMap, BTreeSet};

use super::{Entry, LaunchKey, Search};
use crate::fuse::kernel::Kernel;
use crate::fuse::plan::Fusion;

impl Search<'_> {
    pub(super) fn put(&mut self, at: usize, kernel: Kernel, how: Vec<Fusion>) {
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

    pub(super) fn take(&mut self, at: usize) -> Option<Entry> {
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

    pub(super) fn entry(&self, at: usize) -> Option<&Entry> {
        self.entries.get(at).and_then(Option::as_ref)
    }

    pub(super) fn price(&self, at: usize) -> u64 {
        self.entry(at).map_or(0, |entry| entry.price)
    }

    /// What kernels that are to run beside one another have in common; `None` of one whose counts are in a buffer.
    pub(super) fn launch(&self, at: usize) -> Option<LaunchKey> {
        let kernel = &self.entry(at)?.kernel;
        Some((kernel.extent(&self.cx)?, kernel.program.launch().workgroup_size()))
    }

    /// The kernels that read what a kernel computes, each once.
    pub(super) fn users(&self, at: usize) -> BTreeSet<usize> {
        let outputs = self.entry(at).map_or_else(Vec::new, |entry| entry.kernel.outputs());
        outputs.iter().filter_map(|value| self.readers.get(value)).flatten().copied().collect()
    }

    /// The kernels that compute what a kernel reads, each once.
    pub(super) fn sources(&self, at: usize) -> BTreeSet<usize> {
        let inputs = self.entry(at).map_or_else(Vec::new, |entry| entry.kernel.inputs());
        inputs.iter().filter_map(|value| self.makers.get(value)).copied().collect()
    }

    /// All kernels that need what a kernel computes or compute what it needs, over others too. Each costs work.
    pub(super) fn related(&mut self, at: usize) -> BTreeSet<usize> {
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
    pub(super) fn is_between(&mut self, from: usize, to: usize) -> bool {
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

    /// The kernels, each after those that it needs, otherwise by their position.
    pub(super) fn order(&self) -> Vec<usize> {
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
