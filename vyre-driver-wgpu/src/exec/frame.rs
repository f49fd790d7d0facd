//! A list ready to encode, as often as wanted: nothing in it refers to the list it was made from.

use std::sync::Arc;

use super::dispatch::Launch;
use super::plan::BufferIndex;
use super::steps::{Step, Steps};
use crate::buffer::{PoolBuffer, Reads, Segments};
use crate::steady::Steady;

/// Everything that encoding needs, but the host's bytes.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) steps: Steps,
    /// The readbacks: the list's reads, then the trap record if any kernel can record a fault.
    pub(super) reads: Reads,
    pub(super) launches: Vec<Launch>,
    /// The launches of which it is counted how often they run, by position, and how often they do each time.
    pub(super) noted: Vec<(usize, Arc<Steady>, u64)>,
    pub(super) buffers: Vec<Held>,
    /// The trap record, which is cleared before everything else.
    pub(super) trap: Option<BufferIndex>,
    /// Unless a step does that.
    pub(super) trap_starts_zero: bool,
}

impl Frame {
    /// Counts a run of its launches. Says whether launch data of one have been the same for so long that they belong in
    /// memory.
    pub(super) fn note(&self) -> bool {
        let mut due = false;
        for (launch, steady, runs) in &self.noted {
            if let Some(launch) = self.launches.get(*launch) {
                due |= steady.note(&launch.immediates, *runs);
            }
        }
        due
    }

    /// The bytes of the buffers that nothing else has.
    pub(super) fn own_bytes(&self) -> u64 {
        let held = self.buffers.iter().filter_map(|held| match &held.buffer {
            Holder::Transient(buffer) => Some(buffer.buffer().size()),
            Holder::Resident(..) | Holder::Kept(_) => None,
        });
        let ranges = self.steps.as_slice().iter().filter_map(|step| match step {
            Step::Builtin(step) => Some(step.range.buffer().size()),
            _ => None,
        });
        held.chain(ranges).sum()
    }

    #[allow(clippy::indexing_slicing, reason = "positions come from the plan, which has these buffers")]
    pub(super) fn held(&self, index: BufferIndex) -> &Held {
        &self.buffers[index]
    }

    pub(super) fn buffer(&self, index: BufferIndex) -> &wgpu::Buffer {
        self.held(index).pool_buffer().buffer()
    }
}

/// A buffer that is kept alive.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) buffer: Holder,
    /// The bytes that its owner asked for, of a segment those that it has of them.
    pub(super) len: u64,
}

#[derive(Debug)]
pub(super) enum Holder {
    Transient(PoolBuffer),
    /// One segment of a buffer of the caller's.
    Resident(Arc<Segments>, usize),
    /// Launch data that stay.
    Kept(Arc<PoolBuffer>),
}

impl Held {
    #[allow(clippy::indexing_slicing, reason = "the position comes from the segments")]
    pub(super) fn pool_buffer(&self) -> &PoolBuffer {
        match &self.buffer {
            Holder::Transient(buffer) => buffer,
            Holder::Kept(buffer) => buffer,
            Holder::Resident(segments, position) => &segments.parts()[*position],
        }
    }
}
