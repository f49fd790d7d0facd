//! Where values live, and the steps of a plan.
//!
//! An intermediate value lives in a slot from the kernel that computes it to its last reader; then the slot is free for
//! another. A kernel that changes a buffer in place takes over the old value's slot if nobody else needs that value;
//! otherwise it is copied first.

use std::collections::{BTreeMap, HashMap};

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
    let (mut programs, mut known): (Vec<_>, HashMap<Program, u32>) = (Vec::new(), HashMap::new());
    for (at, kernel) in kernels.iter().enumerate() {
        steps.extend(placer.step(at, kernel));
        let next = programs.len() as u32;
        let program = *known.entry((*kernel.program).clone()).or_insert(next);
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
    free: Vec<usize>,
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
        Self { cx, places, slots: Vec::new(), last, free: Vec::new() }
    }

    /// Gives what a kernel computes a place; the copies that have to be made before.
    fn step(&mut self, at: usize, kernel: &Kernel) -> Vec<Step> {
        let mut copies = Vec::new();
        for &one in &kernel.uses {
            let Use { input, output: Some(output) } = one else { continue };
            let intermediate = self.place(output) == Placement::Fused;
            let taken = input.and_then(|input| self.taken_over(at, kernel, input));
            match (taken, input) {
                (Some(slot), _) if intermediate => self.occupy(slot, output),
                (_, input) => {
                    if intermediate {
                        let slot = self.free_slot(at, output);
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
        if let (Some(slot), Some(free)) = (self.slots.get_mut(slot.index()), self.free.get_mut(slot.index()))
        {
            slot.values.push(value);
            *free = self.last.get(&value).map_or(0, |last| last + 1);
        }
    }

    /// A slot that is free, best one of the same size, or a new one.
    fn free_slot(&mut self, at: usize, value: GraphValueId) -> SlotId {
        let wanted = self.bytes(value);
        let is_free = |&slot: &usize| self.free.get(slot).is_some_and(|&free| free <= at);
        let free: Vec<usize> = (0..self.slots.len()).filter(is_free).collect();
        let same = |&&slot: &&usize| {
            let first = self.slots.get(slot).and_then(|slot| slot.values.first());
            first.is_some_and(|&first| self.bytes(first) == wanted)
        };
        let found = free.iter().find(same).or_else(|| free.first()).copied();
        let found = found.unwrap_or_else(|| {
            self.slots.push(Slot { values: Vec::new() });
            self.free.push(0);
            self.slots.len() - 1
        });
        SlotId::new(found as u32)
    }

    fn bytes(&self, value: GraphValueId) -> Option<Quantity> {
        let known = self.cx.value(value);
        known.length.times(&Quantity::literal(u64::from(known.element.size())))
    }
}
