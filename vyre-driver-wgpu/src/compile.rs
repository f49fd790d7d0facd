//! From a checked program to a kernel on the device: the one place.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use vyre_driver::BackendError;
use vyre_emit_naga::{BindingKind, Emitted, SpirvOptions, to_spirv, with_stack};
use vyre_foundation::check::{Checked, Uniformity};
use vyre_foundation::ir::{Launch, Node, NodeId, Program};
use vyre_foundation::opt::{optimize, remove_dead_code};
use vyre_lower::kernel::{KernelDescriptor, VerifiedKernel};
use vyre_lower::{LowerError, Lowered, lower_all};
use vyre_spec::{CompileOptions, DeviceProfile};

use crate::cache::key;
use crate::core::Core;
use crate::driver_cache::DriverCache;
use crate::dump::Subject;
use crate::ir::{LoweringError, WgpuProgram};
use crate::kernel::{Binding, Code, Kernel, load, takes_spirv};
use crate::pipeline::{Compiled, Form, WgpuPipeline};
use crate::trace;
use crate::trusted::EntryPoint;

/// The pipeline of a program, from the cache if it was made before.
pub(crate) fn pipeline(
    core: &Core,
    program: &Checked<Program>,
    options: &CompileOptions,
) -> Result<Arc<WgpuPipeline>, BackendError> {
    let span = trace::compile(program.name());
    let _in = span.enter();
    // What memory has of a lost device is of no use.
    core.generation.check()?;
    let key = cached_under(core, program, options);
    if let Some(pipeline) = core.known_pipeline(key) {
        trace::found(&span, "memory");
        return Ok(pipeline);
    }
    // Which buffers are bound in windows is decided for each launch.
    let first = CompileOptions { launch_contract: true, windows: Vec::new(), ..options.clone() };
    let plain = build(core, program, &first)?;
    trace::found(&span, if plain.is_from_disk() { "disk" } else { "miss" });
    let pipeline = WgpuPipeline {
        owner: core.lasting.owner,
        generation: core.generation.number,
        program: program.clone(),
        options: Some(options.clone()),
        plain: Arc::new(plain),
        others: Arc::default(),
        indirect: Arc::default(),
        windowed: Arc::default(),
        steady: Arc::default(),
        persistent: None,
    };
    Ok(core.keep_pipeline(key, pipeline))
}

/// The key of a program's pipeline in the cache.
pub(crate) fn cached_under(core: &Core, program: &Checked<Program>, options: &CompileOptions) -> [u8; 32] {
    core.lasting.keys.of(program, options, || key(program, options, &core.profile))
}

/// Compiles a program: the optimiser, lowering, emission, and the device's own compiler.
pub(crate) fn build(
    core: &Core,
    program: &Checked<Program>,
    options: &CompileOptions,
) -> Result<Form, BackendError> {
    let key = cached_under(core, program, options);
    form(core, &core.profile, Subject { program, options, key, part: 0 })
}

/// The same with the launch data in memory, whether the device has immediates or not.
pub(crate) fn build_in_memory(
    core: &Core,
    program: &Checked<Program>,
    options: &CompileOptions,
) -> Result<Form, BackendError> {
    let profile = DeviceProfile { max_immediate_bytes: 0, ..core.profile.clone() };
    let key = key(program, options, &profile);
    form(core, &profile, Subject { program, options, key, part: 0 })
}

fn form(core: &Core, profile: &DeviceProfile, subject: Subject<'_>) -> Result<Form, BackendError> {
    let lowered = || descriptors(subject.program, profile, subject.options);
    kernels(core, lowered(), subject)
        .inspect_err(|error| core.lasting.dumps.failed(subject, error, || lowered().ok()))
}

fn kernels(
    core: &Core,
    lowered: Result<Lowered, LowerError>,
    subject: Subject<'_>,
) -> Result<Form, BackendError> {
    let profile = &core.profile;
    let Lowered { kernels, schedule } =
        lowered.map_err(|error| LoweringError::from(error).on(&profile.name))?;
    let mut kernels =
        (0..).zip(kernels).map(|(part, descriptor)| compiled(core, Subject { part, ..subject }, descriptor));
    // There is a first: lowering makes at least one.
    let first = kernels.next().unwrap_or_else(|| {
        Err(BackendError::Driver { doing: "lowering", message: "a program became no kernel".to_owned() })
    })?;
    let rest: Vec<_> = kernels.collect::<Result<_, _>>()?;
    Ok(if schedule.is_trivial() { Form::one(first) } else { Form::several(first, rest, schedule) })
}

/// Emits a kernel, and compiles it on the device.
fn compiled(core: &Core, subject: Subject<'_>, descriptor: VerifiedKernel) -> Result<Compiled, BackendError> {
    fences_fit(core, subject.program, &descriptor)?;
    let program = WgpuProgram::emit(descriptor).map_err(|error| error.on(&core.profile.name))?;
    let WgpuProgram { descriptor, emitted } = program;
    core.lasting.dumps.lowered(subject, &descriptor, &emitted);
    let (kernel, is_from_disk) = assemble(core, subject, &descriptor, emitted)?;
    let mut compiled = Compiled::new(kernel, descriptor);
    compiled.is_from_disk = is_from_disk;
    Ok(compiled)
}

