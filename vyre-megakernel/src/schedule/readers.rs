//! What reads each value of a run, and until when.

use vyre_foundation::graph::{GraphValueId, Source};

use crate::Artifact;
use crate::fuse::Step;

/// What reads a value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Readers {
    /// How many steps.
    pub(super) steps: usize,
    /// The last of them.
    pub(super) last: usize,
    /// How many outputs and retained values it becomes.
    pub(super) lasting: usize,
    /// Whether a step needs it in memory; a copy of host bytes does not.
    pub(super) by_kernel: bool,
}

impl Readers {
    /// Whether step `number` is the only thing that is left to read the value.
    pub(super) fn end_with(&self, number: usize) -> bool {
        self.lasting == 0 && self.last == number
    }
}

/// What reads each value of an artifact's graph, by its id.
pub(super) fn readers(artifact: &Artifact) -> Vec<Readers> {
    let graph = artifact.graph();
    let mut readers = vec![Readers::default(); graph.values().len()];
    let mut read = |value: GraphValueId, note: &dyn Fn(&mut Readers)| {
        if let Some(readers) = readers.get_mut(value.index()) {
            note(readers);
        }
    };
    for (number, step) in artifact.plan().steps.iter().enumerate() {
        let by_step = |readers: &mut Readers| {
            readers.steps += 1;
            readers.last = number;
        };
        match step {
            Step::Copy { from, .. } => read(*from, &by_step),
            Step::Run(run) => {
                // The input of an in-place use is in its output's memory by now.
                let inputs = run.buffers.iter().filter(|used| used.output.is_none());
                for value in inputs.filter_map(|used| used.input) {
                    read(value, &|readers| {
                        by_step(readers);
                        readers.by_kernel = true;
                    });
                }
            }
        }
    }
    for output in graph.outputs() {
        read(output.value, &|readers| readers.lasting += 1);
    }
    for value in graph.values() {
        if let Source::Retained { next: Some(next) } = value.source {
            read(next, &|readers| readers.lasting += 1);
        }
    }
    readers
}
