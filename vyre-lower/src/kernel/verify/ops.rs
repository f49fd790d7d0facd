//! Ops that no descriptor has, and guards.
//!
//! * An op whose row has no native form.
//! * The signed remainder, and `!=`, `min` and `max` of floats, which drivers compute in their own ways.
//! * Conversions from and to bool, and between integers of one width, which are a select, a comparison and the
//!   same bits.
//! * Minimum, maximum, counts of bits and subgroup ops of 64-bit values.
//! * A shuffle by exclusive or, up or down, which is a shuffle from a lane that was tested.

use vyre_spec::ops::{BinaryOp, CastOp, SubgroupOp, TernaryOp, UnaryOp};
use vyre_spec::{DataType, Value, binary_ops, ternary_ops, unary_ops};

use super::super::{InstId, KernelDescriptor, LaunchField, Op, Proof, TileOp};
use super::{Broken, ensure};

macro_rules! is_native {
    (none) => {
        false
    };
    ($native:ident) => {
        true
    };
}

/// Whether devices have an op, from the `native` column of its row.
macro_rules! native_rows {
    (($function:ident $op:ident) $($variant:ident = $tag:literal $name:ident { ty: $rule:ident($class:ident),
        sym: $sym:literal $prec:literal, rust: $rust:ident, laws: [$($law:ident),*], nan: $nan:ident,
        bound: $bound:ident $(($($b:tt)*))? $({$($bf:tt)*})?, native: $native:ident $(($($nname:ident)*))?,
        lower: $lower:ident, eval: { $($eval:tt)* }, doc: $doc:literal })*) => {
        fn $function(op: $op) -> bool {
            match op { $($op::$variant => is_native!($native),)* }
        }
    };
}
unary_ops!(native_rows(unary_is_native UnaryOp));
binary_ops!(native_rows(binary_is_native BinaryOp));
ternary_ops!(native_rows(ternary_is_native TernaryOp));

/// Checks that devices compute the op as it is meant.
pub(super) fn check(kernel: &KernelDescriptor, id: InstId) -> Result<(), Broken> {
    let Some(inst) = kernel.insts.get(id.index()) else { return Ok(()) };
    let ty = |operand: InstId| kernel.insts.get(operand.index()).and_then(|inst| inst.ty);
    let holds = match inst.op {
        Op::Unary(op, a) => {
            let counts = matches!(
                op,
                UnaryOp::CountOnes | UnaryOp::LeadingZeros | UnaryOp::TrailingZeros | UnaryOp::ReverseBits
            );
            unary_is_native(op) && !(counts && ty(a).is_some_and(is_wide))
        }
        Op::Binary(op, a, _) => {
            let inexact = match ty(a) {
                Some(DataType::F32 | DataType::F64) => {
                    matches!(op, BinaryOp::Ne | BinaryOp::Min | BinaryOp::Max)
                }
                Some(DataType::I32) => op == BinaryOp::Rem,
                Some(DataType::I64) => matches!(op, BinaryOp::Rem | BinaryOp::Min | BinaryOp::Max),
                Some(DataType::U64) => matches!(op, BinaryOp::Min | BinaryOp::Max),
                _ => false,
            };
            binary_is_native(op) && !inexact
        }
        Op::Ternary(op, ..) => ternary_is_native(op),
        Op::Cast(CastOp::Convert, a) => match (ty(a), inst.ty) {
            (Some(from), Some(to)) => {
                let resizes = from.size() != to.size() && from.is_signed_int() == to.is_signed_int();
                let by_value = from.is_float() || to.is_float() || resizes;
                by_value && from != to && from != DataType::Bool && to != DataType::Bool
            }
            _ => false,
        },
        Op::Subgroup { value, .. } if ty(value).is_some_and(is_wide) => false,
        Op::Subgroup { op, .. } => {
            !matches!(op, SubgroupOp::ShuffleXor | SubgroupOp::ShuffleUp | SubgroupOp::ShuffleDown)
        }
        _ => true,
    };
    ensure(holds, id, "lowering legalises what devices lack or get wrong")?;
    match inst.op {
        _ if kernel.unguarded.contains_key(&id) => Ok(()),
        Op::Binary(BinaryOp::Div | BinaryOp::Rem, _, b) if inst.ty.is_some_and(DataType::is_int) => {
            ensure(is_divisor(kernel, b), id, "a divisor is never zero, nor -1 under the least dividend")
        }
        Op::Binary(BinaryOp::Shl | BinaryOp::Shr, _, b) => {
            let width = inst.ty.map_or(32, DataType::width);
            ensure(is_amount(kernel, b, width), id, "a shift's amount is below the width")
        }
        _ => Ok(()),
    }
}

