//! Whether a plan does what its graph says, as far as memory goes.
//!
//! The invariants, which [`plan`] proves by following what is in each memory from step to step:
//!
//! 1. Each value has the place of its source: inputs, constants and retained values their own, computed ones none, one
//!    that is given back, or a slot that lists it.
//! 2. A run names a program of the plan, has a value of the element type for each buffer as its access asks, a source of
//!    the right type for each parameter, and counts only for a workgroup launch.
//! 3. What a step reads is in its memory then: it was written before, and nothing else since.
//! 4. Before a run that changes a value in place, the memory of the new value holds the old one.
//! 5. A run has no memory twice, one of the two written.
//! 6. Sources are never written, computed values once.
//! 7. At the end, outputs and what retained values become are in their memory.

use std::collections::BTreeMap;

use vyre_foundation::graph::{GraphValueId, ParamSource, ProgramGraph, Source};
use vyre_foundation::ir::{Launch, Program};

use super::{PlanFault, Rejected};
use crate::fuse::{Placement, Plan, Run, Step};

fn fault(place: String, what: &'static str) -> PlanFault {
    PlanFault { place, what }
}

/// Where a value's bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Memory {
    Own(GraphValueId),
    Slot(usize),
}

struct Checker<'p> {
    graph: &'p ProgramGraph,
    plan: &'p Plan,
    /// The value in the memory of each value's own, and in each slot.
    own: Vec<Option<GraphValueId>>,
    slots: Vec<Option<GraphValueId>>,
    written: Vec<bool>,
}

/// Checks the invariants.
pub(super) fn plan(graph: &ProgramGraph, plan: &Plan) -> Result<(), PlanFault> {
    places(graph, plan)?;
    let own = graph.value_ids().map(|id| (!is_computed(graph, id)).then_some(id)).collect();
    let (slots, written) = (vec![None; plan.slots.len()], vec![false; graph.values().len()]);
    let mut checker = Checker { graph, plan, own, slots, written };
    for (number, step) in plan.steps.iter().enumerate() {
        let at = |what| fault(format!("step {number}"), what);
        match step {
            Step::Copy { from, to } => checker.copy(*from, *to).map_err(at)?,
            Step::Run(run) => checker.run(run).map_err(at)?,
        }
    }
    checker.end()
}

/// Checks that rejections are of nodes of the graph.
pub(super) fn rejected(graph: &ProgramGraph, rejected: &[Rejected]) -> Result<(), PlanFault> {
    let known = graph.nodes().len();
    let outside = |r: &Rejected| r.producer.index() >= known || r.consumer.index() >= known;
    match rejected.iter().position(outside) {
        Some(index) => Err(fault(format!("rejection {index}"), "it is of no node of the graph")),
        None => Ok(()),
    }
}

fn is_computed(graph: &ProgramGraph, value: GraphValueId) -> bool {
    matches!(graph.value(value).source, Source::Node { .. })
}

fn places(graph: &ProgramGraph, plan: &Plan) -> Result<(), PlanFault> {
    if plan.places.len() != graph.values().len() {
        return Err(fault("the places".to_owned(), "they are not one for each value"));
    }
    let mut listed = vec![None; graph.values().len()];
    for (number, slot) in plan.slots.iter().enumerate() {
        for value in &slot.values {
            let Some(entry) = listed.get_mut(value.index()).filter(|entry| entry.is_none()) else {
                return Err(fault(format!("slot {number}"), "it lists a value that is elsewhere or nowhere"));
            };
            *entry = Some(number);
        }
    }
    for ((id, place), listed) in graph.value_ids().zip(&plan.places).zip(listed) {
        let value = graph.value(id);
        let fits = match (&value.source, place) {
            (Source::Input, Placement::Input)
            | (Source::Constant(_), Placement::Constant)
            | (Source::Retained { .. }, Placement::Retained)
            | (Source::Node { .. }, Placement::Fused | Placement::Output) => listed.is_none(),
            (Source::Node { .. }, Placement::Slot(slot)) => listed == Some(slot.index()),
            _ => false,
        };
        if !fits {
            return Err(fault(format!("value `{}`", value.name), "its place is not one of its source"));
        }
    }
    Ok(())
}

