//! Programs run on memory that is the host's or the device's.

use vyre_foundation::ir::Program;

use crate::{BackendError, DispatchConfig, Memory, MemoryRef, VyreBackend, sugar};

mod sealed {
    /// Only backends have it.
    pub trait Sealed {}

    impl<B: crate::VyreBackend + ?Sized> Sealed for B {}
}

/// What runs programs on [`MemoryRef`]s: every backend, and nothing else.
pub trait Executable: sealed::Sealed {
    /// Runs a program, checking it first; the check is remembered. There is one input for each `ReadOnly`,
    /// `Uniform` and `ReadWrite` buffer in declaration order, and one output for each `ReadWrite` and
    /// `WriteOnly` buffer. A `ReadWrite` buffer that was passed on the device is written in place and comes
    /// back as that handle; everything else comes back as host bytes.
    ///
    /// # Errors
    /// As [`VyreBackend::dispatch_borrowed`], and [`BackendError::BadHandle`].
    fn dispatch(
        &self,
        program: &Program,
        inputs: &[MemoryRef<'_>],
        config: &DispatchConfig,
    ) -> Result<Vec<Memory>, BackendError>;
}

impl<B: VyreBackend + ?Sized> Executable for B {
    fn dispatch(
        &self,
        program: &Program,
        inputs: &[MemoryRef<'_>],
        config: &DispatchConfig,
    ) -> Result<Vec<Memory>, BackendError> {
        sugar::memory::dispatch(self, &crate::checked(program)?, inputs, config)
    }
}
