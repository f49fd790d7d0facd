//! Whole kernels: their WGSL is compared with snapshots, their other forms are written and validated.

use super::{Kernel, PROOF, check_all_forms, snapshot};
use crate::module::emit_unverified;
use crate::{BindingKind, EmitError, SpirvOptions, to_spirv, to_wgsl};
use vyre_foundation::ir::{BufferId, ParamId};
use vyre_lower::kernel::{Binding, LaunchField, Op, Role};
use vyre_spec::ops::{AtomicOp, BinaryOp, CastOp, SubgroupOp, TernaryOp, UnaryOp};
use vyre_spec::{Access, Capability, DataType};

const U32: DataType = DataType::U32;
const F32: DataType = DataType::F32;
const BOOL: DataType = DataType::Bool;

fn saxpy(immediates: bool) -> Kernel {
    let mut k = Kernel::new("saxpy");
    k.d.launch.immediates = immediates;
    let x = k.buffer(F32, Access::ReadOnly, false);
    let y = k.buffer(F32, Access::ReadWrite, false);
    if !immediates {
        k.d.bindings.push(Binding {
            name: "launch".into(),
            role: Role::LaunchData,
            element: U32,
            access: Access::Uniform,
            atomic: false,
            coherent: false,
            vector: 1,
            window: None,
        });
    }
    let i = k.global_x();
    let n = k.launch(LaunchField::Length(BufferId::new(0)), U32);
    let inside = k.binary(BinaryOp::Lt, i, n, BOOL);
    let then = k.block(|k| {
        let a = k.launch(LaunchField::Param(ParamId::new(0)), F32);
        let xi = k.load(x, i, F32);
        let yi = k.load(y, i, F32);
        let sum = k.inst(Op::Ternary(TernaryOp::Fma, a, xi, yi), F32);
        k.store(y, i, sum);
    });
    let otherwise = k.block(|_| {});
    k.inst(Op::If { condition: inside, then, otherwise }, None);
    k
}

#[test]
fn saxpy_with_immediates() {
    let emitted = check_all_forms(&saxpy(true));
    let kinds: Vec<_> = emitted.bindings.iter().map(|b| b.kind).collect();
    assert_eq!(kinds, [BindingKind::ReadOnlyStorage, BindingKind::Storage]);
    assert_eq!(naga::valid::ImmediateSlots::size_for_module(&emitted.module), 8);
    snapshot("saxpy_immediates.wgsl", &to_wgsl(&emitted).unwrap());
}

#[test]
fn saxpy_with_a_uniform() {
    let emitted = check_all_forms(&saxpy(false));
    let kinds: Vec<_> = emitted.bindings.iter().map(|b| b.kind).collect();
    let uniform = BindingKind::Uniform { bytes: 8 };
    assert_eq!(kinds, [BindingKind::ReadOnlyStorage, BindingKind::Storage, uniform]);
    snapshot("saxpy_uniform.wgsl", &to_wgsl(&emitted).unwrap());
}

#[test]
fn reduction_in_shared_memory() {
    let mut k = Kernel::new("reduce");
    let input = k.buffer(F32, Access::ReadOnly, false);
    let output = k.buffer(F32, Access::WriteOnly, false);
    let tile = k.shared(F32, 64, false);
    let lane = k.inst(Op::LocalIndex, U32);
    let i = k.global_x();
    let x = k.load(input, i, F32);
    k.store(tile, lane, x);
    let half = k.local(U32);
    let start = k.constant(32u32);
    k.inst(Op::Set(half, start), None);
    let body = k.block(|k| {
        k.inst(Op::Barrier { storage: false, workgroup: true }, None);
        let h = k.inst(Op::Get(half), U32);
        let zero = k.constant(0u32);
        let done = k.binary(BinaryOp::Eq, h, zero, BOOL);
        let then = k.block(|k| {
            k.inst(Op::Break, None);
        });
        let otherwise = k.block(|_| {});
        k.inst(Op::If { condition: done, then, otherwise }, None);
        let takes_part = k.binary(BinaryOp::Lt, lane, h, BOOL);
        let then = k.block(|k| {
            let other = k.binary(BinaryOp::Add, lane, h, U32);
            let a = k.load(tile, lane, F32);
            let b = k.load(tile, other, F32);
            let sum = k.binary(BinaryOp::Add, a, b, F32);
            k.store(tile, lane, sum);
        });
        let otherwise = k.block(|k| {
            k.inst(Op::Continue, None);
        });
        k.inst(Op::If { condition: takes_part, then, otherwise }, None);
    });
    let continuing = k.block(|k| {
        let h = k.inst(Op::Get(half), U32);
        let one = k.constant(1u32);
        let next = k.binary(BinaryOp::Shr, h, one, U32);
        k.inst(Op::Set(half, next), None);
    });
    k.inst(Op::Loop { body, continuing }, None);
    let zero = k.constant(0u32);
    let first = k.binary(BinaryOp::Eq, lane, zero, BOOL);
    let then = k.block(|k| {
        let sum = k.load(tile, zero, F32);
        k.store(output, zero, sum);
    });
    let otherwise = k.block(|k| {
        k.inst(Op::Return, None);
    });
    k.inst(Op::If { condition: first, then, otherwise }, None);
    k.inst(Op::Barrier { storage: true, workgroup: true }, None);
    let emitted = check_all_forms(&k);
    snapshot("reduce.wgsl", &to_wgsl(&emitted).unwrap());
}

