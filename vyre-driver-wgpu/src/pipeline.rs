//! A compiled program on this backend.

use std::any::Any;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use vyre_driver::{BackendError, BackendInstance, CompiledPipeline};
use vyre_foundation::check::Checked;
use vyre_foundation::ir::{Launch, Program};
use vyre_foundation::launch::ResolvedLaunch;
use vyre_lower::grid_sync::Schedule;
use vyre_lower::kernel::{KernelDescriptor, LaunchField, VerifiedKernel};
use vyre_spec::CompileOptions;

use crate::kernel::Kernel;
use crate::persistent::Persistent;
use crate::steady::Steady;

/// A kernel on the device, and how to launch it.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) kernel: Kernel,
    descriptor: VerifiedKernel,
    /// Whether the driver had its form of it from the disk.
    pub(crate) is_from_disk: bool,
}

impl Compiled {
    pub(crate) fn new(kernel: Kernel, descriptor: VerifiedKernel) -> Self {
        Self { kernel, descriptor, is_from_disk: false }
    }

    pub(crate) fn descriptor(&self) -> &KernelDescriptor {
        &self.descriptor
    }
}

/// The kernels of a program, and the order in which they run.
#[derive(Debug)]
pub(crate) struct Form {
    first: Compiled,
    rest: Vec<Compiled>,
    /// How to run them; without it, the first runs once.
    schedule: Option<Schedule>,
}

impl Form {
    /// One kernel, which runs once.
    pub(crate) fn one(kernel: Compiled) -> Self {
        Self { first: kernel, rest: Vec::new(), schedule: None }
    }

    /// Several kernels.
    pub(crate) fn several(first: Compiled, rest: Vec<Compiled>, schedule: Schedule) -> Self {
        Self { first, rest, schedule: Some(schedule) }
    }

    /// The first kernel; all have its workgroup size and grid.
    pub(crate) fn first(&self) -> &Compiled {
        &self.first
    }

    /// A kernel, by position.
    pub(crate) fn kernel(&self, position: usize) -> Option<&Compiled> {
        match position.checked_sub(1) {
            None => Some(&self.first),
            Some(position) => self.rest.get(position),
        }
    }

    /// How to run the kernels, unless there is one that runs once.
    pub(crate) fn schedule(&self) -> Option<&Schedule> {
        self.schedule.as_ref()
    }

    /// Whether the driver had every kernel from the disk.
    pub(crate) fn is_from_disk(&self) -> bool {
        std::iter::once(&self.first).chain(&self.rest).all(|kernel| kernel.is_from_disk)
    }

    /// Whether a launch keeps the contract of every kernel.
    pub(crate) fn holds(&self, launch: &ResolvedLaunch) -> bool {
        let mut kernels = std::iter::once(&self.first).chain(&self.rest);
        kernels.all(|kernel| kernel.descriptor.contract.holds(launch))
    }
}

/// Which form of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Variant {
    /// For grids that pass the device's per-axis limit.
    pub(crate) folded: bool,
    /// For launches that break the contract of the first form.
    pub(crate) guarded: bool,
}

/// A form that is kept with the pipeline, or one that others may replace there.
#[derive(Debug)]
pub(crate) enum FormRef<'p> {
    Kept(&'p Form),
    Shared(Arc<Form>),
}

impl Deref for FormRef<'_> {
    type Target = Form;

    fn deref(&self) -> &Form {
        match self {
            Self::Kept(form) => form,
            Self::Shared(form) => form,
        }
    }
}

/// The forms for buffers that are bound as several windows, the last used at the end.
#[derive(Debug, Default)]
pub(crate) struct Windowed(Mutex<Vec<(CompileOptions, Arc<Form>)>>);

/// How many of them are kept. Each number of windows of each buffer is another.
const MOST_WINDOWED: usize = 32;

impl Windowed {
    fn lock(&self) -> MutexGuard<'_, Vec<(CompileOptions, Arc<Form>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The form of these options, made by `compile` if it is not there.
    fn get(
        &self,
        options: CompileOptions,
        compile: impl FnOnce(&CompileOptions) -> Result<Form, BackendError>,
    ) -> Result<Arc<Form>, BackendError> {
        let find = |forms: &mut Vec<(CompileOptions, Arc<Form>)>| {
            let position = forms.iter().rposition(|(known, _)| *known == options)?;
            let found = forms.remove(position);
            let form = Arc::clone(&found.1);
            forms.push(found);
            Some(form)
        };
        if let Some(form) = find(&mut self.lock()) {
            return Ok(form);
        }
        let made = Arc::new(compile(&options)?);
        let mut forms = self.lock();
        // Of two threads that compiled it, both use the first.
        if let Some(form) = find(&mut forms) {
            return Ok(form);
        }
        if forms.len() >= MOST_WINDOWED {
            forms.remove(0);
        }
        forms.push((options, Arc::clone(&made)));
        Ok(made)
    }
}

