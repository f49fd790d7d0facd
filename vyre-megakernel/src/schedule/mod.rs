//! From a run that fits to its command list.

mod readers;
mod scheduler;

use std::collections::HashMap;
use std::sync::Arc;

use vyre_driver::{CommandList, CompiledPipeline, Resource};
use vyre_foundation::graph::{GraphValueId, Source};
use vyre_spec::DataType;

use crate::bindings::Bound;
use crate::fuse::Step;
use crate::{Artifact, BindingError, BindingSet, Held, Prepared};
use scheduler::Scheduler;

/// The pipelines of an artifact's programs.
#[derive(Clone, Debug)]
pub struct Pipelines(Vec<Arc<dyn CompiledPipeline>>);

impl Pipelines {
    /// Pipelines that were compiled from the artifact's programs with its options, in their order, by the backend that
    /// will run them.
    ///
    /// # Errors
    /// If there are more or fewer, or one is of another program.
    pub fn new(artifact: &Artifact, pipelines: Vec<Arc<dyn CompiledPipeline>>) -> Result<Self, BindingError> {
        let (needs, got) = (artifact.programs().len(), pipelines.len());
        if needs != got {
            return Err(BindingError::PipelineCount { needs, got });
        }
        for (index, (program, pipeline)) in artifact.programs().iter().zip(&pipelines).enumerate() {
            let compiled = pipeline.program();
            if !compiled.same(program) && **compiled != **program {
                let (needs, got) = (program.name().to_owned(), compiled.name().to_owned());
                return Err(BindingError::OtherProgram { index, needs, got });
            }
        }
        Ok(Self(pipelines))
    }
}

/// The work of one run.
#[derive(Debug)]
pub struct Schedule<'a> {
    /// The commands.
    pub list: CommandList<'a>,
    /// What each of the list's reads gives, in their order.
    pub reads: Vec<ReadBack>,
}

/// An output that is read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadBack {
    /// Its name.
    pub name: String,
    /// Its element type.
    pub element: DataType,
}

/// The command list that runs an artifact: one submission. It uploads what is bound, runs the kernels and reads
/// each output back that is not resident. Nothing else is read back: intermediate values live in memory of the list.
///
/// A retained value that is `held` is read and updated there. One that is not is of this run alone: it is what is
/// bound, else zeros; a resident buffer that is bound to it is updated.
///
/// # Errors
/// If the bindings do not fit the artifact.
pub fn schedule<'a>(
    artifact: &'a Artifact,
    pipelines: &Pipelines,
    bindings: &'a BindingSet<'a>,
    held: &Held,
) -> Result<Schedule<'a>, BindingError> {
    Prepared::new(artifact, bindings, held)?.schedule(pipelines, held)
}

impl<'a> Prepared<'a> {
    /// As [`schedule`]. Buffers for retained values may have been added to `held` meanwhile; they are of
    /// [`Self::bytes_of`] bytes, and zeros.
    ///
    /// # Errors
    /// If a parameter, a count or a length does not fit a kernel, or what is held has another length.
    pub fn schedule(&self, pipelines: &Pipelines, held: &Held) -> Result<Schedule<'a>, BindingError> {
        for (&id, resource) in held.iter().filter(|(id, _)| id.index() < self.bound.len()) {
            let needs = self.bytes_of(id);
            if resource.len != needs {
                let name = self.artifact.graph().value(id).name.clone();
                return Err(BindingError::ResidentLength { name, needs, got: resource.len });
            }
        }
        self.writes_apart(held)?;
        let mut scheduler = Scheduler::new(self, held);
        scheduler.place();
        for step in &self.artifact.plan().steps {
            match step {
                Step::Copy { from, to } => scheduler.copy_value(*from, *to),
                Step::Run(run) => scheduler.run(run, pipelines)?,
            }
        }
        // Before what is read may be overwritten.
        let reads = scheduler.reads();
        scheduler.settle();
        Ok(Schedule { list: scheduler.list, reads })
    }
    /// Whether no buffer of the caller's would get two values: outputs, and what retained values in it become.
    fn writes_apart(&self, held: &Held) -> Result<(), BindingError> {
        let graph = self.artifact.graph();
        let mut written: HashMap<Resource, (&str, GraphValueId)> = HashMap::new();
        for (output, resident) in graph.outputs().iter().zip(&self.residents) {
            let Some(resource) = *resident else { continue };
            if let Some((first, _)) = written.insert(resource, (&output.name, output.value)) {
                let (first, second) = (first.to_owned(), output.name.clone());
                return Err(BindingError::SharedOutput { first, second });
            }
        }
        for (id, bound) in graph.value_ids().zip(&self.bound) {
            let value = graph.value(id);
            let (Source::Retained { next: Some(next) }, Some(Bound::Resident(resource))) =
                (&value.source, bound)
            else {
                continue;
            };
            // What is held is updated there, and the caller's buffer is only read.
            if held.contains_key(&id) {
                continue;
            }
            match written.insert(*resource, (&value.name, *next)) {
                Some((first, other)) if other != *next => {
                    let (first, second) = (first.to_owned(), value.name.clone());
                    return Err(BindingError::SharedOutput { first, second });
                }
                _ => {}
            }
        }
        Ok(())
    }
}
