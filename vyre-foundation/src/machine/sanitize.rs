//! The sanitizer: what an execution did that its author hardly meant.
//!
//! For races it keeps, per element, the last accesses that a later one could conflict with. Two accesses
//! are ordered if they are of one invocation, or of one workgroup with a barrier for that kind of memory
//! between, or have a grid barrier between.

use std::collections::{BTreeMap, HashMap};

use super::observe::{Access, Kind, Observer, Spot};
use super::report::{Finding, Report};
use crate::ir::{NodeId, Place};

/// Watches for out-of-bounds accesses, races, reads of unwritten shared memory and divergent barriers.
#[derive(Default)]
pub(super) struct Sanitizer {
    /// Whether the points of a domain, each on its own, stand for workgroups.
    domain: bool,
    buffers: HashMap<Location, Shadow>,
    /// By workgroup in flight.
    shared: HashMap<u64, HashMap<Location, Shadow>>,
    /// One report for each kind of finding at each place.
    reports: BTreeMap<(u8, NodeId, Option<NodeId>), Report>,
}

/// An element of an array.
type Location = (Place, usize);

/// An access that later ones may conflict with.
#[derive(Clone, Copy, PartialEq)]
struct Past {
    node: NodeId,
    invocation: u64,
    group: u64,
    interval: u32,
    grid: u32,
}

/// The accesses of one kind to an element that a later conflicting access has to be compared with: the
/// last one, the last one of another invocation of its workgroup, and the last one of another workgroup.
/// Intervals only grow within a workgroup, so whatever these three are ordered before, all are.
#[derive(Clone, Copy, Default)]
struct Recent {
    last: Option<Past>,
    other_lane: Option<Past>,
    other_group: Option<Past>,
}

#[derive(Clone, Copy, Default)]
struct Shadow {
    /// Unordered plain writes are reported when they happen, so that the last one is enough.
    write: Option<Past>,
    reads: Recent,
    atomics: Recent,
}

impl Past {
    fn races_with(&self, now: &Self) -> bool {
        self.invocation != now.invocation
            && self.grid == now.grid
            && (self.group != now.group || self.interval == now.interval)
    }
}

impl Recent {
    fn add(&mut self, now: Past) {
        match self.last {
            Some(last) if last.group != now.group => {
                let before = self.other_group.filter(|p| p.group == now.group);
                self.other_lane = before.filter(|p| p.invocation != now.invocation);
                self.other_group = Some(last);
            }
            Some(last) if last.invocation != now.invocation => self.other_lane = Some(last),
            _ => {}
        }
        self.last = Some(now);
    }

    fn racing(&self, now: &Past) -> Option<Past> {
        [self.last, self.other_lane, self.other_group].into_iter().flatten().find(|p| p.races_with(now))
    }
}

impl Sanitizer {
    pub(super) fn new(domain: bool) -> Self {
        Self { domain, ..Self::default() }
    }

    pub(super) fn into_reports(self) -> Vec<Report> {
        self.reports.into_values().collect()
    }

    pub(super) fn report(&mut self, node: NodeId, invocation: u64, finding: Finding) {
        let key = (finding.rank(), node, finding.other());
        let new = Report { node, invocation, finding, times: 0 };
        self.reports.entry(key).or_insert(new).times += 1;
    }

    fn races(&mut self, location: Location, access: &Access) {
        let Access { node, kind, invocation, group, intervals } = *access;
        let is_shared = matches!(location.0, Place::Shared(_));
        let interval = if is_shared { intervals.shared } else { intervals.buffers };
        let shadows = if is_shared { self.shared.entry(group).or_default() } else { &mut self.buffers };
        let shadow = shadows.entry(location).or_default();
        let unwritten = kind == Kind::Load && shadow.write.is_none() && shadow.atomics.last.is_none();
        let group = if self.domain { invocation } else { group };
        let racing = shadow.add(kind, Past { node, invocation, group, interval, grid: intervals.grid });
        let (place, element) = (location.0, location.1 as u64);
        if is_shared && unwritten {
            self.report(node, invocation, Finding::Unwritten { place, element });
        }
        if let Some(past) = racing {
            let finding =
                Finding::Race { place, element, other: past.node, other_invocation: past.invocation };
            self.report(node, invocation, finding);
        }
    }
}

impl Shadow {
    /// Adds an access; returns an earlier one that it races with.
    fn add(&mut self, kind: Kind, now: Past) -> Option<Past> {
        let write = self.write.filter(|w| w.races_with(&now));
        match kind {
            Kind::Load => {
                self.reads.add(now);
                write.or_else(|| self.atomics.racing(&now))
            }
            Kind::Atomic => {
                self.atomics.add(now);
                write.or_else(|| self.reads.racing(&now))
            }
            Kind::Store => {
                self.write = Some(now);
                write.or_else(|| self.atomics.racing(&now)).or_else(|| self.reads.racing(&now))
            }
        }
    }
}

impl Observer for Sanitizer {
    const ON: bool = true;

    fn end(&mut self, group: u64) {
        // The next workgroup's shared memory is other memory.
        self.shared.remove(&group);
    }

    fn access(&mut self, spot: &Spot<'_>, access: Access) {
        let (node, invocation) = (access.node, access.invocation);
        let place = spot.array.place;
        let Some(element) = spot.element else {
            let index = spot.int.number(spot.index);
            self.report(node, invocation, Finding::OutOfBounds { place, index, length: spot.array.len });
            return;
        };
        if !matches!(place, Place::Private(_)) {
            self.races((place, element), &access);
        }
    }

    fn divergent(&mut self, node: NodeId, invocation: u64, arrived: usize, of: usize) {
        self.report(node, invocation, Finding::Divergent { arrived, of });
    }
}
