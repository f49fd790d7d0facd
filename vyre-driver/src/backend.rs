//! The trait that a backend implements.

use std::any::Any;
use std::sync::Arc;

use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_spec::{CompileOptions, DeviceProfile};

use crate::{
    BackendError, BackendInstance, CommandList, CompiledPipeline, Completion, DispatchConfig, Resource,
    checked, dispatch,
};

/// A device that runs Vyre programs. A facet of a backend knows its own by downcast.
///
/// The required methods are the whole contract; the others build a [`CommandList`] and submit it. A backend
/// is used from many threads at once: no call waits for another's work.
pub trait VyreBackend: Any + Send + Sync {
    /// The backend's id, such as `wgpu`; that of its registration.
    fn id(&self) -> &'static str;

    /// The version of the backend's implementation.
    fn version(&self) -> &'static str;

    /// This opened backend's identity, which its handles carry.
    fn instance(&self) -> BackendInstance;

    /// What the opened device can do.
    fn profile(&self) -> &DeviceProfile;

    /// Compiles a program. The same program and options give the same code; a backend may answer from a
    /// cache.
    ///
    /// # Errors
    /// [`BackendError::Unsupported`] or [`BackendError::Limit`] if the device cannot run it.
    fn compile_checked(
        &self,
        program: &Checked<Program>,
        options: &CompileOptions,
    ) -> Result<Arc<dyn CompiledPipeline>, BackendError>;

    /// Allocates `len` bytes on the device, all 0. Zero bytes are fine.
    ///
    /// # Errors
    /// [`BackendError::OutOfMemory`], or [`BackendError::Limit`] above the device's buffer limit.
    fn allocate(&self, len: u64) -> Result<Resource, BackendError>;

    /// Frees a buffer. Work that was submitted before still sees it.
    ///
    /// # Errors
    /// [`BackendError::BadHandle`] if it is foreign, stale or already freed.
    fn free(&self, resource: Resource) -> Result<(), BackendError>;

    /// Submits a list as one piece of work and returns at once. Host bytes are taken before it returns.
    /// A list that is refused has no effect.
    ///
    /// # Errors
    /// A bad handle, range, binding or launch, or the device's own failure.
    fn submit(&self, list: &CommandList<'_>) -> Result<Box<dyn Completion>, BackendError>;

    /// Runs a program on input bytes, one slice for each input buffer in declaration order, and returns one
    /// vector for each output buffer, in declaration order. Elements of a `WriteOnly` buffer that the
    /// program does not store come back 0.
    ///
    /// # Errors
    /// Everything that compiling and submitting can fail with, and the program's own traps.
    fn dispatch_checked(
        &self,
        program: &Checked<Program>,
        inputs: &[&[u8]],
        config: &DispatchConfig,
    ) -> Result<Vec<Vec<u8>>, BackendError> {
        dispatch::dispatch_checked(self, program, inputs, config)
    }

    /// As [`Self::dispatch_checked`], checking the program first; the check is remembered.
    ///
    /// # Errors
    /// As [`Self::dispatch_checked`], and [`BackendError::InvalidProgram`].
    fn dispatch_borrowed(
        &self,
        program: &Program,
        inputs: &[&[u8]],
        config: &DispatchConfig,
    ) -> Result<Vec<Vec<u8>>, BackendError> {
        self.dispatch_checked(&checked(program)?, inputs, config)
    }

    /// As [`Self::dispatch_borrowed`], with owned inputs.
    ///
    /// # Errors
    /// As [`Self::dispatch_borrowed`].
    fn dispatch(
        &self,
        program: &Program,
        inputs: &[Vec<u8>],
        config: &DispatchConfig,
    ) -> Result<Vec<Vec<u8>>, BackendError> {
        let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
        self.dispatch_borrowed(program, &inputs, config)
    }
}
