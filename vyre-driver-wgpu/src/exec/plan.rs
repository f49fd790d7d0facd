//! From a command list to steps over wgpu objects. Everything that can be refused is refused here.

use std::collections::BTreeMap;
use std::sync::Arc;

use vyre_driver::{BackendError, BufferRef, Command, CommandList, Resource, Span};
use vyre_lower::kernel::TRAP_WORDS;

use super::dispatch::Launch;
use super::frame::{Frame, Held, Holder};
use super::steps::Steps;
use crate::buffer::{Kind, Layout, PoolBuffer, Reads, Segments, UploadPart};
use crate::core::Core;
use crate::steady::Steady;

/// A device buffer of a plan, by position.
pub(super) type BufferIndex = usize;

/// A buffer that commands name: its segments are device buffers one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Named {
    first: BufferIndex,
    pub(super) layout: Layout,
}

impl Named {
    /// The device buffer of a byte, and the byte's place there.
    pub(super) fn locate(self, offset: u64) -> (BufferIndex, u64) {
        let (segment, offset) = self.layout.locate(offset);
        (self.first + segment, offset)
    }

    /// A range of bytes by device buffer: the offset there, and how many.
    pub(super) fn pieces(
        self,
        offset: u64,
        len: u64,
    ) -> impl Iterator<Item = (BufferIndex, u64, u64)> + Clone {
        self.layout.pieces(offset, len).map(move |(segment, offset, len)| (self.first + segment, offset, len))
    }
}

/// A list, checked and resolved.
#[derive(Debug)]
pub(super) struct Plan<'p> {
    pub(super) core: &'p Core,
    pub(super) steps: Steps,
    /// The bytes of each upload, and the parts of them that are staged.
    pub(super) uploads: Vec<&'p [u8]>,
    pub(super) parts: Vec<UploadPart>,
    /// The readbacks: the list's reads, then the trap record if any kernel can record a fault, then what a timer
    /// adds.
    pub(super) reads: Reads,
    pub(super) launches: Vec<Launch>,
    /// The launches of which it is counted how often they run, by position.
    pub(super) noted: Vec<(usize, Arc<Steady>, u64)>,
    /// The device buffers.
    buffers: Vec<Held>,
    /// The list's transients.
    transients: Vec<Named>,
    /// The residents, by slot.
    residents: BTreeMap<u64, (Resource, Named)>,
    /// The words that live across grid barriers, which the list's dispatches use one after the other.
    pub(super) scratch: Option<BufferIndex>,
    /// The checked workgroup counts of the indirect dispatch that is being planned.
    pub(super) counts: Option<BufferIndex>,
    /// The trap record of the list, which all its kernels share: the first fault wins.
    pub(super) trap: Option<BufferIndex>,
    /// Whether a step makes the trap record zero, before any kernel can write it.
    pub(super) trap_starts_zero: bool,
    /// How many repetitions the command being planned is in.
    pub(super) repeating: u32,
}

/// What a plan comes to.
#[derive(Debug)]
pub(super) struct Planned<'p> {
    pub(super) frame: Frame,
    /// The host's bytes that it starts from, and the parts of them that are staged.
    pub(super) uploads: Vec<&'p [u8]>,
    pub(super) parts: Vec<UploadPart>,
    /// The buffers of callers that it names.
    pub(super) residents: Vec<Resource>,
}