#[test]
fn a_fence_orders_memory_and_waits_for_nobody() {
    let mut k = Kernel::new("fence");
    let out = k.buffer(U32, Access::ReadWrite, false);
    let i = k.global_x();
    let one = k.constant(1u32);
    let condition = k.binary(BinaryOp::Lt, i, one, BOOL);
    let then = k.block(|k| {
        k.store(out, i, one);
        k.inst(Op::Fence { storage: true, workgroup: false }, None);
    });
    let otherwise = k.block(|_| {});
    k.inst(Op::If { condition, then, otherwise }, None);
    let emitted = check_all_forms(&k);
    let words = to_spirv(&emitted, &SpirvOptions::default()).unwrap();
    let mut ops = Vec::new();
    let mut at = 5;
    while at < words.len() {
        ops.push(words[at] & 0xFFFF);
        at += words[at] as usize >> 16;
    }
    // OpMemoryBarrier, and no OpControlBarrier.
    assert_eq!(ops.iter().filter(|&&op| op == 225).count(), 1);
    assert!(!ops.contains(&224));
}

#[test]
fn atomics_privates_and_locals() {
    let mut k = Kernel::new("mixed");
    let counts = k.buffer(U32, Access::ReadWrite, true);
    let signed = k.buffer(DataType::I32, Access::ReadWrite, true);
    k.d.bindings.push(Binding {
        name: "trap".into(),
        role: Role::Trap,
        element: U32,
        access: Access::ReadWrite,
        atomic: true,
        coherent: false,
        vector: 1,
        window: None,
    });
    let trap = vyre_lower::kernel::Place::Binding(2);
    let tile = k.shared(U32, 8, true);
    let stack = k.private(F32, 4);
    let flag = k.local(BOOL);
    let zero = k.constant(0u32);
    let one = k.constant(1u32);
    let minus = k.constant(-1i32);
    for op in AtomicOp::ALL.iter().copied() {
        for (place, value, ty) in [(counts, one, U32), (signed, minus, DataType::I32), (tile, one, U32)] {
            let expected = op.rule().takes_expected().then_some(value);
            let old = k.inst(Op::Atomic { op, place, index: zero, value, expected, proof: PROOF }, ty);
            let old = k.cast(CastOp::Convert, old, U32);
            k.store(counts, one, old);
        }
    }
    let plain = k.load(tile, one, U32);
    k.store(tile, zero, plain);
    let x = k.load(stack, zero, F32);
    k.store(stack, one, x);
    let hit = k.binary(BinaryOp::Gt, plain, one, BOOL);
    let hit = k.inst(Op::Unary(UnaryOp::Not, hit), BOOL);
    k.inst(Op::Set(flag, hit), None);
    let read = k.inst(Op::Get(flag), BOOL);
    let then = k.block(|k| {
        k.inst(
            Op::Atomic {
                op: AtomicOp::CompareExchange,
                place: trap,
                index: zero,
                value: one,
                expected: Some(zero),
                proof: PROOF,
            },
            U32,
        );
    });
    let otherwise = k.block(|_| {});
    k.inst(Op::If { condition: read, then, otherwise }, None);
    let emitted = check_all_forms(&k);
    snapshot("mixed.wgsl", &to_wgsl(&emitted).unwrap());
}

#[test]
fn subgroup_ops() {
    let mut k = Kernel::new("subgroups");
    k.d.needs = k.d.needs.with(Capability::Subgroup);
    let out = k.buffer(U32, Access::ReadWrite, false);
    let lane = k.inst(Op::SubgroupLane, U32);
    let size = k.inst(Op::SubgroupSize, U32);
    let number = k.inst(Op::SubgroupId, U32);
    let index = k.binary(BinaryOp::Mul, number, size, U32);
    let truth = k.binary(BinaryOp::Lt, lane, size, BOOL);
    for &op in SubgroupOp::ALL {
        for ty in op.rule().operands().iter().filter(|ty| ty.size() == 4) {
            let value = match ty {
                DataType::Bool => truth,
                U32 => lane,
                ty => k.cast(CastOp::Convert, lane, ty),
            };
            let source = op.rule().takes_lane().then_some(lane);
            let result = k.inst(Op::Subgroup { op, value, lane: source }, ty);
            let result = k.cast(CastOp::Convert, result, U32);
            k.store(out, index, result);
        }
    }
    let emitted = check_all_forms(&k);
    snapshot("subgroups.wgsl", &to_wgsl(&emitted).unwrap());

    k.d.needs = vyre_spec::CapabilitySet::EMPTY;
    let refused = emit_unverified(&k.d).unwrap_err();
    assert!(matches!(refused, EmitError::Invalid { .. }), "{refused}");
}
