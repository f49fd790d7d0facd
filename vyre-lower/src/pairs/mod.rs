//! 64-bit integers as pairs of 32-bit words, for devices that have none.
//!
//! The rules of [`crate::legalize`] know 64-bit integers as values; what they leave are the few ops that a
//! device with such integers has itself. This pass goes once over the kernel as it is written and puts two
//! words in place of each value, element and local, the low one first as memory has it, and ops on words in place
//! of each op. All else stays as it is.

mod arith;
mod convert;
mod divide;

use vyre_spec::DataType;
use vyre_spec::ops::{BinaryOp, CastOp, TernaryOp, UnaryOp};

use crate::bindings::Bindings;
use crate::kernel::{BlockId, Inst, InstId, LocalId, Op, Place};
use crate::legalize;
use crate::writer::{Refusal, Writer};

/// The words of a 64-bit integer.
#[derive(Clone, Copy)]
struct Pair {
    low: InstId,
    high: InstId,
}

const fn is_wide(ty: DataType) -> bool {
    matches!(ty, DataType::U64 | DataType::I64)
}

/// Rewrites a kernel. Words cannot make atomics on 64-bit elements: arrays that have some stay as they are, and their elements
/// are taken apart and joined where they are read and written.
pub(crate) fn narrow(w: &mut Writer, bindings: &mut Bindings) {
    for binding in bindings.bindings.iter_mut().filter(|b| is_wide(b.element) && !b.atomic) {
        binding.element = DataType::U32;
        // A vector of two elements is one of four words.
        if binding.vector > 1 {
            binding.vector *= 2;
        }
    }
    for array in
        bindings.shared.iter_mut().chain(&mut bindings.privates).filter(|a| is_wide(a.element) && !a.atomic)
    {
        array.element = DataType::U32;
        array.len *= 2;
    }
    let types: Vec<_> = w.insts.iter().map(|inst| inst.ty).collect();
    if !types.iter().flatten().any(|&ty| is_wide(ty)) {
        return;
    }
    let mut high_locals = vec![None; w.locals.len()];
    for (local, high) in high_locals.iter_mut().enumerate() {
        if is_wide(w.locals[local]) {
            w.locals[local] = DataType::U32;
            *high = Some(w.local(DataType::U32));
        }
    }
    let pairs = vec![None; types.len()];
    Narrowing { w, bindings: Some(bindings), types, pairs, high_locals }.each(Narrowing::inst);
}

/// Puts words in place of the conversions between 64-bit integers and floats, and of the divisions of those, in a kernel that
/// keeps such integers otherwise.
pub(crate) fn spare(w: &mut Writer) {
    let types: Vec<_> = w.insts.iter().map(|inst| inst.ty).collect();
    let pairs = vec![None; types.len()];
    Narrowing { w, bindings: None, types, pairs, high_locals: Vec::new() }.each(Narrowing::spared);
}

/// The state of rewriting a kernel.
struct Narrowing<'w> {
    w: &'w mut Writer,
    bindings: Option<&'w Bindings>,
    /// The type of each value as it was.
    types: Vec<Option<DataType>>,
    /// What stands for each wide value.
    pairs: Vec<Option<Pair>>,
    /// The local of the high word, for each local that was wide.
    high_locals: Vec<Option<LocalId>>,
}

