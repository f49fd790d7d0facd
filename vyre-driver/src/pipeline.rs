//! Compiled programs and submitted work.

use std::any::Any;
use std::fmt;
use std::time::Duration;

use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_spec::CompileOptions;

use crate::BackendError;

/// A program that a backend has compiled. It runs on that backend only.
pub trait CompiledPipeline: Send + Sync + fmt::Debug + 'static {
    /// The program, as it was given to the compiler.
    fn program(&self) -> &Checked<Program>;

    /// The options that it was compiled with; `None` where the code is not the compiler's.
    fn options(&self) -> Option<&CompileOptions>;

    /// For the backend's own downcast.
    fn as_any(&self) -> &dyn Any;
}

/// Takes each read's position and bytes.
pub type Visitor<'v> = dyn FnMut(usize, &[u8]) -> Result<(), BackendError> + 'v;

/// Work that was submitted.
pub trait Completion: Send + fmt::Debug {
    /// Whether the work has ended. Does not block.
    fn is_finished(&self) -> bool;

    /// Waits for the work and hands each read's bytes to `visitor`, in order, without a further copy.
    /// `timeout` counts from submission.
    ///
    /// # Errors
    /// A fault of the program, [`BackendError::Timeout`], loss of the device, or what the visitor returns.
    /// With an error, no bytes are handed over but those that the visitor has already seen.
    fn visit(
        self: Box<Self>,
        timeout: Option<Duration>,
        visitor: &mut Visitor<'_>,
    ) -> Result<Finished, BackendError>;

    /// Waits for the work and copies each read's bytes.
    ///
    /// # Errors
    /// As [`Completion::visit`].
    fn wait(self: Box<Self>, timeout: Option<Duration>) -> Result<Vec<Vec<u8>>, BackendError> {
        let mut outputs = Vec::new();
        self.wait_into(timeout, &mut outputs)?;
        Ok(outputs)
    }

    /// Waits for the work and copies each read's bytes into the caller's vectors, as many as there are
    /// reads; one that is large enough is not allocated anew.
    ///
    /// # Errors
    /// As [`Completion::visit`].
    fn wait_into(
        self: Box<Self>,
        timeout: Option<Duration>,
        outputs: &mut Vec<Vec<u8>>,
    ) -> Result<Finished, BackendError> {
        let mut count = 0;
        let finished = self.visit(timeout, &mut |i, bytes| {
            count = count.max(i + 1);
            if outputs.len() < count {
                outputs.resize_with(count, Vec::new);
            }
            if let Some(output) = outputs.get_mut(i) {
                output.clear();
                output.extend_from_slice(bytes);
            }
            Ok(())
        })?;
        outputs.truncate(count);
        Ok(finished)
    }
}

/// What is known once work has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Finished {
    /// The time the device took, from the first command to the last, by its own clock; `None` where it has
    /// none, or where [`crate::CommandList::timed`] was not asked for.
    pub device_time: Option<Duration>,
}

/// Counters of a backend's cache of compiled pipelines, since the backend was opened. Each is exact; a
/// snapshot that is taken while others compile may catch one counter before and another after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PipelineCacheSnapshot {
    /// Requests that memory answered.
    pub hits: u64,
    /// Requests that it did not.
    pub misses: u64,
    /// Of the misses, those that the disk answered.
    pub disk_hits: u64,
    /// Entries on disk that were damaged or of another version, and so were taken for missing.
    pub disk_rejected: u64,
    /// Pipelines in memory now.
    pub entries: u64,
    /// Pipelines that memory can hold.
    pub capacity: u64,
    /// Pipelines that were dropped for others.
    pub evictions: u64,
    /// Pipelines that were dropped because something they depend on changed.
    pub invalidations: u64,
}