/// A program that this backend has compiled.
///
/// Its first form dispatches the grid as it is and may rest on a launch contract. The others, one of them for
/// workgroup counts in device memory, are made when they are first needed.
#[derive(Debug)]
pub struct WgpuPipeline {
    pub(crate) owner: BackendInstance,
    pub(crate) generation: u64,
    pub(crate) program: Checked<Program>,
    /// How the other forms are compiled, or `None` where the code is the caller's own.
    pub(crate) options: Option<CompileOptions>,
    pub(crate) plain: Arc<Form>,
    /// The folded one, the guarded one, and the one that is both.
    pub(crate) others: Arc<[OnceLock<Form>; 3]>,
    pub(crate) indirect: Arc<OnceLock<Form>>,
    pub(crate) windowed: Arc<Windowed>,
    /// The first form once more, with launch data in memory.
    pub(crate) steady: Arc<Steady>,
    /// Where `compile_persistent` made it: its launches.
    pub(crate) persistent: Option<Persistent>,
}

impl WgpuPipeline {
    /// The same program and kernels, with launches of its own.
    pub(crate) fn with_persistent(&self, persistent: Persistent) -> Self {
        Self {
            owner: self.owner,
            generation: self.generation,
            program: self.program.clone(),
            options: self.options.clone(),
            plain: Arc::clone(&self.plain),
            others: Arc::clone(&self.others),
            indirect: Arc::clone(&self.indirect),
            windowed: Arc::clone(&self.windowed),
            steady: Arc::clone(&self.steady),
            persistent: Some(persistent),
        }
    }

    pub(crate) fn persistent(&self) -> Option<&Persistent> {
        self.persistent.as_ref()
    }

    /// A form, made by `compile` if it does not exist yet. `windows` says as how many windows each buffer is bound;
    /// without any, all are bound whole.
    pub(crate) fn form(
        &self,
        variant: Variant,
        windows: &[u32],
        compile: impl FnOnce(&CompileOptions) -> Result<Form, BackendError>,
    ) -> Result<FormRef<'_>, BackendError> {
        let [folded, guarded, both] = &*self.others;
        let other = |options: &CompileOptions| CompileOptions {
            fold_grid: variant.folded,
            launch_contract: !variant.guarded,
            windows: windows.to_vec(),
            ..options.clone()
        };
        if let (false, Some(options)) = (windows.is_empty(), &self.options) {
            return Ok(FormRef::Shared(self.windowed.get(other(options), compile)?));
        }
        let cell = match (variant.folded, variant.guarded) {
            (false, false) => return Ok(FormRef::Kept(&self.plain)),
            (true, false) => folded,
            (false, true) => guarded,
            (true, true) => both,
        };
        if let Some(made) = cell.get() {
            return Ok(FormRef::Kept(made));
        }
        let Some(options) = &self.options else {
            return Err(BackendError::Config {
                field: "workgroup counts",
                why: "they pass the device's per-axis limit, which raw shader code must see to itself"
                    .to_owned(),
            });
        };
        let made = compile(&other(options))?;
        // Of two threads that compiled it, both use the first.
        Ok(FormRef::Kept(cell.get_or_init(|| made)))
    }
}

impl WgpuPipeline {
    /// The form for workgroup counts in device memory: it rests on no contract, as the host does not know the
    /// launch. That of a program with counts of its own is its first.
    pub(crate) fn indirect(
        &self,
        windows: &[u32],
        compile: impl FnOnce(&CompileOptions) -> Result<Form, BackendError>,
    ) -> Result<FormRef<'_>, BackendError> {
        let counts = |field: &LaunchField| matches!(field, LaunchField::WorkgroupCount(_));
        let reads = self.plain.first().descriptor().launch.fields.iter().any(counts);
        let own = matches!(self.program.launch(), Launch::Indirect { .. });
        let fits = own && windows.is_empty() || !reads && self.options.is_none();
        if self.plain.schedule().is_none() && fits {
            // A payload's first form may rest on a contract; then it has a guarded one.
            let [_, guarded, _] = &*self.others;
            let rests = !self.plain.first().descriptor().contract.is_empty();
            return Ok(FormRef::Kept(guarded.get().filter(|_| rests).unwrap_or(&self.plain)));
        }
        let Some(options) = &self.options else {
            return Err(BackendError::Config {
                field: "workgroup counts",
                why: "they are in a buffer, but the pipeline's code takes them from the host".to_owned(),
            });
        };
        let options = CompileOptions {
            indirect: true,
            launch_contract: false,
            windows: windows.to_vec(),
            ..options.clone()
        };
        if !windows.is_empty() {
            return Ok(FormRef::Shared(self.windowed.get(options, compile)?));
        }
        if let Some(indirect) = self.indirect.get() {
            return Ok(FormRef::Kept(indirect));
        }
        let made = compile(&options)?;
        // Of two threads that compiled it, both use the first.
        Ok(FormRef::Kept(self.indirect.get_or_init(|| made)))
    }
}

impl CompiledPipeline for WgpuPipeline {
    fn program(&self) -> &Checked<Program> {
        &self.program
    }

    fn options(&self) -> Option<&CompileOptions> {
        self.options.as_ref()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
