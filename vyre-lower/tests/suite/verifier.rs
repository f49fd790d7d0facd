//! The verifier refuses what breaks each of its invariants. Each case damages a lowered kernel that it
//! accepts.

use vyre_foundation::build::Kernel;
use vyre_lower::kernel::{BlockId, Inst, InstId, KernelDescriptor, LocalId, Op, Place, Proof, verify};
use vyre_lower::lower;
use vyre_spec::ops::{BinaryOp, UnaryOp};
use vyre_spec::{Access, CompileOptions, DataType, Value};

use crate::interpreter::profile;

fn kernel() -> KernelDescriptor {
    let program = Kernel::build("sample", |k| {
        let x = k.read_only::<i32>("x");
        let y = k.read_write::<i32>("y");
        let counts = k.read_write::<u32>("counts");
        k.domain([y.len()], |[i]| {
            let sum = k.var("sum", 0i32);
            k.for_(0u32, i, |j| {
                sum.set(sum.get() + x.load(j) / x.load(j + 1));
                k.if_(sum.get().gt(100), || k.break_());
            });
            y.store(i + 1, sum.get() << i);
            counts.atomic_add(i, 1);
        });
    })
    .unwrap();
    (*lower(&program, &profile(), &CompileOptions::default()).unwrap()).clone()
}

/// The first instruction for which `wanted` holds.
fn find(kernel: &KernelDescriptor, wanted: impl Fn(&Op) -> bool) -> InstId {
    InstId(kernel.insts.iter().position(|inst| wanted(&inst.op)).unwrap() as u32)
}

/// Appends an instruction to a block.
fn append(kernel: &mut KernelDescriptor, block: BlockId, op: Op, ty: Option<DataType>) -> InstId {
    kernel.insts.push(Inst { op, ty });
    let id = InstId(kernel.insts.len() as u32 - 1);
    kernel.blocks[block.index()].push(id);
    id
}

/// Checks that the damage is refused for a reason that has these words.
fn refused(words: &str, damage: impl FnOnce(&mut KernelDescriptor)) {
    let mut kernel = kernel();
    damage(&mut kernel);
    let error = verify(kernel).expect_err(words);
    assert!(error.rule.contains(words), "{error}, where it should say: {words}");
}

#[test]
fn what_lowering_writes_is_accepted() {
    verify(kernel()).unwrap();
}

#[test]
fn tables_fit_together() {
    refused("block 0", |k| k.blocks.clear());
    refused("dominate", |k| {
        append(k, BlockId(0), Op::Unary(UnaryOp::Not, InstId(9_999)), Some(DataType::U32));
    });
    refused("at one place", |k| {
        let first = k.blocks[0][0];
        k.blocks[0].push(first);
    });
    refused("belongs to one instruction", |k| {
        let Op::Loop { body, .. } = k.insts[find(k, |op| matches!(op, Op::Loop { .. })).index()].op else {
            panic!()
        };
        append(k, BlockId(0), Op::Loop { body, continuing: BlockId(0) }, None);
    });
    refused("row", |k| {
        append(k, BlockId(0), Op::Get(LocalId(77)), Some(DataType::U32));
    });
    refused("launch data", |k| k.launch.immediates = true);
    refused("workgroup", |k| k.workgroup_size[1] = 0);
}

#[test]
fn values_do_not_leave_their_blocks() {
    refused("dominate", |k| {
        let inner = find(k, |op| matches!(op, Op::Load { .. }));
        append(k, BlockId(0), Op::Unary(UnaryOp::Neg, inner), Some(DataType::I32));
    });
    refused("dominate", |k| {
        // From a loop's body to its continuing block.
        let Op::Loop { body, continuing } = k.insts[find(k, |op| matches!(op, Op::Loop { .. })).index()].op
        else {
            panic!()
        };
        let value =
            k.blocks[body.index()].iter().copied().find(|id| k.insts[id.index()].ty == Some(DataType::I32));
        append(k, continuing, Op::Unary(UnaryOp::Neg, value.unwrap()), Some(DataType::I32));
    });
    refused("set before", |k| {
        k.locals.push(DataType::U32);
        let local = LocalId(k.locals.len() as u32 - 1);
        append(k, BlockId(0), Op::Get(local), Some(DataType::U32));
    });
}

