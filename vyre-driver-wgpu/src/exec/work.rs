//! Submitted work, as the contract shows it.

use std::sync::Weak;
use std::time::Duration;

use vyre_driver::{BackendError, Completion, Finished, Visitor};
use vyre_lower::kernel::TRAP_LOOP_LIMIT;
use vyre_spec::Axis;

use super::remembered::{self, Kept};
use super::timer::Clock;
use crate::buffer::{Readback, Staging};
use crate::completion::InFlight;
use crate::trace;

/// A submitted list.
#[derive(Debug)]
pub(crate) struct Work {
    in_flight: InFlight,
    /// How many of the readbacks are the list's own.
    reads: usize,
    /// Which one is the trap record.
    trap: Option<usize>,
    /// Which one has the timestamps.
    clock: Option<Clock>,
    /// Where the memory that its bytes pass through goes at the end.
    home: Option<(Weak<Kept>, Staging)>,
}

impl Work {
    pub(super) fn new(
        in_flight: InFlight,
        reads: usize,
        trap: Option<usize>,
        clock: Option<Clock>,
        home: Option<(Weak<Kept>, Staging)>,
    ) -> Self {
        Self { in_flight, reads, trap, clock, home }
    }

    /// Waits, and looks at the trap record.
    fn settle(&self, timeout: Option<Duration>) -> Result<(), BackendError> {
        trace::wait().in_scope(|| self.in_flight.wait(timeout))?;
        let Some(trap) = self.trap else { return Ok(()) };
        self.in_flight.piece(trap, |bytes| {
            let mut words = [0; 4];
            for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(4)) {
                *word = bytes.try_into().map_or(0, u32::from_le_bytes);
            }
            match words {
                [0, ..] => Ok(()),
                [2, axis, count, _] => Err(BackendError::IndirectCounts { axis: axis_of(axis), count }),
                [_, TRAP_LOOP_LIMIT, invocation, _] => Err(BackendError::LoopLimit { invocation }),
                [_, code, invocation, address] => Err(BackendError::Trap { code, invocation, address }),
            }
        })?
    }

    /// Waits, and copies the list's reads. Large ones are copied by several threads.
    pub(super) fn copy(
        &self,
        timeout: Option<Duration>,
        outputs: &mut Vec<Vec<u8>>,
    ) -> Result<(), BackendError> {
        self.settle(timeout)?;
        let span = trace::readback(self.reads);
        let _in = span.enter();
        outputs.resize_with(self.reads, Vec::new);
        for (piece, output) in outputs.iter_mut().enumerate() {
            self.in_flight.copy_piece(piece, output)?;
        }
        trace::handed(&span, outputs.iter().map(Vec::len).sum());
        Ok(())
    }

    /// After the end: the readback, for another submission.
    pub(super) fn into_readback(self) -> Readback {
        self.in_flight.into_readback()
    }

    /// After [`Self::settle`], when nobody reads any more.
    fn finished(self) -> Result<Finished, BackendError> {
        let read = |clock: Clock| self.in_flight.piece(clock.piece(), |bytes| clock.read(bytes));
        let device_time = self.clock.map(read).transpose()?.flatten();
        if let Some((home, staging)) = self.home {
            remembered::give_back(&home, staging, self.in_flight.into_readback());
        }
        Ok(Finished { device_time })
    }
}

/// The axis that the check of indirect counts recorded.
fn axis_of(number: u32) -> Axis {
    Axis::ALL.into_iter().find(|axis| axis.index() == number as usize).unwrap_or(Axis::X)
}

impl Completion for Work {
    fn is_finished(&self) -> bool {
        // A failure ends it too: `visit` says which.
        self.in_flight.is_done().unwrap_or(true)
    }

    fn visit(
        self: Box<Self>,
        timeout: Option<Duration>,
        visitor: &mut Visitor<'_>,
    ) -> Result<Finished, BackendError> {
        self.settle(timeout)?;
        let span = trace::readback(self.reads);
        let _in = span.enter();
        let mut handed = 0;
        for piece in 0..self.reads {
            self.in_flight.piece(piece, |bytes| {
                handed += bytes.len();
                visitor(piece, bytes)
            })??;
        }
        trace::handed(&span, handed);
        self.finished()
    }

    fn wait_into(
        self: Box<Self>,
        timeout: Option<Duration>,
        outputs: &mut Vec<Vec<u8>>,
    ) -> Result<Finished, BackendError> {
        self.copy(timeout, outputs)?;
        self.finished()
    }
}
