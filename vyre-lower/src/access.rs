//! Loads, stores and atomics with their guards.

use vyre_foundation::ir::{self, ExprId, NodeId};
use vyre_spec::ops::{AtomicOp, BinaryOp, CastOp};
use vyre_spec::{DataType, Value};

use crate::bindings::Storage;
use crate::grid_sync::scratch::{load_bits, store_bits};
use crate::kernel::{InstId, LaunchField, Place, Proof};
use crate::legalize::{self, Retries, Target};
use crate::lower::Lowering;
use crate::writer::{SCRATCH_BINDING, Writer, bits_of};

/// An index as u32, and whether it is in bounds, unless that is proven.
struct Checked {
    index: InstId,
    in_bounds: Option<InstId>,
    proof: Proof,
}

/// Where an element in bounds is.
#[derive(Clone, Copy)]
enum Address {
    /// In its array.
    Own { index: InstId, proof: Proof },
    /// In words of scratch memory: the second has the upper half of a 64-bit element.
    Scratch { low: InstId, high: Option<InstId> },
}

impl Address {
    /// What memory holds of the element.
    fn load(self, w: &mut Writer, storage: &Storage) -> InstId {
        match self {
            Self::Own { index, proof } => legalize::load_word(w, storage, index, proof),
            Self::Scratch { low, high } => {
                let low = load_bits(w, low);
                let Some(high) = high else { return low };
                let high = load_bits(w, high);
                legalize::join(w, storage.element, low, high)
            }
        }
    }

    /// Stores what memory holds of the element.
    fn store(self, w: &mut Writer, storage: &Storage, value: InstId) {
        match self {
            Self::Own { index, proof } => legalize::store_word(w, storage, index, value, proof),
            Self::Scratch { low, high: None } => store_bits(w, low, value),
            Self::Scratch { low, high: Some(high) } => {
                let [lower, upper] = legalize::halves(w, value);
                store_bits(w, low, lower);
                store_bits(w, high, upper);
            }
        }
    }
}

/// What an atomic reads.
pub(crate) struct Operands {
    pub(crate) index: ExprId,
    pub(crate) value: ExprId,
    pub(crate) expected: Option<ExprId>,
}

impl Lowering<'_, '_> {
    pub(crate) fn storage(&self, place: ir::Place) -> Storage {
        let count = match place {
            ir::Place::Buffer(id) => self.ranges.count(id).and_then(|n| u32::try_from(n).ok()),
            _ => None,
        };
        let storage = self.bindings.storage(self.program, place, count);
        match self.kept_private(place) {
            Some(_) => {
                let element = bits_of(storage.element);
                Storage { place: Place::Binding(SCRATCH_BINDING), element, ..storage }
            }
            None => storage,
        }
    }

    /// Where an element in bounds is: an array that lives across grid barriers is in scratch memory.
    fn address(&mut self, place: ir::Place, storage: &Storage, index: InstId, proof: Proof) -> Address {
        match self.kept_private(place) {
            Some(first) => {
                self.scratch = true;
                let (low, high) = self.own_element(first, index, storage.element.size() == 8);
                Address::Scratch { low, high }
            }
            None => Address::Own { index, proof },
        }
    }

    /// The guard of an access; `None` if it is never in bounds. (naga refuses a constant index that is not.)
    fn checked(&mut self, id: NodeId, place: ir::Place, storage: &Storage, index: ExprId) -> Option<Checked> {
        let value = self.value(index);
        if self.w.ty(value).size() == 8 {
            return self.checked_wide(id, place, storage, value);
        }
        let unsigned = self.w.bitcast(DataType::U32, value);
        if let (Some(constant), Some(len)) = (self.w.as_constant(unsigned), storage.len) {
            if constant.bits() >= u64::from(len) {
                return None;
            }
        }
        let proof = self.proof(self.ranges.verdict(id));
        if !matches!(proof, Proof::Guarded(_)) {
            return Some(Checked { index: unsigned, in_bounds: None, proof });
        }
        let length = match (storage.len, place) {
            (None, ir::Place::Buffer(id)) => self.w.launch(LaunchField::Length(id), DataType::U32),
            (len, _) => self.w.lit(len.unwrap_or(0)),
        };
        let mut in_bounds = self.w.raw(BinaryOp::Lt, unsigned, length);
        // A negative index is at least 2^31 as u32; a buffer may be that long.
        let may_be_long = storage.len.is_none_or(|n| n > 1 << 31);
        if self.w.ty(value) == DataType::I32 && may_be_long {
            let natural = self.w.raw_lit(BinaryOp::Ge, value, 0i32);
            in_bounds = self.w.raw(BinaryOp::BitAnd, natural, in_bounds);
        }
        Some(Checked { index: unsigned, in_bounds: Some(in_bounds), proof })
    }

