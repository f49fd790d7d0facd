//! A device's ops on values: they panic where the device promises nothing.

use vyre_spec::ops::{BinaryOp, CastOp};
use vyre_spec::{DataType, Value};

/// A device's op: undefined where the device's is.
pub(crate) fn binary(op: BinaryOp, a: Value, b: Value) -> Value {
    let signed = a.ty().is_signed_int();
    if a.ty().is_int() && matches!(op, BinaryOp::Div | BinaryOp::Rem) {
        assert_ne!(b.bits(), 0, "division by zero");
        let least = 1 << (a.ty().width() - 1);
        assert!(!signed || a.bits() != least || b.as_int() != Some(-1), "an overflowing division");
        assert!(op == BinaryOp::Div || !signed, "a signed remainder");
    }
    if matches!(op, BinaryOp::Shl | BinaryOp::Shr) {
        assert!(b.bits() < u64::from(a.ty().width()), "a shift by the width or more");
    }
    let left = [
        BinaryOp::RotateLeft,
        BinaryOp::RotateRight,
        BinaryOp::SaturatingAdd,
        BinaryOp::SaturatingSub,
        BinaryOp::MulHigh,
        BinaryOp::AbsDiff,
    ];
    assert!(!left.contains(&op), "an op that lowering should not leave");
    let is_float = a.ty().is_float();
    assert!(!(is_float && matches!(op, BinaryOp::Ne | BinaryOp::Min | BinaryOp::Max)), "an inexact float op");
    op.eval(a, b).unwrap()
}

/// A device's conversion: undefined where the device's is.
pub(crate) fn cast(op: CastOp, a: Value, to: DataType) -> Value {
    if let (CastOp::Convert, Some(x), true) = (op, a.as_f64(), to.is_int()) {
        let whole = 2f64.powi(to.width() as i32);
        let range = if to.is_signed_int() { -whole / 2.0..whole / 2.0 } else { 0.0..whole };
        assert!(range.contains(&x), "a float out of the integer's range");
    }
    op.eval(a, to).unwrap()
}
