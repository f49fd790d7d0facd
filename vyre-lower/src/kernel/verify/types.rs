//! Types of operands, results and declarations.

use vyre_spec::{Access, DataType, TileProduct};

use super::super::{ArrayDecl, Inst, InstId, KernelDescriptor, Op, Place, Role, TileOp};
use super::{Broken, ensure, windows};

/// Checks bindings, arrays and launch data.
pub(super) fn declarations(kernel: &KernelDescriptor) -> Result<(), Broken> {
    let fail = |holds: bool, rule: &'static str| if holds { Ok(()) } else { Err((None, rule)) };
    let launch = kernel.bindings.iter().filter(|b| b.role == Role::LaunchData).count();
    let wanted = usize::from(!kernel.launch.immediates && !kernel.launch.fields.is_empty());
    fail(launch == wanted, "launch data that are no immediates have one binding")?;
    fail(kernel.bindings.iter().filter(|b| b.role == Role::Trap).count() <= 1, "there is one trap record")?;
    fail(
        kernel.bindings.iter().filter(|b| b.role == Role::Scratch).count() <= 1,
        "there is one scratch memory",
    )?;
    for binding in &kernel.bindings {
        fail(in_memory(binding.element), "elements in memory are device types, and not bool")?;
        let shape = match binding.role {
            Role::Buffer(_) => binding.access != Access::Uniform,
            Role::LaunchData => binding.element == DataType::U32 && binding.access == Access::Uniform,
            Role::Counts => binding.element == DataType::U32 && binding.access == Access::ReadOnly,
            Role::Scratch => {
                binding.element == DataType::U32 && binding.access == Access::ReadWrite && !binding.atomic
            }
            Role::Trap => binding.element == DataType::U32 && binding.atomic,
        };
        fail(shape, "a binding has the shape of its role")?;
        let fits = matches!(binding.vector, 2 | 4) && binding.vector * binding.element.size() <= 16;
        let vectors =
            binding.vector == 1 || (fits && !binding.atomic && matches!(binding.role, Role::Buffer(_)));
        fail(
            vectors,
            "vectors are of two or four elements and at most 16 bytes, in buffers without atomics",
        )?;
    }
    fail(
        windows::follow(kernel),
        "windows are parts of a buffer, one after the other, a power of two of bytes each",
    )?;
    for array in kernel.shared.iter().chain(&kernel.privates) {
        let fits = in_memory(array.element) && array.len > 0;
        fail(fits, "arrays have elements of device types, and not bool")?;
    }
    let vectors = |a: &ArrayDecl| {
        a.vector == 4 && !a.atomic && in_vectors_of_four(a.element) && a.len.is_multiple_of(4)
    };
    fail(
        kernel.shared.iter().all(|a| a.vector == 1 || vectors(a))
            && kernel.privates.iter().all(|a| a.vector == 1),
        "vectors are of four words or 16-bit floats, in shared arrays of a multiple of them without atomics",
    )?;
    fail(kernel.shared.iter().all(|a| !a.zero), "shared arrays are zeroed by instructions")?;
    fail(kernel.privates.iter().all(|a| !a.atomic), "private arrays are not atomic")?;
    fail(!kernel.workgroup_size.contains(&0), "a workgroup has invocations")
}

/// Whether devices compute with the type: the others are legalised.
const fn is_device_type(ty: DataType) -> bool {
    matches!(ty, DataType::Bool) || ty.size() >= 4
}

const fn in_memory(ty: DataType) -> bool {
    is_device_type(ty) && !matches!(ty, DataType::Bool) || matches!(ty, DataType::F16)
}

const fn in_vectors_of_four(element: DataType) -> bool {
    element.size() == 4 || matches!(element, DataType::F16)
}

/// The type of values that are elements of this type in memory.
const fn carried(element: DataType) -> DataType {
    if matches!(element, DataType::F16) { DataType::F32 } else { element }
}

/// An array as an instruction meets it; the element is as values are.
struct Array {
    stored: DataType,
    element: DataType,
    atomic: bool,
    writable: bool,
}

fn array(kernel: &KernelDescriptor, place: Place) -> Option<Array> {
    match place {
        Place::Binding(n) => kernel.bindings.get(n as usize).map(|b| Array {
            stored: b.element,
            element: carried(b.element),
            atomic: b.atomic,
            writable: b.access.is_output(),
        }),
        Place::Shared(n) => kernel.shared.get(n as usize).map(|a| Array {
            stored: a.element,
            element: carried(a.element),
            atomic: a.atomic,
            writable: true,
        }),
        Place::Private(n) => kernel.privates.get(n as usize).map(|a| Array {
            stored: a.element,
            element: carried(a.element),
            atomic: a.atomic,
            writable: true,
        }),
    }
}

