//! Compiling a queue.

use vyre_driver::VyreBackend;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_spec::{Capability, CompileOptions, DeviceProfile};

use super::handler::{Handler, REQUEUE, SPAWN, SharedBuffer, handler};
use super::kernel::Shape;
use super::{Opcode, QueueError, QueueLayout, WorkQueue, kernel, splice};

/// Invocations of a workgroup on a GPU.
const GROUP: u32 = 64;

/// Steps of an invocation in a pass, where the driver does not limit loops further.
const BUDGET: u32 = 1 << 14;

/// Collects handlers, and compiles them into a [`WorkQueue`].
#[derive(Clone, Debug)]
pub struct QueueCompiler {
    layout: QueueLayout,
    handlers: Vec<Handler>,
    shared: Vec<SharedBuffer>,
    budget: u32,
}

impl QueueCompiler {
    /// Without handlers.
    pub fn new(layout: QueueLayout) -> Self {
        Self { layout, handlers: Vec::new(), shared: Vec::new(), budget: BUDGET }
    }

    /// With another number of steps that an invocation makes in a pass, at most: one for each task, one for each
    /// dependant that it tells.
    #[must_use]
    pub fn with_budget(mut self, steps: u32) -> Self {
        self.budget = steps.max(1);
        self
    }

    /// Adds a handler: a program over a domain of one point. Its parameters are the task's arguments, in order, but for
    /// one named `task`, which is the task's number; its buffers are shared by all tasks, by name. See the module's
    /// page for the two that are not.
    ///
    /// # Errors
    /// [`QueueError::Handler`] if the program is none.
    pub fn handler(&mut self, program: &Checked<Program>) -> Result<Opcode, QueueError> {
        let mut shared = self.shared.clone();
        let handler = handler(program, &self.layout, &mut shared)?;
        self.shared = shared;
        self.handlers.push(handler);
        Ok(Opcode(self.handlers.len() as u32 - 1))
    }

    /// The program of a pass, for a device of this profile.
    ///
    /// # Errors
    /// If the layout is empty or too large.
    pub fn program(&self, profile: &DeviceProfile) -> Result<Checked<Program>, QueueError> {
        let shape = self.shape(profile)?;
        splice::splice(&*kernel::run(shape)?, &self.handlers, &self.shared)
    }

    fn shape(&self, profile: &DeviceProfile) -> Result<Shape, QueueError> {
        let QueueLayout { arguments, lanes, children } = self.layout;
        let bounds = [
            ("words of arguments", arguments, 0, 64),
            ("lanes", lanes, 1, 8),
            ("tasks that a handler may add", children, 0, 16),
            ("handlers", self.handlers.len() as u32, 1, 64),
        ];
        for (what, value, least, most) in bounds {
            if !(least..=most).contains(&value) {
                return Err(QueueError::Layout { what, value, least, most });
            }
        }
        let has = |name: &str| {
            self.handlers.iter().any(|h| h.program.buffers().iter().any(|buffer| buffer.name == name))
        };
        // A driver that ends loops counts those of a handler with each step.
        let own = self.handlers.iter().fold(1u64, |sum, handler| sum.saturating_add(handler.iterations()));
        let limit =
            profile.quirks.max_loop_iterations.map_or(u64::MAX, |limit| u64::from(limit).saturating_sub(64));
        let budget = u64::from(self.budget).min((limit / own).saturating_sub(1).max(1)) as u32;
        let (spawns, requeues) = (has(SPAWN), has(REQUEUE));
        // Mesa's lavapipe takes a fence for a barrier of the workgroup, and ends that with the first of its subgroups
        // that ends. A workgroup that is one subgroup is spared.
        let group = if profile.is_software { profile.subgroup_size.unwrap_or(1).min(GROUP) } else { GROUP };
        let opcodes = self.handlers.len() as u32;
        Ok(Shape { layout: self.layout, opcodes, group, budget, spawns, requeues })
    }

    /// Compiles the queue for a backend's device.
    ///
    /// # Errors
    /// [`QueueError::Unsupported`] on a device without coherent storage or fences, or whatever compiling fails with.
    pub fn compile(&self, backend: &dyn VyreBackend) -> Result<WorkQueue, QueueError> {
        let profile = backend.profile();
        for missing in [Capability::CoherentStorage, Capability::Fence] {
            if !profile.capabilities.contains(missing) {
                return Err(QueueError::Unsupported { device: profile.name.clone(), missing });
            }
        }
        let shape = self.shape(profile)?;
        let program = splice::splice(&*kernel::run(shape)?, &self.handlers, &self.shared)?;
        let options = CompileOptions::default();
        Ok(WorkQueue {
            fill: backend.compile_checked(&kernel::fill(shape)?, &options)?,
            run: backend.compile_checked(&program, &options)?,
            shape,
            arguments: self.handlers.iter().map(|handler| handler.arguments).collect(),
            shared: self.shared.clone(),
            invocations: if profile.is_software { 1 << 8 } else { 1 << 16 },
        })
    }
}