impl Narrowing<'_> {
    /// Writes every instruction again, by `write`.
    fn each(mut self, write: fn(&mut Self, InstId)) {
        // Values are read in their block and inside it, so any order that takes outer blocks first will do.
        let mut open = vec![Some(BlockId(0)), None];
        while let Some(block) = open.pop() {
            for id in self.w.reopen(block) {
                write(&mut self, id);
                match self.w.insts[id.index()].op {
                    Op::If { then, otherwise, .. } => open.extend([Some(then), Some(otherwise)]),
                    Op::Loop { body, continuing } => open.extend([Some(body), Some(continuing)]),
                    _ => {}
                }
            }
        }
    }

    /// The type of a value as it was.
    fn ty(&self, id: InstId) -> DataType {
        self.types.get(id.index()).copied().flatten().unwrap_or(DataType::U32)
    }

    /// The words of a value; of one that is not wide, which a kernel has in no such place, the value twice.
    fn pair(&self, id: InstId) -> Pair {
        self.pairs.get(id.index()).copied().flatten().unwrap_or(Pair { low: id, high: id })
    }

    /// Writes an instruction, or what stands for it.
    fn inst(&mut self, id: InstId) {
        let Inst { op, ty } = self.w.insts[id.index()];
        if let (Op::LoadVector { .. }, true) = (op, ty.is_some_and(is_wide)) {
            // Its parts take its words.
            self.w.insts[id.index()].ty = Some(DataType::U32);
            return self.w.keep(id);
        }
        let reads_wide = op.operands().any(|operand| is_wide(self.ty(operand)));
        if ty.is_some_and(is_wide) && self.stays(op) {
            self.w.insts[id.index()].op = self.joined_operands(op);
            self.w.keep(id);
            self.pairs[id.index()] = Some(self.split(id));
        } else if ty.is_some_and(is_wide) {
            let pair = self.wide(op, ty.unwrap_or(DataType::U64));
            self.pairs[id.index()] = Some(pair);
            self.w.proofs.remove(&id);
            // The instruction is in no block any more.
            self.w.insts[id.index()] = self.w.insts[pair.low.index()];
        } else if !reads_wide {
            self.w.keep(id);
        } else if let Some(op) = self.narrowed(op, ty) {
            // What others read keeps its id.
            self.w.insts[id.index()].op = op;
            self.w.keep(id);
        }
    }

    /// Whether an instruction with a wide result is the device's: an access to an array that stays wide, or the bits of
    /// a float.
    fn stays(&self, op: Op) -> bool {
        match op {
            Op::Load { place, .. } | Op::Atomic { place, .. } => self.stays_wide(place),
            Op::Cast(CastOp::Bitcast, a) => self.ty(a) == DataType::F64,
            _ => false,
        }
    }

    /// Whether an array has wide elements still.
    fn stays_wide(&self, place: Place) -> bool {
        let Some(bindings) = self.bindings else { return false };
        let element = match place {
            Place::Binding(i) => bindings.bindings.get(i as usize).map(|b| b.element),
            Place::Shared(i) => bindings.shared.get(i as usize).map(|a| a.element),
            Place::Private(i) => bindings.privates.get(i as usize).map(|a| a.element),
        };
        element.is_some_and(is_wide)
    }

    fn joined_operands(&mut self, op: Op) -> Op {
        match op {
            Op::Atomic { op, place, index, value, expected, proof } => {
                let value = self.whole(value);
                let expected = expected.map(|expected| self.whole(expected));
                Op::Atomic { op, place, index, value, expected, proof }
            }
            other => other,
        }
    }

    /// A value that the device holds, from its words.
    fn whole(&mut self, a: InstId) -> InstId {
        let (ty, Pair { low, high }) = (self.ty(a), self.pair(a));
        legalize::join(self.w, ty, low, high)
    }

    /// Writes an instruction, or the same by words.
    fn spared(&mut self, id: InstId) {
        let Inst { op, ty } = self.w.insts[id.index()];
        let Some(ty) = ty else { return self.w.keep(id) };
        match op {
            Op::Cast(CastOp::Convert, a) if is_wide(ty) && self.ty(a).is_float() => {
                let pair = self.widened(CastOp::Convert, ty, a);
                self.join(id, ty, pair);
            }
            Op::Cast(CastOp::Convert, a) if ty.is_float() && is_wide(self.ty(a)) => {
                self.pairs[a.index()] = Some(self.split(a));
                self.w.insts[id.index()].op = self.converted(ty, a);
                // The words stand in this block, which others need not be in.
                self.pairs[a.index()] = None;
            }
            Op::Binary(op @ (BinaryOp::Div | BinaryOp::Rem), a, b) if is_wide(ty) && self.can_divide() => {
                let (a, b) = (self.split(a), self.split(b));
                let pair = self.divide(op, ty, a, b);
                self.w.proofs.remove(&id);
                self.join(id, ty, pair);
            }
            _ => {}
        }
        self.w.keep(id);
    }

    /// The words of a value that the device holds.
    fn split(&mut self, a: InstId) -> Pair {
        let [low, high] = legalize::halves(self.w, a);
        Pair { low, high }
    }

    /// Makes an instruction the value of two words.
    fn join(&mut self, id: InstId, ty: DataType, Pair { low, high }: Pair) {
        let joined = legalize::join(self.w, ty, low, high);
        self.w.insts[id.index()] = self.w.insts[joined.index()];
    }

    /// The words of what an op gives.
    fn wide(&mut self, op: Op, ty: DataType) -> Pair {
        match op {
            Op::Constant(value) => self.constant(value.bits()),
            Op::Unary(op, a) => self.unary(op, ty, a),
            Op::Binary(op, a, b) => self.binary(op, ty, a, b),
            Op::Ternary(TernaryOp::Select, condition, a, b) => {
                let (a, b) = (self.pair(a), self.pair(b));
                self.select(condition, a, b)
            }
            Op::Cast(op, a) => self.widened(op, ty, a),
            Op::Load { place, index, proof } => {
                let [low, high] = self
                    .words(index)
                    .map(|index| self.w.value(Op::Load { place, index, proof }, DataType::U32));
                Pair { low, high }
            }
            Op::Part { vector, part } => {
                let [low, high] = [2 * part, 2 * part + 1]
                    .map(|part| self.w.value(Op::Part { vector, part }, DataType::U32));
                Pair { low, high }
            }
            Op::Get(local) => {
                let low = self.w.get(local);
                let high = self.high_locals[local.index()].map_or(low, |high| self.w.get(high));
                Pair { low, high }
            }
            _ => self.refuse("a 64-bit op", ty),
        }
    }

    /// What stands for an instruction that only reads wide values; `None` if all of it is written.
    fn narrowed(&mut self, op: Op, ty: Option<DataType>) -> Option<Op> {
        match op {
            Op::Binary(op, a, b) => Some(self.compare(op, a, b)),
            Op::Cast(CastOp::Convert, a) => Some(self.converted(ty.unwrap_or(DataType::U32), a)),
            Op::Cast(CastOp::Bitcast, a) => Some(Op::Cast(CastOp::Bitcast, self.whole(a))),
            Op::Store { place, index, value, proof } if self.stays_wide(place) => {
                let value = self.whole(value);
                Some(Op::Store { place, index, value, proof })
            }
            Op::Store { place, index, value, proof } => {
                let (words, Pair { low, high }) = (self.words(index), self.pair(value));
                for (index, value) in words.into_iter().zip([low, high]) {
                    self.w.effect(Op::Store { place, index, value, proof });
                }
                None
            }
            Op::StoreVector { place, index, values: [a, b, ..], width: 2, proof } => {
                let (a, b) = (self.pair(a), self.pair(b));
                let values = [a.low, a.high, b.low, b.high];
                self.w.effect(Op::StoreVector { place, index, values, width: 4, proof });
                None
            }
            Op::Set(local, value) => {
                let Pair { low, high } = self.pair(value);
                self.w.set(local, low);
                if let Some(local) = self.high_locals[local.index()] {
                    self.w.set(local, high);
                }
                None
            }
            _ => {
                self.refuse("a 64-bit op", DataType::U64);
                None
            }
        }
    }

    /// Where the two words of an element are.
    fn words(&mut self, index: InstId) -> [InstId; 2] {
        let first = self.w.raw_lit(BinaryOp::Shl, index, 1u32);
        [first, self.w.raw_lit(BinaryOp::BitOr, first, 1u32)]
    }

    fn constant(&mut self, bits: u64) -> Pair {
        Pair { low: self.w.lit(bits as u32), high: self.w.lit((bits >> 32) as u32) }
    }

    fn select(&mut self, condition: InstId, a: Pair, b: Pair) -> Pair {
        Pair { low: self.w.select(condition, a.low, b.low), high: self.w.select(condition, a.high, b.high) }
    }

    fn refuse(&mut self, op: &'static str, ty: DataType) -> Pair {
        let missing = Some(vyre_spec::Capability::Int64);
        let zero = self.w.refuse(Refusal { op, ty, missing }, DataType::U32);
        Pair { low: zero, high: zero }
    }

    fn unary(&mut self, op: UnaryOp, ty: DataType, a: InstId) -> Pair {
        let a = self.pair(a);
        match op {
            UnaryOp::Not => Pair { low: self.w.raw1(op, a.low), high: self.w.raw1(op, a.high) },
            UnaryOp::Neg => self.negated(a),
            UnaryOp::Abs => self.magnitude(a).1,
            _ => self.refuse(op.name(), ty),
        }
    }
}
