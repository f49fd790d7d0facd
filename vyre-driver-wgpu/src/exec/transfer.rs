//! Uploads, fills, copies and reads, at any offset and of any length.
//!
//! wgpu transfers whole words at word offsets. What fits that goes there; a transfer whose end is the end
//! of its buffer may run over into the padding; the rest takes the backend's own byte-granular kernels.

use vyre_driver::{BackendError, Span};

use super::plan::{BufferIndex, Named, Plan};
use super::steps::Step;
use crate::buffer::UploadPart;
use crate::builtin;

const WORD: u64 = wgpu::COPY_BUFFER_ALIGNMENT;

impl<'p> Plan<'p> {
    /// Whether whole words can be written at `offset` for `len` bytes without harm to other bytes.
    fn takes_words(&self, to: BufferIndex, offset: u64, len: u64) -> bool {
        offset.is_multiple_of(WORD) && (len.is_multiple_of(WORD) || offset + len == self.len(to))
    }

    pub(super) fn upload(&mut self, to: Span, bytes: &'p [u8]) -> Result<(), BackendError> {
        let to = Span { len: bytes.len() as u64, ..to };
        let target = self.resolve_span(to, "an upload")?;
        let piece = self.uploads.len();
        self.uploads.push(bytes);
        let mut start = 0;
        for (target, offset, len) in target.pieces(to.offset, to.len) {
            let part = self.parts.len();
            self.parts.push(UploadPart { piece, start, len: len as usize });
            start += len as usize;
            if self.takes_words(target, offset, len) {
                self.steps.push(Step::Upload { part, to: target, offset });
                continue;
            }
            let landing = self.hold(len)?;
            self.steps.push(Step::Upload { part, to: landing, offset: 0 });
            self.copy_bytes(landing, 0, target, offset, len)?;
        }
        Ok(())
    }

    pub(super) fn fill(&mut self, to: Span, byte: u8) -> Result<(), BackendError> {
        let target = self.resolve_span(to, "a fill")?;
        for (to, offset, len) in target.pieces(to.offset, to.len) {
            if byte == 0 && self.takes_words(to, offset, len) {
                let len = len.next_multiple_of(WORD);
                self.steps.push(Step::Clear { to, offset, len });
                continue;
            }
            let core = self.core;
            let filled = self.buffer(to);
            let steps = core.builtins()?.fill(&core.generation, &core.pool, filled, offset, len, byte)?;
            self.push_builtins(steps);
        }
        Ok(())
    }

    pub(super) fn copy(&mut self, from: Span, to: Span) -> Result<(), BackendError> {
        let source = self.resolve_span(from, "a copy's source")?;
        let target = self.resolve_span(Span { len: from.len, ..to }, "a copy's destination")?;
        if from.len == 0 {
            return Ok(());
        }
        if source != target {
            return self.copy_span((source, from.offset), (target, to.offset), from.len);
        }
        // wgpu does not copy within a buffer: by way of another one.
        let start = from.offset / WORD * WORD;
        let len = (from.offset + from.len).next_multiple_of(WORD) - start;
        let detour = self.hold_any(len)?;
        self.copy_span((source, start), (detour, 0), len)?;
        self.copy_span((detour, from.offset - start), (target, to.offset), from.len)
    }

    /// Copies between two different buffers, cut where a segment of either ends.
    pub(super) fn copy_span(
        &mut self,
        (from, from_offset): (Named, u64),
        (to, offset): (Named, u64),
        len: u64,
    ) -> Result<(), BackendError> {
        let mut done = 0;
        while done < len {
            let (read, write) = (from_offset + done, offset + done);
            let bytes = from.layout.left(read).min(to.layout.left(write)).min(len - done);
            let ((source, at), (target, to)) = (from.locate(read), to.locate(write));
            self.copy_bytes(source, at, target, to, bytes)?;
            done += bytes;
        }
        Ok(())
    }

    /// Copies between two different device buffers.
    fn copy_bytes(
        &mut self,
        from: BufferIndex,
        from_offset: u64,
        to: BufferIndex,
        offset: u64,
        len: u64,
    ) -> Result<(), BackendError> {
        if from_offset.is_multiple_of(WORD) && self.takes_words(to, offset, len) {
            let len = len.next_multiple_of(WORD);
            self.steps.push(Step::Copy { from, from_offset, to, offset, len });
            return Ok(());
        }
        let core = self.core;
        let steps = core.builtins()?.copy(
            &core.generation,
            &core.pool,
            (self.buffer(to), offset),
            (self.buffer(from), from_offset),
            len,
        )?;
        self.push_builtins(steps);
        Ok(())
    }

    fn push_builtins(&mut self, steps: Vec<builtin::Step>) {
        for step in steps {
            self.steps.push(Step::Builtin(Box::new(step)));
        }
    }

    pub(super) fn read(&mut self, from: Span) -> Result<(), BackendError> {
        let source = self.resolve_span(from, "a read")?;
        self.push_read(source.pieces(from.offset, from.len));
        Ok(())
    }

    /// Reads a piece of these parts: device buffers, offsets and lengths.
    pub(super) fn push_read(&mut self, parts: impl Iterator<Item = (BufferIndex, u64, u64)> + Clone) {
        let (first, _) = self.reads.push(parts.clone().map(|(_, offset, len)| (offset, len)));
        for (part, (from, offset, _)) in (first..).zip(parts) {
            self.steps.push(Step::Read { part, from, offset });
        }
    }
}
