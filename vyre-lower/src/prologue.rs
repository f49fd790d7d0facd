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
            let (len, width) = self.stores_of(array);
            let element = device_type(self.bindings.shared[array as usize].element);
            let (place, value) = (Place::Shared(array), self.w.constant(Value::zero(element)));
            self.each_of(len, |w, index, proof| {
                w.effect(match (width, proof) {
                    (1, _) => Op::Store { place, index, value, proof },
                    // The branch around it is what proves it: a vector has no guard of its own.
                    (_, Proof::Guarded(_)) => {
                        let proof = Proof::Proven("branch around it");
                        Op::StoreVector { place, index, values: [value; 4], width, proof }
                    }
                    _ => Op::StoreVector { place, index, values: [value; 4], width, proof },
                });
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
        let moved = moved.map(|i| self.bindings.shared[i as usize].len);
        let lens = self.zeroed().map(|i| self.stores_of(i).0).chain(moved);
        lens.map(rounds).filter(|&n| n > u64::from(UNROLLED)).map(|n| n + 1).sum()
    }

    /// How many stores zero an array, and of how many elements each is: an array of vectors is zeroed by whole ones.
    fn stores_of(&self, array: u32) -> (u32, u32) {
        let array = &self.bindings.shared[array as usize];
        (array.len / array.vector, array.vector)
    }

    /// Does something with each element of a shared array, by one invocation of the workgroup.
    pub(crate) fn each_element(&mut self, array: u32, each: impl FnMut(&mut Writer, InstId, Proof)) {
        self.each_of(self.bindings.shared[array as usize].len, each);
    }

    /// Does something with each index below a length, by one invocation of the workgroup.
    fn each_of(&mut self, len: u32, mut each: impl FnMut(&mut Writer, InstId, Proof)) {
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
