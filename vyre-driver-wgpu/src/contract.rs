//! The driver contract on wgpu.

use std::sync::Arc;

use vyre_driver::{
    BackendError, BackendInstance, BackendRegistration, BufferRef, Command, CommandList, CompiledPipeline,
    Completion, Resource, Span, VyreBackend, inventory,
};
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_spec::{CompileOptions, DeviceProfile};

use crate::backend::{WGPU_BACKEND_ID, WgpuBackend};
use crate::buffer::Kind;
use crate::{compile, exec};

const VERSION: &str = env!("CARGO_PKG_VERSION");

inventory::submit! {
    BackendRegistration {
        id: WGPU_BACKEND_ID,
        version: VERSION,
        description: "GPUs through wgpu: Vulkan, DX12 and Metal",
        precedence: 100,
        open: || Ok(WgpuBackend::shared()?),
        target_compiler: None,
        materializer: None,
    }
}

impl VyreBackend for WgpuBackend {
    fn id(&self) -> &'static str {
        WGPU_BACKEND_ID
    }

    fn version(&self) -> &'static str {
        VERSION
    }

    fn instance(&self) -> BackendInstance {
        self.core().owner
    }

    fn profile(&self) -> &DeviceProfile {
        &self.core().profile
    }

    fn compile_checked(
        &self,
        program: &Checked<Program>,
        options: &CompileOptions,
    ) -> Result<Arc<dyn CompiledPipeline>, BackendError> {
        Ok(compile::pipeline(self.core(), program, options)?)
    }

    fn allocate(&self, len: u64) -> Result<Resource, BackendError> {
        let core = self.core();
        let buffer = core.pool.acquire(&core.generation, Kind::Device, len)?;
        let zero = buffer.is_fresh();
        let resource = core.residents.insert(buffer, len);
        if !zero {
            let mut list = CommandList::new();
            let to = Span { buffer: BufferRef::Resident(resource), offset: 0, len };
            list.push(Command::Fill { to, byte: 0 });
            if let Err(error) = exec::submit(core, &list) {
                core.residents.remove(resource)?;
                return Err(error);
            }
        }
        Ok(resource)
    }

    fn free(&self, resource: Resource) -> Result<(), BackendError> {
        self.core().residents.remove(resource)
    }

    fn submit(&self, list: &CommandList<'_>) -> Result<Box<dyn Completion>, BackendError> {
        Ok(Box::new(exec::submit(self.core(), list)?))
    }
}
