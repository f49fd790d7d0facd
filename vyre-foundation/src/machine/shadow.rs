//! What the sanitizer remembers of each element: the accesses that a later one could race with.

use super::observe::Kind;
use crate::ir::NodeId;

/// An access that later ones may conflict with.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Past {
    pub(super) node: NodeId,
    /// Barriers for that kind of memory that its workgroup had passed.
    pub(super) interval: u32,
    /// Of those, the ones of the whole grid.
    pub(super) grid: u32,
    pub(super) invocation: u64,
}

impl Past {
    /// Stands for none.
    const NONE: Self = Self { node: NodeId::new(u32::MAX), interval: 0, grid: 0, invocation: u64::MAX };

    fn get(self) -> Option<Self> {
        (self != Self::NONE).then_some(self)
    }

    /// Whether two accesses are unordered. Ordered are those of one invocation, those of one workgroup with a
    /// barrier for that kind of memory between, and those with a grid barrier between.
    fn races_with(&self, now: &Self, lanes: u64) -> bool {
        self.invocation != now.invocation
            && self.grid == now.grid
            && (self.interval == now.interval || self.group(lanes) != now.group(lanes))
    }

    fn group(&self, lanes: u64) -> u64 {
        self.invocation / lanes
    }
}

/// The accesses of one kind to an element that a later conflicting access has to be compared with: the
/// last one, the last one of another invocation of its workgroup, and the last one of another workgroup.
/// Intervals only grow within a workgroup, so whatever these three are ordered before, all are.
#[derive(Clone, Copy)]
struct Recent {
    last: Past,
    other_lane: Past,
    other_group: Past,
}

impl Recent {
    const NONE: Self = Self { last: Past::NONE, other_lane: Past::NONE, other_group: Past::NONE };

    fn add(&mut self, now: Past, lanes: u64) {
        if let Some(last) = self.last.get().filter(|last| last.invocation != now.invocation) {
            if last.group(lanes) == now.group(lanes) {
                self.other_lane = last;
            } else {
                let before = self.other_group.get().filter(|p| p.group(lanes) == now.group(lanes));
                self.other_lane = before.filter(|p| p.invocation != now.invocation).unwrap_or(Past::NONE);
                self.other_group = last;
            }
        }
        self.last = now;
    }

    fn racing(&self, now: &Past, lanes: u64) -> Option<Past> {
        let recent = [self.last, self.other_lane, self.other_group].into_iter().filter_map(Past::get);
        recent.into_iter().find(|past| past.races_with(now, lanes))
    }
}

/// What happened to an element.
#[derive(Clone)]
pub(super) struct Shadow {
    /// Unordered plain writes are reported when they happen, so that the last one is enough.
    write: Past,
    reads: Recent,
    atomics: Option<Box<Recent>>,
}

impl Shadow {
    /// Nothing so far.
    pub(super) const NEW: Self = Self { write: Past::NONE, reads: Recent::NONE, atomics: None };

    /// Whether nothing wrote it.
    pub(super) fn unwritten(&self) -> bool {
        self.write == Past::NONE && self.atomics.is_none()
    }

    /// Adds an access by an invocation of workgroups of so many lanes; returns an earlier one that it races
    /// with.
    pub(super) fn add(&mut self, kind: Kind, now: Past, lanes: u64) -> Option<Past> {
        let write = self.write.get().filter(|write| write.races_with(&now, lanes));
        let atomic = || self.atomics.as_ref().and_then(|atomics| atomics.racing(&now, lanes));
        match kind {
            Kind::Load => {
                let racing = write.or_else(atomic);
                self.reads.add(now, lanes);
                racing
            }
            Kind::Atomic => {
                self.atomics.get_or_insert_with(|| Box::new(Recent::NONE)).add(now, lanes);
                write.or_else(|| self.reads.racing(&now, lanes))
            }
            Kind::Store => {
                let racing = write.or_else(atomic).or_else(|| self.reads.racing(&now, lanes));
                self.write = now;
                racing
            }
        }
    }
}

/// Elements in a page of shadows.
const PAGE: usize = 1024;

/// The shadows of a buffer, made where they are needed.
#[derive(Clone, Default)]
pub(super) struct Pages(Vec<Option<Box<[Shadow]>>>);

impl Pages {
    pub(super) fn at(&mut self, element: usize) -> &mut Shadow {
        let page = element / PAGE;
        if page >= self.0.len() {
            self.0.resize(page + 1, None);
        }
        let page = self.0[page].get_or_insert_with(|| vec![Shadow::NEW; PAGE].into_boxed_slice());
        &mut page[element % PAGE]
    }
}
