//! Running a task's handler, and what comes of it.

use vyre_foundation::build::{Val, Var};
use vyre_spec::DataType;

use super::super::AFTER_CHILDREN;
use super::super::layout::{fault, state, status, word};
use super::super::splice::{MARK, names};
use super::Pass;

impl<'k> Pass<'k> {
    /// Begins with the task that was found: its handler, unless that has run in an earlier pass.
    pub(super) fn take(&self) {
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
    pub(super) fn has_run(
        &self,
        task: Val<'k, u32>,
        opcode: Val<'k, u32>,
        row: Val<'k, u32>,
        again: Var<'k, u32>,
    ) {
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
    pub(super) fn add_children(&self, task: Val<'k, u32>, faulted: [Var<'k, u32>; 3], again: Var<'k, u32>) {
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

    pub(super) fn add_child(&self, child: Val<'k, u32>, at: u32, join: Val<'k, u32>) {
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
}
