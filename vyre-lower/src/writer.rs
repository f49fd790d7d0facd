//! Writes instructions into blocks.

use std::collections::{BTreeMap, HashMap};

use vyre_spec::ops::{BinaryOp, CastOp, TernaryOp, UnaryOp};
use vyre_spec::{Capability, DataType, DeviceProfile, Element, Quirks, Value};

use crate::kernel::{Block, BlockId, Inst, InstId, LaunchField, LocalId, Op, Place, Proof};

/// The descriptor's instructions under construction.
///
/// Constants, launch data and what is computed from them alone stand in the prelude, which precedes the
/// body and so dominates everything; each is made once.
pub(crate) struct Writer {
    pub(crate) quirks: Quirks,
    /// Whether the program orders 64-bit integers.
    pub(crate) orders_wide: bool,
    /// Whether the driver spoils integers and the ends of loops, as NVIDIA's compiler (580) does among 64-bit floats.
    pub(crate) spoils: bool,
    /// The first op that no legalisation rule gives this device.
    pub(crate) refused: Option<Refusal>,
    /// The lanes of a subgroup, if the device has them.
    pub(crate) subgroup_size: Option<u32>,
    /// The lanes of a subgroup, where a workgroup has more than one axis.
    lanes: Option<u32>,
    pub(crate) insts: Vec<Inst>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) locals: Vec<DataType>,
    /// A divisor or amount that needs no guard in the op that is being written, and why.
    pub(crate) unguarded: Option<(InstId, Proof)>,
    /// The ops that this was said of.
    pub(crate) proofs: BTreeMap<InstId, Proof>,
    prelude: Block,
    /// Where instructions go; the prelude if `None`.
    current: Option<BlockId>,
    /// What the prelude computes, for looking up only.
    known: HashMap<Inst, InstId>,
    fields: BTreeMap<LaunchField, InstId>,
    /// Whether the workgroup counts are in device memory, and whether the body reads them.
    indirect: bool,
    pub(crate) reads_counts: bool,
}

/// An op on a type that the device cannot run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refusal {
    pub(crate) op: &'static str,
    pub(crate) ty: DataType,
    /// What would let the device run it, if any capability does.
    pub(crate) missing: Option<Capability>,
}

/// Stands for the trap record's binding until its number is known.
pub(crate) const TRAP_BINDING: u32 = u32::MAX;
/// Stands for the binding of scratch memory until its number is known.
pub(crate) const SCRATCH_BINDING: u32 = u32::MAX - 1;
/// Stands for the binding of workgroup counts until its number is known.
pub(crate) const COUNTS_BINDING: u32 = u32::MAX - 2;

impl Writer {
    /// An empty body.
    pub(crate) fn new(profile: &DeviceProfile, workgroup_size: [u32; 3], indirect: bool) -> Self {
        let multi_dimensional = workgroup_size[1] > 1 || workgroup_size[2] > 1;
        Self {
            quirks: profile.quirks,
            orders_wide: false,
            spoils: false,
            refused: None,
            subgroup_size: profile.subgroup_size,
            lanes: profile.subgroup_size.filter(|_| multi_dimensional),
            insts: Vec::new(),
            blocks: vec![Vec::new()],
            locals: Vec::new(),
            unguarded: None,
            proofs: BTreeMap::new(),
            prelude: Vec::new(),
            current: Some(BlockId(0)),
            known: HashMap::new(),
            fields: BTreeMap::new(),
            indirect,
            reads_counts: false,
        }
    }

    /// Closes the body: puts the prelude before it and numbers the launch data, which it returns.
    pub(crate) fn finish(&mut self) -> Vec<LaunchField> {
        for (position, &id) in self.fields.values().enumerate() {
            self.insts[id.index()].op = Op::Launch(position as u32);
        }
        let body = std::mem::take(&mut self.blocks[0]);
        self.blocks[0] = std::mem::take(&mut self.prelude);
        self.blocks[0].extend(body);
        self.fields.keys().copied().collect()
    }