impl Checker<'_> {
    fn memory(&self, value: GraphValueId) -> Result<Memory, &'static str> {
        match self.plan.places.get(value.index()) {
            Some(Placement::Slot(slot)) => Ok(Memory::Slot(slot.index())),
            Some(Placement::Fused) | None => Err("it uses a value that is in no memory"),
            Some(_) => Ok(Memory::Own(value)),
        }
    }

    fn content(&mut self, memory: Memory) -> Option<&mut Option<GraphValueId>> {
        match memory {
            Memory::Own(value) => self.own.get_mut(value.index()),
            Memory::Slot(slot) => self.slots.get_mut(slot),
        }
    }

    /// Whether a value is in its memory now.
    fn is_there(&mut self, value: GraphValueId) -> Result<Memory, &'static str> {
        let memory = self.memory(value)?;
        match self.content(memory) {
            Some(content) if *content == Some(value) => Ok(memory),
            _ => Err("it reads a value that is not in its memory then"),
        }
    }

    fn put(&mut self, memory: Memory, value: GraphValueId) {
        if let Some(content) = self.content(memory) {
            *content = Some(value);
        }
    }

    fn copy(&mut self, from: GraphValueId, to: GraphValueId) -> Result<(), &'static str> {
        self.is_there(from)?;
        if !is_computed(self.graph, to) || self.written.get(to.index()) != Some(&false) {
            return Err("it copies into a value that is bound or was computed");
        }
        // Lengths are compared in each run.
        if self.graph.value(from).element != self.graph.value(to).element {
            return Err("it copies into a value of another type");
        }
        let memory = self.memory(to)?;
        self.put(memory, from);
        Ok(())
    }

    fn run(&mut self, run: &Run) -> Result<(), &'static str> {
        let plan = self.plan;
        let program = plan.programs.get(run.program as usize).ok_or("it runs no program of the plan")?;
        if program.buffers().len() != run.buffers.len() || program.params().len() != run.params.len() {
            return Err("it has more or fewer values or parameters than its program");
        }
        if run.counts.is_some() && !matches!(program.launch(), Launch::Workgroups { .. }) {
            return Err("it has workgroup counts, which its program takes none of");
        }
        self.params(run, program)?;
        let mut used: BTreeMap<Memory, bool> = BTreeMap::new();
        for (buffer, value) in program.buffers().iter().zip(&run.buffers) {
            let access = buffer.access;
            if value.input.is_some() != access.is_input() || value.output.is_some() != access.is_output() {
                return Err("a value is not used as its buffer's access says");
            }
            let mut values = value.input.into_iter().chain(value.output);
            if values.any(|value| self.graph.value(value).element != buffer.element) {
                return Err("a value has another element type than its buffer");
            }
            let memory = match (value.input, value.output) {
                (input, Some(output)) => {
                    let memory = self.memory(output)?;
                    if !is_computed(self.graph, output) {
                        return Err("it writes a value that is bound");
                    }
                    let found = self.content(memory).copied().flatten();
                    if input.is_some() && found != input {
                        return Err("it changes a value in place that is not in that memory");
                    }
                    let Some(written @ false) = self.written.get_mut(output.index()) else {
                        return Err("it computes a value for the second time");
                    };
                    *written = true;
                    memory
                }
                (Some(input), None) => self.is_there(input)?,
                (None, None) => continue,
            };
            let writes = value.output.is_some();
            if used.insert(memory, writes).is_some_and(|written| written || writes) {
                return Err("it has one memory twice, and writes it");
            }
        }
        for output in run.buffers.iter().filter_map(|value| value.output) {
            let memory = self.memory(output)?;
            self.put(memory, output);
        }
        Ok(())
    }

    fn params(&self, run: &Run, program: &Program) -> Result<(), &'static str> {
        for (param, source) in program.params().iter().zip(&run.params) {
            let fits = match *source {
                ParamSource::Literal(value) => value.ty() == param.ty,
                ParamSource::Param(id) => self.graph.param(id).ty == param.ty,
                ParamSource::Dim(_) => param.ty.is_int(),
            };
            if !fits {
                return Err("a parameter has a source of another type");
            }
        }
        Ok(())
    }

    fn end(mut self) -> Result<(), PlanFault> {
        let graph = self.graph;
        let next = graph.values().iter().filter_map(|value| match value.source {
            Source::Retained { next } => next,
            _ => None,
        });
        let wanted: Vec<_> = graph.outputs().iter().map(|output| output.value).chain(next).collect();
        for value in wanted {
            let there = self.is_there(value).map(drop);
            there.map_err(|_| {
                fault(format!("value `{}`", graph.value(value).name), "it is not in its memory at the end")
            })?;
        }
        Ok(())
    }
}
