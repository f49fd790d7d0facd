//! The counts that a fused program carries behind its outputs.

use std::fmt;

use vyre_foundation::ir::Program;

use crate::{BackendError, OutputBuffers};

/// Bytes of the two counts: `u32`, little-endian, those committed and then those rolled back.
const TAIL: usize = 8;

/// Where a fused program has its counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CounterTail {
    /// In the last two words of the last output, behind what the scan gives.
    #[default]
    Words,
    /// In the last buffer, a `ReadWrite` or `WriteOnly` one that has nothing else. A `ReadWrite` one is not
    /// among the inputs of the dispatch: it starts from zeros.
    Buffer,
}

/// What is wrong with the counts of a fused program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TailProblem {
    /// The program has no output, or the output has no room for the counts.
    Short {
        /// The bytes that there are.
        bytes: u64,
    },
    /// The buffer of the counts has more than the counts.
    Long {
        /// The bytes that there are.
        bytes: u64,
    },
    /// More candidates are counted than there can be.
    TooMany {
        /// Candidates counted as committed.
        committed: u32,
        /// Candidates counted as rolled back.
        rolled_back: u32,
        /// How many there can be.
        limit: u32,
    },
}

impl fmt::Display for TailProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short { bytes } => write!(f, "two counts take {TAIL} bytes, but there are {bytes}"),
            Self::Long { bytes } => write!(f, "two counts take {TAIL} bytes, but their buffer has {bytes}"),
            Self::TooMany { committed, rolled_back, limit } => {
                write!(
                    f,
                    "{committed} committed and {rolled_back} rolled back are more than {limit} candidates"
                )
            }
        }
    }
}

impl CounterTail {
    /// The inputs of the fused program: those of the dispatch, and zeros for a buffer of counts that is one.
    pub(super) fn inputs<'i>(
        self,
        fused: &Program,
        inputs: &[&'i [u8]],
    ) -> Result<Vec<&'i [u8]>, BackendError> {
        let mut inputs = inputs.to_vec();
        if self == Self::Buffer {
            let last = fused.buffers().last().filter(|buffer| buffer.access.is_output());
            let Some(last) = last else { return Err(problem(fused, TailProblem::Short { bytes: 0 })) };
            if last.access.is_input() {
                inputs.push(&[0; TAIL]);
            }
        }
        Ok(inputs)
    }

    /// Takes the counts off the outputs: how many candidates were committed, and how many rolled back.
    pub(super) fn take(
        self,
        fused: &Program,
        max_candidates: Option<u32>,
        outputs: &mut OutputBuffers,
    ) -> Result<(u32, u32), BackendError> {
        let short = |bytes: usize| problem(fused, TailProblem::Short { bytes: bytes as u64 });
        let last = outputs.last_mut().ok_or_else(|| short(0))?;
        let bytes = last.len();
        let at = bytes.checked_sub(TAIL).ok_or_else(|| short(bytes))?;
        if self == Self::Buffer && at > 0 {
            return Err(problem(fused, TailProblem::Long { bytes: bytes as u64 }));
        }
        let tail = last.split_off(at);
        let mut words =
            tail.chunks_exact(4).map(|word| word.iter().rev().fold(0, |n, &b| n << 8 | u32::from(b)));
        let (committed, rolled_back) = (words.next().unwrap_or(0), words.next().unwrap_or(0));
        let limit = max_candidates.unwrap_or(u32::MAX);
        if committed.checked_add(rolled_back).is_none_or(|candidates| candidates > limit) {
            return Err(problem(fused, TailProblem::TooMany { committed, rolled_back, limit }));
        }
        if self == Self::Buffer {
            outputs.pop();
        }
        Ok((committed, rolled_back))
    }
}

fn problem(fused: &Program, problem: TailProblem) -> BackendError {
    BackendError::SpeculationTail { program: fused.name().to_owned(), problem }
}
