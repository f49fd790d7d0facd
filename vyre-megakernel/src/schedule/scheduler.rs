//! The commands of a run, step by step, and where each value is meanwhile.

use std::sync::Arc;

use vyre_driver::{Binding, BufferRef, Command, CommandList, DispatchCommand, Resource, Span};
use vyre_foundation::graph::{GraphValueId, Source};
use vyre_foundation::launch::Params;

use super::readers::{Readers, readers};
use super::{Pipelines, ReadBack};
use crate::bindings::Bound;
use crate::fuse::{Placement, Run, Step};
use crate::{BindingError, Held, Prepared};

/// A command list under construction.
pub(super) struct Scheduler<'p, 'a> {
    prepared: &'p Prepared<'a>,
    held: &'p Held,
    pub(super) list: CommandList<'a>,
    readers: Vec<Readers>,
    /// Where each value is.
    at: Vec<Option<BufferRef>>,
    /// Outputs whose value is not computed where they are wanted: position, and where to.
    wanted: Vec<(usize, Resource)>,
}

impl<'p, 'a> Scheduler<'p, 'a> {
    pub(super) fn new(prepared: &'p Prepared<'a>, held: &'p Held) -> Self {
        let readers = readers(prepared.artifact);
        let list = CommandList::new().labeled(prepared.bindings.label.clone());
        let at = vec![None; readers.len()];
        Self { prepared, held, list, readers, at, wanted: Vec::new() }
    }

    fn readers(&self, value: GraphValueId) -> Readers {
        self.readers.get(value.index()).copied().unwrap_or_default()
    }

    fn set(&mut self, value: GraphValueId, buffer: BufferRef) {
        if let Some(slot) = self.at.get_mut(value.index()) {
            *slot = Some(buffer);
        }
    }

    /// Where a value is. One that the plan has no place for gets memory of its own.
    fn place_of(&mut self, value: GraphValueId) -> BufferRef {
        if let Some(buffer) = self.at.get(value.index()).copied().flatten() {
            return buffer;
        }
        let buffer = self.list.transient(self.prepared.bytes_of(value));
        self.set(value, buffer);
        buffer
    }

    fn span(&mut self, value: GraphValueId) -> Span {
        Span { buffer: self.place_of(value), offset: 0, len: self.prepared.bytes_of(value) }
    }

    /// Gives every value its place, and uploads what the host has.
    pub(super) fn place(&mut self) {
        let prepared = self.prepared;
        let (graph, plan) = (prepared.artifact.graph(), prepared.artifact.plan());
        for id in graph.value_ids() {
            match &graph.value(id).source {
                Source::Node { .. } => {}
                Source::Constant(bytes) => self.place_source(id, Some(bytes)),
                Source::Input | Source::Retained { .. } => match self.bound(id) {
                    Some(Bound::Host { bytes, .. }) => self.place_source(id, Some(bytes)),
                    Some(Bound::Resident(_)) | None => self.place_source(id, None),
                },
            }
        }
        for slot in &plan.slots {
            let longest = slot.values.iter().map(|&value| prepared.bytes_of(value)).max().unwrap_or(0);
            let buffer = self.list.transient(longest);
            for &value in &slot.values {
                self.set(value, buffer);
            }
        }
        self.place_outputs();
    }

    fn bound(&self, value: GraphValueId) -> Option<&'a Bound<'a>> {
        self.prepared.bound.get(value.index()).copied().flatten()
    }

