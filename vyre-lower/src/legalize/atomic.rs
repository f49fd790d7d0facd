//! Atomics on floats whose memory holds their bits.

use vyre_foundation::ir::NodeId;
use vyre_spec::DataType;
use vyre_spec::ops::{AtomicOp, BinaryOp};

use super::InstId;
use crate::kernel::{Op, Place, Proof};
use crate::trap::TripCounter;
use crate::writer::Writer;

/// An element in bounds.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    /// The array.
    pub(crate) place: Place,
    /// The type of its elements in memory.
    pub(crate) element: DataType,
    /// The index.
    pub(crate) index: InstId,
    /// Why it is in bounds.
    pub(crate) proof: Proof,
    /// How iterations of a loop for it are counted, where they must be.
    pub(crate) retries: Option<Retries>,
}

/// How iterations of a loop that lowering makes are counted.
#[derive(Clone, Copy)]
pub(crate) struct Retries {
    pub(crate) counter: TripCounter,
    /// The atomic.
    pub(crate) node: NodeId,
    /// What one iteration counts.
    pub(crate) weight: u32,
}

pub(super) fn direct(
    w: &mut Writer,
    op: AtomicOp,
    target: Target,
    value: InstId,
    expected: Option<InstId>,
) -> InstId {
    let Target { place, element, index, proof, .. } = target;
    w.value(Op::Atomic { op, place, index, value, expected, proof }, element)
}

/// A float add where memory holds bits: compare and exchange until no other invocation came between.
pub(super) fn atomic_add(
    w: &mut Writer,
    op: AtomicOp,
    target: Target,
    value: InstId,
    expected: Option<InstId>,
) -> InstId {
    let ty = w.ty(value);
    if ty == target.element {
        return direct(w, op, target, value, expected);
    }
    let Target { place, element, index, proof, .. } = target;
    let seen = w.local(element);
    let first = w.value(Op::Load { place, index, proof }, element);
    w.set(seen, first);
    let (body, continuing) = (w.block(), w.block());
    w.effect(Op::Loop { body, continuing });
    let outer = w.current();
    w.enter(Some(body));
    if let Some(Retries { counter, node, weight }) = target.retries {
        counter.count(w, node, weight);
    }
    let old = w.get(seen);
    let old_value = w.bitcast(ty, old);
    let sum = w.raw(BinaryOp::Add, old_value, value);
    let new = w.bitcast(element, sum);
    let found = direct(w, AtomicOp::CompareExchange, target, new, Some(old));
    w.set(seen, found);
    let stored = w.raw(BinaryOp::Eq, found, old);
    w.when(stored, |w| w.effect(Op::Break));
    w.enter(outer);
    let old = w.get(seen);
    w.bitcast(ty, old)
}

pub(super) fn atomic_exchange(
    w: &mut Writer,
    op: AtomicOp,
    target: Target,
    value: InstId,
    expected: Option<InstId>,
) -> InstId {
    let ty = w.ty(value);
    let bits = w.bitcast(target.element, value);
    let old = direct(w, op, target, bits, expected);
    w.bitcast(ty, old)
}
