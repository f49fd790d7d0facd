//! Buffers of a running launch.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use vyre_spec::DataType;

use super::MachineError;
use crate::ir::Buffer;

/// The elements of every buffer, one 64-bit word each, shared by all workgroups.
///
/// The words are atomics so that workgroups may run on several threads; on the machines in use a relaxed
/// load or store costs what a plain one does.
pub(super) struct Buffers {
    cells: Vec<Box<[AtomicU64]>>,
}

impl Buffers {
    /// Buffers with these contents, zeroed where there are none.
    ///
    /// # Errors
    /// If they take more than `limit` bytes of the machine's own memory.
    pub(super) fn new(
        declared: &[Buffer],
        lengths: &[u64],
        contents: &[Option<&[u8]>],
        limit: u64,
    ) -> Result<Self, MachineError> {
        let mut left = limit;
        let mut cells = Vec::with_capacity(declared.len());
        for ((buffer, &length), contents) in declared.iter().zip(lengths).zip(contents) {
            let bytes = length.saturating_mul(8);
            left = left.checked_sub(bytes).ok_or_else(|| MachineError::Memory {
                what: buffer.name.clone(),
                bytes,
                limit,
            })?;
            let size = buffer.element.size() as usize;
            let words: Box<[AtomicU64]> = match contents {
                Some(bytes) => bytes.chunks_exact(size).map(|e| AtomicU64::new(word(e))).collect(),
                None => (0..length).map(|_| AtomicU64::new(0)).collect(),
            };
            cells.push(words);
        }
        Ok(Self { cells })
    }

    /// The elements of a buffer.
    pub(super) fn cells(&self, buffer: usize) -> &[AtomicU64] {
        &self.cells[buffer]
    }

    /// Replaces an element by what `f` gives for it; returns the old one.
    pub(super) fn modify(&self, buffer: usize, element: usize, f: impl Fn(u64) -> u64) -> u64 {
        let update = |old| Some(f(old));
        match self.cells[buffer][element].fetch_update(Relaxed, Relaxed, update) {
            Ok(old) | Err(old) => old,
        }
    }

    /// A buffer as bytes.
    pub(super) fn bytes(&self, buffer: usize, element: DataType) -> Vec<u8> {
        let size = element.size() as usize;
        let mut bytes = Vec::with_capacity(self.cells[buffer].len() * size);
        for cell in &self.cells[buffer] {
            bytes.extend_from_slice(&cell.load(Relaxed).to_le_bytes()[..size]);
        }
        bytes
    }
}

/// The little-endian bytes of one element as a zero-extended word.
fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}
