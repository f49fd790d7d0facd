//! Claiming a task.

use super::super::layout::GIVEN_UP;
use super::{Pass, lane_words};

impl Pass<'_> {
    /// Claims a task and runs it, or ends the invocation if it has been idle for long.
    pub(super) fn claim(&self) {
        let k = self.k;
        for lane in 0..self.shape.layout.lanes {
            k.if_(self.slot.get().eq(0u32), || {
                let [head, tail, slots] = lane_words(k, self.shape, k.lit(lane), self.ring);
                let given_out = self.queue.load(tail).min(self.ring);
                k.if_(self.queue.load(head).lt(given_out), || {
                    let claim = self.queue.atomic_add(head, 1u32);
                    k.if_(claim.lt(self.ring), || self.slot.set(slots + claim));
                });
            });
        }
        let found = k.var("queue_found", 0u32);
        let slot = self.slot.get();
        k.if_(slot.ne(0u32), || {
            let there = self.queue.load(slot);
            k.if_(there.ne(0u32), || {
                found.set(there);
                self.slot.set(0u32);
            });
        });
        k.if_(found.get().eq(0u32), || {
            self.idle.set(self.idle.get() + 1u32);
            self.settle();
            let nothing = self.queue.load(self.pending()).eq(0u32);
            k.if_(nothing | self.idle.get().gt(self.patience), || {
                let slot = self.slot.get();
                k.if_(slot.ne(0u32), || {
                    found.set(self.queue.atomic_exchange(slot, GIVEN_UP));
                    self.slot.set(0u32);
                });
                k.if_(found.get().eq(0u32), || k.break_());
            });
        });
        k.if_(found.get().ne(0u32), || {
            self.idle.set(0u32);
            self.task.set(found.get() - 1u32);
            self.fence();
            self.take();
        });
    }

    /// Takes what this invocation owes off the number of tasks in flight.
    pub(super) fn settle(&self) {
        let owed = self.owed.get();
        self.k.if_(owed.ne(0u32), || {
            self.queue.atomic_sub(self.pending(), owed);
            self.owed.set(0u32);
        });
    }
}
