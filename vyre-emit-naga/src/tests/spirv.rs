//! `NoContraction` on float arithmetic.

use std::collections::BTreeMap;

use super::{Kernel, emitted, spirv_val};
use crate::{SpirvOptions, to_spirv};
use vyre_lower::kernel::Op;
use vyre_spec::ops::{BinaryOp, TernaryOp, UnaryOp};
use vyre_spec::{Access, Capability, DataType};

/// A kernel with 7 float arithmetic results, and others beside them.
fn arithmetic(strict: bool) -> Kernel {
    let mut k = Kernel::new("arithmetic");
    k.d.strict_float = strict;
    let out = k.buffer(DataType::F32, Access::ReadWrite, false);
    let zero = k.constant(0u32);
    let one = k.constant(1u32);
    let index = k.binary(BinaryOp::Add, zero, one, DataType::U32);
    let x = k.load(out, index, DataType::F32);
    let y = k.load(out, zero, DataType::F32);
    let mut z = x;
    for op in [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div] {
        z = k.binary(op, z, y, DataType::F32);
    }
    z = k.inst(Op::Unary(UnaryOp::Neg, z), DataType::F32);
    z = k.inst(Op::Ternary(TernaryOp::Fma, z, x, y), DataType::F32);
    z = k.binary(BinaryOp::Mul, z, z, DataType::F32);
    z = k.inst(Op::Unary(UnaryOp::Sqrt, z), DataType::F32);
    k.store(out, zero, z);
    k
}

/// The ops of the results that carry the decoration 42, with how many there are of each.
fn decorated(words: &[u32]) -> BTreeMap<u32, usize> {
    let mut ids = Vec::new();
    let mut ops = BTreeMap::new();
    let mut at = 5;
    while at < words.len() {
        let (len, op) = ((words[at] >> 16) as usize, words[at] & 0xFFFF);
        if op == 71 && words[at + 2] == 42 {
            ids.push(words[at + 1]);
        } else if len > 2 && ids.contains(&words[at + 2]) {
            *ops.entry(op).or_insert(0) += 1;
        }
        at += len;
    }
    ops
}

#[test]
fn strict_kernels_decorate_float_arithmetic_and_nothing_else() {
    let words = to_spirv(&emitted(&arithmetic(true)), &SpirvOptions::default()).unwrap();
    spirv_val(&words);
    // OpFNegate, OpFAdd, OpFSub, OpFMul, OpFDiv, and OpExtInst for the fma but not for the square root.
    let expected = BTreeMap::from([(12, 1), (127, 1), (129, 1), (131, 1), (133, 2), (136, 1)]);
    assert_eq!(decorated(&words), expected);
}

#[test]
fn relaxed_kernels_are_as_naga_wrote_them() {
    let relaxed = to_spirv(&emitted(&arithmetic(false)), &SpirvOptions::default()).unwrap();
    assert!(decorated(&relaxed).is_empty());
    let strict = to_spirv(&emitted(&arithmetic(true)), &SpirvOptions::default()).unwrap();
    assert_eq!(strict.len(), relaxed.len() + 7 * 3);
}

#[test]
fn a_coherent_buffer_is_decorated_and_a_fence_is_of_the_device() {
    let mut k = Kernel::new("coherent");
    k.buffer(DataType::U32, Access::ReadWrite, false);
    let out = k.buffer(DataType::U32, Access::ReadWrite, false);
    k.d.bindings[1].coherent = true;
    k.d.needs = k.d.needs.with(Capability::CoherentStorage).with(Capability::Fence);
    let zero = k.constant(0u32);
    k.store(out, zero, zero);
    k.inst(Op::Fence { storage: true, workgroup: false }, None);
    let module = emitted(&k);
    let wgsl = crate::to_wgsl(&module).unwrap();
    assert_eq!(wgsl.matches("@coherent var").count(), 1, "{wgsl}");
    let words = to_spirv(&module, &SpirvOptions::default()).unwrap();
    spirv_val(&words);
    let (mut coherent, mut fences, mut constants, mut at) = (0, Vec::new(), BTreeMap::new(), 5);
    while at < words.len() {
        let (len, op) = ((words[at] >> 16) as usize, words[at] & 0xFFFF);
        match op {
            71 if words[at + 2] == 23 => coherent += 1,
            43 => drop(constants.insert(words[at + 2], words[at + 3])),
            225 => fences.push((words[at + 1], words[at + 2])),
            _ => {}
        }
        at += len;
    }
    assert_eq!(coherent, 1);
    let fences: Vec<_> = fences.iter().map(|(scope, order)| (constants[scope], constants[order])).collect();
    // Scope Device; AcquireRelease and UniformMemory.
    assert_eq!(fences, [(1, 0x48)]);
}

#[test]
fn the_same_descriptor_gives_the_same_words() {
    let options = SpirvOptions { names: true, ..SpirvOptions::default() };
    let first = to_spirv(&emitted(&arithmetic(true)), &options).unwrap();
    assert_eq!(first, to_spirv(&emitted(&arithmetic(true)), &options).unwrap());
}
