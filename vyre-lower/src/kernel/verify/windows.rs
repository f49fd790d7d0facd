//! Parts of buffers that are too large to be bound whole.

use vyre_spec::ops::BinaryOp;

use super::super::{Binding, InstId, KernelDescriptor, Op, Place, Role};

/// Whether every binding that is a window stands after the one before it, and none is alone.
pub(super) fn follow(kernel: &KernelDescriptor) -> bool {
    let all = &kernel.bindings;
    all.iter().enumerate().all(|(i, binding)| {
        let Some(window) = binding.window else { return true };
        let follows = |a: &Binding, b: &Binding| {
            let step = a.window.zip(b.window);
            a.role == b.role && step.is_some_and(|(a, b)| a.bytes == b.bytes && b.index == a.index + 1)
        };
        let before = i.checked_sub(1).and_then(|i| all.get(i));
        matches!(binding.role, Role::Buffer(_))
            && window.bytes.is_power_of_two()
            && window.bytes >= u64::from(binding.element.size()) * u64::from(binding.vector)
            && match window.index {
                0 => all.get(i + 1).is_some_and(|next| follows(binding, next)),
                _ => before.is_some_and(|before| follows(before, binding)),
            }
    })
}

/// Whether an access is sure to be inside its window, if its binding is one.
pub(super) fn holds(kernel: &KernelDescriptor, op: Op) -> bool {
    match op {
        Op::Load { place, index, .. } | Op::Store { place, index, .. } | Op::Atomic { place, index, .. } => {
            in_window(kernel, place, index, false)
        }
        Op::LoadVector { place, index, .. } | Op::StoreVector { place, index, .. } => {
            in_window(kernel, place, index, true)
        }
        _ => true,
    }
}

/// Whether the index of an access is sure to be inside its window, where the binding is one: a constant, or what is
/// left of an index by the window's mask.
fn in_window(kernel: &KernelDescriptor, place: Place, index: InstId, vector: bool) -> bool {
    let Place::Binding(n) = place else { return true };
    let Some((binding, window)) = kernel.bindings.get(n as usize).and_then(|b| Some((b, b.window?))) else {
        return true;
    };
    let unit = u64::from(binding.element.size()) * if vector { u64::from(binding.vector) } else { 1 };
    let units = window.bytes / unit.max(1);
    let constant = |id: InstId| match kernel.insts.get(id.index()).map(|inst| inst.op) {
        Some(Op::Constant(value)) => Some(value.bits()),
        _ => None,
    };
    let masked = match kernel.insts.get(index.index()).map(|inst| inst.op) {
        Some(Op::Binary(BinaryOp::BitAnd, _, mask)) => {
            constant(mask).and_then(|mask| mask.checked_add(1)) == Some(units)
        }
        _ => false,
    };
    masked || units > u64::from(u32::MAX) || constant(index).is_some_and(|at| at < units)
}
