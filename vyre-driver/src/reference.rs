//! The reference machine as a backend: an oracle that a caller names, never one that anything falls back to.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_foundation::machine::{self, MachineError, MachineOptions};
use vyre_spec::{CompileOptions, DeviceProfile, TRAP_LOOP_LIMIT};

use crate::command::{BufferRef, Command, CommandList, DispatchCommand, Span};
use crate::{
    BackendError, BackendInstance, BackendRegistration, CompiledPipeline, Completion, Finished, Resource,
    Visitor, VyreBackend,
};

/// The reference backend's id.
pub const REFERENCE_BACKEND_ID: &str = "reference";

inventory::submit! {
    BackendRegistration {
        id: REFERENCE_BACKEND_ID,
        version: env!("CARGO_PKG_VERSION"),
        description: "The reference machine on the CPU: an oracle, for comparison only.",
        precedence: 0,
        open: || Ok(Arc::new(ReferenceBackend::new())),
        target_compiler: None,
        materializer: None,
    }
}

/// A backend that runs programs on the reference machine. It works through a list before `submit` returns.
#[derive(Debug)]
pub struct ReferenceBackend {
    instance: BackendInstance,
    profile: DeviceProfile,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next_slot: u64,
    buffers: HashMap<u64, Vec<u8>>,
}

#[derive(Debug)]
struct ReferencePipeline(Checked<Program>);

impl CompiledPipeline for ReferencePipeline {
    fn program(&self) -> &Checked<Program> {
        &self.0
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[derive(Debug)]
struct Done(Vec<Vec<u8>>);

impl Completion for Done {
    fn is_finished(&self) -> bool {
        true
    }

    fn visit(
        self: Box<Self>,
        _timeout: Option<Duration>,
        visitor: &mut Visitor<'_>,
    ) -> Result<Finished, BackendError> {
        for (i, bytes) in self.0.iter().enumerate() {
            visitor(i, bytes)?;
        }
        Ok(Finished::default())
    }
}

impl Default for ReferenceBackend {
    fn default() -> Self {
        Self::new()
    }
}

impl ReferenceBackend {
    /// An oracle with the reference profile.
    pub fn new() -> Self {
        Self::with_subgroup_size(32)
    }

    /// An oracle whose subgroups have this many lanes, to compare with a device of that width.
    pub fn with_subgroup_size(lanes: u32) -> Self {
        let profile = DeviceProfile { subgroup_size: Some(lanes.max(1)), ..DeviceProfile::reference() };
        Self { instance: BackendInstance::next(), profile, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic in another thread leaves whole buffers behind, so the state is still good.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn options(&self, counts: Option<[u32; 3]>) -> MachineOptions {
        MachineOptions {
            counts,
            subgroup_size: self.profile.subgroup_size.unwrap_or(1),
            ..MachineOptions::default()
        }
    }
}

impl VyreBackend for ReferenceBackend {
    fn id(&self) -> &'static str {
        REFERENCE_BACKEND_ID
    }

    fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    fn instance(&self) -> BackendInstance {
        self.instance
    }

    fn profile(&self) -> &DeviceProfile {
        &self.profile
    }

    /// Keeps the program as it is: options change generated code, never results, and here is no code.
    fn compile_checked(
        &self,
        program: &Checked<Program>,
        _options: &CompileOptions,
    ) -> Result<Arc<dyn CompiledPipeline>, BackendError> {
        Ok(Arc::new(ReferencePipeline(program.clone())))
    }

    fn allocate(&self, len: u64) -> Result<Resource, BackendError> {
        let bytes = zeroed(len)?;
        let mut state = self.lock();
        let slot = state.next_slot;
        state.next_slot += 1;
        state.buffers.insert(slot, bytes);
        Ok(Resource { owner: self.instance, generation: 0, slot, len })
    }

    fn free(&self, resource: Resource) -> Result<(), BackendError> {
        let mut state = self.lock();
        self.check(&state, resource)?;
        state.buffers.remove(&resource.slot);
        Ok(())
    }

    fn submit(&self, list: &CommandList<'_>) -> Result<Box<dyn Completion>, BackendError> {
        let mut state = self.lock();
        // Work on a copy of what the list names, so that a list that fails has no effect.
        let mut run = Run { buffers: HashMap::new(), reads: Vec::new() };
        for (i, &len) in list.transients().iter().enumerate() {
            run.buffers.insert(BufferRef::Transient(i as u32), zeroed(len)?);
        }
        for buffer in list.buffers() {
            if let BufferRef::Resident(resource) = buffer {
                let bytes = self.check(&state, resource)?;
                run.buffers.entry(buffer).or_insert_with(|| bytes.to_vec());
            }
        }
        for command in list.commands() {
            run.execute(self, command)?;
        }
        for (buffer, bytes) in run.buffers {
            if let BufferRef::Resident(resource) = buffer {
                state.buffers.insert(resource.slot, bytes);
            }
        }
        Ok(Box::new(Done(run.reads)))
    }
}

impl ReferenceBackend {
    fn check<'s>(&self, state: &'s State, resource: Resource) -> Result<&'s [u8], BackendError> {
        let bad = |problem| BackendError::BadHandle { handle: resource.to_string(), problem };
        if resource.owner != self.instance {
            return Err(bad("foreign"));
        }
        if resource.generation != 0 {
            return Err(bad("stale"));
        }
        let bytes = state.buffers.get(&resource.slot).ok_or_else(|| bad("freed"))?;
        // A handle of another making would name the buffer a second time.
        if bytes.len() as u64 == resource.len { Ok(bytes) } else { Err(bad("foreign")) }
    }
}

/// A list under way.
struct Run {
    buffers: HashMap<BufferRef, Vec<u8>>,
    reads: Vec<Vec<u8>>,
}

impl Run {
    fn execute(&mut self, backend: &ReferenceBackend, command: &Command<'_>) -> Result<(), BackendError> {
        command.check()?;
        match command {
            Command::Upload { to, bytes } => {
                self.bytes("an upload", Span { len: bytes.len() as u64, ..*to })?.copy_from_slice(bytes);
            }
            Command::Fill { to, byte } => self.bytes("a fill", *to)?.fill(*byte),
            Command::Copy { from, to } => {
                let from = self.bytes("a copy's source", *from)?.to_vec();
                self.bytes("a copy's destination", Span { len: from.len() as u64, ..*to })?
                    .copy_from_slice(&from);
            }
            Command::Read { from } => {
                let bytes = self.bytes("a read", *from)?.to_vec();
                self.reads.push(bytes);
            }
            Command::Dispatch(dispatch) => self.dispatch(backend, dispatch)?,
        }
        Ok(())
    }

