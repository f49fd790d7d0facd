//! The reference machine as a backend: an oracle that a caller names, never one that anything falls back to.

mod run;

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_foundation::machine::MachineOptions;
use vyre_spec::{Axis, Capability, CompileOptions, DeviceProfile};

use crate::optimizer::ResidentHandles;
use crate::{
    BackendError, BackendInstance, BackendRegistration, BufferRef, CommandList, CompiledPipeline, Completion,
    Feature, Finished, Resource, Visitor, VyreBackend,
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

/// A backend that runs programs on the reference machine.
///
/// `submit` works through a list before it returns. Lists run side by side unless one writes a buffer that
/// the other uses; those run one after the other. Its device time is the host's.
#[derive(Debug)]
pub struct ReferenceBackend {
    instance: BackendInstance,
    profile: DeviceProfile,
    state: Mutex<State>,
    handles: ResidentHandles,
}

/// A resident's bytes. A list holds the locks of its buffers while it runs.
type Bytes = Arc<RwLock<Vec<u8>>>;

#[derive(Debug, Default)]
struct State {
    next_slot: u64,
    buffers: HashMap<u64, (Resource, Bytes)>,
    shut_down: bool,
}

#[derive(Debug)]
struct ReferencePipeline {
    owner: BackendInstance,
    program: Checked<Program>,
    options: CompileOptions,
}

impl CompiledPipeline for ReferencePipeline {
    fn program(&self) -> &Checked<Program> {
        &self.program
    }

    fn options(&self) -> Option<&CompileOptions> {
        Some(&self.options)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A list that has run.
#[derive(Debug)]
struct Done {
    reads: Result<Vec<Vec<u8>>, BackendError>,
    took: Duration,
    timed: bool,
}

impl Completion for Done {
    fn is_finished(&self) -> bool {
        true
    }

    fn visit(
        self: Box<Self>,
        timeout: Option<Duration>,
        visitor: &mut Visitor<'_>,
    ) -> Result<Finished, BackendError> {
        if let Some(timeout) = timeout.filter(|&timeout| self.took > timeout) {
            return Err(BackendError::Timeout { timeout });
        }
        for (i, bytes) in self.reads?.iter().enumerate() {
            visitor(i, bytes)?;
        }
        Ok(Finished { device_time: self.timed.then_some(self.took) })
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
        let profile = DeviceProfile::reference();
        let capabilities = profile.capabilities.with(Capability::Timestamps);
        // What the machine has room for is what one buffer may take.
        let most = MachineOptions::default().memory_limit;
        let profile = DeviceProfile {
            subgroup_size: Some(lanes.max(1)),
            capabilities,
            max_buffer_bytes: most,
            max_storage_binding_bytes: most,
            ..profile
        };
        Self {
            instance: BackendInstance::next(),
            profile,
            state: Mutex::default(),
            handles: ResidentHandles::default(),
        }
    }

    /// The handles of its optimizer interface.
    pub(crate) fn handles(&self) -> &ResidentHandles {
        &self.handles
    }

    /// The state of a backend that was not shut down.
    fn open(&self) -> Result<MutexGuard<'_, State>, BackendError> {
        // A panic in another thread leaves whole buffers behind, so the state is still good.
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.shut_down {
            Err(BackendError::ShutDown { backend: REFERENCE_BACKEND_ID })
        } else {
            Ok(state)
        }
    }

    /// Refuses a workgroup beyond the limits of the profile, though the machine itself has none.
    fn check_workgroup(&self, program: &Program, options: &CompileOptions) -> Result<(), BackendError> {
        let Some(size) = program.launch().workgroup_size().or(options.workgroup_size) else { return Ok(()) };
        let within = |what: String, value: u64, limit: u32| match u64::from(limit) {
            limit if value > limit => Err(BackendError::Limit { what, value, limit }),
            _ => Ok(()),
        };
        for (axis, (n, limit)) in
            Axis::ALL.into_iter().zip(size.into_iter().zip(self.profile.max_workgroup_size))
        {
            within(format!("the workgroup size on the {} axis", axis.name()), n.into(), limit)?;
        }
        let invocations = size.iter().fold(1_u64, |product, &n| product.saturating_mul(n.into()));
        let what = "the number of invocations in a workgroup".to_owned();
        within(what, invocations, self.profile.max_workgroup_invocations)
    }

    fn find<'s>(&self, state: &'s State, resource: Resource) -> Result<&'s Bytes, BackendError> {
        let bad = |problem| BackendError::BadHandle { handle: resource.to_string(), problem };
        match state.buffers.get(&resource.slot) {
            _ if resource.owner != self.instance => Err(bad("foreign")),
            _ if resource.generation != 0 => Err(bad("stale")),
            None if resource.slot < state.next_slot => Err(bad("freed")),
            Some((known, bytes)) if *known == resource => Ok(bytes),
            // A handle of another making.
            None | Some(_) => Err(bad("foreign")),
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

    /// Keeps the program as it is: options change generated code, never results, and here is no code. A workgroup
    /// beyond the profile's limits is refused all the same.
    fn compile_checked(
        &self,
        program: &Checked<Program>,
        options: &CompileOptions,
    ) -> Result<Arc<dyn CompiledPipeline>, BackendError> {
        drop(self.open()?);
        self.check_workgroup(program, options)?;
        let (program, options) = (program.clone(), options.clone());
        Ok(Arc::new(ReferencePipeline { owner: self.instance, program, options }))
    }

    fn allocate(&self, len: u64) -> Result<Resource, BackendError> {
        let bytes = run::zeroed(len, self.profile.max_buffer_bytes)?;
        let mut state = self.open()?;
        let slot = state.next_slot;
        state.next_slot += 1;
        let resource = Resource { owner: self.instance, generation: 0, slot, len };
        state.buffers.insert(slot, (resource, Arc::new(RwLock::new(bytes))));
        Ok(resource)
    }

    fn free(&self, resource: Resource) -> Result<(), BackendError> {
        let mut state = self.open()?;
        self.find(&state, resource)?;
        state.buffers.remove(&resource.slot);
        Ok(())
    }

    fn submit(&self, list: &CommandList<'_>) -> Result<Box<dyn Completion>, BackendError> {
        let mut residents = HashMap::new();
        let state = self.open()?;
        for (buffer, _) in list.uses() {
            if let BufferRef::Resident(resource) = buffer {
                residents.insert(resource, Arc::clone(self.find(&state, resource)?));
            }
        }
        // From here on, the locks of the buffers keep this list's effects apart from others'.
        drop(state);
        Ok(Box::new(run::run(self, list, &residents)?))
    }

    fn shutdown(&self) -> Result<(), BackendError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.shut_down = true;
        state.buffers.clear();
        Ok(())
    }

    /// The machine meets grid barriers itself.
    fn missing(&self, feature: Feature) -> Option<String> {
        match feature {
            Feature::GridSync => None,
            feature => feature.missing_in(&self.profile),
        }
    }
}
