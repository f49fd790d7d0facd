//! Which types a device has.

use vyre_foundation::check::Checked;
use vyre_foundation::ir::{Expr, ExprId, Node, Program};
use vyre_spec::{Capability, CapabilitySet, DataType, DeviceProfile};

use crate::error::LowerError;

/// What a device needs for values of a type. 64-bit integers are pairs of words where it has none.
pub(crate) fn needed(ty: DataType) -> CapabilitySet {
    match ty {
        // Its bits are looked at as integers.
        DataType::F64 => CapabilitySet::EMPTY.with(Capability::Int64).with(Capability::F64),
        _ => CapabilitySet::EMPTY,
    }
}

/// Refuses a program with a type that the device has not, naming the first op or array that has it.
pub(crate) fn check(program: &Checked<Program>, profile: &DeviceProfile) -> Result<(), LowerError> {
    let missing = |ty: DataType| needed(ty).iter().find(|&c| !profile.capabilities.contains(c));
    let refuse = |op: String, ty: DataType, missing: Capability| {
        let device = profile.name.clone();
        Err(LowerError::Unsupported { op, ty: Some(ty), device, missing: Some(missing) })
    };
    let facts = program.facts();
    for (i, expr) in program.exprs().iter().enumerate() {
        let ty = facts.type_of(ExprId::new(i as u32));
        if let Some(capability) = missing(ty) {
            return refuse(describe(expr), ty, capability);
        }
    }
    let buffers = program.buffers().iter().map(|b| (&b.name, b.element));
    let arrays = program.shared().iter().chain(program.privates()).map(|a| (&a.name, a.element));
    for (name, ty) in buffers.chain(arrays) {
        if let Some(capability) = missing(ty) {
            return refuse(format!("the array `{name}`"), ty, capability);
        }
    }
    let has = |c: Capability| profile.capabilities.contains(c);
    for node in program.nodes() {
        if let Node::Atomic { op, place, .. } = *node {
            let element = program.place(place).1;
            if element.size() == 8 && !has(Capability::AtomicInt64) {
                return refuse(op.name().to_owned(), element, Capability::AtomicInt64);
            }
        }
    }
    Ok(())
}

fn describe(expr: &Expr) -> String {
    match *expr {
        Expr::Unary(op, _) => op.name().to_owned(),
        Expr::Binary(op, ..) => op.name().to_owned(),
        Expr::Ternary(op, ..) => op.name().to_owned(),
        Expr::Cast(op, ..) => op.name().to_owned(),
        Expr::Literal(_) => "a literal".to_owned(),
        Expr::Param(_) => "a parameter".to_owned(),
        Expr::BuiltIn(_) | Expr::Length(_) => "a built-in value".to_owned(),
        Expr::Result(_) => "a load, atomic or variable".to_owned(),
        Expr::LoopVar(_) => "a loop variable".to_owned(),
    }
}