    /// Empties a block, or the prelude for `None`, goes on there and gives what it held, for
    /// [`Self::keep`] or for rewriting.
    pub(crate) fn reopen(&mut self, block: Option<BlockId>) -> Block {
        self.current = block;
        match block {
            Some(block) => std::mem::take(&mut self.blocks[block.index()]),
            None => {
                self.known.clear();
                std::mem::take(&mut self.prelude)
            }
        }
    }

    /// Puts an instruction that was written before at the end of the current block.
    pub(crate) fn keep(&mut self, id: InstId) {
        match self.current {
            Some(block) => self.blocks[block.index()].push(id),
            None => {
                self.known.entry(self.insts[id.index()]).or_insert(id);
                self.prelude.push(id);
            }
        }
    }

    /// An instruction at the end of the current block. The prelude has only pure ones, each once.
    pub(crate) fn push(&mut self, op: Op, ty: Option<DataType>) -> InstId {
        let id = InstId(self.insts.len() as u32);
        let inst = Inst { op, ty };
        match self.current {
            Some(block) => self.blocks[block.index()].push(id),
            None => {
                let known = *self.known.entry(inst).or_insert(id);
                if known != id {
                    return known;
                }
                self.prelude.push(id);
            }
        }
        self.insts.push(inst);
        id
    }

    /// An instruction that stands in no block yet.
    pub(crate) fn detached(&mut self, op: Op, ty: Option<DataType>) -> InstId {
        self.insts.push(Inst { op, ty });
        InstId(self.insts.len() as u32 - 1)
    }

    /// An instruction with a value.
    pub(crate) fn value(&mut self, op: Op, ty: DataType) -> InstId {
        self.push(op, Some(ty))
    }

    /// An instruction without a value.
    pub(crate) fn effect(&mut self, op: Op) {
        self.push(op, None);
    }