fn op(kernel: &KernelDescriptor, id: InstId) -> Option<Op> {
    kernel.insts.get(id.index()).map(|inst| inst.op)
}

const fn is_wide(ty: DataType) -> bool {
    ty.size() == 8
}

/// A constant.
fn constant(kernel: &KernelDescriptor, id: InstId) -> Option<Value> {
    match op(kernel, id)? {
        Op::Constant(value) => Some(value),
        _ => None,
    }
}

fn is_divisor(kernel: &KernelDescriptor, id: InstId) -> bool {
    let fixed = |id: InstId| {
        constant(kernel, id).and_then(Value::as_int).is_some_and(|number| number != 0 && number != -1)
    };
    match op(kernel, id) {
        Some(Op::Ternary(TernaryOp::Select, _, a, _)) => fixed(a),
        Some(Op::Launch(position)) => {
            matches!(kernel.launch.fields.get(position as usize), Some(LaunchField::WorkgroupCount(_)))
        }
        _ => fixed(id),
    }
}

fn is_amount(kernel: &KernelDescriptor, id: InstId, width: u32) -> bool {
    let below = |id: InstId| constant(kernel, id).is_some_and(|value| value.bits() < u64::from(width));
    match op(kernel, id) {
        Some(Op::Binary(BinaryOp::BitAnd, a, b)) => below(a) || below(b),
        _ => below(id),
    }
}

/// Whether an index is chosen to be 0 out of bounds, or is that of the word with such an element, or of one of its
/// two words.
fn is_selected(kernel: &KernelDescriptor, id: InstId) -> bool {
    let element = match op(kernel, id) {
        Some(Op::Binary(BinaryOp::BitOr, first, _)) => first,
        _ => id,
    };
    let element = match op(kernel, element) {
        Some(Op::Binary(BinaryOp::Shr | BinaryOp::Shl, element, _)) => element,
        _ => element,
    };
    matches!(op(kernel, element), Some(Op::Ternary(TernaryOp::Select, _, _, other))
        if constant(kernel, other).is_some_and(|value| value.bits() == 0))
}

/// Checks that a guarded access has its guard.
pub(super) fn guard(kernel: &KernelDescriptor, id: InstId, under_if: bool) -> Result<(), Broken> {
    match op(kernel, id) {
        Some(Op::Load { index, proof: Proof::Guarded(_), .. }) => ensure(
            is_selected(kernel, index) || under_if,
            id,
            "a guarded load selects its index or stands under an `if`",
        ),
        Some(Op::Store { proof: Proof::Guarded(_), .. } | Op::Atomic { proof: Proof::Guarded(_), .. }) => {
            ensure(under_if, id, "a guarded store or atomic stands under an `if`")
        }
        Some(
            Op::LoadVector { proof: Proof::Guarded(_), .. }
            | Op::StoreVector { proof: Proof::Guarded(_), .. },
        ) => ensure(false, id, "a vector access has a proof"),
        Some(Op::Tile { op: TileOp::Load(m) | TileOp::Store(m), .. }) => {
            ensure(!matches!(m.proof, Proof::Guarded(_)), id, "a tile access has a proof")
        }
        _ => Ok(()),
    }
}
