//! From a command list to steps over wgpu objects. Everything that can be refused is refused here.

use std::collections::BTreeMap;

use vyre_driver::{BackendError, BufferRef, Command, CommandList, Resource, Span};
use vyre_lower::kernel::TRAP_WORDS;

use super::dispatch::Launch;
use super::frame::{Frame, Held, Holder};
use super::steps::Steps;
use crate::buffer::{Kind, PoolBuffer};
use crate::core::Core;

/// A buffer of a plan, by position.
pub(super) type BufferIndex = usize;

/// A list, checked and resolved.
#[derive(Debug)]
pub(super) struct Plan<'p> {
    pub(super) core: &'p Core,
    pub(super) steps: Steps,
    /// The bytes of each upload.
    pub(super) uploads: Vec<&'p [u8]>,
    /// Offset in its buffer and length of each readback: the list's reads, then the trap record if any kernel
    /// can record a fault, then what a timer adds.
    pub(super) reads: Vec<(u64, u64)>,
    pub(super) launches: Vec<Launch>,
    /// The buffers: the list's transients first.
    buffers: Vec<Held>,
    /// How many of them are the list's transients; the others have no name in it.
    transients: usize,
    /// The residents and their positions in `buffers`, by slot.
    residents: BTreeMap<u64, (Resource, BufferIndex)>,
    /// The words that live across grid barriers, which the list's dispatches use one after the other.
    pub(super) scratch: Option<BufferIndex>,
    /// The checked workgroup counts of the indirect dispatch that is being planned.
    pub(super) counts: Option<BufferIndex>,
    /// The trap record of the list, which all its kernels share: the first fault wins.
    trap: Option<BufferIndex>,
}

impl<'p> Plan<'p> {
    pub(super) fn new(core: &'p Core, list: &'p CommandList<'_>) -> Result<Self, BackendError> {
        let mut plan = Self {
            core,
            steps: Steps::with_capacity(list.commands().len().min(64)),
            uploads: Vec::new(),
            reads: Vec::with_capacity(list.reads() + 1),
            launches: Vec::new(),
            buffers: Vec::with_capacity(list.transients().len()),
            transients: list.transients().len(),
            residents: BTreeMap::new(),
            scratch: None,
            counts: None,
            trap: None,
        };
        for &len in list.transients() {
            plan.hold(len)?;
        }
        for command in list.commands() {
            plan.command(command)?;
        }
        plan.steps.check()?;
        if let Some(trap) = plan.trap {
            plan.push_read(trap, 0, u64::from(TRAP_WORDS) * 4);
        }
        Ok(plan)
    }

    fn command(&mut self, command: &'p Command<'_>) -> Result<(), BackendError> {
        match command {
            // Checks itself, unless it is one that has just been planned.
            Command::Dispatch(dispatch) => return self.dispatch(dispatch),
            _ => command.check()?,
        }
        match command {
            Command::Dispatch(_) => Ok(()),
            Command::Upload { to, bytes } => self.upload(*to, bytes),
            Command::Fill { to, byte } => self.fill(*to, *byte),
            Command::Copy { from, to } => self.copy(*from, *to),
            Command::Read { from } => self.read(*from),
            Command::DispatchIndirect { dispatch, counts } => self.dispatch_indirect(dispatch, *counts),
            Command::Repeat { commands, count } => {
                let mark = self.steps.begin();
                // The check has bounded how deep repetitions are nested.
                commands.iter().try_for_each(|command| self.command(command))?;
                self.steps.end(mark, *count);
                Ok(())
            }
        }
    }

    /// Takes a buffer that lives as long as the plan.
    pub(super) fn hold(&mut self, len: u64) -> Result<BufferIndex, BackendError> {
        let buffer = self.core.pool.acquire(&self.core.generation, Kind::Device, len)?;
        self.buffers.push(Held { buffer: Holder::Transient(buffer), len });
        Ok(self.buffers.len() - 1)
    }

    /// The position of a buffer that a command names.
    pub(super) fn resolve(&mut self, buffer: BufferRef) -> Result<BufferIndex, BackendError> {
        match buffer {
            BufferRef::Transient(index) if (index as usize) < self.transients => Ok(index as usize),
            BufferRef::Transient(index) => {
                Err(BackendError::BadHandle { handle: format!("transient {index}"), problem: "foreign" })
            }
            BufferRef::Resident(resource) => {
                match self.residents.get(&resource.slot) {
                    Some(&(known, index)) if known == resource => return Ok(index),
                    _ => {}
                }
                let buffer = self.core.lasting.residents.get(resource)?;
                self.buffers.push(Held { buffer: Holder::Resident(buffer), len: resource.len });
                let index = self.buffers.len() - 1;
                self.residents.insert(resource.slot, (resource, index));
                Ok(index)
            }
        }
    }

    /// The position of a span's buffer, once the span is known to lie in it.
    pub(super) fn resolve_span(
        &mut self,
        span: Span,
        what: &'static str,
    ) -> Result<BufferIndex, BackendError> {
        let index = self.resolve(span.buffer)?;
        let len = self.len(index);
        if span.offset.checked_add(span.len).is_none_or(|end| end > len) {
            return Err(BackendError::OutOfRange { what, offset: span.offset, bytes: span.len, len });
        }
        Ok(index)
    }

    #[allow(clippy::indexing_slicing, reason = "positions come from `hold` and `resolve`")]
    pub(super) fn pool_buffer(&self, index: BufferIndex) -> &PoolBuffer {
        self.buffers[index].pool_buffer()
    }

    pub(super) fn buffer(&self, index: BufferIndex) -> &wgpu::Buffer {
        self.pool_buffer(index).buffer()
    }

    /// The bytes of a buffer that its owner asked for.
    #[allow(clippy::indexing_slicing, reason = "positions come from `hold` and `resolve`")]
    pub(super) fn len(&self, index: BufferIndex) -> u64 {
        self.buffers[index].len
    }

    /// What is left to do, and the host bytes that it starts from.
    pub(super) fn finish(self) -> (Frame, Vec<&'p [u8]>) {
        let frame = Frame {
            steps: self.steps,
            reads: self.reads,
            launches: self.launches,
            buffers: self.buffers,
            trap: self.trap,
        };
        (frame, self.uploads)
    }

    /// The list's trap record, for a kernel that can write it. It is cleared before everything else.
    pub(super) fn trap(&mut self) -> Result<BufferIndex, BackendError> {
        if let Some(trap) = self.trap {
            return Ok(trap);
        }
        let trap = self.hold(u64::from(TRAP_WORDS) * 4)?;
        self.trap = Some(trap);
        Ok(trap)
    }
}