    fn bytes(&mut self, what: &'static str, span: Span) -> Result<&mut [u8], BackendError> {
        let Span { buffer, offset, len: bytes } = span;
        // Residents have been looked up before, so only a transient can be missing.
        let Some(all) = self.buffers.get_mut(&buffer) else {
            return Err(BackendError::BadHandle { handle: format!("{buffer:?}"), problem: "foreign" });
        };
        let len = all.len() as u64;
        let end = offset.checked_add(bytes).filter(|&end| end <= len);
        end.and_then(|end| all.get_mut(offset as usize..end as usize)).ok_or(BackendError::OutOfRange {
            what,
            offset,
            bytes,
            len,
        })
    }

    fn dispatch(
        &mut self,
        backend: &ReferenceBackend,
        dispatch: &DispatchCommand,
    ) -> Result<(), BackendError> {
        let program = dispatch.pipeline.program();
        let mut contents = Vec::with_capacity(dispatch.bindings.len());
        for binding in &dispatch.bindings {
            let span = Span { buffer: binding.buffer, offset: 0, len: binding.len };
            contents.push(self.bytes("a binding", span)?.to_vec());
        }
        let contents: Vec<_> = contents.iter().map(|bytes| Some(bytes.as_slice())).collect();
        let outcome =
            machine::run_bound(program, &dispatch.params, &contents, &backend.options(dispatch.counts))
                .map_err(|error| match error {
                    MachineError::Launch(error) => BackendError::Launch(error),
                    error => BackendError::Unsupported {
                        what: error.to_string(),
                        device: backend.profile.name.clone(),
                        remedy: "use a smaller launch, or a device".into(),
                    },
                })?;
        if let Some(trap) = outcome.trap {
            let invocation = trap.invocation as u32;
            return Err(match trap.code {
                TRAP_LOOP_LIMIT => BackendError::LoopLimit { invocation },
                code => BackendError::Trap { code, invocation, address: trap.address },
            });
        }
        for (id, bytes) in program.outputs().zip(outcome.outputs) {
            if let Some(binding) = dispatch.bindings.get(id.index()) {
                let span = Span { buffer: binding.buffer, offset: 0, len: binding.len };
                self.bytes("a binding", span)?.copy_from_slice(&bytes);
            }
        }
        Ok(())
    }
}

/// Zero bytes of the machine's own memory.
fn zeroed(len: u64) -> Result<Vec<u8>, BackendError> {
    let fail = || BackendError::OutOfMemory { doing: "allocating a buffer", bytes: Some(len) };
    let count = usize::try_from(len).map_err(|_| fail())?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(count).map_err(|_| fail())?;
    bytes.resize(count, 0);
    Ok(bytes)
}
