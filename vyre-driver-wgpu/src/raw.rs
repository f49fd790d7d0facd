//! Raw WGSL: the caller's own shader, with every check of wgpu's on.
//!
//! The shader is paired with a program that declares its interface and does nothing, so that it runs
//! through the same command lists and the same executor as everything else.

use std::collections::BTreeMap;
use std::sync::Arc;

use vyre_driver::{
    BackendError, Binding, Command, CommandList, CompiledPipeline, Completion, DispatchCommand, Span,
};
use vyre_foundation::check::{Checked, check};
use vyre_foundation::ir::{Arena, Buffer, BufferId, Count, Extent, Launch, Param, Program};
use vyre_foundation::launch::Params;
use vyre_lower::kernel::{self as lowered, GridRule, KernelDescriptor, LaunchData, Role};
use vyre_spec::{Access, CapabilitySet, DataType, Value};
use wgpu::naga;

use crate::core::Core;
use crate::exec;
use crate::kernel::{self, Code, Kernel};
use crate::pipeline::{Compiled, Form, WgpuPipeline};

/// The shader's entry point.
const ENTRY: &str = "main";
/// The parameter that says how many words the output has.
const WORDS: &str = "words";

/// Runs `wgsl` over `input`: binding 0 of group 0 holds the input words, binding 1 takes the output words.
/// There are as many workgroups of `workgroup_size` as cover the output words.
pub(crate) fn dispatch(
    core: &Arc<Core>,
    wgsl: &str,
    input: &[u8],
    output_size: usize,
    workgroup_size: u32,
) -> Result<Vec<u8>, BackendError> {
    core.generation.check()?;
    let pipeline = pipeline(core, wgsl, workgroup_size)?;
    let words = output_size.div_ceil(4);
    let words = u32::try_from(words).map_err(|_| BackendError::Limit {
        what: "the number of output words".to_owned(),
        value: words as u64,
        limit: u64::from(u32::MAX),
    })?;

    let mut list = CommandList::new();
    let input_len = (input.len() as u64).next_multiple_of(4);
    let output_len = u64::from(words) * 4;
    let (source, target) = (list.transient(input_len), list.transient(output_len));
    if input_len != input.len() as u64 {
        // The last word's missing bytes are zero.
        list.push(Command::Fill { to: Span { buffer: source, offset: input_len - 4, len: 4 }, byte: 0 });
    }
    list.upload(source, 0, input);
    list.push(Command::Fill { to: Span { buffer: target, offset: 0, len: output_len }, byte: 0 });
    list.push(Command::Dispatch(DispatchCommand::with(
        pipeline,
        vec![Binding { buffer: source, len: input_len }, Binding { buffer: target, len: output_len }],
        Params::new().with(WORDS, Value::new(words)),
        None,
    )));
    list.read(Span { buffer: target, offset: 0, len: output_size as u64 });
    let outputs = Box::new(exec::submit(core, &list)?).wait(None)?;
    Ok(outputs.into_iter().next().unwrap_or_default())
}

/// The pipeline of a shader, from the cache if it was made before.
fn pipeline(core: &Core, wgsl: &str, workgroup_size: u32) -> Result<Arc<dyn CompiledPipeline>, BackendError> {
    let mut hasher = blake3::Hasher::new_derive_key("vyre-driver-wgpu raw WGSL pipeline");
    hasher.update(&workgroup_size.to_le_bytes()).update(wgsl.as_bytes());
    let key = *hasher.finalize().as_bytes();
    if let Some(pipeline) = core.known_pipeline(key) {
        return Ok(pipeline);
    }
    let bindings = [interface_of(wgsl, workgroup_size)?, kernel::Binding::Write];
    let module = kernel::load(&core.generation, ENTRY, Code::Wgsl(wgsl))?;
    let kernel = Kernel::new(&core.generation, &module, ENTRY, &bindings, 0, true)?;
    let descriptor = lowered::verify(interface_descriptor(workgroup_size))
        .map_err(|error| BackendError::Driver { doing: "describing a shader", message: error.to_string() })?;
    let pipeline = WgpuPipeline {
        owner: core.lasting.owner,
        generation: core.generation.number,
        program: interface(workgroup_size)?,
        options: None,
        plain: Arc::new(Form::one(Compiled::new(kernel, descriptor))),
        others: Arc::default(),
        indirect: Arc::default(),
        windowed: Arc::default(),
        steady: Arc::default(),
        persistent: None,
    };
    Ok(core.keep_pipeline(key, pipeline))
}