impl<'p> Plan<'p> {
    pub(super) fn new(core: &'p Core, list: &'p CommandList<'_>) -> Result<Self, BackendError> {
        let mut plan = Self {
            core,
            steps: Steps::with_capacity(list.commands().len().min(64)),
            uploads: Vec::new(),
            parts: Vec::new(),
            reads: Reads::default(),
            launches: Vec::new(),
            noted: Vec::new(),
            buffers: Vec::with_capacity(list.transients().len()),
            transients: Vec::with_capacity(list.transients().len()),
            residents: BTreeMap::new(),
            scratch: None,
            counts: None,
            trap: None,
            trap_starts_zero: false,
            repeating: 0,
        };
        for &len in list.transients() {
            let transient = plan.hold_any(len)?;
            plan.transients.push(transient);
        }
        for command in list.commands() {
            plan.command(command)?;
        }
        plan.steps.check()?;
        if !plan.noted.is_empty() {
            let each = plan.steps.runs(plan.launches.len());
            for (launch, _, runs) in &mut plan.noted {
                *runs = each.get(*launch).copied().unwrap_or(0);
            }
        }
        if let Some(trap) = plan.trap {
            let bytes = u64::from(TRAP_WORDS) * 4;
            plan.push_read([(trap, 0, bytes)].into_iter());
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
                self.repeating += 1;
                commands.iter().try_for_each(|command| self.command(command))?;
                self.repeating -= 1;
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

    /// Keeps a buffer of `len` bytes as long as the plan lives.
    pub(super) fn keep(&mut self, buffer: Arc<PoolBuffer>, len: u64) -> BufferIndex {
        self.buffers.push(Held { buffer: Holder::Kept(buffer), len });
        self.buffers.len() - 1
    }

    /// The same of any size, in segments if it is too large for one device buffer.
    pub(super) fn hold_any(&mut self, len: u64) -> Result<Named, BackendError> {
        let segments = Segments::acquire(&self.core.generation, &self.core.pool, len)?;
        let named = Named { first: self.buffers.len(), layout: segments.layout() };
        let parts = segments.into_parts().into_iter().zip(named.layout.lens());
        self.buffers.extend(parts.map(|(buffer, len)| Held { buffer: Holder::Transient(buffer), len }));
        Ok(named)
    }

    /// The buffer that a command names.
    pub(super) fn resolve(&mut self, buffer: BufferRef) -> Result<Named, BackendError> {
        match buffer {
            BufferRef::Transient(index) => self.transients.get(index as usize).copied().ok_or_else(|| {
                BackendError::BadHandle { handle: format!("transient {index}"), problem: "foreign" }
            }),
            BufferRef::Resident(resource) => {
                match self.residents.get(&resource.slot) {
                    Some(&(known, named)) if known == resource => return Ok(named),
                    _ => {}
                }
                let segments = self.core.lasting.residents.get(resource)?;
                let named = Named { first: self.buffers.len(), layout: segments.layout() };
                for (position, len) in named.layout.lens().enumerate() {
                    let buffer = Holder::Resident(Arc::clone(&segments), position);
                    self.buffers.push(Held { buffer, len });
                }
                self.residents.insert(resource.slot, (resource, named));
                Ok(named)
            }
        }
    }

    /// A span's buffer, once the span is known to lie in it.
    pub(super) fn resolve_span(&mut self, span: Span, what: &'static str) -> Result<Named, BackendError> {
        let named = self.resolve(span.buffer)?;
        let len = named.layout.len;
        if span.offset.checked_add(span.len).is_none_or(|end| end > len) {
            return Err(BackendError::OutOfRange { what, offset: span.offset, bytes: span.len, len });
        }
        Ok(named)
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

    pub(super) fn finish(self) -> Planned<'p> {
        let frame = Frame {
            steps: self.steps,
            reads: self.reads,
            launches: self.launches,
            noted: self.noted,
            buffers: self.buffers,
            trap: self.trap,
            trap_starts_zero: self.trap_starts_zero,
        };
        frame.note();
        let residents = self.residents.into_values().map(|(resource, _)| resource).collect();
        Planned { frame, uploads: self.uploads, parts: self.parts, residents }
    }

    /// The list's trap record, for a kernel that can write it. It is cleared before everything else, or by the first
    /// step that has it.
    pub(super) fn trap(&mut self) -> Result<BufferIndex, BackendError> {
        if let Some(trap) = self.trap {
            return Ok(trap);
        }
        let trap = self.hold(u64::from(TRAP_WORDS) * 4)?;
        self.trap = Some(trap);
        Ok(trap)
    }
}
