//! The trap record: the first fault of a dispatch wins.

use vyre_spec::DataType;
use vyre_spec::ops::{AtomicOp, BinaryOp};

use crate::kernel::{InstId, Op, Place, Proof};
use crate::lower::Lowering;
use crate::writer::TRAP_BINDING;

impl Lowering<'_> {
    /// Records a fault, unless one is recorded.
    pub(crate) fn trap(&mut self, code: InstId, address: InstId) {
        self.traps = true;
        let invocation = self.shape.linear_invocation(&mut self.w);
        let w = &mut self.w;
        let place = Place::Binding(TRAP_BINDING);
        let proof = Proof::Proven("the trap record has four words");
        let (zero, one) = (w.lit(0u32), w.lit(1u32));
        let old = w.value(
            Op::Atomic {
                op: AtomicOp::CompareExchange,
                place,
                index: zero,
                value: one,
                expected: Some(zero),
                proof,
            },
            DataType::U32,
        );
        let is_first = w.raw(BinaryOp::Eq, old, zero);
        let words = [code, invocation, address];
        let indices = [1u32, 2, 3].map(|i| w.lit(i));
        w.when(is_first, |w| {
            for (index, value) in indices.into_iter().zip(words) {
                w.effect(Op::Store { place, index, value, proof });
            }
        });
    }
}
