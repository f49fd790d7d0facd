//! What a workgroup does before the body: zeroing shared memory.

use vyre_foundation::ir::SharedId;
use vyre_spec::Value;
use vyre_spec::ops::BinaryOp;

use crate::analysis::first_write::written_first;
use crate::kernel::{Op, Place, Proof};
use crate::lower::Lowering;

/// Stores per invocation and array that are written out; longer arrays are zeroed by a loop.
const UNROLLED: u32 = 16;

impl Lowering<'_> {
    /// Zeroes the shared arrays, each element by one invocation of the workgroup, which then meets.
    pub(crate) fn zero_shared(&mut self) {
        let arrays: Vec<u32> = self.zeroed().collect();
        if arrays.is_empty() {
            return;
        }
        for array in arrays {
            self.zero_array(array);
        }
        self.w.effect(Op::Barrier { storage: false, workgroup: true });
    }

    /// The arrays that are not surely written before they are read.
    fn zeroed(&self) -> impl Iterator<Item = u32> + '_ {
        let all = 0..self.bindings.shared.len() as u32;
        all.filter(|&i| !written_first(self.program, self.facts, SharedId::new(i)))
    }

    /// Loop iterations that zeroing takes, at most.
    pub(crate) fn zeroing_trips(&self) -> u64 {
        let rounds = |len: u32| u64::from(len.div_ceil(self.shape.invocations()));
        let lens = self.zeroed().map(|i| self.bindings.shared[i as usize].len);
        lens.map(rounds).filter(|&n| n > u64::from(UNROLLED)).map(|n| n + 1).sum()
    }

    fn zero_array(&mut self, array: u32) {
        let decl = &self.bindings.shared[array as usize];
        let (len, element) = (decl.len, decl.element);
        let width = self.shape.invocations();
        let place = Place::Shared(array);
        let w = &mut self.w;
        let value = w.constant(Value::zero(element));
        let first = w.hardware(Op::LocalIndex);
        if len.div_ceil(width) > UNROLLED {
            let local = w.local(vyre_spec::DataType::U32);
            w.set(local, first);
            let (body, continuing) = (w.block(), w.block());
            w.effect(Op::Loop { body, continuing });
            let outer = w.current();
            w.enter(Some(body));
            let index = w.get(local);
            let done = w.raw_lit(BinaryOp::Ge, index, len);
            w.when(done, |w| w.effect(Op::Break));
            w.effect(Op::Store { place, index, value, proof: Proof::Proven("loop bound") });
            w.enter(Some(continuing));
            let index = w.get(local);
            let next = w.raw_lit(BinaryOp::Add, index, width);
            w.set(local, next);
            w.enter(outer);
            return;
        }
        for round in 0..len.div_ceil(width) {
            let start = round * width;
            let index = if round == 0 { first } else { w.raw_lit(BinaryOp::Add, first, start) };
            let whole = len - start >= width;
            let proof = if whole { Proof::Proven("index range") } else { Proof::Guarded };
            let store = Op::Store { place, index, value, proof };
            if whole {
                w.effect(store);
            } else {
                let inside = w.raw_lit(BinaryOp::Lt, index, len);
                w.when(inside, |w| w.effect(store));
            }
        }
    }
}
