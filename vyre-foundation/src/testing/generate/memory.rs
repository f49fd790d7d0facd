//! Loads, stores and atomics, and who may do which where.

use vyre_spec::ops::{AtomicOp, SubgroupOp};
use vyre_spec::{DataType, MemoryOrdering, Value};

use super::super::ops::commutes;
use super::super::values::{edge_values, small_value};
use super::Generator;
use crate::ir::{Expr, ExprId, Node, Place};

/// A buffer with a zone of elements for each invocation.
#[derive(Clone, Copy)]
pub(super) struct Own {
    pub(super) place: Place,
    pub(super) element: DataType,
    pub(super) zone: u32,
    /// The elements of all zones.
    pub(super) len: u64,
    pub(super) loads: bool,
}

/// A buffer on which one commuting atomic works.
#[derive(Clone, Copy)]
pub(super) struct Accumulator {
    pub(super) place: Place,
    pub(super) element: DataType,
    pub(super) op: AtomicOp,
    pub(super) len: u64,
}

/// How an array is used until the next barrier for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Not used yet.
    Unset,
    /// Each invocation loads and stores its own zone.
    Own,
    /// All load anywhere.
    Read,
    /// All apply one commuting atomic anywhere.
    Atomic(AtomicOp),
}

/// A shared array, or a buffer with a segment for each workgroup, with a zone for each invocation.
#[derive(Clone, Copy)]
pub(super) struct Moded {
    pub(super) place: Place,
    pub(super) element: DataType,
    pub(super) zone: u32,
    pub(super) mode: Mode,
}

