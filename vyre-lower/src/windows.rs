//! Buffers of more bytes than one binding has: bound as several windows.
//!
//! A whole kernel is lowered and verified first, as if every buffer had one binding. Then each access to a buffer
//! with windows becomes a choice between them: the upper bits of its index name the window, the lower bits the
//! element there. Windows have a power of two of bytes, so no element or vector lies in two of them.

use std::collections::BTreeMap;

use vyre_spec::ops::BinaryOp;
use vyre_spec::{CompileOptions, DataType, DeviceProfile, Value};

use crate::error::{LowerError, within};
use crate::kernel::{
    Binding, Block, BlockId, Inst, InstId, KernelDescriptor, LocalId, Op, Place, Role, Window,
};

/// As how many windows each binding is bound; `None` if all are bound whole.
///
/// # Errors
/// If there are more of them than the device binds.
pub(crate) fn counts(
    kernel: &KernelDescriptor,
    options: &CompileOptions,
    profile: &DeviceProfile,
) -> Result<Option<Vec<u32>>, LowerError> {
    let count = |binding: &Binding| match binding.role {
        Role::Buffer(id) => options.windows.get(id.index()).copied().unwrap_or(1).max(1),
        _ => 1,
    };
    let counts: Vec<u32> = kernel.bindings.iter().map(count).collect();
    if counts.iter().all(|&n| n == 1) {
        return Ok(None);
    }
    // A tile may lie in two windows.
    if kernel.insts.iter().any(|inst| matches!(inst.op, Op::Tile { .. })) {
        let op = "a tile op in a program with a buffer above the limit of one binding".to_owned();
        return Err(LowerError::Unsupported { op, ty: None, device: profile.name.clone(), missing: None });
    }
    let storage = kernel.bindings.iter().zip(&counts).filter(|(b, _)| b.role != Role::LaunchData);
    let total = storage.map(|(_, &n)| u64::from(n)).sum();
    let what = "the number of storage bindings, those of buffers in windows counted for each window,";
    within(profile, what, total, profile.max_storage_bindings)?;
    Ok(Some(counts))
}

/// The kernel with `counts` bindings for each of its bindings, each window of `bytes` bytes.
pub(crate) fn split(kernel: &KernelDescriptor, counts: &[u32], bytes: u64) -> KernelDescriptor {
    let mut out = KernelDescriptor { bindings: Vec::new(), ..kernel.clone() };
    let mut spans = Vec::with_capacity(counts.len());
    for (binding, &count) in kernel.bindings.iter().zip(counts) {
        spans.push(Span {
            first: out.bindings.len() as u32,
            count,
            element: u64::from(binding.element.size()),
            vector: u64::from(binding.element.size()) * u64::from(binding.vector),
        });
        let old = Some(Place::Binding(spans.len() as u32 - 1));
        let new = Some(Place::Binding(out.bindings.len() as u32));
        for (note, _) in out.notes.iter_mut().zip(&kernel.notes).filter(|(_, note)| note.place == old) {
            note.place = new;
        }
        if count == 1 {
            out.bindings.push(binding.clone());
            continue;
        }
        out.bindings.extend((0..count).map(|index| Binding {
            name: format!("{}_{index}", binding.name),
            window: Some(Window { index, bytes }),
            ..binding.clone()
        }));
    }
    let mut splitter =
        Splitter { spans, bytes, current: 0, constants: BTreeMap::new(), parts: BTreeMap::new(), out };
    splitter.run();
    splitter.out
}

/// The bindings of one buffer, and the bytes of what an index counts.
#[derive(Clone, Copy)]
struct Span {
    first: u32,
    count: u32,
    element: u64,
    vector: u64,
}

/// An access to a buffer with windows.
#[derive(Clone, Copy)]
struct Access {
    op: Op,
    /// The number of the window, and the index there.
    window: InstId,
    index: InstId,
    /// The type of what it gives, and the locals that take it: one, or one for each part of a vector.
    ty: Option<DataType>,
    results: Option<[LocalId; 4]>,
}

struct Splitter {
    spans: Vec<Span>,
    bytes: u64,
    /// The block that is written.
    current: usize,
    /// Constants that stand before the body.
    constants: BTreeMap<u32, InstId>,
    /// The locals of each vector that is loaded from a window.
    parts: BTreeMap<InstId, [LocalId; 4]>,
    out: KernelDescriptor,
}

impl Splitter {
    fn run(&mut self) {
        for id in (0..self.out.insts.len() as u32).map(InstId) {
            if let (Some((_, span, _)), Op::LoadVector { .. }) =
                (self.target(id), self.out.insts[id.index()].op)
            {
                if span.count > 1 {
                    let ty = self.out.insts[id.index()].ty.unwrap_or(DataType::U32);
                    let locals = std::array::from_fn(|_| self.local(ty));
                    self.parts.insert(id, locals);
                }
            }
        }
        for block in 0..self.out.blocks.len() {
            let insts: Block = std::mem::take(&mut self.out.blocks[block]);
            self.current = block;
            for id in insts {
                self.inst(id);
            }
        }
        let body = std::mem::take(&mut self.out.blocks[0]);
        self.out.blocks[0] = self.constants.values().copied().chain(body).collect();
    }

    /// The index of an access to a binding, the binding's windows, and the bytes that the index counts.
    fn target(&self, id: InstId) -> Option<(InstId, Span, u64)> {
        let (place, index, vector) = match self.out.insts[id.index()].op {
            Op::Load { place, index, .. }
            | Op::Store { place, index, .. }
            | Op::Atomic { place, index, .. } => (place, index, false),
            Op::LoadVector { place, index, .. } | Op::StoreVector { place, index, .. } => {
                (place, index, true)
            }
            _ => return None,
        };
        let Place::Binding(number) = place else { return None };
        let span = *self.spans.get(number as usize)?;
        Some((index, span, if vector { span.vector } else { span.element }))
    }

