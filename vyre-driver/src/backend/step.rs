//! What sequences of resident dispatches are made of.

use vyre_foundation::ir::Program;

use crate::{DispatchConfig, Resource};

/// One dispatch of a resident sequence.
#[derive(Clone, Copy, Debug)]
pub struct ResidentDispatchStep<'a> {
    /// What is run.
    pub program: &'a Program,
    /// One for each of the program's buffers, in declaration order. A buffer whose count is an extent sees
    /// the leading bytes that it needs, any other all of them.
    pub resources: &'a [Resource],
    /// Honoured for this step alone, but for two fields: of the steps' timeouts the shortest holds, and the
    /// first label that is set names the submission.
    pub config: &'a DispatchConfig,
}

/// Bytes of a resident that a sequence reads back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResidentReadRange<'a> {
    /// The buffer.
    pub resource: &'a Resource,
    /// The first byte.
    pub byte_offset: usize,
    /// How many bytes.
    pub byte_len: usize,
}