impl Generator<'_> {
    /// An atomic op and type whose final result no order changes; floats only where the generator decides
    /// every operand.
    pub(super) fn commuting_atomic(&mut self, floats: bool) -> Option<(AtomicOp, DataType)> {
        let mut choices = Vec::new();
        for &op in AtomicOp::ALL {
            for ty in self.config.types.iter().filter(|&ty| self.takes(op, ty)) {
                let samples = if ty.is_float() {
                    let mut rng = fastrand::Rng::with_seed(1);
                    (0..20).map(|_| small_value(ty, &mut rng)).collect()
                } else {
                    edge_values(ty)
                };
                if (floats || !ty.is_float()) && commutes(op, ty, &samples) {
                    choices.push((op, ty));
                }
            }
        }
        self.pick(&choices)
    }

    /// Whether programs may have the atomic on such elements.
    fn takes(&self, op: AtomicOp, element: DataType) -> bool {
        op.rule().elements().contains(element) && self.config.atomics.contains(element)
    }

    pub(super) fn load(&mut self, place: Place, element: DataType, index: ExprId, uniform: bool) {
        let node = self.push(Node::Load { place, index });
        let value = self.arena.expr(Expr::Result(node));
        self.offer(element, value, uniform);
    }

    pub(super) fn load_input(&mut self) {
        let Some((place, element, len)) = self.pick(&self.readable.clone()) else { return };
        let uniform = self.chance(1, 3);
        let index = match self.rng.u32(0..4) {
            0 => self.expr(DataType::U32, uniform),
            1 => {
                let ty = self.int_type();
                let value = self.expr(DataType::U32, uniform);
                self.convert(value, DataType::U32, ty)
            }
            _ => self.below(len as u32 + 1, uniform),
        };
        self.load(place, element, index, uniform);
    }

    fn own_zone(&mut self, own: Own) -> ExprId {
        let base = match self.own_index {
            Some(base) => base,
            None => self.literal_u32(0),
        };
        let index = self.in_zone(base, own.zone);
        self.vary(index, own.len)
    }

    pub(super) fn store_own(&mut self, which: usize) {
        let Some(&own) = self.owns.get(which) else { return };
        let index = self.own_zone(own);
        let value = self.expr(own.element, false);
        self.push(Node::Store { place: own.place, index, value });
    }

    /// A store, load or atomic on an invocation's own elements.
    pub(super) fn use_own(&mut self) {
        let which = self.rng.usize(0..self.owns.len().max(1));
        let Some(&own) = self.owns.get(which) else { return };
        if !own.loads || self.rng.bool() {
            return self.store_own(which);
        }
        let index = self.own_zone(own);
        let ops: Vec<AtomicOp> =
            AtomicOp::ALL.iter().copied().filter(|&op| self.takes(op, own.element)).collect();
        match self.pick(&ops) {
            Some(op) if self.rng.bool() => {
                let value = self.expr(own.element, false);
                let expected = op.rule().takes_expected().then(|| self.expr(own.element, false));
                let node = self.push(Node::Atomic { op, place: own.place, index, value, expected });
                let old = self.arena.expr(Expr::Result(node));
                self.offer(own.element, old, false);
            }
            _ => self.load(own.place, own.element, index, false),
        }
    }

    pub(super) fn accumulate(&mut self) {
        let Some(sum) = self.pick(&self.accumulators.clone()) else { return };
        let index = self.below(sum.len as u32, false);
        let index = self.vary(index, sum.len);
        let value = if sum.element.is_float() {
            // Operands that add up exactly, in any order.
            let small = small_value(sum.element, &mut self.rng);
            self.literal(small)
        } else {
            self.expr(sum.element, false)
        };
        // The old element depends on the order, so nothing reads it.
        self.push(Node::Atomic { op: sum.op, place: sum.place, index, value, expected: None });
    }

    /// An access to a shared array or segment, in its mode.
    pub(super) fn use_moded(&mut self) {
        if self.moded.is_empty() {
            return;
        }
        let which = self.rng.usize(0..self.moded.len());
        let mut array = self.moded[which];
        if array.mode == Mode::Unset {
            let atomics: Vec<AtomicOp> = AtomicOp::ALL
                .iter()
                .copied()
                .filter(|&op| !array.element.is_float() && self.takes(op, array.element))
                .filter(|&op| commutes(op, array.element, &edge_values(array.element)))
                .collect();
            array.mode = match (self.rng.u32(0..3), self.pick(&atomics)) {
                (0, Some(op)) => Mode::Atomic(op),
                (1, _) => Mode::Read,
                _ => Mode::Own,
            };
            self.moded[which].mode = array.mode;
        }
        let lanes = self.lanes.unwrap_or(1);
        let anywhere = array.mode != Mode::Own;
        let lane = match (anywhere, self.local_index) {
            (false, Some(local)) => local,
            _ => self.below(lanes, false),
        };
        // Of a buffer, the workgroup's own segment.
        let position = match (array.place, anywhere, self.own_index, self.local_index) {
            (Place::Buffer(_), false, Some(own), _) => own,
            (Place::Buffer(_), true, Some(own), Some(local)) => self.segment_lane(own, local, lane),
            _ => lane,
        };
        let index = self.in_zone(position, array.zone);
        let Moded { place, element, .. } = array;
        match array.mode {
            Mode::Atomic(op) => {
                let value = self.expr(element, false);
                self.push(Node::Atomic { op, place, index, value, expected: None });
            }
            Mode::Own if self.chance(2, 3) => {
                let value = self.expr(element, false);
                self.push(Node::Store { place, index, value });
            }
            _ => self.load(place, element, index, false),
        }
    }

    pub(super) fn use_private(&mut self) {
        let Some((place, element)) = self.pick(&self.privates.clone()) else { return };
        let index = self.below(7, false);
        if self.rng.bool() {
            let value = self.expr(element, false);
            self.push(Node::Store { place, index, value });
        } else {
            self.load(place, element, index, false);
        }
    }

    /// A barrier; arrays that it orders are free to change their mode.
    pub(super) fn barrier(&mut self, ordering: MemoryOrdering) {
        self.push(Node::Barrier { ordering });
        let (shared, buffers) = match ordering {
            MemoryOrdering::Workgroup => (true, false),
            MemoryOrdering::Storage => (false, true),
            MemoryOrdering::WorkgroupAndStorage | MemoryOrdering::GridSync => (true, true),
        };
        for array in &mut self.moded {
            let ordered = if matches!(array.place, Place::Shared(_)) { shared } else { buffers };
            if ordered {
                array.mode = Mode::Unset;
            }
        }
    }

    pub(super) fn some_barrier(&mut self) {
        let orderings =
            [MemoryOrdering::Workgroup, MemoryOrdering::Storage, MemoryOrdering::WorkgroupAndStorage];
        let ordering = orderings[self.rng.usize(0..orderings.len())];
        self.barrier(ordering);
    }

    pub(super) fn subgroup(&mut self) {
        let op = SubgroupOp::ALL[self.rng.usize(0..SubgroupOp::ALL.len())];
        let types: Vec<DataType> =
            self.config.types().into_iter().filter(|&ty| op.rule().operands().contains(ty)).collect();
        let Some(ty) = self.pick(&types) else { return };
        let value = self.expr(ty, false);
        let lane = op.rule().takes_lane().then(|| {
            // Mostly lanes that exist.
            let size = self.config.subgroup_size.unwrap_or(1);
            if self.chance(1, 8) { self.expr(DataType::U32, false) } else { self.below(size, false) }
        });
        let node = self.push(Node::Subgroup { op, value, lane });
        let result = self.arena.expr(Expr::Result(node));
        self.offer(ty, result, false);
    }

    pub(super) fn trap(&mut self) {
        let address = self.expr(DataType::U32, false);
        let condition = self.expr(DataType::Bool, false);
        let rare = self.expr(DataType::Bool, false);
        let condition = self.and(condition, rare);
        let (then, otherwise) = (self.arena.region(), self.arena.region());
        self.push(Node::If { condition, then, otherwise });
        // One code, whichever invocation is first.
        self.arena.push(then, Node::Trap { code: 7, address });
    }

    pub(super) fn zero(&mut self, ty: DataType) -> ExprId {
        self.literal(Value::zero(ty))
    }
}
