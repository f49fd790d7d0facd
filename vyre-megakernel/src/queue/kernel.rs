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

use vyre_foundation::build::{BuildError, Kernel, Private, ReadOnly, ReadWrite, Val, Var};
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_spec::{DataType, FenceScope, MemoryOrdering};

use super::AFTER_CHILDREN;
use super::layout::{GIVEN_UP, QueueLayout, fault, state, status, word};
use super::splice::{MARK, names};

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

    /// Claims a task and runs it, or ends the invocation if it has been idle for long.
    fn claim(&self) {
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
    fn settle(&self) {
        let owed = self.owed.get();
        self.k.if_(owed.ne(0u32), || {
            self.queue.atomic_sub(self.pending(), owed);
            self.owed.set(0u32);
        });
    }

    /// Begins with the task that was found: its handler, unless that has run in an earlier pass.
    fn take(&self) {
        let (k, task) = (self.k, self.task.get());
        self.cursor.set(self.load(task, word::CURSOR));
        self.end.set(self.load(task, word::END));
        self.join.set(self.load(task, word::JOIN));
        self.busy.set(1u32);
        k.if_(self.load(task, word::STATUS).ne(status::RELEASING), || {
            let opcode = self.load(task, word::OPCODE);
            for n in 0..self.shape.layout.arguments {
                // What no handler takes is left out by the optimiser.
                let argument = self.load(task, word::ARGUMENTS + n);
                k.var(names::argument(n, DataType::U32), argument);
                k.var(names::argument(n, DataType::I32), argument.bitcast::<i32>());
                k.var(names::argument(n, DataType::F32), argument.bitcast::<f32>());
            }
            let kind = k.var("queue_fault", 0u32);
            let trapped = k.var(names::TRAPPED, false);
            let code = k.var(names::CODE, 0u32);
            let address = k.var(names::ADDRESS, 0u32);
            if self.shape.spawns {
                for word in 0..self.shape.layout.spawn_words() {
                    self.spawn.store(word, 0u32);
                }
            }
            if self.shape.requeues {
                self.requeue.store(0u32, 0u32);
            }
            for n in 0..self.shape.opcodes {
                k.if_(opcode.eq(n), || k.trap(MARK + n, task));
            }
            k.if_(trapped.get(), || kind.set(fault::TRAP));
            k.if_(opcode.ge(self.shape.opcodes), || {
                kind.set(fault::OPCODE);
                code.set(opcode);
            });
            let again = k.var("queue_again", 0u32);
            if self.shape.requeues {
                again.set(self.requeue.load(0u32));
            }
            if self.shape.spawns {
                self.add_children(task, [kind, code, address], again);
            }
            let row = opcode.min(self.shape.opcodes);
            k.if_else(
                kind.get().ne(0u32),
                || {
                    self.store(task, word::FAULT, kind.get());
                    self.store(task, word::CODE, code.get());
                    self.store(task, word::ADDRESS, address.get());
                    self.set_status(task, status::FAULTED);
                    self.queue.atomic_add(state::FAULTED, 1u32);
                    self.count(row, 1);
                    self.busy.set(0u32);
                    self.owed.set(self.owed.get() + 1u32);
                },
                || self.has_run(task, opcode, row, again),
            );
            self.fence();
        });
    }

    /// What becomes of a task whose handler ran without fault.
    fn has_run(&self, task: Val<'k, u32>, opcode: Val<'k, u32>, row: Val<'k, u32>, again: Var<'k, u32>) {
        let k = self.k;
        let done = || {
            for (n, done) in (0u32..).zip(&self.done) {
                done.set(opcode.eq(n).select(done.get() + 1u32, done.get()));
            }
        };
        if !self.shape.requeues {
            return done();
        }
        k.if_else(again.get().eq(0u32), done, || {
            self.count(row, 2);
            self.busy.set(0u32);
            let children = self.children_end.get() - self.child.get();
            k.if_else(
                again.get().eq(AFTER_CHILDREN) & children.ne(0u32),
                || {
                    self.store(task, word::COUNTER, children);
                    self.set_status(task, status::WAITING);
                    self.owed.set(self.owed.get() + 1u32);
                },
                || {
                    self.set_status(task, status::READY);
                    self.publish.set(task + 1u32);
                    self.lane.set(self.load(task, word::LANE));
                },
            );
        });
    }

    /// Makes records of the tasks that a handler adds.
    fn add_children(&self, task: Val<'k, u32>, faulted: [Var<'k, u32>; 3], again: Var<'k, u32>) {
        let (k, layout) = (self.k, self.shape.layout);
        let [kind, code, address] = faulted;
        let children = self.spawn.load(0u32);
        k.if_(kind.get().eq(0u32) & children.ne(0u32), || {
            let first = k.var("queue_first_child", self.capacity);
            let fits = children.le(layout.children);
            k.if_(fits, || first.set(self.queue.atomic_add(state::ALLOCATED, children)));
            let first = first.get();
            let fits = fits & first.le(self.capacity) & children.le(self.capacity - first);
            k.if_else(
                fits,
                || {
                    let join = again.get().eq(AFTER_CHILDREN).select(task + 1u32, k.lit(0u32));
                    for n in 0..layout.children {
                        k.if_(children.gt(n), || {
                            self.add_child(first + n, 1 + n * layout.child_words(), join)
                        });
                    }
                    self.child.set(first);
                    self.children_end.set(first + children);
                    self.queue.atomic_add(self.pending(), children);
                },
                || {
                    kind.set(fault::OVERFLOW);
                    code.set(children);
                    address.set(self.capacity);
                },
            );
        });
    }

    fn add_child(&self, child: Val<'k, u32>, at: u32, join: Val<'k, u32>) {
        let (k, layout) = (self.k, self.shape.layout);
        let zero = k.lit(0u32);
        for word in [word::COUNTER, word::CURSOR, word::END, word::FAULT, word::CODE, word::ADDRESS] {
            self.store(child, word, zero);
        }
        self.store(child, word::OPCODE, self.spawn.load(at));
        self.store(child, word::LANE, self.spawn.load(at + 1).min(layout.lanes - 1));
        self.store(child, word::JOIN, join);
        for n in 0..layout.arguments {
            self.store(child, word::ARGUMENTS + n, self.spawn.load(at + 2 + n));
        }
        self.set_status(child, status::READY);
    }

    /// Tells the next dependant, or ends the task if all are told.
    fn tell(&self) {
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
    fn put(&self) {
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
    fn end(&self) {
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
