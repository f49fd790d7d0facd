//! The device work queue: task graphs that one kernel works off, with handlers that are Vyre programs.
//!
//! A [`QueueCompiler`] puts handlers into one kernel. A task has an opcode, which names its handler, arguments, a
//! priority lane, a number of tasks that it waits for, and dependants. The kernel's invocations claim tasks from a ring in
//! device memory, run their handlers, tell their dependants, and publish those that wait for nobody any more. A pass ends
//! when nothing is left or its budget is spent; the host makes passes until every task has run.
//!
//! # Handlers
//!
//! A handler is a program over a domain of one point. Its parameters are the task's arguments, in order of
//! declaration; one named [`TASK`] is the task's number. Its buffers are shared by all tasks, by name; those that a handler
//! writes are coherent, and a task sees everything that the tasks that it waits for have stored there. Tasks without a
//! way between them in the graph run in any order or at once, so what they share they change by atomics. Two buffers are
//! no buffers: in [`SPAWN`] a handler says which tasks it adds, in [`REQUEUE`] whether its own runs again. A `trap`
//! makes the task fault.
//!
//! ```
//! use vyre_driver::{ReferenceBackend, VyreBackend};
//! use vyre_foundation::build::Kernel;
//! use vyre_megakernel::queue::{QueueCompiler, QueueLayout, QueueOptions, TaskGraph};
//!
//! // Each task adds its argument to a sum that its predecessor left.
//! let add = Kernel::build("add", |k| {
//!     let x = k.param::<u32>("x");
//!     let sum = k.read_write::<u32>("sum");
//!     k.domain([1], |_| sum.store(0u32, sum.load(0u32) + x));
//! })?;
//! let backend = ReferenceBackend::default();
//! let mut compiler = QueueCompiler::new(QueueLayout::default());
//! let add = compiler.handler(&add)?;
//! let queue = compiler.compile(&backend)?;
//!
//! let mut graph = TaskGraph::new();
//! let first = graph.add(add, 0, &[20]);
//! let second = graph.add(add, 0, &[22]);
//! graph.depend(second, first);
//! let tasks = queue.check(graph)?;
//!
//! let sum = backend.allocate(4)?;
//! let report = queue.run(&backend, &tasks, &[("sum", sum)], &QueueOptions::default())?;
//! assert!(report.is_complete());
//! assert_eq!(backend.download_resident(&sum)?, 42u32.to_le_bytes());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it is for
//!
//! Graphs whose shape is only found while they run: tasks that add tasks, levels that nobody worked out beforehand.
//! Where levels are known, tiny tasks that are alike are faster as one dispatch for each level on a GPU: a claim costs several
//! atomics, and an invocation has no neighbours to read memory with; docs/work-queue.md has measurements. The queue promises no progress
//! between invocations and needs none, so it runs where
//! [`supports_persistent_thread_dispatch`](vyre_driver::VyreBackend::supports_persistent_thread_dispatch) is `false`, which it
//! is on wgpu: a pass ends by itself and the next one continues.

mod check;
mod compiler;
mod graph;
mod handler;
mod host;
mod kernel;
mod layout;
mod report;
mod splice;
#[cfg(test)]
mod tests;
pub mod trial;

pub use check::{CheckedTasks, TaskFinding};
pub use compiler::QueueCompiler;
pub use graph::{Opcode, TaskGraph, TaskId};
pub use handler::{AFTER_CHILDREN, AGAIN, HandlerError, REQUEUE, SPAWN, SharedBuffer, TASK};
pub use host::{QueueOptions, WorkQueue};
pub use layout::{MAX_TASKS, QueueLayout};
pub use report::{Counts, Fault, QueueError, QueueReport, TaskFault, TaskGraphError};
