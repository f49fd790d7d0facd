//! A program over a stream of chunks, each pushed while earlier ones are computed.

use std::collections::VecDeque;
use std::fmt;
use std::num::NonZeroUsize;

use vyre_driver::{BackendError, Completion, DispatchConfig, OutputBuffers, VyreBackend, checked, host_list};
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;

use crate::backend::WgpuBackend;

/// How many chunks are under way at a time, unless [`HostIngressStream::with_depth`] says otherwise.
const DEPTH: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1);

impl WgpuBackend {
    /// Compiles a program for a stream of chunks. Each chunk is a dispatch of its own, with inputs of any
    /// lengths that the program takes.
    ///
    /// # Errors
    /// As `compile_native`.
    pub fn compile_streaming(
        &self,
        program: &Program,
        config: DispatchConfig,
    ) -> Result<HostIngressStream, BackendError> {
        let program = checked(program)?;
        // What cannot be compiled is refused before the first chunk.
        self.compile_native(&program, &config)?;
        Ok(HostIngressStream {
            backend: self.clone(),
            program,
            config,
            depth: DEPTH,
            pushed: 0,
            under_way: VecDeque::new(),
            ready: VecDeque::new(),
        })
    }
}

/// A program that takes its inputs in chunks. Outputs come in the order of the chunks.
///
/// At most [`Self::depth`] chunks are under way: their bytes have been taken, and the device works on them
/// while the host makes the next one. Pushing one more waits for the oldest, so a fast producer is held back
/// by the device, and the memory in use is that of `depth` chunks. Errors are [`BackendError::Chunk`], which
/// names the chunk by the number of its `push`, from 0; other chunks are not affected, and the stream goes
/// on. Dropping the stream abandons the outputs that have not been taken.
pub struct HostIngressStream {
    backend: WgpuBackend,
    program: Checked<Program>,
    config: DispatchConfig,
    depth: NonZeroUsize,
    /// Chunks that were pushed: the number of the next one.
    pushed: u64,
    /// The submitted chunks, oldest first.
    under_way: VecDeque<(u64, Box<dyn Completion>)>,
    /// Outputs that have been waited for and not been handed over.
    ready: VecDeque<OutputBuffers>,
}

impl HostIngressStream {
    /// With at most `depth` chunks under way; 2 without this.
    #[must_use]
    pub fn with_depth(mut self, depth: NonZeroUsize) -> Self {
        self.depth = depth;
        self
    }

    /// How many chunks are under way at most.
    pub fn depth(&self) -> usize {
        self.depth.get()
    }

    /// How many chunks are under way.
    pub fn under_way(&self) -> usize {
        self.under_way.len()
    }

    /// Submits the next chunk: one slice for each input of the program. With [`Self::depth`] chunks under way
    /// it first waits for the oldest. Returns outputs, those of the oldest chunk not yet handed over, if there
    /// are any without more waiting.
    ///
    /// # Errors
    /// [`BackendError::Chunk`] of this chunk, which then does not count as under way, or of the oldest one; then
    /// this chunk was not submitted, and has no number.
    pub fn push(&mut self, inputs: &[&[u8]]) -> Result<Option<OutputBuffers>, BackendError> {
        while self.under_way.len() >= self.depth.get() {
            self.settle_oldest()?;
        }
        let chunk = self.pushed;
        self.pushed += 1;
        let completion = host_list(&self.backend, &self.program, inputs, &self.config)
            .and_then(|list| self.backend.submit(&list))
            .map_err(|error| self.of_chunk(chunk, error))?;
        self.under_way.push_back((chunk, completion));
        Ok(self.ready.pop_front())
    }

    /// The outputs of the oldest chunk that have not been handed over, waiting for it; `None` if there is none.
    ///
    /// # Errors
    /// [`BackendError::Chunk`] of that chunk.
    pub fn next_outputs(&mut self) -> Result<Option<OutputBuffers>, BackendError> {
        if self.ready.is_empty() && !self.under_way.is_empty() {
            self.settle_oldest()?;
        }
        Ok(self.ready.pop_front())
    }

    /// Waits for every chunk and gives the outputs that have not been handed over, in order.
    ///
    /// # Errors
    /// [`BackendError::Chunk`] of the first chunk that failed; the outputs of the others are lost. Whoever
    /// wants those takes them by [`Self::next_outputs`].
    pub fn finish(mut self) -> Result<Vec<OutputBuffers>, BackendError> {
        while !self.under_way.is_empty() {
            self.settle_oldest()?;
        }
        Ok(self.ready.into())
    }

    fn of_chunk(&self, chunk: u64, error: BackendError) -> BackendError {
        let error = error.labeled(self.config.label.as_deref());
        BackendError::Chunk { chunk, error: Box::new(error) }
    }

    fn settle_oldest(&mut self) -> Result<(), BackendError> {
        let Some((chunk, completion)) = self.under_way.pop_front() else { return Ok(()) };
        let outputs = completion.wait(self.config.timeout).map_err(|error| self.of_chunk(chunk, error))?;
        self.ready.push_back(outputs);
        Ok(())
    }
}

impl fmt::Debug for HostIngressStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostIngressStream")
            .field("program", &self.program.name())
            .field("depth", &self.depth)
            .field("pushed", &self.pushed)
            .field("under_way", &self.under_way.len())
            .field("ready", &self.ready.len())
            .finish_non_exhaustive()
    }
}
