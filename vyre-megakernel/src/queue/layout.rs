//! Where the queue's words are.
//!
//! Two buffers of `u32`, all of them atomic on the device. `queue_state` has what concerns the queue:
//!
//! | words | meaning |
//! | --- | --- |
//! | 0 | tasks that were ever given a record, of the host and of the device |
//! | 1 | tasks that faulted |
//! | 2 … | per opcode, and one row more for opcodes that are unknown: done, faulted, requeued |
//! | from [`QueueLayout::pass_start`] | per lane, 32 words apart: claims made, slots given out; then the tasks in flight |
//! | from [`QueueLayout::ring_start`] | per lane, the ring |
//!
//! What begins at `pass_start` belongs to one pass and is zeroed before it. A slot of a ring is 0 until a task is
//! published there, then its number plus one, or [`GIVEN_UP`].
//!
//! `queue_tasks` has one record for each task, [`QueueLayout::stride`] words long, laid out as [`word`] says.

/// Words between two that invocations contend for, so that they do not share a cache line.
const APART: u32 = 32;

/// What a slot holds that an idle invocation claimed and left: whoever would publish there takes the next one.
pub(super) const GIVEN_UP: u32 = u32::MAX;

/// Numbers of tasks, at most: ring slots and counters then never wrap.
pub const MAX_TASKS: u32 = 1 << 24;

/// Words of `queue_state` that have a fixed place.
pub(super) mod state {
    /// Tasks that were ever given a record.
    pub(in crate::queue) const ALLOCATED: u32 = 0;
    /// Tasks that faulted.
    pub(in crate::queue) const FAULTED: u32 = 1;
    /// The first row of counts.
    pub(in crate::queue) const COUNTS: u32 = 2;
    /// Words of a row: done, faulted, requeued.
    pub(in crate::queue) const ROW: u32 = 3;
}

/// Words of a task's record.
pub(super) mod word {
    /// Tasks that it still waits for.
    pub(in crate::queue) const COUNTER: u32 = 0;
    /// One of [`super::status`].
    pub(in crate::queue) const STATUS: u32 = 1;
    /// Its opcode.
    pub(in crate::queue) const OPCODE: u32 = 2;
    /// Its lane.
    pub(in crate::queue) const LANE: u32 = 3;
    /// The next of its dependants in `queue_edges`.
    pub(in crate::queue) const CURSOR: u32 = 4;
    /// Where they end.
    pub(in crate::queue) const END: u32 = 5;
    /// The task that added it and waits for it, plus one; or 0.
    pub(in crate::queue) const JOIN: u32 = 6;
    /// One of [`super::fault`], or 0.
    pub(in crate::queue) const FAULT: u32 = 7;
    /// The fault's code.
    pub(in crate::queue) const CODE: u32 = 8;
    /// The fault's address.
    pub(in crate::queue) const ADDRESS: u32 = 9;
    /// The first argument.
    pub(in crate::queue) const ARGUMENTS: u32 = 10;
}

/// What a task is up to.
pub(super) mod status {
    /// It waits for others. (A record that no task has is 0.)
    pub(in crate::queue) const WAITING: u32 = 1;
    /// It may be claimed.
    pub(in crate::queue) const READY: u32 = 2;
    /// Its handler has run; some dependants are not told yet.
    pub(in crate::queue) const RELEASING: u32 = 3;
    /// It is done.
    pub(in crate::queue) const DONE: u32 = 4;
    /// It faulted; its dependants are never told.
    pub(in crate::queue) const FAULTED: u32 = 5;
}

/// Kinds of fault.
pub(super) mod fault {
    /// The handler's own trap.
    pub(in crate::queue) const TRAP: u32 = 1;
    /// No handler has the opcode.
    pub(in crate::queue) const OPCODE: u32 = 2;
    /// It added more tasks than there is room for.
    pub(in crate::queue) const OVERFLOW: u32 = 3;
}

/// What all tasks of a queue have in common. [`super::QueueCompiler::compile`] refuses one that is too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QueueLayout {
    /// Words of arguments of a task, at most.
    pub arguments: u32,
    /// Priority lanes; tasks of lane 0 are claimed first.
    pub lanes: u32,
    /// Tasks that one run of a handler may add.
    pub children: u32,
}

impl Default for QueueLayout {
    /// Four words of arguments, one lane, and no tasks that add tasks.
    fn default() -> Self {
        Self { arguments: 4, lanes: 1, children: 0 }
    }
}

impl QueueLayout {
    /// Elements of a handler's `spawn` buffer: the number of tasks that it adds, then for each its opcode, lane and
    /// arguments.
    pub const fn spawn_words(&self) -> u32 {
        self.children.saturating_mul(self.child_words()).saturating_add(1)
    }

    /// Words of one added task in a `spawn` buffer.
    pub const fn child_words(&self) -> u32 {
        self.arguments.saturating_add(2)
    }

    /// Words of a task's record.
    pub const fn stride(&self) -> u32 {
        self.arguments.saturating_add(word::ARGUMENTS)
    }

    /// The first word that belongs to one pass, of a queue with so many opcodes.
    pub(super) const fn pass_start(&self, opcodes: u32) -> u32 {
        (state::COUNTS + state::ROW * (opcodes + 1)).next_multiple_of(APART)
    }

    /// The word of a lane's claims.
    pub(super) const fn head(&self, opcodes: u32, lane: u32) -> u32 {
        self.pass_start(opcodes) + 2 * lane * APART
    }

    /// The word of the slots of a lane that were given out.
    pub(super) const fn tail(&self, opcodes: u32, lane: u32) -> u32 {
        self.head(opcodes, lane) + APART
    }

    /// The word of the tasks in flight: published or claimed in this pass, and not done.
    pub(super) const fn pending(&self, opcodes: u32) -> u32 {
        self.head(opcodes, self.lanes)
    }

    /// The first word of the first ring.
    pub(super) const fn ring_start(&self, opcodes: u32) -> u32 {
        self.pending(opcodes) + APART
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contended_words_are_apart_and_nothing_overlaps() {
        let layout = QueueLayout { arguments: 3, lanes: 2, children: 2 };
        assert_eq!((layout.spawn_words(), layout.stride()), (11, 13));
        // 2 words and rows of 3 for 9 opcodes and the unknown: 32 words.
        assert_eq!((layout.pass_start(9), layout.pass_start(10)), (32, 64));
        let words = [0, 1].map(|lane| [layout.head(9, lane), layout.tail(9, lane)]);
        assert_eq!(words, [[32, 64], [96, 128]]);
        assert_eq!((layout.pending(9), layout.ring_start(9)), (160, 192));
    }
}