/// The elements of a vector of a place; 1 unless it is a binding or shared array that is one of vectors.
fn width(kernel: &KernelDescriptor, place: Place) -> u32 {
    match place {
        Place::Binding(n) => kernel.bindings.get(n as usize).map_or(1, |b| b.vector),
        Place::Shared(n) => kernel.shared.get(n as usize).map_or(1, |a| a.vector),
        Place::Private(_) => 1,
    }
}

/// Checks the types of one instruction, whose operands exist.
pub(super) fn check(kernel: &KernelDescriptor, id: InstId) -> Result<(), Broken> {
    let Some(inst) = kernel.insts.get(id.index()) else { return Ok(()) };
    let ty = |operand: InstId| kernel.insts.get(operand.index()).and_then(|inst| inst.ty);
    let is = |operand: InstId, wanted: DataType| ty(operand) == Some(wanted);
    ensure(inst.ty.is_none_or(is_device_type), id, "values have device types")?;
    let vector = |operand: InstId| {
        matches!(kernel.insts.get(operand.index()), Some(Inst { op: Op::LoadVector { .. }, .. }))
    };
    let parts = matches!(inst.op, Op::Part { .. });
    ensure(parts || !inst.op.operands().any(vector), id, "only parts read a vector")?;
    ensure(windows::holds(kernel, inst.op), id, "an index into a window is masked to it")?;
    let result = match inst.op {
        Op::Constant(value) => {
            ensure(value.is_finite(), id, "a float constant is finite")?;
            Some(value.ty())
        }
        Op::Launch(position) => {
            ensure((position as usize) < kernel.launch.fields.len(), id, "a word of launch data exists")?;
            let word = inst.ty.is_some_and(|ty| in_memory(ty) && ty.size() == 4);
            ensure(word, id, "launch data are words")?;
            inst.ty
        }
        Op::WorkgroupId(_)
        | Op::LocalId(_)
        | Op::LocalIndex
        | Op::SubgroupLane
        | Op::SubgroupId
        | Op::SubgroupSize => Some(DataType::U32),
        Op::Unary(op, a) => ty(a).and_then(|a| op.rule().result(a)),
        Op::Binary(op, a, b) => ty(a).zip(ty(b)).and_then(|(a, b)| op.rule().result(a, b)),
        Op::Ternary(op, a, b, c) => {
            ty(a).zip(ty(b)).zip(ty(c)).and_then(|((a, b), c)| op.rule().result(a, b, c))
        }
        Op::Cast(op, a) => inst.ty.filter(|&to| ty(a).is_some_and(|from| op.allows(from, to))),
        Op::Load { place, index, .. } => {
            ensure(is(index, DataType::U32), id, "an index is u32")?;
            array(kernel, place).map(|array| array.element)
        }
        Op::LoadVector { place, index, .. } => {
            ensure(is(index, DataType::U32), id, "an index is u32")?;
            ensure(width(kernel, place) > 1, id, "vectors are loaded and stored in arrays of vectors")?;
            array(kernel, place).map(|array| array.element)
        }
        Op::Part { vector, part } => {
            let loaded = match kernel.insts.get(vector.index()).map(|inst| inst.op) {
                Some(Op::LoadVector { place, .. }) => part < width(kernel, place),
                _ => false,
            };
            ensure(loaded, id, "a part is one of a loaded vector")?;
            ty(vector)
        }
        Op::StoreVector { place, index, values, width: stored, .. } => {
            let array = array(kernel, place);
            ensure(is(index, DataType::U32), id, "an index is u32")?;
            let whole = stored > 1 && stored == width(kernel, place);
            ensure(whole, id, "vectors are loaded and stored in arrays of vectors")?;
            ensure(array.as_ref().is_some_and(|a| a.writable), id, "what is stored to is writable")?;
            let mut elements = values.into_iter().take(stored as usize);
            let fits = array.is_some_and(|a| elements.all(|value| is(value, a.element)));
            ensure(fits, id, "a stored value has the element's type")?;
            return ensure(inst.ty.is_none(), id, "an effect has no value");
        }
        Op::Store { place, index, value, .. } => {
            let array = array(kernel, place);
            ensure(is(index, DataType::U32), id, "an index is u32")?;
            ensure(array.as_ref().is_some_and(|a| a.writable), id, "what is stored to is writable")?;
            ensure(array.is_some_and(|a| is(value, a.element)), id, "a stored value has the element's type")?;
            return ensure(inst.ty.is_none(), id, "an effect has no value");
        }
        Op::Atomic { op, place, index, value, expected, .. } => {
            let array = array(kernel, place);
            ensure(is(index, DataType::U32), id, "an index is u32")?;
            ensure(
                array.as_ref().is_some_and(|a| a.writable && a.atomic),
                id,
                "atomics meet atomic elements",
            )?;
            let element = array.map(|a| a.element).filter(|&e| op.rule().elements().contains(e));
            ensure(element.is_some_and(|e| is(value, e)), id, "an operand has the element's type")?;
            ensure(
                expected.is_some() == op.rule().takes_expected(),
                id,
                "a compare-exchange has an expected element",
            )?;
            let fits = expected.is_none_or(|x| element.is_some_and(|e| is(x, e)));
            ensure(fits, id, "an expected element has the element's type")?;
            element
        }
        Op::UnpackHalf { word, part } => {
            ensure(is(word, DataType::U32) && part < 2, id, "a half is one of two in a u32")?;
            Some(DataType::F32)
        }
        Op::PackHalves(a, b) => {
            ensure(is(a, DataType::F32) && is(b, DataType::F32), id, "halves are packed from f32")?;
            Some(DataType::U32)
        }
        Op::Get(local) => kernel.locals.get(local.index()).copied(),
        Op::Set(local, value) => {
            let fits = kernel.locals.get(local.index()).is_some_and(|&ty| is(value, ty));
            ensure(fits, id, "a local keeps its type")?;
            return ensure(inst.ty.is_none(), id, "an effect has no value");
        }
        Op::If { condition, .. } => {
            ensure(is(condition, DataType::Bool), id, "a condition is bool")?;
            return ensure(inst.ty.is_none(), id, "an effect has no value");
        }
        Op::Loop { .. } | Op::Break | Op::Continue | Op::Return | Op::Barrier { .. } | Op::Fence { .. } => {
            return ensure(inst.ty.is_none(), id, "an effect has no value");
        }
        Op::Tile { tile, op } => {
            tile_op(kernel, id, tile, op)?;
            return ensure(inst.ty.is_none(), id, "an effect has no value");
        }
        Op::Subgroup { op, value, lane } => {
            ensure(lane.is_some() == op.rule().takes_lane(), id, "shuffles, and only they, name a lane")?;
            ensure(lane.is_none_or(|lane| is(lane, DataType::U32)), id, "a lane is u32")?;
            ty(value).filter(|&ty| op.rule().operands().contains(ty))
        }
    };
    ensure(result.is_some() && result == inst.ty, id, "types follow the op's row")
}