    /// A value that no kernel computes. `bytes` are the host's, if they are there.
    fn place_source(&mut self, id: GraphValueId, bytes: Option<&'a [u8]>) {
        let readers = self.readers(id);
        let resident = match self.bound(id) {
            Some(Bound::Resident(resource)) => Some(*resource),
            _ => None,
        };
        let is_retained = matches!(self.prepared.artifact.graph().value(id).source, Source::Retained { .. });
        match (self.held.get(&id).copied(), resident) {
            (Some(held), resident) => {
                self.set(id, BufferRef::Resident(held));
                // A constant's bytes are there already.
                match (resident, bytes) {
                    (Some(resident), _) => {
                        let len = held.len;
                        let from = Span { buffer: BufferRef::Resident(resident), offset: 0, len };
                        self.copy(from, Span { buffer: BufferRef::Resident(held), ..from });
                    }
                    (None, Some(bytes)) if is_retained => {
                        self.list.upload(BufferRef::Resident(held), 0, bytes);
                    }
                    _ => {}
                }
            }
            (None, Some(resident)) => self.set(id, BufferRef::Resident(resident)),
            // Nobody reads it, or only copies of it are needed, which are uploaded where they are wanted.
            (None, None) if !readers.by_kernel && readers.lasting == 0 && readers.steps <= 1 => {}
            (None, None) => {
                let to = self.span(id);
                match bytes {
                    Some(bytes) => self.list.upload(to.buffer, 0, bytes),
                    None => self.list.push(Command::Fill { to, byte: 0 }),
                }
            }
        }
    }

    /// Outputs of kernels are computed in the caller's buffers, where that harms no input in them.
    fn place_outputs(&mut self) {
        let graph = self.prepared.artifact.graph();
        for (position, output) in graph.outputs().iter().enumerate() {
            let Some(resource) = self.prepared.residents.get(position).copied().flatten() else { continue };
            let buffer = BufferRef::Resident(resource);
            let own =
                self.prepared.artifact.plan().places.get(output.value.index()) == Some(&Placement::Output);
            let is_free = self.at.get(output.value.index()).is_some_and(Option::is_none);
            if own && is_free && self.is_unused_until(output.value, buffer) {
                self.set(output.value, buffer);
            } else {
                self.wanted.push((position, resource));
            }
        }
    }

    /// Whether a buffer has no value that is needed once `value` begins to be computed.
    fn is_unused_until(&self, value: GraphValueId, buffer: BufferRef) -> bool {
        let here = |id: &GraphValueId| self.at.get(id.index()).copied().flatten() == Some(buffer);
        let mut there = self.prepared.artifact.graph().value_ids().filter(here);
        match (there.next(), there.next()) {
            (None, _) => true,
            // In place, as the plan has it.
            (Some(old), None) => {
                let steps = self.prepared.artifact.plan().steps.iter().enumerate();
                let mut copies = steps.filter(|(_, s)| **s == Step::Copy { from: old, to: value });
                copies.next().is_some_and(|(number, _)| self.readers(old).end_with(number))
            }
            (Some(_), Some(_)) => false,
        }
    }

    fn copy(&mut self, from: Span, to: Span) {
        if from.buffer != to.buffer {
            self.list.push(Command::Copy { from, to });
        }
    }

    /// A copy that the plan has before a kernel works in place.
    pub(super) fn copy_value(&mut self, from: GraphValueId, to: GraphValueId) {
        let graph = self.prepared.artifact.graph();
        let source = &graph.value(from).source;
        if self.at.get(from.index()).is_some_and(Option::is_none) && !matches!(source, Source::Node { .. }) {
            // It is needed nowhere else, so it has no memory.
            let to = self.span(to);
            match self.host_bytes(from) {
                Some(bytes) => self.list.upload(to.buffer, 0, bytes),
                None => self.list.push(Command::Fill { to, byte: 0 }),
            }
            return;
        }
        // A retained value that nobody else reads is updated in its own memory.
        let becomes = *source == Source::Retained { next: Some(to) };
        let own = self.prepared.artifact.plan().places.get(to.index()) == Some(&Placement::Output);
        let is_free = self.at.get(to.index()).is_some_and(Option::is_none);
        if becomes && own && is_free {
            let buffer = self.place_of(from);
            // The caller may have bound the buffer to another value as well.
            if self.is_unused_until(to, buffer) {
                self.set(to, buffer);
                return;
            }
        }
        let (from, to) = (self.span(from), self.span(to));
        self.copy(from, to);
    }

