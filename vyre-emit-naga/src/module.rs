//! The whole module of one kernel, and its validation.

use naga::valid::{Capabilities, ModuleInfo, ShaderStages, SubgroupOperationSet, ValidationFlags, Validator};
use naga::{EntryPoint, Module, ShaderStage};
use vyre_lower::kernel::{KernelDescriptor, Op, VerifiedKernel};
use vyre_spec::{Capability, CapabilitySet};

use crate::bindings::{self, EmittedBinding};
use crate::stack::with_stack;
use crate::{EmitError, control};

/// A validated module with one compute entry point.
#[derive(Clone, Debug)]
pub struct Emitted {
    /// The module.
    pub module: Module,
    /// naga's facts about it, which its writers ask for.
    pub info: ModuleInfo,
    /// The entry point's name.
    pub entry_point: String,
    /// The bindings of group 0, by number.
    pub bindings: Vec<EmittedBinding>,
    /// How deep its blocks nest.
    pub nesting: usize,
    /// Whether [`to_spirv`](crate::to_spirv) keeps every float result from contraction.
    pub strict_float: bool,
}

/// Emits a kernel and validates the result with the capabilities that the descriptor says it needs, no more.
///
/// # Errors
///
/// [`EmitError`]; a descriptor that its verifier accepts gives none.
pub fn emit(kernel: &VerifiedKernel) -> Result<Emitted, EmitError> {
    emit_unverified(kernel)
}

/// As [`emit`], of any descriptor.
pub(crate) fn emit_unverified(descriptor: &KernelDescriptor) -> Result<Emitted, EmitError> {
    let mut module = Module::default();
    let (globals, bindings) = bindings::globals(&mut module, descriptor);
    let (function, nesting) = control::function(&mut module, descriptor, &globals)?;
    module.entry_points.push(EntryPoint {
        name: descriptor.name.clone(),
        stage: ShaderStage::Compute,
        early_depth_test: None,
        workgroup_size: descriptor.workgroup_size,
        workgroup_size_overrides: None,
        function,
        mesh_info: None,
        task_payload: None,
        incoming_ray_payload: None,
    });
    let info = with_stack(nesting, || validate(&module, descriptor))
        .map_err(|source| EmitError::Thread { kernel: descriptor.name.clone(), source })??;
    Ok(Emitted {
        module,
        info,
        entry_point: descriptor.name.clone(),
        bindings,
        nesting,
        strict_float: descriptor.strict_float,
    })
}

fn validate(module: &Module, descriptor: &KernelDescriptor) -> Result<ModuleInfo, EmitError> {
    Validator::new(ValidationFlags::all(), capabilities(descriptor))
        .subgroup_stages(ShaderStages::COMPUTE)
        .subgroup_operations(SubgroupOperationSet::all())
        .validate(module)
        .map_err(|source| EmitError::Invalid {
            kernel: descriptor.name.clone(),
            source: Box::new(source),
            text: descriptor.to_string(),
        })
}

/// naga's capabilities for what the descriptor needs.
fn capabilities(descriptor: &KernelDescriptor) -> Capabilities {
    let needs: CapabilitySet = descriptor.needs;
    let mut out = Capabilities::empty();
    out.set(Capabilities::IMMEDIATES, descriptor.launch.immediates);
    // Packing and unpacking of f16, which every device has; that it is exact is found by a probe.
    let halves =
        descriptor.insts.iter().any(|inst| matches!(inst.op, Op::PackHalves(..) | Op::UnpackHalf { .. }));
    out.set(Capabilities::SHADER_FLOAT16_IN_FLOAT32, halves);
    for capability in needs.iter() {
        out |= match capability {
            Capability::Subgroup => Capabilities::SUBGROUP,
            Capability::F16 => Capabilities::SHADER_FLOAT16,
            Capability::Tiles => Capabilities::COOPERATIVE_MATRIX,
            Capability::F64 => Capabilities::FLOAT64,
            Capability::Int64 => Capabilities::SHADER_INT64,
            Capability::AtomicInt64 => Capabilities::SHADER_INT64_ATOMIC_ALL_OPS,
            Capability::AtomicFloat32 => Capabilities::SHADER_FLOAT32_ATOMIC,
            Capability::CoherentStorage => Capabilities::MEMORY_DECORATION_COHERENT,
            // These concern the host and the writers, not the module.
            Capability::Immediates | Capability::Timestamps | Capability::StrictFloat | Capability::Fence => {
                Capabilities::empty()
            }
        };
    }
    out
}
