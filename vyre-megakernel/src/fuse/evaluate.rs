//! Plans on the reference machine, memory reuse included: what a plan means.

use std::collections::BTreeMap;

use vyre_foundation::graph::{GraphValueId, ProgramGraph, Solved, Source};
use vyre_foundation::launch::Params;
use vyre_foundation::machine::{MachineError, MachineOptions, Outcome, Report, TrapRecord, run_bound};

use super::plan::{Placement, Plan, Run, Step};

/// What a run of a plan gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluated {
    /// The bytes of each output of the graph, in declaration order.
    pub outputs: Vec<Vec<u8>>,
    /// The bytes of each retained value for the next run.
    pub retained: BTreeMap<GraphValueId, Vec<u8>>,
    /// The first trap, if there was one.
    pub trap: Option<TrapRecord>,
    /// What the sanitizer found in each kernel, if it was asked to watch.
    pub reports: Vec<Report>,
}

/// Runs a plan of a graph on the reference machine. `bound` has the bytes of inputs and of retained values; retained values
/// that it lacks are zeros.
///
/// # Errors
/// If a kernel cannot be run, or a value is larger than the options' `memory_limit`.
pub fn evaluate(
    graph: &ProgramGraph,
    plan: &Plan,
    solved: &Solved,
    bound: &BTreeMap<GraphValueId, Vec<u8>>,
    options: &MachineOptions,
) -> Result<Evaluated, MachineError> {
    for id in graph.value_ids() {
        let (bytes, limit) = (solved.bytes(graph, id), options.memory_limit);
        if bytes > limit {
            let what = format!("value `{}`", graph.value(id).name);
            return Err(MachineError::Memory { what, bytes, limit });
        }
    }
    let mut memory =
        Memory { graph, plan, solved, slots: vec![Vec::new(); plan.slots.len()], own: bound.clone() };
    let (mut trap, mut reports) = (None, Vec::new());
    for step in &plan.steps {
        match step {
            Step::Copy { from, to } => {
                let bytes = memory.get(*from);
                memory.set(*to, bytes);
            }
            Step::Run(run) => {
                if let Some(outcome) = memory.run(run, options)? {
                    trap = trap.or(outcome.trap);
                    reports.extend(outcome.reports);
                }
            }
        }
    }
    let outputs = graph.outputs().iter().map(|output| memory.get(output.value)).collect();
    let next = |id: GraphValueId| match graph.value(id).source {
        Source::Retained { next } => Some((id, memory.get(next.unwrap_or(id)))),
        _ => None,
    };
    Ok(Evaluated { outputs, retained: graph.value_ids().filter_map(next).collect(), trap, reports })
}

struct Memory<'g> {
    graph: &'g ProgramGraph,
    plan: &'g Plan,
    solved: &'g Solved,
    slots: Vec<Vec<u8>>,
    own: BTreeMap<GraphValueId, Vec<u8>>,
}

impl Memory<'_> {
    fn place(&self, value: GraphValueId) -> Placement {
        self.plan.places.get(value.index()).copied().unwrap_or(Placement::Fused)
    }

    /// The bytes that stand where a value lives, as many as the value has.
    fn get(&self, value: GraphValueId) -> Vec<u8> {
        let mut bytes = match (self.place(value), &self.graph.value(value).source) {
            (Placement::Slot(slot), _) => self.slots.get(slot.index()).cloned().unwrap_or_default(),
            (_, Source::Constant(bytes)) => bytes.to_vec(),
            _ => self.own.get(&value).cloned().unwrap_or_default(),
        };
        bytes.resize(self.solved.bytes(self.graph, value) as usize, 0);
        bytes
    }

    fn set(&mut self, value: GraphValueId, bytes: Vec<u8>) {
        match self.place(value) {
            Placement::Slot(slot) => {
                if let Some(memory) = self.slots.get_mut(slot.index()) {
                    *memory = bytes;
                }
            }
            _ => {
                self.own.insert(value, bytes);
            }
        }
    }

    fn run(&mut self, run: &Run, options: &MachineOptions) -> Result<Option<Outcome>, MachineError> {
        let Some(program) = self.plan.programs.get(run.program as usize) else { return Ok(None) };
        let params = program.params().iter().zip(&run.params);
        let params: Params = params
            .map(|(param, &source)| (param.name.clone(), self.solved.param(source, param.ty)))
            .collect();
        let contents: Vec<Vec<u8>> = run
            .buffers
            .iter()
            .map(|one| match (one.input, one.output) {
                // A copy, or the old value itself, stands where the new one will.
                (Some(_), Some(value)) | (Some(value), None) => self.get(value),
                (None, Some(value)) => vec![0; self.solved.bytes(self.graph, value) as usize],
                (None, None) => Vec::new(),
            })
            .collect();
        let contents: Vec<Option<&[u8]>> = contents.iter().map(|bytes| Some(bytes.as_slice())).collect();
        let counts = run
            .counts
            .map(|counts| counts.map(|dim| u32::try_from(self.solved.dim(dim)).unwrap_or(u32::MAX)));
        let options = MachineOptions { counts, ..options.clone() };
        let mut outcome = run_bound(program, &params, &contents, &options)?;
        let outputs = run.buffers.iter().filter_map(|one| one.output);
        for (value, bytes) in outputs.zip(std::mem::take(&mut outcome.outputs)) {
            self.set(value, bytes);
        }
        Ok(Some(outcome))
    }
}
