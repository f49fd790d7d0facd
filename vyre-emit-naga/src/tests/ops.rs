//! The projections: every native row of the tables, on every type that it accepts.

use super::{Kernel, check_all_forms};
use crate::EmitError;
use crate::module::emit_unverified;
use vyre_lower::kernel::{InstId, Op};
use vyre_spec::ops::{BinaryOp, CastOp, TernaryOp, UnaryOp};
use vyre_spec::{Access, DataType};

/// A kernel with a loaded operand of type `ty`, and what makes a stored word of a result.
struct Probe {
    kernel: Kernel,
    zero: InstId,
    out: vyre_lower::kernel::Place,
}

impl Probe {
    fn new() -> Self {
        let mut kernel = Kernel::new("ops");
        let out = kernel.buffer(DataType::U32, Access::ReadWrite, false);
        let zero = kernel.constant(0u32);
        Self { kernel, zero, out }
    }

    fn operand(&mut self, ty: DataType) -> InstId {
        let word = self.kernel.load(self.out, self.zero, DataType::U32);
        match ty {
            DataType::U32 => word,
            DataType::Bool => self.kernel.cast(CastOp::Convert, word, ty),
            _ => self.kernel.cast(CastOp::Bitcast, word, ty),
        }
    }

    fn keep(&mut self, op: Op, ty: DataType) {
        let result = self.kernel.inst(op, ty);
        let word = match ty {
            DataType::U32 => result,
            DataType::Bool => self.kernel.cast(CastOp::Convert, result, DataType::U32),
            _ => self.kernel.cast(CastOp::Bitcast, result, DataType::U32),
        };
        self.kernel.store(self.out, self.zero, word);
    }
}

/// Lowering leaves no narrower types; kernels with wider ones are tested as lowered.
fn is_word(ty: &DataType) -> bool {
    ty.size() == 4
}

/// Every pure op on every 32-bit type, each in a kernel of its own.
fn probes() -> Vec<(&'static str, Probe)> {
    let mut all = Vec::new();
    for &op in UnaryOp::ALL {
        for ty in op.rule().operands().iter().filter(is_word) {
            let mut p = Probe::new();
            let a = p.operand(ty);
            p.keep(Op::Unary(op, a), op.rule().result(ty).unwrap());
            all.push((op.name(), p));
        }
    }
    for &op in BinaryOp::ALL {
        for ty in op.rule().operands().iter().filter(is_word) {
            let mut p = Probe::new();
            let second = op.rule().second(ty);
            let (a, b) = (p.operand(ty), p.operand(second));
            p.keep(Op::Binary(op, a, b), op.rule().result(ty, second).unwrap());
            all.push((op.name(), p));
        }
    }
    for &op in TernaryOp::ALL {
        for ty in op.rule().operands().iter().filter(is_word) {
            let mut p = Probe::new();
            let first = op.rule().first(ty);
            let (a, b, c) = (p.operand(first), p.operand(ty), p.operand(ty));
            p.keep(Op::Ternary(op, a, b, c), ty);
            all.push((op.name(), p));
        }
    }
    for &op in CastOp::ALL {
        for from in DataType::ALL.into_iter().filter(is_word) {
            for to in DataType::ALL.into_iter().filter(|to| is_word(to) && op.allows(from, *to)) {
                let mut p = Probe::new();
                let a = p.operand(from);
                p.keep(Op::Cast(op, a), to);
                all.push((op.name(), p));
            }
        }
    }
    all
}

#[test]
fn native_ops_are_valid_and_the_others_are_refused_by_name() {
    let mut refused = Vec::new();
    for (name, probe) in probes() {
        match emit_unverified(&probe.kernel.d) {
            Ok(_) => drop(check_all_forms(&probe.kernel)),
            Err(EmitError::NotNative { op, .. }) => {
                assert_eq!(op, name);
                refused.push(op);
            }
            Err(error) => panic!("{name}: {error}"),
        }
    }
    refused.dedup();
    let expected = [
        "first_leading_bit",
        "first_trailing_bit",
        "sign",
        "is_nan",
        "is_inf",
        "is_finite",
        "is_normal",
        "is_negative",
        "fract",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
        "rotate_left",
        "rotate_right",
        "sat_add",
        "sat_sub",
        "mul_high",
        "abs_diff",
        "copysign",
        "pow",
        "atan2",
        "dot4",
        "clamp",
        "mix",
    ];
    assert_eq!(refused, expected);
}
