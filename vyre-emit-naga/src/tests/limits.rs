//! Depth, nesting and malformed descriptors.

use super::{Kernel, PROOF, emitted, on_small_stack, spirv_val};
use crate::module::emit_unverified;
use crate::{EmitError, SpirvOptions, emit, to_hlsl, to_msl, to_spirv, to_wgsl};
use vyre_foundation::build::Kernel as Builder;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_foundation::opt::optimize;
use vyre_lower::kernel::{BlockId, InstId, LocalId, Op, Place};
use vyre_lower::lower;
use vyre_spec::ops::{AtomicOp, BinaryOp, SubgroupOp};
use vyre_spec::{Access, Capability, CompileOptions, DataType, DeviceProfile, MemoryOrdering, Quirks};

#[test]
fn chains_of_100_000_expressions_need_no_stack() {
    on_small_stack(|| {
        let mut k = Kernel::new("deep");
        let out = k.buffer(DataType::U32, Access::ReadWrite, false);
        let zero = k.constant(0u32);
        let mut x = k.load(out, zero, DataType::U32);
        let one = k.constant(1u32);
        for _ in 0..100_000 {
            x = k.binary(BinaryOp::Add, x, one, DataType::U32);
        }
        k.store(out, zero, x);
        let emitted = emitted(&k);
        spirv_val(&to_spirv(&emitted, &SpirvOptions::default()).unwrap());
        for text in [to_wgsl(&emitted).unwrap(), to_msl(&emitted).unwrap(), to_hlsl(&emitted).unwrap()] {
            assert_eq!(text.matches(" + 1u").count(), 100_000);
            let longest = text.lines().map(str::len).max().unwrap_or(0);
            assert!(longest < 1_000, "a line of {longest} characters: the chain was not cut");
        }
    });
}

/// Optimises, lowers for a device as lavapipe is, emits and writes a program; gives how often the words have
/// each op.
fn ops_of(program: &Checked<Program>) -> impl Fn(u32) -> usize + use<> {
    let mut profile = DeviceProfile { max_immediate_bytes: 128, ..DeviceProfile::reference() };
    profile.capabilities = profile.capabilities.with(Capability::Immediates);
    profile.quirks = Quirks { max_loop_iterations: Some(65_535), splits_fma: true, ..Quirks::default() };
    let options = CompileOptions { launch_contract: true, ..CompileOptions::default() };
    let kernel = lower(&optimize(program), &profile, &options).unwrap();
    let words = to_spirv(&emit(&kernel).unwrap(), &SpirvOptions::default()).unwrap();
    let mut counts = vec![0; 1 << 16];
    let mut at = 5;
    while at < words.len() {
        counts[words[at] as usize & 0xFFFF] += 1;
        at += words[at] as usize >> 16;
    }
    move |op| counts[op as usize]
}

const OP_U_DIV: u32 = 134;
const OP_BITWISE_XOR: u32 = 198;
const OP_CONTROL_BARRIER: u32 = 224;
const OP_LOOP_MERGE: u32 = 246;

/// Branches, loops, variables, shared memory and barriers: 100,000 statements through every stage.
#[test]
fn programs_of_100_000_statements_need_no_stack() {
    on_small_stack(|| {
        let program = Builder::build("long", |k| {
            let x = k.read_only::<u32>("x");
            let y = k.read_write::<u32>("y");
            let tile = k.shared::<u32>("tile", 64);
            k.workgroups([64], [x.len().extent().ceil_div(64)], |group| {
                let me = group.local_index;
                let sum = k.var("sum", me);
                for c in 0..11_200u32 {
                    tile.store(me, sum.get() + c);
                    k.barrier(MemoryOrdering::Workgroup);
                    let other = tile.load((me + c) % 64);
                    k.if_(other.gt(c), || sum.set(other * x.load(me / (other + c))));
                    k.for_(0u32, other, |j| y.store(j + c, j << other));
                }
                y.store(group.global_id[0], sum.get());
            });
        })
        .unwrap();
        assert!(program.nodes().len() > 100_000);
        let count = ops_of(&program);
        // One more of each where lowering writes zeros to the shared array.
        assert!((11_200..=11_201).contains(&count(OP_CONTROL_BARRIER)), "{}", count(OP_CONTROL_BARRIER));
        assert!((11_200..=11_201).contains(&count(OP_LOOP_MERGE)), "{}", count(OP_LOOP_MERGE));
    });
}

/// An expression of 100,000 ops, each the operand of the next, through every stage.
#[test]
fn expressions_100_000_deep_need_no_stack() {
    on_small_stack(|| {
        let program = Builder::build("deep", |k| {
            let y = k.read_write::<u32>("y");
            k.domain([y.len()], |[i]| {
                let value = (0..50_000).fold(y.load(i), |v, _| (v ^ i) / i);
                y.store(i, value);
            });
        })
        .unwrap();
        let count = ops_of(&program);
        assert_eq!((count(OP_U_DIV), count(OP_BITWISE_XOR)), (50_000, 50_000));
    });
}

