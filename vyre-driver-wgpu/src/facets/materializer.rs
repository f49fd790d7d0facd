//! Payloads to pipelines. This is where code that was made elsewhere is let in, or not.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use vyre_driver::{
    BackendError, CompiledPipeline, Materializer, PayloadError, PayloadKernel, PayloadKey, PayloadProgram,
    ProfileDigest, TargetPayload, VyreBackend,
};
use vyre_emit_naga::{naga, with_stack};
use vyre_foundation::ir::{Launch, Program};
use vyre_foundation::wire;
use vyre_lower::kernel::{Role, VerifiedKernel};

use super::compiler::naga_module;
use super::{NAGA, SPIRV, layout, trust};
use crate::backend::{WGPU_BACKEND_ID, WgpuBackend};
use crate::compile::immediate_bytes;
use crate::core::Core;
use crate::kernel::{Binding, Code, Kernel, load, takes_spirv};
use crate::pipeline::{Compiled, Form, WgpuPipeline};
use crate::trusted::EntryPoint;

/// The materializer of this backend.
#[derive(Debug)]
pub(crate) struct WgpuMaterializer;

impl Materializer for WgpuMaterializer {
    fn materialize(
        &self,
        backend: &dyn VyreBackend,
        payload: &TargetPayload,
        key: Option<&PayloadKey>,
    ) -> Result<Vec<Arc<dyn CompiledPipeline>>, BackendError> {
        let any: &dyn Any = backend;
        let (Some(wgpu), true) = (any.downcast_ref::<WgpuBackend>(), payload.backend == WGPU_BACKEND_ID)
        else {
            let (payload, backend) = (payload.backend.clone(), backend.id().to_owned());
            return Err(PayloadError::OtherBackend { payload, backend }.into());
        };
        let profile = backend.profile();
        // A key says whom to believe: with it, nothing else is enough.
        let trusted = match key {
            Some(key) => payload.verify(key).map(|()| true)?,
            None => trust::is_known(&payload.digest()),
        };
        if payload.profile != ProfileDigest::of(profile) {
            let (payload, device) = (payload.device.clone(), profile.name.clone());
            return Err(PayloadError::OtherDevice { payload, device }.into());
        }
        if let Some(lacking) = payload.needs.iter().find(|need| !profile.capabilities.contains(*need)) {
            return Err(BackendError::Unsupported {
                what: format!("the payload needs the feature `{}`", lacking.name()),
                device: profile.name.clone(),
                remedy: "compile the programs for this device".to_owned(),
            });
        }
        let format = match payload.format.as_str() {
            SPIRV if !trusted => {
                return Err(PayloadError::Untrusted { format: payload.format.clone() }.into());
            }
            SPIRV => Format::Spirv,
            NAGA if trusted => Format::TrustedNaga,
            NAGA => Format::CheckedNaga,
            _ => {
                return Err(PayloadError::Format {
                    format: payload.format.clone(),
                    device: profile.name.clone(),
                    known: vec![SPIRV.to_owned(), NAGA.to_owned()],
                }
                .into());
            }
        };
        let core = wgpu.core()?;
        if format == Format::Spirv && !takes_spirv(&core.generation) {
            return Err(PayloadError::Format {
                format: payload.format.clone(),
                device: profile.name.clone(),
                known: vec![NAGA.to_owned()],
            }
            .into());
        }
        let programs = payload.programs.iter().enumerate();
        programs.map(|(index, program)| pipeline(&core, index, program, format)).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Spirv,
    TrustedNaga,
    CheckedNaga,
}

fn pipeline(
    core: &Core,
    index: usize,
    payload: &PayloadProgram,
    format: Format,
) -> Result<Arc<dyn CompiledPipeline>, BackendError> {
    let program = wire::decode(&payload.program).map_err(|source| PayloadError::Wire { index, source })?;
    let program = vyre_driver::checked(&program)?;
    let refuse = |kernel, why| BackendError::from(PayloadError::Kernel { program: index, kernel, why });
    if ![2, 4].contains(&payload.kernels.len()) {
        return Err(refuse(0, format!("there are {} kernels, not 2 or 4", payload.kernels.len())));
    }
    let mut made = Vec::with_capacity(4);
    for (number, kernel) in payload.kernels.iter().enumerate() {
        let outline = outline(kernel, number % 2 == 1, &program).map_err(|why| refuse(number, why))?;
        // The last two are for launches that break the contract of the first two.
        let may_rest = payload.kernels.len() == 4 && number < 2;
        if !may_rest && !outline.contract.is_empty() {
            return Err(refuse(number, "it rests on a contract, and no other stands in for it".to_owned()));
        }
        let kernel = build(core, &program, &outline, kernel, format).map_err(|error| match error {
            // What wgpu says of code from elsewhere is about the code.
            BackendError::Driver { message, .. } if format == Format::CheckedNaga => refuse(number, message),
            other => other,
        })?;
        made.push(OnceLock::from(Form::one(Compiled::new(kernel, outline))));
    }
    let mut made = made.into_iter();
    let (plain, folded) = (made.next().and_then(OnceLock::into_inner), made.next().unwrap_or_default());
    let Some(plain) = plain else {
        return Err(refuse(0, "it has no code".to_owned()));
    };
    let (guarded, both) = (made.next().unwrap_or_default(), made.next().unwrap_or_default());
    Ok(Arc::new(WgpuPipeline {
        owner: core.lasting.owner,
        generation: core.generation.number,
        program,
        options: None,
        plain: Arc::new(plain),
        others: Arc::new([folded, guarded, both]),
        indirect: Arc::default(),
        windowed: Arc::default(),
        steady: Arc::default(),
        persistent: None,
    }))
}

/// The kernel's outline, which must be the plain or the folded form of a kernel of `program`; where the counts are in a
/// buffer there is nothing to fold.
fn outline(kernel: &PayloadKernel, folded: bool, program: &Program) -> Result<VerifiedKernel, String> {
    let outline = layout::decode(&kernel.layout, &kernel.entry_point, kernel.workgroup_size, program)?;
    let folded = folded && !matches!(program.launch(), Launch::Indirect { .. });
    if outline.grid.folded != folded {
        return Err(format!("its grid is {}folded", if folded { "not " } else { "" }));
    }
    Ok(outline)
}

fn build(
    core: &Core,
    program: &Program,
    outline: &VerifiedKernel,
    kernel: &PayloadKernel,
    format: Format,
) -> Result<Kernel, BackendError> {
    let unreadable = |message: String| BackendError::Driver { doing: "reading a payload's module", message };
    let entries = [EntryPoint { name: &kernel.entry_point, workgroup_size: kernel.workgroup_size }];
    let words: Vec<u32>;
    let code = match format {
        Format::Spirv => {
            let chunks = kernel.code.chunks_exact(4);
            words = chunks.filter_map(|word| word.try_into().ok().map(u32::from_le_bytes)).collect();
            Code::Spirv { words: &words, entries: &entries }
        }
        Format::TrustedNaga | Format::CheckedNaga => {
            let text = std::str::from_utf8(&kernel.code).map_err(|error| unreadable(error.to_string()))?;
            let module = naga_module(text).map_err(unreadable)?;
            same_shape(&module, kernel).map_err(unreadable)?;
            match format {
                Format::TrustedNaga => Code::Lowered(Box::new(module)),
                _ => Code::Wgsl(text),
            }
        }
    };
    let bindings: Vec<_> = outline
        .bindings
        .iter()
        .map(|binding| match (binding.role, binding.access.is_output()) {
            (Role::LaunchData, _) => Binding::Uniform,
            (_, true) => Binding::Write,
            (_, false) => Binding::Read,
        })
        .collect();
    let checked = format == Format::CheckedNaga;
    // The reader limits nesting to what any thread of this size has the stack for.
    with_stack(NESTING, || {
        let module = load(&core.generation, program.name(), code)?;
        let immediates = immediate_bytes(outline);
        Kernel::new(&core.generation, &module, &kernel.entry_point, &bindings, immediates, checked)
    })
    .map_err(|error| unreadable(error.to_string()))?
}

/// How deep blocks may nest: naga's reader of text stops at 200, counting expressions as well.
const NESTING: usize = 200;

/// Whether the module has the entry point that the payload names, with its workgroup size.
fn same_shape(module: &naga::Module, kernel: &PayloadKernel) -> Result<(), String> {
    let PayloadKernel { entry_point, workgroup_size, .. } = kernel;
    let of = |entry: &&naga::EntryPoint| entry.name == *entry_point;
    let Some(entry) = module.entry_points.iter().find(of) else {
        return Err(format!("the module has no entry point `{entry_point}`"));
    };
    let same = entry.workgroup_size == *workgroup_size && entry.workgroup_size_overrides.is_none();
    let why = || format!("the module's workgroup size is {:?}, not {workgroup_size:?}", entry.workgroup_size);
    if same { Ok(()) } else { Err(why()) }
}
