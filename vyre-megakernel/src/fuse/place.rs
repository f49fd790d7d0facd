//! Where values live, and the steps of a plan.
//!
//! An intermediate value lives in a slot from the kernel that computes it to its last reader; then the slot is free for
//! another. A kernel that changes a buffer in place takes over the old value's slot if nobody else needs that value;
//! otherwise it is copied first.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use vyre_foundation::graph::{GraphValueId, ProgramGraph, Source};
use vyre_foundation::ir::Program;

use super::Facts;
use super::context::Context;
use super::kernel::Kernel;
use super::plan::{Placement, Plan, Run, Slot, SlotId, Step, Use};
use super::quantity::Quantity;

/// The plan that runs the kernels, in this order.
pub(crate) fn place(graph: &ProgramGraph, kernels: Vec<Kernel>) -> Plan {
    let cx = Context::new(graph, &Facts::default());
    let mut placer = Placer::new(graph, &cx, &kernels);
    let mut steps = Vec::with_capacity(kernels.len());
    let (mut programs, mut known): (Vec<_>, HashMap<&Program, u32>) = (Vec::new(), HashMap::new());
    for (at, kernel) in kernels.iter().enumerate() {
        steps.extend(placer.step(at, kernel));
        let next = programs.len() as u32;
        let program = *known.entry(&kernel.program).or_insert(next);
        if program == next {
            programs.push(kernel.program.clone());
        }
        steps.push(Step::Run(Run {
            program,
            buffers: kernel.uses.clone(),
            params: kernel.params.clone(),
            counts: kernel.counts,
            nodes: kernel.nodes.clone(),
        }));
    }
    let Placer { places, slots, .. } = placer;
    Plan { programs, steps, slots, places, groups: Vec::new(), rejected: Vec::new() }
}

struct Placer<'g> {
    cx: &'g Context,
    places: Vec<Placement>,
    slots: Vec<Slot>,
    /// The last kernel that reads each value, or computes it.
    last: BTreeMap<GraphValueId, usize>,
    /// From which kernel on each slot is free.
    free_from: Vec<usize>,
    /// The slots that may become free, by the kernel from which on.
    ending: BTreeMap<usize, Vec<usize>>,
    /// The slots that are free now, and by the bytes of the first value in each.
    free: BTreeSet<usize>,
    by_bytes: BTreeMap<Option<Quantity>, BTreeSet<usize>>,
}

impl<'g> Placer<'g> {
    fn new(graph: &ProgramGraph, cx: &'g Context, kernels: &[Kernel]) -> Self {
        let mut last = BTreeMap::new();
        for (at, kernel) in kernels.iter().enumerate() {
            for value in kernel.uses.iter().flat_map(|one| [one.input, one.output]).flatten() {
                last.insert(value, at);
            }
        }
        let mut places: Vec<Placement> = graph
            .values()
            .iter()
            .map(|value| match value.source {
                Source::Constant(_) => Placement::Constant,
                Source::Input => Placement::Input,
                Source::Retained { .. } => Placement::Retained,
                Source::Node { .. } => Placement::Fused,
            })
            .collect();
        let next = graph.values().iter().filter_map(|value| match value.source {
            Source::Retained { next } => next,
            _ => None,
        });
        for value in graph.outputs().iter().map(|output| output.value).chain(next) {
            if let Some(place @ Placement::Fused) = places.get_mut(value.index()) {
                *place = Placement::Output;
            }
        }
        Self {
            cx,
            places,
            slots: Vec::new(),
            last,
            free_from: Vec::new(),
            ending: BTreeMap::new(),
            free: BTreeSet::new(),
            by_bytes: BTreeMap::new(),
        }
    }

    /// Gives what a kernel computes a place; the copies that have to be made before.
    fn step(&mut self, at: usize, kernel: &Kernel) -> Vec<Step> {
        self.end_before(at);
        let mut copies = Vec::new();
        for &one in &kernel.uses {
            let Use { input, output: Some(output) } = one else { continue };
            let intermediate = self.place(output) == Placement::Fused;
            let taken = input.and_then(|input| self.taken_over(at, kernel, input));
            match (taken, input) {
                (Some(slot), _) if intermediate => self.occupy(slot, output),
                (_, input) => {
                    if intermediate {
                        let slot = self.free_slot(output);
                        self.occupy(slot, output);
                    }
                    copies.extend(input.map(|from| Step::Copy { from, to: output }));
                }
            }
        }
        copies
    }

    fn place(&self, value: GraphValueId) -> Placement {
        self.places.get(value.index()).copied().unwrap_or(Placement::Fused)
    }

    /// The slot of a value that a kernel changes and nobody else reads, then or later.
    fn taken_over(&self, at: usize, kernel: &Kernel, input: GraphValueId) -> Option<SlotId> {
        let Placement::Slot(slot) = self.place(input) else { return None };
        let readers = kernel.uses.iter().filter(|one| one.input == Some(input)).count();
        (readers == 1 && self.last.get(&input) == Some(&at)).then_some(slot)
    }

    fn occupy(&mut self, slot: SlotId, value: GraphValueId) {
        if let Some(place) = self.places.get_mut(value.index()) {
            *place = Placement::Slot(slot);
        }
        let at = slot.index();
        if let (Some(slot), Some(free_from)) = (self.slots.get_mut(at), self.free_from.get_mut(at)) {
            slot.values.push(value);
            *free_from = self.last.get(&value).map_or(0, |last| last + 1);
            self.ending.entry(*free_from).or_default().push(at);
        }
    }

    /// Takes note of the slots that are free from a kernel on.
    fn end_before(&mut self, at: usize) {
        let later = self.ending.split_off(&(at + 1));
        for slot in std::mem::replace(&mut self.ending, later).into_values().flatten() {
            // Another value may have taken the slot over.
            if self.free_from.get(slot).is_some_and(|&from| from <= at) {
                self.free.insert(slot);
                self.by_bytes.entry(self.first_bytes(slot)).or_default().insert(slot);
            }
        }
    }

    /// A slot that is free, best one of the same size, or a new one.
    fn free_slot(&mut self, value: GraphValueId) -> SlotId {
        let same = self.by_bytes.get(&self.bytes(value)).and_then(BTreeSet::first);
        let found = same.or_else(|| self.free.first()).copied();
        if let Some(slot) = found {
            self.free.remove(&slot);
            if let Some(slots) = self.by_bytes.get_mut(&self.first_bytes(slot)) {
                slots.remove(&slot);
            }
        }
        let found = found.unwrap_or_else(|| {
            self.slots.push(Slot { values: Vec::new() });
            self.free_from.push(0);
            self.slots.len() - 1
        });
        SlotId::new(found as u32)
    }

    /// The bytes of the first value in a slot.
    fn first_bytes(&self, slot: usize) -> Option<Quantity> {
        let first = self.slots.get(slot).and_then(|slot| slot.values.first());
        first.and_then(|&value| self.bytes(value))
    }

    fn bytes(&self, value: GraphValueId) -> Option<Quantity> {
        let known = self.cx.value(value);
        known.length.times(&Quantity::literal(u64::from(known.element.size())))
    }
}
