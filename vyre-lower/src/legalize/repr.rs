//! How values of the program's types stand in device types.
//!
//! Integers of 8 and 16 bits are 32-bit integers of the same sign, always in the range of their own type.
//! 16-bit floats are f32, always numbers of their own type. The other types are themselves.

use vyre_spec::ops::{BinaryOp, CastOp};
use vyre_spec::{DataType, Value};

use super::{half, int};
use crate::kernel::InstId;
use crate::writer::Writer;

/// The type in which the device computes values of a type.
pub(crate) const fn device_type(ty: DataType) -> DataType {
    match ty {
        DataType::U8 | DataType::U16 => DataType::U32,
        DataType::I8 | DataType::I16 => DataType::I32,
        DataType::F16 | DataType::BF16 => DataType::F32,
        other => other,
    }
}

/// Brings a result in the device type into the range and precision of the type itself.
pub(crate) fn wrap(w: &mut Writer, ty: DataType, a: InstId) -> InstId {
    match ty {
        DataType::U8 | DataType::U16 => w.raw_bits(BinaryOp::BitAnd, a, u64::MAX >> (64 - ty.width())),
        DataType::I8 | DataType::I16 => {
            let up = w.raw_lit(BinaryOp::Shl, a, 32 - ty.width());
            w.raw_lit(BinaryOp::Shr, up, 32 - ty.width())
        }
        DataType::F16 | DataType::BF16 => half::round(w, ty, a),
        _ => a,
    }
}

/// The constant of a device type that stands for a value.
fn constant(value: Value) -> Value {
    let ty = value.ty();
    let device = device_type(ty);
    if ty == device {
        value
    } else if let (Some(x), Some(narrow)) = (value.as_f64(), ty.float_format()) {
        let wide = device.float_format().unwrap_or(narrow);
        if value.is_nan() {
            // The payload stays the upper bits of the fraction.
            let payload = value.bits() & (narrow.least_normal() - 1);
            let sign = if value.bits() & narrow.sign() == 0 { 0 } else { wide.sign() };
            let raised = payload << (wide.fraction_bits - narrow.fraction_bits);
            return Value::from_bits(device, sign | wide.infinity() | raised);
        }
        Value::from_f64(device, x)
    } else {
        // Two's complement: the low 32 bits of the sign-extended number.
        Value::from_bits(device, value.as_int().unwrap_or(0) as u64)
    }
}

/// A literal of the program.
pub(crate) fn literal(w: &mut Writer, value: Value) -> InstId {
    w.literal(constant(value))
}

/// A value of at most 32 bits from a word of launch data, which has its bits, zero-extended.
pub(crate) fn from_launch_word(w: &mut Writer, ty: DataType, word: InstId) -> InstId {
    match ty {
        DataType::Bool => {
            let zero = w.lit(0u32);
            w.raw(BinaryOp::Ne, word, zero)
        }
        DataType::I32 | DataType::F32 => w.cast(CastOp::Bitcast, ty, word),
        _ => from_bits(w, ty, word),
    }
}

/// A value of at most 16 bits from its bits, in a u32 that has no others.
pub(super) fn from_bits(w: &mut Writer, ty: DataType, bits: InstId) -> InstId {
    match ty {
        DataType::F16 | DataType::BF16 => half::from_bits(w, ty, bits),
        DataType::I8 | DataType::I16 => {
            let signed = w.bitcast(DataType::I32, bits);
            wrap(w, ty, signed)
        }
        _ => bits,
    }
}

/// The bits of a value of at most 16 bits, in a u32 that has no others.
pub(super) fn to_bits(w: &mut Writer, ty: DataType, a: InstId) -> InstId {
    match ty {
        DataType::F16 | DataType::BF16 => half::to_bits(w, ty, a),
        DataType::I8 | DataType::I16 => {
            let unsigned = w.bitcast(DataType::U32, a);
            int::low_bits(w, unsigned, ty.width())
        }
        _ => a,
    }
}
