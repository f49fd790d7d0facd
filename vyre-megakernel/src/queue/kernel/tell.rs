//! Telling dependants, publishing those that wait for nobody any more, and leaving the rest to the next pass.

use super::super::layout::{state, status, word};
use super::{Pass, lane_words};

impl Pass<'_> {
    /// Tells the next dependant, or ends the task if all are told.
    pub(super) fn tell(&self) {
        let k = self.k;
        let target = k.var("queue_target", 0u32);
        let cursor = self.cursor.get();
        k.if_else(
            cursor.lt(self.end.get()) & cursor.lt(self.edges.len()),
            || {
                target.set(self.edges.load(cursor) + 1u32);
                self.cursor.set(cursor + 1u32);
            },
            || {
                target.set(self.join.get());
                self.join.set(0u32);
            },
        );
        k.if_else(
            target.get().eq(0u32),
            || {
                self.set_status(self.task.get(), status::DONE);
                self.busy.set(0u32);
                self.owed.set(self.owed.get() + 1u32);
            },
            || {
                let told = target.get() - 1u32;
                let before = self.tasks.atomic_sub(self.field(told, word::COUNTER), 1u32);
                k.if_(before.eq(1u32), || {
                    self.set_status(told, status::READY);
                    self.fence();
                    self.publish.set(told + 1u32);
                    self.lane.set(self.load(told, word::LANE));
                    let owed = self.owed.get();
                    k.if_else(
                        owed.ne(0u32),
                        || self.owed.set(owed - 1u32),
                        || {
                            self.queue.atomic_add(self.pending(), 1u32);
                        },
                    );
                });
            },
        );
    }

    /// Puts the task that is to be published into the next slot of its lane, or leaves it to the next pass if
    /// there is none. A slot whose claimant has given up costs a step.
    pub(super) fn put(&self) {
        let k = self.k;
        let [_, tail, slots] = lane_words(k, self.shape, self.lane.get(), self.ring);
        let slot = self.queue.atomic_add(tail, 1u32);
        let there = k.var("queue_there", 0u32);
        let at = slots + slot;
        k.if_(slot.lt(self.ring) & at.lt(self.queue.len()), || {
            there.set(self.queue.atomic_compare_exchange(at, 0u32, self.publish.get()));
        });
        k.if_(there.get().eq(0u32), || self.publish.set(0u32));
    }

    /// Leaves what the budget did not allow to the next pass.
    pub(super) fn end(&self) {
        let k = self.k;
        k.if_(self.busy.get().ne(0u32), || {
            let task = self.task.get();
            self.store(task, word::CURSOR, self.cursor.get());
            self.store(task, word::END, self.end.get());
            self.store(task, word::JOIN, self.join.get());
            self.set_status(task, status::RELEASING);
        });
        self.settle();
        for (n, done) in (0u32..).zip(&self.done) {
            let done = done.get();
            k.if_(done.ne(0u32), || {
                self.queue.atomic_add(state::COUNTS + state::ROW * n, done);
            });
        }
    }
}
