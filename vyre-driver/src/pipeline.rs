//! Compiled programs and submitted work.

use std::any::Any;
use std::fmt;
use std::time::Duration;

use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;

use crate::BackendError;

/// A program that a backend has compiled. It runs on that backend only.
pub trait CompiledPipeline: Send + Sync + fmt::Debug + 'static {
    /// The program, as it was given to the compiler.
    fn program(&self) -> &Checked<Program>;

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
        self.visit(timeout, &mut |_, bytes| {
            outputs.push(bytes.to_vec());
            Ok(())
        })?;
        Ok(outputs)
    }
}

/// What is known once work has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Finished {
    /// The time the device took, where it can tell.
    pub device_time: Option<Duration>,
}
