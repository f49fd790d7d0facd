//! The trap record: the first fault of a dispatch wins.

use vyre_foundation::ir::NodeId;
use vyre_spec::DataType;
use vyre_spec::ops::{AtomicOp, BinaryOp};

use crate::kernel::{InstId, LocalId, Op, Place, Proof, TRAP_LOOP_LIMIT};
use crate::launch::Shape;
use crate::writer::{TRAP_BINDING, Writer};

/// Records a fault, unless one is recorded.
pub(crate) fn record(w: &mut Writer, shape: &Shape, code: InstId, address: InstId) {
    let invocation = shape.linear_invocation(w);
    let place = Place::Binding(TRAP_BINDING);
    let proof = Proof::Proven("the trap record has four words");
    let (zero, one) = (w.lit(0u32), w.lit(1u32));
    let exchange = Op::Atomic {
        op: AtomicOp::CompareExchange,
        place,
        index: zero,
        value: one,
        expected: Some(zero),
        proof,
    };
    let old = w.value(exchange, DataType::U32);
    let is_first = w.raw(BinaryOp::Eq, old, zero);
    let words = [code, invocation, address];
    let indices = [1u32, 2, 3].map(|i| w.lit(i));
    w.when(is_first, |w| {
        for (index, value) in indices.into_iter().zip(words) {
            w.effect(Op::Store { place, index, value, proof });
        }
    });
}

/// A count of a lane's loop iterations, for drivers that end loops silently and for loops that may never end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TripCounter {
    pub(crate) local: LocalId,
    /// The count that no lane may pass.
    pub(crate) share: u32,
    pub(crate) shape: Shape,
}

impl TripCounter {
    /// Counts an iteration of a loop at its head; past the share, records the trap and leaves the loop.
    pub(crate) fn count(&self, w: &mut Writer, node: NodeId, weight: u32) {
        let before = w.get(self.local);
        let after = w.raw_lit(BinaryOp::Add, before, weight);
        // The count stops where it would pass the share, so it never wraps.
        let left = w.lit(self.share);
        let left = w.raw(BinaryOp::Sub, left, before);
        let passes = w.raw_lit(BinaryOp::Lt, left, weight);
        let count = w.select(passes, before, after);
        w.set(self.local, count);
        let (code, address) = (w.lit(TRAP_LOOP_LIMIT), w.lit(node.raw()));
        w.when(passes, |w| {
            record(w, &self.shape, code, address);
            w.effect(Op::Break);
        });
    }
}
