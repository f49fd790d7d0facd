//! Pipelines whose launches stay prepared.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vyre_driver::{
    BackendError, CompiledPipeline, DispatchConfig, OutputBuffers, VyreBackend, checked, host_list,
};
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;

use crate::backend::WgpuBackend;
use crate::exec::Ready;
use crate::pipeline::WgpuPipeline;

impl WgpuBackend {
    /// Compiles a program for many dispatches with one configuration, by [`WgpuPipeline::dispatch_into`]. The
    /// first dispatch with inputs of some lengths prepares everything: its buffers on the device, its launch
    /// data, its bind groups, the memory that its bytes pass through. Every later one with the same lengths
    /// copies the bytes, submits and waits, and neither checks, looks up nor allocates anything of this crate's.
    ///
    /// # Errors
    /// As `compile_native`.
    pub fn compile_persistent(
        &self,
        program: &Program,
        config: &DispatchConfig,
    ) -> Result<Arc<WgpuPipeline>, BackendError> {
        let program = checked(program)?;
        let compiled = self.compile_native(&program, config)?;
        let compiled = compiled.as_ref().and_then(|pipeline| pipeline.as_any().downcast_ref());
        let pipeline: &WgpuPipeline = compiled.ok_or_else(|| BackendError::Driver {
            doing: "compiling a persistent pipeline",
            message: "the backend gave no pipeline of its own".to_owned(),
        })?;
        let persistent =
            Persistent { backend: self.clone(), program, config: config.clone(), idle: Mutex::default() };
        Ok(Arc::new(pipeline.with_persistent(persistent)))
    }
}

/// How many prepared launches lie idle at most: those of the lengths used last.
const IDLE: usize = 16;

/// What a pipeline keeps between its dispatches.
#[derive(Debug)]
pub(crate) struct Persistent {
    backend: WgpuBackend,
    /// As it was given: its parameters may be substituted in the compiled one.
    program: Checked<Program>,
    config: DispatchConfig,
    /// Launches that nobody is running, the last used at the end.
    idle: Mutex<Vec<Prepared>>,
}

/// A launch for inputs of some lengths.
#[derive(Debug)]
struct Prepared {
    lens: Vec<usize>,
    ready: Ready,
}

impl Persistent {
    fn idle(&self) -> MutexGuard<'_, Vec<Prepared>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a launch that is prepared for inputs of these lengths.
    fn take(&self, inputs: &[&[u8]]) -> Option<Prepared> {
        let mut idle = self.idle();
        let fits = |prepared: &Prepared| {
            prepared.lens.len() == inputs.len()
                && prepared.lens.iter().zip(inputs).all(|(len, input)| *len == input.len())
        };
        let position = idle.iter().rposition(fits)?;
        Some(idle.remove(position))
    }

    fn give_back(&self, prepared: Prepared) {
        let mut idle = self.idle();
        if idle.len() >= IDLE {
            idle.remove(0);
        }
        idle.push(prepared);
    }
}

impl WgpuPipeline {
    /// Runs a pipeline of [`WgpuBackend::compile_persistent`] on input bytes, one slice for each input buffer,
    /// and fills `outputs`, one vector for each output buffer, which are not allocated anew where they are
    /// large enough. Threads may call it at the same time; each run has a prepared launch of its own.
    ///
    /// # Errors
    /// As `dispatch_borrowed_into`; [`BackendError::BadHandle`] after the device was recovered, and
    /// [`BackendError::Config`] for a pipeline that was not compiled by `compile_persistent`.
    pub fn dispatch_into(&self, inputs: &[&[u8]], outputs: &mut OutputBuffers) -> Result<(), BackendError> {
        let Some(persistent) = self.persistent() else {
            let why = "the pipeline was not compiled by `compile_persistent`, so it has no configuration";
            return Err(BackendError::Config { field: "pipeline", why: why.to_owned() });
        };
        let core = persistent.backend.core()?;
        if core.generation.number != self.generation {
            let handle = format!("of the pipeline of `{}`", self.program().name());
            return Err(BackendError::BadHandle { handle, problem: "stale" });
        }
        let DispatchConfig { label, timeout, .. } = &persistent.config;
        let (lens, ready, refill) = match persistent.take(inputs) {
            Some(Prepared { lens, ready }) => (lens, ready, Some(inputs)),
            None => {
                let list = host_list(&persistent.backend, &persistent.program, inputs, &persistent.config)?;
                let lens = inputs.iter().map(|input| input.len()).collect();
                (lens, Ready::new(&core, &list)?, None)
            }
        };
        let named = |error: BackendError| error.labeled(label.as_deref());
        let (ready, result) = ready.run(&core, label.as_deref(), refill, *timeout, outputs).map_err(named)?;
        persistent.give_back(Prepared { lens, ready });
        result.map_err(named)
    }

    /// As [`Self::dispatch_into`], with new vectors.
    ///
    /// # Errors
    /// As [`Self::dispatch_into`].
    pub fn dispatch(&self, inputs: &[&[u8]]) -> Result<OutputBuffers, BackendError> {
        let mut outputs = OutputBuffers::new();
        self.dispatch_into(inputs, &mut outputs)?;
        Ok(outputs)
    }
}
