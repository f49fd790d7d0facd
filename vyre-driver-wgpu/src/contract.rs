//! The driver contract on wgpu.

use std::sync::Arc;

use vyre_driver::{
    BackendError, BackendInstance, BackendRegistration, BufferRef, Command, CommandList, CompiledPipeline,
    Completion, Feature, PipelineCacheSnapshot, Resource, Span, VyreBackend, inventory,
};
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_spec::{CompileOptions, DataType, DeviceProfile};

use crate::backend::{WGPU_BACKEND_ID, WgpuBackend};
use crate::buffer::Segments;
use crate::facets::{WgpuMaterializer, WgpuTargetCompiler};
use crate::{capabilities, compile, exec, stats};

const VERSION: &str = env!("CARGO_PKG_VERSION");

inventory::submit! {
    BackendRegistration {
        id: WGPU_BACKEND_ID,
        version: VERSION,
        description: "GPUs through wgpu: Vulkan, DX12 and Metal",
        precedence: 100,
        open: || Ok(WgpuBackend::shared()?),
        target_compiler: Some(&WgpuTargetCompiler),
        materializer: Some(&WgpuMaterializer),
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
        self.life().lasting.owner
    }

    fn profile(&self) -> &DeviceProfile {
        &self.life().profile
    }

    fn compile_checked(
        &self,
        program: &Checked<Program>,
        options: &CompileOptions,
    ) -> Result<Arc<dyn CompiledPipeline>, BackendError> {
        Ok(compile::pipeline(&*self.core()?, program, options)?)
    }

    fn allocate(&self, len: u64) -> Result<Resource, BackendError> {
        self.allocate_resident(len, false)
    }

    fn free(&self, resource: Resource) -> Result<(), BackendError> {
        let core = self.core()?;
        core.lasting.residents.remove(resource)?;
        core.remembered.forget(resource);
        Ok(())
    }

    fn submit(&self, list: &CommandList<'_>) -> Result<Box<dyn Completion>, BackendError> {
        let core = self.core()?;
        let mirroring = core.lasting.residents.mirroring(list);
        let work = exec::submit(&core, list)?;
        if let Some(mirroring) = mirroring {
            mirroring.note(list);
        }
        Ok(Box::new(work))
    }

    fn allocate_retained(&self, len: u64) -> Result<Resource, BackendError> {
        self.allocate_resident(len, true)
    }

    fn pipeline_cache_snapshot(&self) -> Option<PipelineCacheSnapshot> {
        Some(stats::pipeline_snapshot(&self.life().lasting))
    }

    fn backend_metric_snapshot(&self) -> Vec<(&'static str, u64)> {
        let mut metrics = stats::metrics(self.life());
        metrics.extend(self.speculation().stats().metrics());
        metrics.sort_unstable_by_key(|(name, _)| *name);
        metrics
    }

    fn device_lost(&self) -> bool {
        self.core().is_ok_and(|core| core.generation.is_lost())
    }

    fn try_recover(&self) -> Result<(), BackendError> {
        self.life().recover()
    }

    fn flush(&self) -> Result<(), BackendError> {
        self.life().flush()
    }

    fn prepare(&self) -> Result<(), BackendError> {
        self.life().prepare()
    }

    fn shutdown(&self) -> Result<(), BackendError> {
        self.life().shut_down()
    }

    fn missing(&self, feature: Feature) -> Option<String> {
        let life = self.life();
        capabilities::missing(feature, life.features, (&life.info, life.index), &life.profile)
    }

    fn missing_type(&self, ty: DataType) -> Option<String> {
        capabilities::missing_type(ty, self.profile())
    }
}

impl WgpuBackend {
    /// Allocates a buffer of zeros; a retained one is restored when the device is recovered.
    fn allocate_resident(&self, len: u64, retain: bool) -> Result<Resource, BackendError> {
        let core = self.core()?;
        let buffer = Segments::acquire(&core.generation, &core.pool, len)?;
        let zero = buffer.is_fresh();
        let resource = core.lasting.residents.insert(buffer, core.generation.number, len, retain)?;
        if !zero {
            let mut list = CommandList::new();
            let to = Span { buffer: BufferRef::Resident(resource), offset: 0, len };
            list.push(Command::Fill { to, byte: 0 });
            if let Err(error) = exec::submit(&core, &list) {
                // After a recovery it is gone already.
                drop(core.lasting.residents.remove(resource));
                return Err(error);
            }
        }
        Ok(resource)
    }
}
