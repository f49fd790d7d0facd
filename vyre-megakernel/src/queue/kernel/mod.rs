//! The queue's two kernels, as programs.
//!
//! *Fill* begins a pass: it publishes every task that may run. *Run* is the pass: each invocation claims tasks, runs
//! their handlers, tells their dependants and publishes those that wait for nobody any more, until nothing is in flight,
//! or it has been idle for long, or its budget of steps is spent.
//!
//! No invocation waits for another. A claim is a number taken from the lane's counter of claims, and names a slot that
//! nobody else claims. While nothing is published there, the invocation looks again in its next steps; when it gives up,
//! it says so in the slot, and whoever would publish there takes the next one. A task that is ready and in no slot (its
//! ring was full, or its slot's claimant had spent its budget) is published by the next pass.
//!
//! Memory is ordered by fences of the device: after a handler and before its first dependant is told; after the last
//! one told a dependant and before that is published; after a task is taken from its slot and before its handler. So a
//! handler sees what all tasks that its own waited for had stored to coherent buffers.

mod claim;
mod take;
mod tell;

use vyre_foundation::build::{BuildError, Kernel, Private, ReadOnly, ReadWrite, Val, Var};
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_spec::{FenceScope, MemoryOrdering};

use super::layout::{QueueLayout, state, status, word};
use super::splice::names;

/// Names of the kernels' buffers and parameters.
pub(super) mod own {
    pub(in crate::queue) const STATE: &str = "queue_state";
    pub(in crate::queue) const TASKS: &str = "queue_tasks";
    pub(in crate::queue) const EDGES: &str = "queue_edges";
    pub(in crate::queue) const GROUPS: &str = "queue_groups";
    pub(in crate::queue) const PATIENCE: &str = "queue_patience";
    pub(in crate::queue) const CAPACITY: &str = "queue_capacity";
    pub(in crate::queue) const RING: &str = "queue_ring";
}

/// What a queue's kernels are made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) layout: QueueLayout,
    pub(super) opcodes: u32,
    /// Invocations of a workgroup.
    pub(super) group: u32,
    /// Steps of an invocation in a pass.
    pub(super) budget: u32,
    pub(super) spawns: bool,
    pub(super) requeues: bool,
}

/// The kernel that publishes every task that may run, and sets the number of tasks in flight.
pub(super) fn fill(shape: Shape) -> Result<Checked<Program>, BuildError> {
    let Shape { layout, opcodes, .. } = shape;
    Kernel::build("queue_fill", |k| {
        let capacity = k.param::<u32>(own::CAPACITY);
        let ring = k.param::<u32>(own::RING);
        let queue = k.read_write::<u32>(own::STATE).coherent();
        let tasks = k.read_write::<u32>(own::TASKS).coherent();
        k.domain([capacity], |[task]| {
            k.if_(task.lt(queue.load(state::ALLOCATED)), || {
                let record = task * layout.stride();
                let now = tasks.atomic_or(record + word::STATUS, 0u32);
                k.if_(now.eq(status::READY) | now.eq(status::RELEASING), || {
                    let lane = tasks.load(record + word::LANE);
                    let [_, tail, slots] = lane_words(k, shape, lane, ring);
                    let slot = queue.atomic_add(tail, 1u32);
                    k.if_(slot.lt(ring), || queue.store(slots + slot, task + 1u32));
                    queue.atomic_add(layout.pending(opcodes), 1u32);
                });
            });
        });
    })
}

/// The words of a lane: its claims, its slots given out, the start of its ring.
fn lane_words<'k>(k: &'k Kernel, shape: Shape, lane: Val<'k, u32>, ring: Val<'k, u32>) -> [Val<'k, u32>; 3] {
    let Shape { layout, opcodes, .. } = shape;
    let (head, tail) = (layout.head(opcodes, 0), layout.tail(opcodes, 0));
    let apart = layout.head(opcodes, 1) - head;
    [lane * apart + head, lane * apart + tail, lane * ring + k.lit(layout.ring_start(opcodes))]
}