/// Loops and branches in each other, 256 deep, as many as the checker lets through.
#[test]
fn nesting_of_256_fits_a_thread() {
    fn nest(k: &mut Kernel, out: Place, zero: InstId, depth: u32) {
        if depth == 0 {
            let x = k.load(out, zero, DataType::U32);
            k.store(out, zero, x);
        } else if depth & 1 == 0 {
            let body = k.block(|k| {
                nest(k, out, zero, depth - 1);
                k.inst(Op::Break, None);
            });
            let continuing = k.block(|_| {});
            k.inst(Op::Loop { body, continuing }, None);
        } else {
            let x = k.load(out, zero, DataType::U32);
            let condition = k.binary(BinaryOp::Eq, x, zero, DataType::Bool);
            let then = k.block(|_| {});
            let otherwise = k.block(|k| nest(k, out, zero, depth - 1));
            k.inst(Op::If { condition, then, otherwise }, None);
        }
    }
    let mut k = Kernel::new("nested");
    let out = k.buffer(DataType::U32, Access::ReadWrite, false);
    let zero = k.constant(0u32);
    nest(&mut k, out, zero, 256);
    on_small_stack(move || {
        let emitted = emitted(&k);
        spirv_val(&to_spirv(&emitted, &SpirvOptions::default()).unwrap());
        to_wgsl(&emitted).unwrap();
        to_msl(&emitted).unwrap();
        to_hlsl(&emitted).unwrap();
    });
}

#[test]
fn what_follows_a_jump_is_left_out() {
    let mut k = Kernel::new("jump");
    let out = k.buffer(DataType::U32, Access::ReadWrite, false);
    let zero = k.constant(0u32);
    k.inst(Op::Return, None);
    k.store(out, zero, zero);
    let text = to_wgsl(&emitted(&k)).unwrap();
    assert!(text.contains("return;") && !text.contains("bufferA["), "{text}");
}

fn error(kernel: &Kernel) -> EmitError {
    emit_unverified(&kernel.d).unwrap_err()
}

#[test]
fn malformed_descriptors_are_errors() {
    let mut k = Kernel::new("bad");
    k.inst(Op::Launch(3), DataType::U32);
    assert!(matches!(error(&k), EmitError::Missing { what: "launch word", index: 3, .. }));

    let mut k = Kernel::new("bad");
    k.inst(Op::Binary(BinaryOp::Add, InstId(7), InstId(0)), DataType::U32);
    assert!(matches!(error(&k), EmitError::Undefined { value: InstId(7), .. }));

    let mut k = Kernel::new("bad");
    let zero = k.constant(0u32);
    k.load(Place::Shared(2), zero, DataType::U32);
    assert!(matches!(error(&k), EmitError::Missing { what: "shared array", index: 2, .. }));

    let mut k = Kernel::new("bad");
    k.inst(Op::Get(LocalId(1)), DataType::U32);
    assert!(matches!(error(&k), EmitError::Missing { what: "local", index: 1, .. }));

    let mut k = Kernel::new("bad");
    k.inst(Op::Loop { body: BlockId(9), continuing: BlockId(9) }, None);
    assert!(matches!(error(&k), EmitError::Missing { what: "block", index: 9, .. }));

    let mut k = Kernel::new("bad");
    k.d.blocks[0].push(InstId(4));
    assert!(matches!(error(&k), EmitError::Missing { what: "instruction", index: 4, .. }));

    let mut k = Kernel::new("bad");
    let zero = k.constant(0u32);
    k.inst(Op::Subgroup { op: SubgroupOp::Shuffle, value: zero, lane: None }, DataType::U32);
    assert!(matches!(error(&k), EmitError::Incomplete { what: "a lane", .. }));

    let mut k = Kernel::new("bad");
    let place = k.buffer(DataType::U32, Access::ReadWrite, true);
    let zero = k.constant(0u32);
    let op = AtomicOp::CompareExchange;
    k.inst(Op::Atomic { op, place, index: zero, value: zero, expected: None, proof: PROOF }, DataType::U32);
    assert!(matches!(error(&k), EmitError::Incomplete { what: "an expected value", .. }));

    // A value of one branch read after it.
    let mut k = Kernel::new("bad");
    let truth = k.constant(true);
    let mut inner = InstId(0);
    let out = k.buffer(DataType::U32, Access::ReadWrite, false);
    let zero = k.constant(0u32);
    let then = k.block(|k| inner = k.load(out, zero, DataType::U32));
    let otherwise = k.block(|_| {});
    k.inst(Op::If { condition: truth, then, otherwise }, None);
    k.store(out, zero, inner);
    let refused = error(&k).to_string();
    assert!(
        refused.contains("naga rejects the emitted module") && refused.contains("kernel `bad`"),
        "{refused}"
    );

    // Bool has no layout in buffers.
    let mut k = Kernel::new("bad");
    k.buffer(DataType::Bool, Access::ReadWrite, false);
    assert!(matches!(error(&k), EmitError::Invalid { .. }));
}