    /// The guard of an access with a 64-bit index, which is never in bounds where it does not fit u32: a buffer
    /// has fewer than 2^32 elements.
    fn checked_wide(
        &mut self,
        id: NodeId,
        place: ir::Place,
        storage: &Storage,
        value: InstId,
    ) -> Option<Checked> {
        if let Some(constant) = self.w.as_constant(value) {
            if constant.bits() >= u64::from(storage.len.unwrap_or(u32::MAX)) {
                return None;
            }
        }
        // A negative index is at least 2^63 as u64.
        let unsigned = self.w.bitcast(DataType::U64, value);
        let proof = self.proof(self.ranges.verdict(id));
        if !matches!(proof, Proof::Guarded(_)) {
            let index = self.w.cast(CastOp::Convert, DataType::U32, unsigned);
            return Some(Checked { index, in_bounds: None, proof });
        }
        let length = match (storage.len, place) {
            (None, ir::Place::Buffer(id)) => self.w.launch(LaunchField::Length(id), DataType::U32),
            (len, _) => self.w.lit(len.unwrap_or(0)),
        };
        let length = self.w.cast(CastOp::Convert, DataType::U64, length);
        let in_bounds = self.w.raw(BinaryOp::Lt, unsigned, length);
        let index = self.w.cast(CastOp::Convert, DataType::U32, unsigned);
        Some(Checked { index, in_bounds: Some(in_bounds), proof })
    }

    /// An element; 0 out of bounds. The device reads element 0 instead, which every binding has: bindings
    /// are at least 16 bytes.
    pub(crate) fn load(&mut self, id: NodeId, place: ir::Place, index: ExprId) -> InstId {
        let storage = self.storage(place);
        let Some(Checked { index, in_bounds, proof }) = self.checked(id, place, &storage, index) else {
            return self.w.constant(Value::zero(legalize::device_type(storage.logical)));
        };
        let Some(in_bounds) = in_bounds else {
            let address = self.address(place, &storage, index, proof);
            let word = address.load(&mut self.w, &storage);
            return legalize::from_memory(&mut self.w, &storage, word);
        };
        let first = self.w.lit(0u32);
        let index = self.w.select(in_bounds, index, first);
        let address = self.address(place, &storage, index, proof);
        let word = address.load(&mut self.w, &storage);
        let zero = self.w.constant(Value::zero(legalize::device_type(storage.element)));
        let word = self.w.select(in_bounds, word, zero);
        legalize::from_memory(&mut self.w, &storage, word)
    }

    /// Stores an element, unless it is out of bounds.
    pub(crate) fn store(&mut self, id: NodeId, place: ir::Place, index: ExprId, value: ExprId) {
        let storage = self.storage(place);
        let Some(Checked { index, in_bounds, proof }) = self.checked(id, place, &storage, index) else {
            return;
        };
        let value = self.value(value);
        let value = legalize::to_memory(&mut self.w, &storage, value);
        let address = self.address(place, &storage, index, proof);
        match in_bounds {
            None => address.store(&mut self.w, &storage, value),
            Some(in_bounds) => self.w.when(in_bounds, |w| address.store(w, &storage, value)),
        }
    }

    /// Changes an element and gives the old one; out of bounds changes nothing and gives 0.
    pub(crate) fn atomic(
        &mut self,
        id: NodeId,
        op: AtomicOp,
        place: ir::Place,
        operands: Operands,
    ) -> InstId {
        let storage = self.storage(place);
        let Some(Checked { index, in_bounds, proof }) = self.checked(id, place, &storage, operands.index)
        else {
            return self.w.constant(Value::zero(storage.logical));
        };
        let value = self.value(operands.value);
        let expected = operands.expected.map(|e| self.value(e));
        let weight = self.trip_weights.get(id.index()).copied().flatten();
        let retries = self.counter.zip(weight).map(|(counter, weight)| Retries { counter, node: id, weight });
        let target = Target { place: storage.place, element: storage.element, index, proof, retries };
        let used = self.read[id.index()];
        let w = &mut self.w;
        let Some(in_bounds) = in_bounds else {
            return legalize::atomic(w, op, target, value, expected);
        };
        if !used {
            w.when(in_bounds, |w| {
                legalize::atomic(w, op, target, value, expected);
            });
            return w.constant(Value::zero(storage.logical));
        }
        let result = w.local(storage.logical);
        let zero = w.constant(Value::zero(storage.logical));
        w.set(result, zero);
        w.when(in_bounds, |w| {
            let old = legalize::atomic(w, op, target, value, expected);
            w.set(result, old);
        });
        w.get(result)
    }
}
