//! Submitted work, as the contract shows it.

use std::time::Duration;

use vyre_driver::{BackendError, Completion, Finished, Visitor};
use vyre_lower::kernel::TRAP_LOOP_LIMIT;

use crate::completion::InFlight;

/// A submitted list.
#[derive(Debug)]
pub(crate) struct Work {
    in_flight: InFlight,
    /// How many of the readbacks are the list's own; one after them is the trap record.
    reads: usize,
}

impl Work {
    pub(crate) fn new(in_flight: InFlight, reads: usize) -> Self {
        Self { in_flight, reads }
    }

    /// Waits, and looks at the trap record.
    fn settle(&self, timeout: Option<Duration>) -> Result<(), BackendError> {
        self.in_flight.wait(timeout)?;
        if self.in_flight.pieces() <= self.reads {
            return Ok(());
        }
        self.in_flight.piece(self.reads, |bytes| {
            let mut words = [0; 4];
            for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(4)) {
                *word = bytes.try_into().map_or(0, u32::from_le_bytes);
            }
            match words {
                [0, ..] => Ok(()),
                [_, TRAP_LOOP_LIMIT, invocation, _] => Err(BackendError::LoopLimit { invocation }),
                [_, code, invocation, address] => Err(BackendError::Trap { code, invocation, address }),
            }
        })?
    }
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
        for piece in 0..self.reads {
            self.in_flight.piece(piece, |bytes| visitor(piece, bytes))??;
        }
        Ok(Finished::default())
    }

    fn wait(self: Box<Self>, timeout: Option<Duration>) -> Result<Vec<Vec<u8>>, BackendError> {
        self.settle(timeout)?;
        (0..self.reads).map(|piece| self.in_flight.to_vec(piece)).collect()
    }
}