/// The kernel of a pass, with a marker for each handler.
pub(super) fn run(shape: Shape) -> Result<Checked<Program>, BuildError> {
    Kernel::build("work_queue", |k| {
        let groups = k.param::<u32>(own::GROUPS);
        let patience = k.param::<u32>(own::PATIENCE);
        let capacity = k.param::<u32>(own::CAPACITY);
        let ring = k.param::<u32>(own::RING);
        let queue = k.read_write::<u32>(own::STATE).coherent();
        let tasks = k.read_write::<u32>(own::TASKS).coherent();
        let edges = k.read_only::<u32>(own::EDGES);
        let spawn = k.private::<u32>(names::SPAWN, shape.layout.spawn_words());
        let requeue = k.private::<u32>(names::REQUEUE, 1);
        k.workgroups([shape.group], [groups], |_| {
            let var = |name: &str| k.var(format!("queue_{name}"), 0u32);
            let pass = Pass {
                k,
                shape,
                patience,
                capacity,
                ring,
                queue,
                tasks,
                edges,
                spawn,
                requeue,
                task: var("task"),
                busy: var("busy"),
                slot: var("slot"),
                cursor: var("cursor"),
                end: var("end"),
                join: var("join"),
                publish: var("publish"),
                lane: var("lane"),
                child: var("child"),
                children_end: var("children_end"),
                owed: var("owed"),
                idle: var("idle"),
                done: (0..shape.opcodes).map(|n| k.var(format!("queue_done{n}"), 0u32)).collect(),
            };
            k.for_(0u32, shape.budget, |_| pass.step());
            pass.end();
        });
    })
}

/// What an invocation of a pass works with.
struct Pass<'k> {
    k: &'k Kernel,
    shape: Shape,
    patience: Val<'k, u32>,
    capacity: Val<'k, u32>,
    ring: Val<'k, u32>,
    queue: ReadWrite<'k, u32>,
    tasks: ReadWrite<'k, u32>,
    edges: ReadOnly<'k, u32>,
    spawn: Private<'k, u32>,
    requeue: Private<'k, u32>,
    /// The task that it holds, where `busy`: its handler has run, and its dependants are being told.
    task: Var<'k, u32>,
    busy: Var<'k, u32>,
    /// The slot that it has claimed and found empty, as a word of the queue; or 0.
    slot: Var<'k, u32>,
    /// The dependants that are still to be told, and the task that waits for this one; plus one, or 0.
    cursor: Var<'k, u32>,
    end: Var<'k, u32>,
    join: Var<'k, u32>,
    /// A task that is to be published, plus one; or 0; and its lane.
    publish: Var<'k, u32>,
    lane: Var<'k, u32>,
    /// Added tasks that are to be published.
    child: Var<'k, u32>,
    children_end: Var<'k, u32>,
    /// By how much `pending` is too high on this invocation's account.
    owed: Var<'k, u32>,
    /// Steps since it last did anything.
    idle: Var<'k, u32>,
    /// Tasks done, by opcode.
    done: Vec<Var<'k, u32>>,
}

impl<'k> Pass<'k> {
    fn field(&self, task: Val<'k, u32>, word: u32) -> Val<'k, u32> {
        task * self.shape.layout.stride() + word
    }

    fn load(&self, task: Val<'k, u32>, word: u32) -> Val<'k, u32> {
        self.tasks.load(self.field(task, word))
    }

    fn store(&self, task: Val<'k, u32>, word: u32, value: Val<'k, u32>) {
        self.tasks.store(self.field(task, word), value);
    }

    fn set_status(&self, task: Val<'k, u32>, to: u32) {
        self.store(task, word::STATUS, self.k.lit(to));
    }

    fn fence(&self) {
        self.k.fence(MemoryOrdering::Storage, FenceScope::Device);
    }

    fn pending(&self) -> u32 {
        self.shape.layout.pending(self.shape.opcodes)
    }

    /// Adds to a row of counts.
    fn count(&self, row: Val<'k, u32>, column: u32) {
        self.queue.atomic_add(row * state::ROW + (state::COUNTS + column), 1u32);
    }

    fn step(&self) {
        let k = self.k;
        let free = self.busy.get().eq(0u32)
            & self.publish.get().eq(0u32)
            & self.child.get().ge(self.children_end.get());
        k.if_(free, || self.claim());
        k.if_(self.publish.get().eq(0u32), || {
            let child = self.child.get();
            k.if_else(
                child.lt(self.children_end.get()),
                || {
                    self.publish.set(child + 1u32);
                    self.lane.set(self.load(child, word::LANE));
                    self.child.set(child + 1u32);
                },
                || k.if_(self.busy.get().ne(0u32), || self.tell()),
            );
        });
        k.if_(self.publish.get().ne(0u32), || self.put());
    }
}