/// Checks a tile op.
fn tile_op(kernel: &KernelDescriptor, id: InstId, tile: u32, op: TileOp) -> Result<(), Broken> {
    let ty = |tile: u32| kernel.tiles.get(tile as usize).copied();
    let is = |operand: InstId, wanted: DataType| {
        kernel.insts.get(operand.index()).is_some_and(|inst| inst.ty == Some(wanted))
    };
    let Some(own) = ty(tile) else { return ensure(false, id, "a tile is in the table") };
    match op {
        TileOp::Zero => Ok(()),
        TileOp::Load(memory) | TileOp::Store(memory) => {
            let words = is(memory.index, DataType::U32) && is(memory.stride, DataType::U32);
            ensure(words, id, "an index and a stride are u32")?;
            let array = array(kernel, memory.place).filter(|a| a.stored == own.element && !a.atomic);
            let array = array.filter(|_| !matches!(memory.place, Place::Private(_)));
            ensure(array.is_some(), id, "tiles are in arrays of their element type that a subgroup shares")?;
            let writable = array.is_some_and(|a| a.writable) || matches!(op, TileOp::Load(_));
            ensure(writable, id, "what is stored to is writable")
        }
        TileOp::MultiplyAdd(a, b, c) => {
            let product = ty(a).zip(ty(b)).and_then(|(a, b)| TileProduct::of(a, b, own));
            ensure(product.is_some() && ty(c) == Some(own), id, "the tiles of a product fit")
        }
        TileOp::Add(a, b) | TileOp::Subtract(a, b) => {
            ensure([a, b].map(ty) == [Some(own); 2], id, "elementwise ops take tiles of one type")
        }
        TileOp::Scale(a, factor) => {
            ensure(ty(a) == Some(own), id, "elementwise ops take tiles of one type")?;
            ensure(is(factor, DataType::F32), id, "a tile is scaled by an f32")
        }
    }
}