#[test]
fn jumps_stand_in_loops_and_at_ends() {
    refused("in a loop's body", |k| {
        append(k, BlockId(0), Op::Continue, None);
    });
    refused("nothing follows", |k| {
        append(k, BlockId(0), Op::Return, None);
        append(k, BlockId(0), Op::Return, None);
    });
    for jump in [Op::Break, Op::Continue, Op::Return] {
        let words = if jump == Op::Return { "does not return" } else { "in a loop's body" };
        refused(words, |k| {
            let Op::Loop { continuing, .. } = k.insts[find(k, |op| matches!(op, Op::Loop { .. })).index()].op
            else {
                panic!()
            };
            append(k, continuing, jump, None);
        });
    }
}

#[test]
fn types_follow_the_rows() {
    let constant =
        |k: &mut KernelDescriptor, value: Value| append(k, BlockId(0), Op::Constant(value), Some(value.ty()));
    refused("row", |k| {
        let (a, b) = (constant(k, Value::new(1u32)), constant(k, Value::new(1i32)));
        append(k, BlockId(0), Op::Binary(BinaryOp::Add, a, b), Some(DataType::U32));
    });
    refused("row", |k| {
        let a = constant(k, Value::new(1u32));
        append(k, BlockId(0), Op::Binary(BinaryOp::Lt, a, a), Some(DataType::U32));
    });
    refused("finite", |k| {
        constant(k, Value::new(f32::INFINITY));
    });
    refused("condition", |k| {
        let condition = constant(k, Value::new(1u32));
        k.blocks.extend([Vec::new(), Vec::new()]);
        let n = k.blocks.len() as u32;
        append(k, BlockId(0), Op::If { condition, then: BlockId(n - 1), otherwise: BlockId(n - 2) }, None);
    });
    refused("index", |k| {
        let index = constant(k, Value::new(1i32));
        let load = Op::Load { place: Place::Binding(0), index, proof: Proof::Proven("said so") };
        append(k, BlockId(0), load, Some(DataType::I32));
    });
    refused("writable", |k| k.bindings[1].access = Access::ReadOnly);
    refused("atomic elements", |k| k.bindings[2].atomic = false);
    refused("bool", |k| k.bindings[0].element = DataType::Bool);
}

#[test]
fn guards_are_there() {
    refused("guarded load", |k| {
        let zero = append(k, BlockId(0), Op::LocalIndex, Some(DataType::U32));
        let load = Op::Load { place: Place::Binding(0), index: zero, proof: Proof::Guarded("said so") };
        append(k, BlockId(0), load, Some(DataType::I32));
    });
    refused("guarded store", |k| {
        let index = append(k, BlockId(0), Op::LocalIndex, Some(DataType::U32));
        let value = append(k, BlockId(0), Op::Constant(Value::new(1i32)), Some(DataType::I32));
        let store = Op::Store { place: Place::Binding(1), index, value, proof: Proof::Guarded("said so") };
        append(k, BlockId(0), store, None);
    });
    refused("divisor", |k| {
        let index = append(k, BlockId(0), Op::LocalIndex, Some(DataType::U32));
        append(k, BlockId(0), Op::Binary(BinaryOp::Div, index, index), Some(DataType::U32));
    });
    refused("shift", |k| {
        let index = append(k, BlockId(0), Op::LocalIndex, Some(DataType::U32));
        append(k, BlockId(0), Op::Binary(BinaryOp::Shr, index, index), Some(DataType::U32));
    });
    refused("legalises", |k| {
        let index = append(k, BlockId(0), Op::LocalIndex, Some(DataType::U32));
        append(k, BlockId(0), Op::Binary(BinaryOp::SaturatingAdd, index, index), Some(DataType::U32));
    });
}