    /// Writes one instruction of the whole kernel, or what stands for it.
    fn inst(&mut self, id: InstId) {
        let inst = self.out.insts[id.index()];
        if let Op::Part { vector, part } = inst.op {
            let local = self.parts.get(&vector).and_then(|locals| locals.get(part as usize));
            if let Some(&local) = local {
                self.out.insts[id.index()].op = Op::Get(local);
            }
        }
        let Some((index, span, unit)) = self.target(id) else { return self.place(id) };
        let units = (self.bytes / unit).max(1);
        let constant = match self.out.insts.get(index.index()).map(|inst| inst.op) {
            Some(Op::Constant(value)) => Some(value.bits()),
            _ => None,
        };
        // Indices are 32 bits wide: where the first window has as many elements, the others have none.
        if span.count == 1 || units > u64::from(u32::MAX) {
            self.out.insts[id.index()].op = moved(inst.op, span.first, index);
            return self.place(id);
        }
        let results = match (inst.op, inst.ty) {
            (Op::LoadVector { .. }, _) => self.parts.get(&id).copied(),
            (_, Some(ty)) => Some([self.local(ty); 4]),
            _ => None,
        };
        let access = if let Some(constant) = constant {
            // An access that is never in bounds, under a condition that never holds, is to the last window.
            let window = (constant / units).min(u64::from(span.count) - 1) as u32;
            let index = self.constant((constant % units) as u32);
            let access = Access { op: inst.op, window: index, index, ty: inst.ty, results };
            self.leaf(access, span.first + window);
            access
        } else {
            let (log, mask) = (self.constant(units.trailing_zeros()), self.constant((units - 1) as u32));
            let window = self.value(Op::Binary(BinaryOp::Shr, index, log), DataType::U32);
            let index = self.value(Op::Binary(BinaryOp::BitAnd, index, mask), DataType::U32);
            let access = Access { op: inst.op, window, index, ty: inst.ty, results };
            self.choose(access, span.first, 0, span.count);
            access
        };
        if let (Some([local, ..]), Op::Load { .. } | Op::Atomic { .. }) = (access.results, inst.op) {
            self.out.insts[id.index()].op = Op::Get(local);
            self.place(id);
        }
    }

    /// A choice between `count` windows from number `from` on. Halves them, so it nests no deeper than 32.
    fn choose(&mut self, access: Access, first: u32, from: u32, count: u32) {
        if count == 1 {
            return self.leaf(access, first + from);
        }
        let middle = from + count / 2;
        let limit = self.constant(middle);
        let condition = self.value(Op::Binary(BinaryOp::Lt, access.window, limit), DataType::Bool);
        let (then, otherwise) = (self.block(), self.block());
        self.push(Op::If { condition, then, otherwise }, None);
        let outer = self.current;
        self.current = then.index();
        self.choose(access, first, from, count / 2);
        self.current = otherwise.index();
        self.choose(access, first, middle, count - count / 2);
        self.current = outer;
    }

    /// The access to one window.
    fn leaf(&mut self, access: Access, binding: u32) {
        let value = self.push(moved(access.op, binding, access.index), access.ty);
        let Some(locals) = access.results else { return };
        match (access.op, access.ty) {
            (Op::LoadVector { .. }, Some(ty)) => {
                let width = self.out.bindings.get(binding as usize).map_or(1, |b| b.vector);
                for (part, local) in (0..width).zip(locals) {
                    let element = self.value(Op::Part { vector: value, part }, ty);
                    self.push(Op::Set(local, element), None);
                }
            }
            _ => {
                self.push(Op::Set(locals[0], value), None);
            }
        }
    }

    fn place(&mut self, id: InstId) {
        self.out.blocks[self.current].push(id);
    }

    fn push(&mut self, op: Op, ty: Option<DataType>) -> InstId {
        let id = self.add(op, ty);
        self.place(id);
        id
    }

    fn value(&mut self, op: Op, ty: DataType) -> InstId {
        self.push(op, Some(ty))
    }

    fn add(&mut self, op: Op, ty: Option<DataType>) -> InstId {
        self.out.insts.push(Inst { op, ty });
        InstId(self.out.insts.len() as u32 - 1)
    }

    fn constant(&mut self, value: u32) -> InstId {
        if let Some(&known) = self.constants.get(&value) {
            return known;
        }
        let op = Op::Constant(Value::from_bits(DataType::U32, u64::from(value)));
        let id = self.add(op, Some(DataType::U32));
        self.constants.insert(value, id);
        id
    }

    fn local(&mut self, ty: DataType) -> LocalId {
        self.out.locals.push(ty);
        LocalId(self.out.locals.len() as u32 - 1)
    }

    fn block(&mut self) -> BlockId {
        self.out.blocks.push(Vec::new());
        BlockId(self.out.blocks.len() as u32 - 1)
    }
}

/// The access with another binding and index.
fn moved(op: Op, binding: u32, at: InstId) -> Op {
    let mut op = op;
    if let Op::Load { place, index, .. }
    | Op::Store { place, index, .. }
    | Op::Atomic { place, index, .. }
    | Op::LoadVector { place, index, .. }
    | Op::StoreVector { place, index, .. } = &mut op
    {
        (*place, *index) = (Place::Binding(binding), at);
    }
    op
}
