//! From a command list to steps over wgpu objects. Everything that can be refused is refused here.

use std::collections::HashMap;
use std::sync::Arc;

use vyre_driver::{BackendError, BufferRef, Command, CommandList, Resource, Span};
use vyre_lower::kernel::TRAP_WORDS;

use super::dispatch::Launch;
use crate::buffer::{Kind, PoolBuffer};
use crate::builtin;
use crate::core::Core;

/// A buffer of a plan, by position.
pub(super) type BufferIndex = usize;

/// One thing to encode.
#[derive(Debug)]
pub(super) enum Step<'p> {
    /// Copies a staged piece.
    Upload { piece: usize, to: BufferIndex, offset: u64 },
    /// Writes zeros; offset and length are multiples of 4.
    Clear { to: BufferIndex, offset: u64, len: u64 },
    /// Copies between two different buffers; offsets and length are multiples of 4.
    Copy { from: BufferIndex, from_offset: u64, to: BufferIndex, offset: u64, len: u64 },
    /// Runs a planned launch.
    Dispatch { launch: usize },
    /// Runs one of the backend's own kernels.
    Builtin(builtin::Step<'p>),
    /// Copies into a piece of the readback.
    Read { piece: usize, from: BufferIndex, offset: u64 },
}

/// A list, checked and resolved.
#[derive(Debug)]
pub(super) struct Plan<'p> {
    pub(super) core: &'p Core,
    pub(super) steps: Vec<Step<'p>>,
    /// The bytes of each upload.
    pub(super) uploads: Vec<&'p [u8]>,
    /// Offset in its buffer and length of each readback: the list's reads, and then the trap record if any
    /// kernel can record a fault.
    pub(super) reads: Vec<(u64, u64)>,
    pub(super) launches: Vec<Launch<'p>>,
    /// The buffers: the list's transients first.
    buffers: Vec<Held>,
    /// How many of them are the list's transients; the others have no name in it.
    transients: usize,
    /// Positions of the residents in `buffers`.
    residents: HashMap<Resource, BufferIndex>,
    /// The trap record of the list, which all its kernels share: the first fault wins.
    trap: Option<BufferIndex>,
}

/// A buffer that a plan keeps alive.
#[derive(Debug)]
struct Held {
    buffer: Holder,
    len: u64,
}

#[derive(Debug)]
enum Holder {
    Transient(PoolBuffer),
    Resident(Arc<PoolBuffer>),
}

impl Held {
    fn pool_buffer(&self) -> &PoolBuffer {
        match &self.buffer {
            Holder::Transient(buffer) => buffer,
            Holder::Resident(buffer) => buffer,
        }
    }
}

impl<'p> Plan<'p> {
    pub(super) fn new(core: &'p Core, list: &'p CommandList<'_>) -> Result<Self, BackendError> {
        let mut plan = Self {
            core,
            steps: Vec::with_capacity(list.commands().len() + 2),
            uploads: Vec::new(),
            reads: Vec::with_capacity(list.reads() + 1),
            launches: Vec::new(),
            buffers: Vec::with_capacity(list.transients().len()),
            transients: list.transients().len(),
            residents: HashMap::new(),
            trap: None,
        };
        for &len in list.transients() {
            plan.hold(len)?;
        }
        for command in list.commands() {
            command.check()?;
            match command {
                Command::Upload { to, bytes } => plan.upload(*to, bytes)?,
                Command::Fill { to, byte } => plan.fill(*to, *byte)?,
                Command::Copy { from, to } => plan.copy(*from, *to)?,
                Command::Dispatch(dispatch) => plan.dispatch(dispatch)?,
                Command::Read { from } => plan.read(*from)?,
                Command::DispatchIndirect { .. } => return Err(plan.lacks("an indirect dispatch")),
                Command::Repeat { .. } => return Err(plan.lacks("a repetition")),
            }
        }
        if let Some(trap) = plan.trap {
            plan.push_read(trap, 0, u64::from(TRAP_WORDS) * 4);
        }
        Ok(plan)
    }

    fn lacks(&self, what: &str) -> BackendError {
        BackendError::Unsupported {
            what: format!("{what} in a command list"),
            device: self.core.profile.name.clone(),
            remedy: "list the dispatches one by one".to_owned(),
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
                if let Some(&index) = self.residents.get(&resource) {
                    return Ok(index);
                }
                let buffer = self.core.lasting.residents.get(resource)?;
                self.buffers.push(Held { buffer: Holder::Resident(buffer), len: resource.len });
                self.residents.insert(resource, self.buffers.len() - 1);
                Ok(self.buffers.len() - 1)
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

    /// The list's trap record, cleared before the first kernel that can write it.
    pub(super) fn trap(&mut self) -> Result<BufferIndex, BackendError> {
        if let Some(trap) = self.trap {
            return Ok(trap);
        }
        let len = u64::from(TRAP_WORDS) * 4;
        let trap = self.hold(len)?;
        self.steps.push(Step::Clear { to: trap, offset: 0, len });
        self.trap = Some(trap);
        Ok(trap)
    }
}
