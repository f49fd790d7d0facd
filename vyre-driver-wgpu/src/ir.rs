//! A program on its way to the device: lowered, and compiled.

use std::sync::Arc;

#[cfg(doc)]
use vyre_driver::Executable;
use vyre_driver::{BackendError, DispatchConfig, Memory, MemoryRef, VyreBackend, dispatch_memory};
use vyre_emit_naga::{EmitError, Emitted, emit, naga};
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_lower::LowerError;
use vyre_lower::kernel::VerifiedKernel;
use vyre_spec::{CompileOptions, DeviceProfile};

use crate::backend::WgpuBackend;
use crate::compile;
use crate::pipeline::WgpuPipeline;

/// A program lowered for a device: its kernel descriptor and its naga module. Making it does no device work.
#[derive(Clone, Debug)]
pub struct WgpuProgram {
    pub(crate) descriptor: VerifiedKernel,
    pub(crate) emitted: Emitted,
}

impl WgpuProgram {
    /// Lowers a checked program: the optimiser, lowering and emission.
    pub(crate) fn lower(
        program: &Checked<Program>,
        profile: &DeviceProfile,
        options: &CompileOptions,
    ) -> Result<Self, LoweringError> {
        Self::emit(compile::descriptor(program, profile, options)?)
    }

    /// Emits a kernel.
    pub(crate) fn emit(descriptor: VerifiedKernel) -> Result<Self, LoweringError> {
        let emitted = emit(&descriptor)?;
        Ok(Self { descriptor, emitted })
    }

    /// The name of the module's entry point.
    pub fn entry_point(&self) -> &str {
        &self.emitted.entry_point
    }

    /// Invocations per axis of a workgroup.
    pub fn workgroup_size(&self) -> [u32; 3] {
        self.descriptor.workgroup_size
    }

    /// The module, which naga has validated.
    pub fn module(&self) -> &naga::Module {
        &self.emitted.module
    }
}

/// A program that a backend has compiled for repeated dispatch.
#[derive(Clone, Debug)]
pub struct WgpuIR {
    program: Checked<Program>,
    /// Held, so that the pipeline cache need not make it again.
    pipeline: Arc<WgpuPipeline>,
}

impl WgpuIR {
    /// The program.
    pub fn program(&self) -> &Checked<Program> {
        &self.program
    }
}

/// Why a program cannot be lowered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoweringError {
    /// The program does not pass the checker.
    #[error(transparent)]
    Check(#[from] BackendError),
    /// The device cannot run it.
    #[error(transparent)]
    Lower(#[from] LowerError),
    /// Emission failed: a fault of this workspace, not of the program.
    #[error(transparent)]
    Emit(#[from] EmitError),
}

impl LoweringError {
    /// The same as the contract says it, of a device of this name.
    pub(crate) fn on(self, device: &str) -> BackendError {
        let text = self.to_string();
        match self {
            Self::Check(error) => error,
            Self::Emit(_) => BackendError::Driver { doing: "emitting a module", message: text },
            Self::Lower(LowerError::Limit { what, value, limit, .. }) => {
                BackendError::Limit { what, value, limit }
            }
            Self::Lower(LowerError::EmptyWorkgroup { .. }) => {
                BackendError::Config { field: "workgroup_size", why: text }
            }
            Self::Lower(error @ LowerError::GridSyncTripCount { .. }) => {
                BackendError::GridSyncTripCount { what: text, remedy: error.help() }
            }
            Self::Lower(LowerError::Verify(_)) => BackendError::Driver { doing: "lowering", message: text },
            Self::Lower(error) => {
                BackendError::Unsupported { what: text, device: device.to_owned(), remedy: error.help() }
            }
        }
    }
}

impl WgpuBackend {
    /// Lowers a program for this device, as a dispatch without a configuration would. Nothing is done on the
    /// device.
    ///
    /// # Errors
    /// [`LoweringError`]: what the checker found, or what the device cannot do.
    pub fn lower_to_backend_ir(&self, program: &Program) -> Result<WgpuProgram, LoweringError> {
        let program = vyre_driver::checked(program)?;
        WgpuProgram::lower(&program, self.profile(), &CompileOptions::default())
    }

    /// Compiles a program for repeated dispatch by [`Self::dispatch_compiled`], as a dispatch without a
    /// configuration would.
    ///
    /// # Errors
    /// As [`VyreBackend::compile_native`].
    pub fn compile(&self, program: &Program) -> Result<WgpuIR, BackendError> {
        let program = vyre_driver::checked(program)?;
        let pipeline = compile::pipeline(&*self.core()?, &program, &CompileOptions::default())?;
        Ok(WgpuIR { program, pipeline })
    }

    /// Runs a compiled program: one input for each `ReadOnly`, `Uniform` and `ReadWrite` buffer, and one output
    /// for each `ReadWrite` and `WriteOnly` buffer, in declaration order. What was passed on the device stays
    /// there; everything else comes back as host bytes.
    ///
    /// A configuration that asks for other code than [`Self::compile`] made has that compiled, or taken from
    /// the cache.
    ///
    /// # Errors
    /// [`BackendError::BadHandle`] for a program that another backend compiled; else as
    /// [`Executable::dispatch`].
    pub fn dispatch_compiled(
        &self,
        compiled: &WgpuIR,
        inputs: &[MemoryRef<'_>],
        config: &DispatchConfig,
    ) -> Result<Vec<Memory>, BackendError> {
        if compiled.pipeline.owner != self.instance() {
            let handle = format!("of the compiled program `{}`", compiled.program.name());
            return Err(BackendError::BadHandle { handle, problem: "foreign" });
        }
        dispatch_memory(self, &compiled.program, inputs, config)
    }

    /// The naga module of a lowered program.
    pub fn lower_to_target<'a>(&self, bir: &'a WgpuProgram) -> &'a naga::Module {
        bir.module()
    }
}