/// Mesa's lavapipe takes a fence for a barrier, and ends a workgroup with the first of its subgroups that ends: the
/// others lose what they had still to do, unless all came to the same number of fences.
fn fences_fit(
    core: &Core,
    program: &Checked<Program>,
    kernel: &KernelDescriptor,
) -> Result<(), BackendError> {
    let lanes = core.profile.subgroup_size.unwrap_or(1);
    let invocations = kernel.workgroup_size.into_iter().fold(1u32, u32::saturating_mul);
    if core.generation.info.driver != "llvmpipe" || invocations <= lanes {
        return Ok(());
    }
    // Of a domain's points, those beyond its end come to none.
    let is_domain = matches!(program.launch(), Launch::Domain { .. });
    let mut nodes = (0..).map(NodeId::new).zip(program.nodes());
    let apart = |id| is_domain || program.facts().flow(id) > Uniformity::Workgroup;
    if nodes.any(|(id, node)| matches!(node, Node::Fence { .. }) && apart(id)) {
        return Err(BackendError::Unsupported {
            what: "a fence that not the whole workgroup comes to, which its driver takes for a barrier"
                .to_owned(),
            device: core.profile.name.clone(),
            remedy: format!(
                "launch workgroups of at most {lanes} invocations, bring all of a workgroup to each fence, or use \
                 another device"
            ),
        });
    }
    Ok(())
}

/// The words of a module of our own.
pub(crate) fn spirv(emitted: &Emitted) -> Result<Vec<u32>, BackendError> {
    to_spirv(emitted, &SpirvOptions::default())
        .map_err(|error| BackendError::Driver { doing: "writing SPIR-V", message: error.to_string() })
}

/// Loads a module that lowering made, as SPIR-V where the device takes it, and makes its pipeline. Says whether the
/// driver's form of it came from the disk.
fn assemble(
    core: &Core,
    subject: Subject<'_>,
    descriptor: &VerifiedKernel,
    emitted: Emitted,
) -> Result<(Kernel, bool), BackendError> {
    let (generation, lasting) = (&core.generation, &core.lasting);
    let words = if takes_spirv(generation) { Some(spirv(&emitted)?) } else { None };
    let mut kept = None;
    if let Some(words) = &words {
        lasting.dumps.words(subject, words);
        kept = DriverCache::open(lasting.disk(), generation, family_key(core, subject), words)?;
    }
    let bindings: Vec<_> = emitted.bindings.iter().map(|binding| kind(binding.kind)).collect();
    let entry = emitted.entry_point;
    let immediates = immediate_bytes(descriptor);
    // Drivers' compilers, and naga inside wgpu, recurse over nested blocks.
    let made = with_stack(emitted.nesting, || {
        let entries = [EntryPoint { name: &entry, workgroup_size: descriptor.workgroup_size }];
        let code = match &words {
            Some(words) => Code::Spirv { words, entries: &entries },
            None => Code::Lowered(Box::new(emitted.module)),
        };
        let module = load(generation, subject.program.name(), code)?;
        let cache = kept.as_ref().map(DriverCache::object);
        // Lowering zeroes shared memory itself, where the program can tell.
        Kernel::with_cache(generation, &module, &entry, &bindings, immediates, false, cache)
    });
    let made = made.map_err(|error| BackendError::Driver {
        doing: "starting a thread for deeply nested code",
        message: error.to_string(),
    })??;
    let is_from_disk = kept.as_ref().is_some_and(DriverCache::found);
    if let Some(kept) = kept {
        kept.keep();
    }
    Ok((made, is_from_disk))
}

/// The key that all forms of one pipeline have on disk: that of the form which callers ask for.
fn family_key(core: &Core, subject: Subject<'_>) -> [u8; 32] {
    let options = CompileOptions {
        fold_grid: false,
        launch_contract: false,
        indirect: false,
        windows: Vec::new(),
        ..subject.options.clone()
    };
    cached_under(core, subject.program, &options)
}

/// The bytes of immediates that a kernel takes.
pub(crate) fn immediate_bytes(descriptor: &KernelDescriptor) -> u32 {
    if descriptor.launch.immediates { 4 * descriptor.launch.fields.len() as u32 } else { 0 }
}

/// What a program becomes before it is emitted. Public for the `vyre-wgpu` command, which shows it.
#[doc(hidden)]
pub fn descriptors(
    program: &Checked<Program>,
    profile: &DeviceProfile,
    options: &CompileOptions,
) -> Result<Lowered, LowerError> {
    // Declarations stay as they are, so launches are computed from the program as it was given.
    // Dead code goes in any case: NVIDIA's compiler (580) crashes on loops without effect that follow each other.
    let optimized = if options.optimize { optimize(program) } else { remove_dead_code(program) };
    lower_all(&optimized, profile, options)
}

/// The one kernel that a program becomes.
pub(crate) fn descriptor(
    program: &Checked<Program>,
    profile: &DeviceProfile,
    options: &CompileOptions,
) -> Result<VerifiedKernel, LowerError> {
    descriptors(program, profile, options)?.single()
}

pub(crate) fn kind(kind: BindingKind) -> Binding {
    match kind {
        BindingKind::ReadOnlyStorage => Binding::Read,
        BindingKind::Storage => Binding::Write,
        BindingKind::Uniform { .. } => Binding::Uniform,
    }
}

/// The keys of the latest programs, found by identity: a repeated dispatch does not hash its program.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    latest: Mutex<VecDeque<Known>>,
}

#[derive(Debug)]
struct Known {
    program: Checked<Program>,
    options: CompileOptions,
    key: [u8; 32],
}

/// How many keys are remembered. They are searched one by one.
const REMEMBERED: usize = 32;

impl Keys {
    fn of(
        &self,
        program: &Checked<Program>,
        options: &CompileOptions,
        compute: impl FnOnce() -> [u8; 32],
    ) -> [u8; 32] {
        let known = {
            let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
            latest.iter().find(|k| k.program.same(program) && k.options == *options).map(|known| known.key)
        };
        known.unwrap_or_else(|| {
            let key = compute();
            let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
            latest.truncate(REMEMBERED - 1);
            latest.push_front(Known { program: program.clone(), options: options.clone(), key });
            key
        })
    }
}
