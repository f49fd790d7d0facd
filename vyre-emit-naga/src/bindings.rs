//! Global variables: bindings, launch data and shared arrays.

use naga::{
    AddressSpace, GlobalVariable, Handle, MemoryDecorations, Module, ResourceBinding, Span, StorageAccess,
    StructMember, Type, TypeInner,
};
use vyre_lower::kernel::{Binding, KernelDescriptor, LaunchField, Role};
use vyre_spec::{Access, DataType};

use crate::types;

/// One binding of group 0 of an emitted module; its position in the list is its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmittedBinding {
    /// What is bound.
    pub role: Role,
    /// The kind of binding that the pipeline layout needs.
    pub kind: BindingKind,
}

/// The kind of a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindingKind {
    /// A storage buffer that the kernel only reads.
    ReadOnlyStorage,
    /// A storage buffer that the kernel writes.
    Storage,
    /// A uniform buffer.
    Uniform {
        /// Its size in bytes.
        bytes: u32,
    },
}

/// The kind of a descriptor's binding. A `Uniform` buffer of the program is read-only storage: an array in
/// uniform memory has a stride of 16 bytes, and ours are contiguous.
fn kind_of(binding: &Binding, descriptor: &KernelDescriptor) -> BindingKind {
    match (binding.role, binding.access) {
        (Role::LaunchData, _) => BindingKind::Uniform {
            bytes: 4 * u32::try_from(descriptor.launch.fields.len()).unwrap_or(u32::MAX),
        },
        (_, Access::ReadOnly | Access::Uniform) => BindingKind::ReadOnlyStorage,
        (_, Access::ReadWrite | Access::WriteOnly) => BindingKind::Storage,
    }
}

/// The module's globals, by what they stand for.
pub(crate) struct Globals {
    pub(crate) bindings: Vec<Handle<GlobalVariable>>,
    pub(crate) shared: Vec<Handle<GlobalVariable>>,
    pub(crate) launch: Option<Handle<GlobalVariable>>,
}

/// Adds the globals of `descriptor` to `module`.
pub(crate) fn globals(module: &mut Module, descriptor: &KernelDescriptor) -> (Globals, Vec<EmittedBinding>) {
    let mut out = Globals { bindings: Vec::new(), shared: Vec::new(), launch: None };
    let mut emitted = Vec::new();
    let launch_type = |module: &mut Module| launch_struct(module, &descriptor.launch.fields);
    for (number, binding) in (0u32..).zip(&descriptor.bindings) {
        let kind = kind_of(binding, descriptor);
        let (space, ty) = match kind {
            BindingKind::Uniform { .. } => (AddressSpace::Uniform, launch_type(module)),
            BindingKind::ReadOnlyStorage => {
                (AddressSpace::Storage { access: StorageAccess::LOAD }, elements(module, binding))
            }
            BindingKind::Storage => (
                AddressSpace::Storage { access: StorageAccess::LOAD | StorageAccess::STORE },
                elements(module, binding),
            ),
        };
        let handle = add(module, binding.name.clone(), space, ty, Some(number));
        if binding.coherent {
            module.global_variables.get_mut(handle).memory_decorations |= MemoryDecorations::COHERENT;
        }
        if binding.role == Role::LaunchData {
            out.launch = Some(handle);
        }
        out.bindings.push(handle);
        emitted.push(EmittedBinding { role: binding.role, kind });
    }
    if descriptor.launch.immediates && !descriptor.launch.fields.is_empty() {
        let ty = launch_type(module);
        out.launch = Some(add(module, "launch".to_owned(), AddressSpace::Immediate, ty, None));
    }
    for array in &descriptor.shared {
        let ty = if array.vector > 1 {
            types::vectors(module, array.element, array.vector, Some(array.len / array.vector))
        } else {
            types::array(module, array.element, array.atomic, Some(array.len))
        };
        out.shared.push(add(module, array.name.clone(), AddressSpace::WorkGroup, ty, None));
    }
    (out, emitted)
}

/// The array of a storage binding.
fn elements(module: &mut Module, binding: &Binding) -> Handle<Type> {
    if binding.vector > 1 {
        types::vectors(module, binding.element, binding.vector, None)
    } else {
        types::array(module, binding.element, binding.atomic, None)
    }
}

/// Adds one global.
fn add(
    module: &mut Module,
    name: String,
    space: AddressSpace,
    ty: Handle<Type>,
    binding: Option<u32>,
) -> Handle<GlobalVariable> {
    let variable = GlobalVariable {
        name: Some(name),
        space,
        binding: binding.map(|binding| ResourceBinding { group: 0, binding }),
        ty,
        init: None,
        memory_decorations: MemoryDecorations::empty(),
    };
    module.global_variables.append(variable, Span::UNDEFINED)
}

/// The struct of launch data: one `u32` word per field.
fn launch_struct(module: &mut Module, fields: &[LaunchField]) -> Handle<Type> {
    let word = types::value(module, DataType::U32);
    let mut offset = 0;
    let mut members = Vec::with_capacity(fields.len());
    for field in fields {
        members.push(StructMember { name: Some(field_name(*field)), ty: word, binding: None, offset });
        offset += 4;
    }
    let inner = TypeInner::Struct { members, span: offset };
    module.types.insert(Type { name: Some("LaunchData".to_owned()), inner }, Span::UNDEFINED)
}

fn field_name(field: LaunchField) -> String {
    match field {
        LaunchField::Param(id) => format!("param_{}", id.raw()),
        LaunchField::ParamHigh(id) => format!("param_{}_high", id.raw()),
        LaunchField::Length(id) => format!("length_{}", id.raw()),
        LaunchField::Extent(axis) => format!("extent_{}", axis.name()),
        LaunchField::WorkgroupCount(axis) => format!("workgroups_{}", axis.name()),
        LaunchField::GridCount(axis) => format!("grid_{}", axis.name()),
        LaunchField::LoopVar(number) => format!("loop_{number}"),
        LaunchField::LoopVarHigh(number) => format!("loop_{number}_high"),
        LaunchField::Zero => "zero".to_owned(),
    }
}
