//! The sanitizer: what an execution did that its author hardly meant.

use std::collections::BTreeMap;

use super::code::{Array, Code, Instr};
use super::observe::{Access, Kind, Observer, Spot};
use super::report::{Finding, Report};
use super::shadow::{Pages, Past, Shadow};
use super::shape::Shape;
use crate::ir::{NodeId, Place};

/// The index of no workgroup: a launch has fewer than 2^64 invocations.
const NOBODY: u64 = u64::MAX;

/// Watches for out-of-bounds accesses, races, reads of unwritten shared memory and divergent barriers.
pub(super) struct Sanitizer {
    /// Invocations of a workgroup; of a domain, whose points are on their own, 1.
    lanes: u64,
    /// By buffer: whether the program writes it at all, and its shadows.
    buffers: Vec<(bool, Pages)>,
    /// Words of shared memory.
    shared_words: usize,
    /// The shadows of the shared memory of the workgroup that made the last access.
    shared: (u64, Vec<Shadow>),
    /// Those of the other workgroups in flight.
    others: BTreeMap<u64, Vec<Shadow>>,
    /// One report for each kind of finding at each place.
    reports: BTreeMap<(u8, NodeId, Option<NodeId>), Report>,
}

impl Sanitizer {
    pub(super) fn new(code: &Code, shape: &Shape) -> Self {
        let is_buffer = |array: &&Array| matches!(array.place, Place::Buffer(_));
        let buffers = code.arrays.iter().filter(is_buffer).count();
        let mut sanitizer = Self {
            lanes: if shape.domain { 1 } else { u64::from(shape.lanes).max(1) },
            buffers: vec![(false, Pages::default()); buffers],
            shared_words: code.shared_words,
            shared: (NOBODY, vec![Shadow::NEW; code.shared_words]),
            others: BTreeMap::new(),
            reports: BTreeMap::new(),
        };
        for instr in &code.instrs {
            if let Instr::Store { spot, .. } | Instr::Atomic { spot, .. } = instr {
                if let Some((written, _)) = sanitizer.buffers.get_mut(spot.array as usize) {
                    *written = true;
                }
            }
        }
        sanitizer
    }

    pub(super) fn into_reports(self) -> Vec<Report> {
        self.reports.into_values().collect()
    }

    pub(super) fn report(&mut self, node: NodeId, invocation: u64, finding: Finding) {
        let key = (finding.rank(), node, finding.other());
        let new = Report { node, invocation, finding, times: 0 };
        self.reports.entry(key).or_insert(new).times += 1;
    }

    /// The shadows of a workgroup's shared memory.
    fn shared(&mut self, group: u64) -> &mut [Shadow] {
        if self.shared.0 != group {
            match self.others.remove(&group) {
                None if self.shared.0 == NOBODY => self.shared.0 = group,
                found => {
                    let next = found.unwrap_or_else(|| vec![Shadow::NEW; self.shared_words]);
                    let (last, shadows) = std::mem::replace(&mut self.shared, (group, next));
                    if last != NOBODY {
                        self.others.insert(last, shadows);
                    }
                }
            }
        }
        &mut self.shared.1
    }

    fn races(&mut self, array: &Array, element: usize, access: &Access) {
        let Access { node, kind, invocation, group, intervals } = *access;
        let (lanes, place) = (self.lanes, array.place);
        let past = |interval| Past { node, interval, grid: intervals.grid, invocation };
        let racing = if matches!(place, Place::Shared(_)) {
            let shadow = &mut self.shared(group)[array.offset + element];
            let unwritten = kind == Kind::Load && shadow.unwritten();
            let racing = shadow.add(kind, past(intervals.shared), lanes);
            if unwritten {
                self.report(node, invocation, Finding::Unwritten { place, element: element as u64 });
            }
            racing
        } else {
            match self.buffers.get_mut(array.offset) {
                Some((true, pages)) => pages.at(element).add(kind, past(intervals.buffers), lanes),
                // What nothing writes has no races.
                _ => None,
            }
        };
        if let Some(past) = racing {
            let (element, other, other_invocation) = (element as u64, past.node, past.invocation);
            self.report(node, invocation, Finding::Race { place, element, other, other_invocation });
        }
    }
}

impl Observer for Sanitizer {
    const ON: bool = true;

    fn end(&mut self, group: u64) {
        // The next workgroup's shared memory is other memory.
        if self.shared.0 == group {
            self.shared.1.fill(Shadow::NEW);
            self.shared.0 = NOBODY;
        } else {
            self.others.remove(&group);
        }
    }

    fn access(&mut self, spot: &Spot<'_>, access: Access) {
        let (node, invocation) = (access.node, access.invocation);
        let array = spot.array;
        match spot.element {
            None => {
                let (place, index) = (array.place, spot.int.number(spot.index));
                self.report(node, invocation, Finding::OutOfBounds { place, index, length: array.len });
            }
            Some(_) if matches!(array.place, Place::Private(_)) => {}
            Some(element) => self.races(array, element, &access),
        }
    }

    fn divergent(&mut self, node: NodeId, invocation: u64, arrived: usize, of: usize) {
        self.report(node, invocation, Finding::Divergent { arrived, of });
    }
}
