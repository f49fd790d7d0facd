//! What a workgroup does before the body: zeroing shared memory, or loading what other kernels left.

use vyre_foundation::ir::SharedId;
use vyre_spec::Value;
use vyre_spec::ops::BinaryOp;

use crate::analysis::first_write::written_first;
use crate::kernel::{InstId, Op, Place, Proof};
use crate::legalize::device_type;
use crate::lower::Lowering;
use crate::writer::Writer;

/// Stores per invocation and array that are written out; longer arrays are zeroed by a loop.
const UNROLLED: u32 = 16;

impl Lowering<'_, '_> {
    /// Zeroes or loads the shared arrays, each element by one invocation of the workgroup, which then meets.
    pub(crate) fn zero_shared(&mut self) {
        let (zeroed, loaded): (Vec<u32>, _) = (self.zeroed().collect(), self.loaded_shared());
        if zeroed.is_empty() && loaded.is_empty() {
            return;
        }
        for array in zeroed {
            let element = device_type(self.bindings.shared[array as usize].element);
            let value = self.w.constant(Value::zero(element));
            self.each_element(array, |w, index, proof| {
                w.effect(Op::Store { place: Place::Shared(array), index, value, proof });
            });
        }
        for array in loaded {
            self.load_shared(array);
        }
        self.w.effect(Op::Barrier { storage: false, workgroup: true });
    }

    /// The arrays that the kernel uses, that hold nothing yet, and are not surely written before they are read.
    fn zeroed(&self) -> impl Iterator<Item = u32> + '_ {
        let all = (0..self.bindings.shared.len() as u32).map(SharedId::new);
        let fresh = |array: &SharedId| {
            self.uses_shared(*array)
                && self.split.layout.shared[array.index()].is_none()
                && !written_first(self.program, self.facts, self.part, *array)
        };
        all.filter(fresh).map(SharedId::raw)
    }

    /// Loop iterations that zeroing, loading and storing take, at most.
    pub(crate) fn zeroing_trips(&self) -> u64 {
        let rounds = |len: u32| u64::from(len.div_ceil(self.shape.invocations()));
        let moved = self.loaded_shared().into_iter().chain(self.crossing.stores.iter().copied());
        let lens = self.zeroed().chain(moved).map(|i| self.bindings.shared[i as usize].len);
        lens.map(rounds).filter(|&n| n > u64::from(UNROLLED)).map(|n| n + 1).sum()
    }

    /// Does something with each element of a shared array, by one invocation of the workgroup.
    pub(crate) fn each_element(&mut self, array: u32, mut each: impl FnMut(&mut Writer, InstId, Proof)) {
        let len = self.bindings.shared[array as usize].len;
        let width = self.shape.invocations();
        let w = &mut self.w;
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
            each(w, index, Proof::Proven("loop bound"));
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
            let proof = if whole {
                Proof::Proven("index range")
            } else {
                Proof::Guarded("the last round is partial")
            };
            if whole {
                each(w, index, proof);
            } else {
                let inside = w.raw_lit(BinaryOp::Lt, index, len);
                w.when(inside, |w| each(w, index, proof));
            }
        }
    }
}