/// How the shader declares its input; refuses a shader whose interface or workgroup size is not the one that
/// is asked for. Text that does not parse passes: wgpu reports that with the source's excerpt.
fn interface_of(wgsl: &str, workgroup_size: u32) -> Result<kernel::Binding, BackendError> {
    let refuse = |field, why| Err(BackendError::Config { field, why });
    if workgroup_size == 0 {
        return refuse("workgroup_size", "it is 0, but a workgroup has at least one invocation".to_owned());
    }
    let Ok(module) = naga::front::wgsl::parse_str(wgsl) else { return Ok(kernel::Binding::Read) };
    let compute = |entry: &&naga::EntryPoint| entry.stage == naga::ShaderStage::Compute;
    let Some(entry) = module.entry_points.iter().filter(compute).find(|entry| entry.name == ENTRY) else {
        let named: Vec<_> = module.entry_points.iter().filter(compute).map(|e| e.name.as_str()).collect();
        let named = if named.is_empty() { "none".to_owned() } else { named.join(", ") };
        return refuse("entry point", format!("the shader has no compute entry `{ENTRY}`; it has: {named}"));
    };
    if entry.workgroup_size_overrides.is_some() {
        let why = "the shader's depends on an `override`, which has no value here".to_owned();
        return refuse("workgroup_size", why);
    }
    let invocations: u64 = entry.workgroup_size.iter().map(|&n| u64::from(n)).product();
    if invocations != u64::from(workgroup_size) {
        let size = entry.workgroup_size;
        return refuse("workgroup_size", format!("it is {workgroup_size}, but the shader's is {size:?}"));
    }
    let mut input = kernel::Binding::Read;
    for (_, variable) in module.global_variables.iter() {
        let Some(at) = &variable.binding else { continue };
        let written = matches!(variable.space, naga::AddressSpace::Storage { access }
            if access.contains(naga::StorageAccess::STORE));
        let name = variable.name.as_deref().unwrap_or("?");
        match (at.group, at.binding, variable.space) {
            (0, 0, naga::AddressSpace::Uniform) => input = kernel::Binding::Uniform,
            (0, 0, naga::AddressSpace::Storage { .. }) if written => input = kernel::Binding::Write,
            (0, 0, naga::AddressSpace::Storage { .. }) => {}
            (0, 1, naga::AddressSpace::Storage { .. }) if written => {}
            (0, 1, naga::AddressSpace::Storage { .. }) => {
                return refuse("binding 1", format!("the output `{name}` is not declared `read_write`"));
            }
            (group, binding, _) => {
                let why = format!(
                    "the shader declares `{name}` at group {group}, binding {binding}; it may have one input \
                     buffer, at group 0, binding 0, and one output storage buffer, at group 0, binding 1"
                );
                return refuse("bindings", why);
            }
        }
    }
    Ok(input)
}

/// The program that stands for the shader: its buffers and its launch.
fn interface(workgroup_size: u32) -> Result<Checked<Program>, BackendError> {
    let mut arena = Arena::new("raw_wgsl");
    let words = arena.param(Param { name: WORDS.to_owned(), ty: DataType::U32, specialize: false });
    let words = arena.extent(Extent::Param(words));
    let size = arena.extent(Extent::Literal(u64::from(workgroup_size)));
    let groups = arena.extent(Extent::CeilDiv(words, size));
    let one = arena.extent(Extent::Literal(1));
    let mut buffer = |name: &str, access, count| {
        arena.buffer(Buffer {
            name: name.to_owned(),
            element: DataType::U32,
            access,
            count,
            coherent: false,
        });
    };
    buffer("input", Access::ReadOnly, Count::Bytes);
    buffer("output", Access::WriteOnly, Count::Extent(words));
    arena.set_launch(Launch::Workgroups { size: [workgroup_size, 1, 1], count: [groups, one, one] });
    let (program, _) = arena
        .finish()
        .map_err(|error| BackendError::Driver { doing: "describing a shader", message: error.to_string() })?;
    Ok(check(program)?)
}

/// The same for the executor.
fn interface_descriptor(workgroup_size: u32) -> KernelDescriptor {
    let binding = |name: &str, id, access| lowered::Binding {
        name: name.to_owned(),
        role: Role::Buffer(BufferId::new(id)),
        element: DataType::U32,
        access,
        atomic: false,
        coherent: false,
        vector: 1,
        window: None,
    };
    KernelDescriptor {
        name: ENTRY.to_owned(),
        workgroup_size: [workgroup_size, 1, 1],
        grid: GridRule { points: false, run: 1, folded: false },
        bindings: vec![binding("input", 0, Access::ReadOnly), binding("output", 1, Access::WriteOnly)],
        launch: LaunchData { fields: Vec::new(), immediates: false },
        shared: Vec::new(),
        privates: Vec::new(),
        tiles: Vec::new(),
        locals: Vec::new(),
        insts: Vec::new(),
        blocks: vec![Vec::new()],
        unguarded: BTreeMap::new(),
        contract: lowered::Contract::default(),
        needs: CapabilitySet::EMPTY,
        notes: Vec::new(),
        strict_float: false,
    }
}
