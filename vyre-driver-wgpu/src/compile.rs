//! From a checked program to a kernel on the device: the one place.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use vyre_driver::BackendError;
use vyre_emit_naga::{BindingKind, Emitted, SpirvOptions, to_spirv, with_stack};
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_foundation::opt::optimize;
use vyre_lower::kernel::{KernelDescriptor, VerifiedKernel};
use vyre_lower::{LowerError, Lowered, lower_all};
use vyre_spec::{CompileOptions, DeviceProfile};

use crate::core::Core;
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
    let key = cached_under(core, program, options);
    if let Some(pipeline) = core.known_pipeline(key) {
        trace::found(&span, "memory");
        return Ok(pipeline);
    }
    trace::found(&span, "miss");
    let pipeline = WgpuPipeline {
        owner: core.lasting.owner,
        generation: core.generation.number,
        program: program.clone(),
        options: Some(options.clone()),
        plain: Arc::new(build(core, program, options)?),
        folded: Arc::new(OnceLock::new()),
        persistent: None,
    };
    Ok(core.keep_pipeline(key, pipeline))
}

/// The key of a program's pipeline in the cache.
pub(crate) fn cached_under(core: &Core, program: &Checked<Program>, options: &CompileOptions) -> [u8; 32] {
    core.lasting.keys.of(program, options, || key(core, program, options))
}

/// Compiles a program: the optimiser, lowering, emission, and the device's own compiler.
pub(crate) fn build(
    core: &Core,
    program: &Checked<Program>,
    options: &CompileOptions,
) -> Result<Form, BackendError> {
    let profile = &core.profile;
    let lowered = descriptors(program, profile, options);
    let Lowered { kernels, schedule } =
        lowered.map_err(|error| LoweringError::from(error).on(&profile.name))?;
    let mut kernels = kernels.into_iter().map(|kernel| compiled(core, program.name(), kernel));
    // There is a first: lowering makes at least one.
    let first = kernels.next().unwrap_or_else(|| {
        Err(BackendError::Driver { doing: "lowering", message: "a program became no kernel".to_owned() })
    })?;
    let rest: Vec<_> = kernels.collect::<Result<_, _>>()?;
    Ok(if schedule.is_trivial() { Form::one(first) } else { Form::several(first, rest, schedule) })
}

/// Emits a kernel, and compiles it on the device.
fn compiled(core: &Core, label: &str, descriptor: VerifiedKernel) -> Result<Compiled, BackendError> {
    let program = WgpuProgram::emit(descriptor).map_err(|error| error.on(&core.profile.name))?;
    let WgpuProgram { descriptor, emitted } = program;
    let words = match takes_spirv(&core.generation) {
        true => Some(spirv(&emitted)?),
        false => None,
    };
    let kernel = assemble(core, label, &descriptor, emitted, words.as_deref())?;
    Ok(Compiled::new(kernel, descriptor))
}

/// The words of a module of our own.
pub(crate) fn spirv(emitted: &Emitted) -> Result<Vec<u32>, BackendError> {
    to_spirv(emitted, &SpirvOptions::default())
        .map_err(|error| BackendError::Driver { doing: "writing SPIR-V", message: error.to_string() })
}

/// Loads a module that lowering made, as SPIR-V if there are words, and makes its pipeline.
fn assemble(
    core: &Core,
    label: &str,
    descriptor: &VerifiedKernel,
    emitted: Emitted,
    words: Option<&[u32]>,
) -> Result<Kernel, BackendError> {
    let bindings: Vec<_> = emitted.bindings.iter().map(|binding| kind(binding.kind)).collect();
    let entry = emitted.entry_point;
    let immediates = immediate_bytes(descriptor);
    // Drivers' compilers, and naga inside wgpu, recurse over nested blocks.
    with_stack(emitted.nesting, || {
        let entries = [EntryPoint { name: &entry, workgroup_size: descriptor.workgroup_size }];
        let code = match words {
            Some(words) => Code::Spirv { words, entries: &entries },
            None => Code::Lowered(Box::new(emitted.module)),
        };
        let module = load(&core.generation, label, code)?;
        // Lowering zeroes shared memory itself, where the program can tell.
        Kernel::new(&core.generation, &module, &entry, &bindings, immediates, false)
    })
    .map_err(|error| BackendError::Driver {
        doing: "starting a thread for deeply nested code",
        message: error.to_string(),
    })?
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
    let optimized = if options.optimize { optimize(program) } else { program.clone() };
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

/// What a pipeline is cached under: the program's content, the options and the device.
fn key(core: &Core, program: &Program, options: &CompileOptions) -> [u8; 32] {
    let mut digest = Digest(blake3::Hasher::new_derive_key("vyre-driver-wgpu pipeline"));
    digest.write(program.id().as_bytes());
    options.hash(&mut digest);
    core.profile.hash(&mut digest);
    *digest.0.finalize().as_bytes()
}

/// Feeds everything that is hashed to BLAKE3.
struct Digest(blake3::Hasher);

impl Hasher for Digest {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Not used: the digest is taken from the hasher itself.
    fn finish(&self) -> u64 {
        0
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