    /// Writes into the prelude.
    pub(crate) fn in_prelude<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.current.take();
        let value = write(self);
        self.current = outer;
        value
    }

    /// The current block.
    pub(crate) fn current(&self) -> Option<BlockId> {
        self.current
    }

    /// Goes on in another block.
    pub(crate) fn enter(&mut self, block: Option<BlockId>) {
        self.current = block;
    }

    /// A new, empty block.
    pub(crate) fn block(&mut self) -> BlockId {
        self.blocks.push(Vec::new());
        BlockId(self.blocks.len() as u32 - 1)
    }

    /// A new local.
    pub(crate) fn local(&mut self, ty: DataType) -> LocalId {
        self.locals.push(ty);
        LocalId(self.locals.len() as u32 - 1)
    }

    /// Runs what `write` writes where the condition holds.
    pub(crate) fn when(&mut self, condition: InstId, write: impl FnOnce(&mut Self)) {
        let (then, otherwise) = (self.block(), self.block());
        self.effect(Op::If { condition, then, otherwise });
        let outer = self.current;
        self.current = Some(then);
        write(self);
        self.current = outer;
    }

    /// The type of a value. Every value has one; the verifier would find one that has not.
    pub(crate) fn ty(&self, id: InstId) -> DataType {
        self.insts.get(id.index()).and_then(|inst| inst.ty).unwrap_or(DataType::U32)
    }

    /// The value of a constant.
    pub(crate) fn as_constant(&self, id: InstId) -> Option<Value> {
        match self.insts.get(id.index())?.op {
            Op::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// A constant of a device type, in the prelude. Infinities and NaNs are reinterpreted integers: shader
    /// languages have no literals for them.
    pub(crate) fn constant(&mut self, value: Value) -> InstId {
        let ty = value.ty();
        self.in_prelude(|w| {
            if value.is_finite() {
                return w.value(Op::Constant(value), ty);
            }
            let bits = w.constant(Value::from_bits(bits_of(ty), value.bits()));
            w.cast(CastOp::Bitcast, ty, bits)
        })
    }

    /// A constant of the device type `ty` with these bits.
    pub(crate) fn bits(&mut self, ty: DataType, bits: u64) -> InstId {
        self.constant(Value::from_bits(ty, bits))
    }

    /// A literal of the program, as a device type. A float zero, infinity or NaN that the driver folds ops on
    /// wrongly comes from launch data.
    pub(crate) fn literal(&mut self, value: Value) -> InstId {
        let folded = value.as_f64().is_some_and(|x| {
            (self.quirks.folds_floats && (x == 0.0 || !x.is_finite()))
                || (x.is_infinite() && self.quirks.loses_large_divisors)
        });
        if !folded {
            return self.constant(value);
        }
        let bits = bits_of(value.ty());
        let zero = self.hidden_zero(bits);
        let known = self.bits(bits, value.bits());
        self.in_prelude(|w| {
            let bits = w.raw(BinaryOp::BitOr, zero, known);
            w.cast(CastOp::Bitcast, value.ty(), bits)
        })
    }

    /// An integer whose value the driver cannot work out where it folds arithmetic with float zeros wrongly:
    /// what is converted from it might be such a zero.
    pub(crate) fn concealed(&mut self, a: InstId) -> InstId {
        if self.quirks.folds_floats { self.veiled(a) } else { a }
    }

    /// A 64-bit integer that is also compared, as an operand of a sum or difference, where a driver spoils such integers:
    /// NVIDIA's compiler (580) does so with what it takes for saturating arithmetic.
    pub(crate) fn apart(&mut self, a: InstId) -> InstId {
        let wide = self.quirks.clobbers_wide && bits_of(self.ty(a)) == DataType::U64;
        if wide { self.veiled(a) } else { a }
    }

    /// The end of a counted loop, which a driver that spoils loops cannot know: it then takes each trip.
    pub(crate) fn loop_end(&mut self, end: InstId) -> InstId {
        if self.spoils { self.veiled(end) } else { end }
    }

    /// An integer that is the given one, which the driver cannot know.
    pub(crate) fn veiled(&mut self, a: InstId) -> InstId {
        let ty = self.ty(a);
        let zero = self.hidden_zero(bits_of(ty));
        let zero = self.in_prelude(|w| w.bitcast(ty, zero));
        self.raw(BinaryOp::BitOr, a, zero)
    }

    /// A zero of type U32 or U64 of which the driver knows no bit.
    pub(crate) fn hidden_zero(&mut self, ty: DataType) -> InstId {
        let zero = self.launch(LaunchField::Zero, DataType::U32);
        if ty == DataType::U32 {
            return zero;
        }
        self.in_prelude(|w| {
            let low = w.cast(CastOp::Convert, ty, zero);
            let high = w.raw_lit(BinaryOp::Shl, low, 32u32);
            w.raw(BinaryOp::BitOr, low, high)
        })
    }

    /// Records that the device cannot run an op, and gives a value that stands for its result.
    pub(crate) fn refuse(&mut self, refusal: Refusal, ty: DataType) -> InstId {
        self.refused.get_or_insert(refusal);
        self.constant(Value::zero(ty))
    }

    /// A word of launch data, in the prelude; a field always has the same type.
    pub(crate) fn launch(&mut self, field: LaunchField, ty: DataType) -> InstId {
        if let (LaunchField::WorkgroupCount(axis), true) = (field, self.indirect) {
            self.reads_counts = true;
            let index = self.lit(axis.index() as u32);
            let proof = Proof::Proven("there are three counts");
            let load = Op::Load { place: Place::Binding(COUNTS_BINDING), index, proof };
            return self.in_prelude(|w| w.value(load, ty));
        }
        if let Some(&id) = self.fields.get(&field) {
            return id;
        }
        // Until `finish` sets its position, a field stands under its turn, which no other has.
        let turn = self.fields.len() as u32;
        let id = self.in_prelude(|w| w.value(Op::Launch(turn), ty));
        self.fields.insert(field, id);
        id
    }

    /// The invocation's lane in its subgroup. naga has it in one-dimensional workgroups only; in others,
    /// lanes follow the linear index as well.
    pub(crate) fn subgroup_lane(&mut self) -> InstId {
        self.subgroup_id_or(Op::SubgroupLane, BinaryOp::Rem)
    }

    /// The subgroup's index in its workgroup.
    pub(crate) fn subgroup_id(&mut self) -> InstId {
        self.subgroup_id_or(Op::SubgroupId, BinaryOp::Div)
    }

    fn subgroup_id_or(&mut self, built_in: Op, of_index: BinaryOp) -> InstId {
        let Some(lanes) = self.lanes else { return self.hardware(built_in) };
        let (index, lanes) = (self.hardware(Op::LocalIndex), self.lit(lanes));
        self.in_prelude(|w| w.raw(of_index, index, lanes))
    }

    /// A value that the hardware gives, in the prelude.
    pub(crate) fn hardware(&mut self, op: Op) -> InstId {
        self.in_prelude(|w| w.value(op, DataType::U32))
    }

    /// A constant of a Rust type.
    pub(crate) fn lit<T: Element>(&mut self, x: T) -> InstId {
        self.constant(Value::new(x))
    }

    /// A device op as it is; [`crate::legalize`] decides when that is right.
    pub(crate) fn raw1(&mut self, op: UnaryOp, a: InstId) -> InstId {
        let ty = op.rule().result(self.ty(a)).unwrap_or(self.ty(a));
        self.value(Op::Unary(op, a), ty)
    }

    /// A device op as it is.
    pub(crate) fn raw(&mut self, op: BinaryOp, a: InstId, b: InstId) -> InstId {
        let ty = op.rule().result(self.ty(a), self.ty(b)).unwrap_or(self.ty(a));
        let id = self.value(Op::Binary(op, a, b), ty);
        let guarded = matches!(op, BinaryOp::Div | BinaryOp::Rem | BinaryOp::Shl | BinaryOp::Shr);
        match self.unguarded {
            Some((operand, proof)) if operand == b && guarded && ty.is_int() => {
                self.proofs.insert(id, proof);
            }
            _ => {}
        }
        id
    }

    /// Whether a divisor or amount needs no guard in the op that is being written.
    pub(crate) fn needs_no_guard(&self, operand: InstId) -> bool {
        self.unguarded.is_some_and(|(proven, _)| proven == operand)
    }

    /// A device op as it is, with a constant second operand.
    pub(crate) fn raw_lit<T: Element>(&mut self, op: BinaryOp, a: InstId, b: T) -> InstId {
        let b = self.lit(b);
        self.raw(op, a, b)
    }

    /// A device op as it is, with a constant second operand of the first one's type, given by its bits.
    pub(crate) fn raw_bits(&mut self, op: BinaryOp, a: InstId, bits: u64) -> InstId {
        let b = self.bits(self.ty(a), bits);
        self.raw(op, a, b)
    }

    /// A device op as it is.
    pub(crate) fn raw3(&mut self, op: TernaryOp, a: InstId, b: InstId, c: InstId) -> InstId {
        let ty = self.ty(b);
        self.value(Op::Ternary(op, a, b, c), ty)
    }

    /// A device conversion as it is.
    pub(crate) fn cast(&mut self, op: CastOp, to: DataType, a: InstId) -> InstId {
        self.value(Op::Cast(op, a), to)
    }

    /// `a` where the condition holds, else `b`.
    pub(crate) fn select(&mut self, condition: InstId, a: InstId, b: InstId) -> InstId {
        self.raw3(TernaryOp::Select, condition, a, b)
    }

    /// The same bits as another type of the same width; nothing if it has it already.
    pub(crate) fn bitcast(&mut self, to: DataType, a: InstId) -> InstId {
        if self.ty(a) == to { a } else { self.cast(CastOp::Bitcast, to, a) }
    }

    /// Reads a local.
    pub(crate) fn get(&mut self, local: LocalId) -> InstId {
        let ty = self.locals[local.index()];
        self.value(Op::Get(local), ty)
    }

    /// Writes a local.
    pub(crate) fn set(&mut self, local: LocalId, value: InstId) {
        self.effect(Op::Set(local, value));
    }
}

/// The unsigned integer type with the width of a device type.
pub(crate) const fn bits_of(ty: DataType) -> DataType {
    if ty.size() == 8 { DataType::U64 } else { DataType::U32 }
}