    fn host_bytes(&self, value: GraphValueId) -> Option<&'a [u8]> {
        match (self.bound(value), &self.prepared.artifact.graph().value(value).source) {
            (Some(Bound::Host { bytes, .. }), _) => Some(bytes),
            (None, Source::Constant(bytes)) => Some(bytes),
            _ => None,
        }
    }

    pub(super) fn run(&mut self, run: &Run, pipelines: &Pipelines) -> Result<(), BindingError> {
        let artifact = self.prepared.artifact;
        let position = run.program as usize;
        let (Some(program), Some(pipeline)) = (artifact.programs().get(position), pipelines.0.get(position))
        else {
            let (needs, got) = (position + 1, pipelines.0.len());
            return Err(BindingError::PipelineCount { needs, got });
        };
        let mut bindings = Vec::with_capacity(run.buffers.len());
        for (id, used) in program.buffer_ids().zip(&run.buffers) {
            let Some(value) = used.output.or(used.input) else { continue };
            let to = self.span(value);
            bindings.push(Binding { buffer: to.buffer, len: to.len });
            // Elements that are not stored are 0.
            if used.input.is_none() && !program.facts().stores_whole(id) {
                self.list.push(Command::Fill { to, byte: 0 });
            }
        }
        let mut params = Params::new();
        for (param, &source) in program.params().iter().zip(&run.params) {
            params = params.with(&param.name, self.prepared.param(source, param.ty, &param.name)?);
        }
        let counts = match (self.prepared.bindings.counts, run.counts) {
            // There is one kernel: preparing the run checks.
            (Some(counts), _) => Some(counts),
            (None, Some(dims)) => Some(self.prepared.counts(dims)?),
            (None, None) => None,
        };
        let run = DispatchCommand::with(Arc::clone(pipeline), bindings, params, counts);
        self.list.push(Command::Dispatch(run));
        Ok(())
    }

    /// Reads back the outputs that are not resident.
    pub(super) fn reads(&mut self) -> Vec<ReadBack> {
        let graph = self.prepared.artifact.graph();
        let mut reads = Vec::new();
        for (output, resident) in graph.outputs().iter().zip(&self.prepared.residents) {
            if resident.is_none() {
                let from = self.span(output.value);
                self.list.read(from);
                let element = graph.value(output.value).element;
                reads.push(ReadBack { name: output.name.clone(), element });
            }
        }
        reads
    }

    /// Copies outputs to where they are wanted, and makes retained values what the next run finds.
    pub(super) fn settle(&mut self) {
        let graph = self.prepared.artifact.graph();
        let mut moves = Vec::new();
        for (position, resource) in std::mem::take(&mut self.wanted) {
            let Some(output) = graph.outputs().get(position) else { continue };
            let from = self.span(output.value);
            moves.push((from, Span { buffer: BufferRef::Resident(resource), ..from }));
        }
        for id in graph.value_ids() {
            let Source::Retained { next: Some(next) } = graph.value(id).source else { continue };
            // In memory of this run alone, nobody would find it.
            if let Some(to @ BufferRef::Resident(_)) = self.at.get(id.index()).copied().flatten() {
                let from = self.span(next);
                moves.push((from, Span { buffer: to, ..from }));
            }
        }
        moves.retain(|(from, to)| from.buffer != to.buffer);
        // All at once: what is itself overwritten is put aside before.
        let targets: Vec<_> = moves.iter().map(|(_, to)| to.buffer).collect();
        for (from, _) in &mut moves {
            if targets.contains(&from.buffer) {
                let aside = Span { buffer: self.list.transient(from.len), ..*from };
                self.copy(*from, aside);
                *from = aside;
            }
        }
        for (from, to) in moves {
            self.copy(from, to);
        }
    }
}
