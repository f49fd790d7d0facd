//! What a run of the queue came to.

use std::fmt;
use std::time::Duration;

use vyre_driver::BackendError;
use vyre_foundation::build::BuildError;
use vyre_spec::Capability;

use super::layout::{QueueLayout, fault, state, status, word};
use super::{HandlerError, Opcode, TaskFinding, TaskId};

/// Why a queue cannot be made or run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum QueueError {
    /// A program is no handler.
    #[error(transparent)]
    Handler(#[from] HandlerError),
    /// The layout has none of something, or too much.
    #[error("a queue's layout has {value} {what}; it takes {least} to {most}")]
    Layout {
        /// What.
        what: &'static str,
        /// How many there are.
        value: u32,
        /// The least.
        least: u32,
        /// The most.
        most: u32,
    },
    /// The device cannot order what tasks write.
    #[error("`{device}` cannot run a work queue: it lacks the capability `{}`; use another device", missing.name())]
    Unsupported {
        /// The device's name.
        device: String,
        /// What it lacks.
        missing: Capability,
    },
    /// The queue's kernel cannot be made: a fault of ours.
    #[error("the queue's kernel is wrong, which is a fault of Vyre: please report the handlers: {message}")]
    Kernel {
        /// What is wrong.
        message: String,
    },
    /// The tasks were checked for another queue.
    #[error("the tasks were checked for another queue: check them with this one")]
    OtherQueue,
    /// A shared buffer is not bound.
    #[error("the handlers' buffer `{name}` is not bound: pass a resident buffer for it")]
    Unbound {
        /// Its name.
        name: String,
    },
    /// A shared buffer is bound twice.
    #[error("the handlers' buffer `{name}` is bound twice: bind it once")]
    Twice {
        /// Its name.
        name: String,
    },
    /// A bound buffer is none of the handlers'.
    #[error("no handler has a buffer `{name}`; they have: {}", known.join(", "))]
    UnknownBuffer {
        /// The name.
        name: String,
        /// The handlers' buffers.
        known: Vec<String>,
    },
    /// There would be more tasks than the queue can number.
    #[error("{tasks} tasks and room for {extra} more are above the limit of {limit}: split the graph")]
    Capacity {
        /// The graph's tasks.
        tasks: u64,
        /// Room for added ones.
        extra: u64,
        /// The limit.
        limit: u64,
    },
    /// Tasks are still ready after the greatest number of passes.
    #[error(
        "{ready} tasks are still ready after {passes} passes, {task} among them: a handler may requeue its task for ever"
    )]
    Passes {
        /// Passes that were made.
        passes: u32,
        /// Tasks that could run.
        ready: u32,
        /// The first of them.
        task: TaskId,
    },
    /// The device or its backend.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

impl From<BuildError> for QueueError {
    fn from(error: BuildError) -> Self {
        Self::Kernel { message: error.to_string() }
    }
}

/// A graph that the static checker refused, with what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the task graph is wrong: {}", .0.first().map_or_else(String::new, ToString::to_string))]
pub struct TaskGraphError(pub Vec<TaskFinding>);

/// Why a task faulted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// Its handler trapped; the first trap counts.
    Trap {
        /// The trap's code.
        code: u32,
        /// The trap's address.
        address: u32,
    },
    /// No handler has its opcode: of tasks that other tasks add.
    UnknownOpcode,
    /// It added more tasks than its layout allows, or than there is room for. None of them were added.
    Overflow {
        /// How many it added.
        children: u32,
        /// Tasks that the queue has room for.
        capacity: u32,
    },
}

/// A task that faulted. Those that wait for it never run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskFault {
    /// The task.
    pub task: TaskId,
    /// Its opcode.
    pub opcode: Opcode,
    /// Why.
    pub fault: Fault,
}

impl fmt::Display for TaskFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}) ", self.task, self.opcode)?;
        match self.fault {
            Fault::Trap { code, address } => write!(f, "trapped with code {code}, address {address}"),
            Fault::UnknownOpcode => write!(f, "has no handler"),
            Fault::Overflow { children, capacity } => {
                write!(f, "added {children} tasks, with room for {capacity} in all")
            }
        }
    }
}

/// Runs of one opcode's handler, by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Tasks that are done.
    pub done: u32,
    /// Tasks that faulted.
    pub faulted: u32,
    /// Runs after which the task was to run again.
    pub requeued: u32,
}

/// What a run came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueReport {
    /// By opcode.
    pub counts: Vec<Counts>,
    /// Tasks that other tasks added with an opcode that has no handler.
    pub unknown: u32,
    /// Tasks that were added by others.
    pub added: u32,
    /// Those that faulted, in order of their numbers.
    pub faults: Vec<TaskFault>,
    /// Those that never ran, as they wait for one that faulted, in order of their numbers.
    pub blocked: Vec<TaskId>,
    /// Passes that were submitted; the last of them may have found nothing to do.
    pub passes: u32,
    /// Submissions.
    pub submissions: u32,
    /// What the device took for all of them, where it can tell.
    pub device_time: Option<Duration>,
}

impl QueueReport {
    /// Whether every task is done.
    pub fn is_complete(&self) -> bool {
        self.faults.is_empty() && self.blocked.is_empty()
    }

    /// Tasks that are done.
    pub fn done(&self) -> u64 {
        self.counts.iter().map(|counts| u64::from(counts.done)).sum()
    }

    /// The counts of an opcode.
    pub fn of(&self, opcode: Opcode) -> Counts {
        self.counts.get(opcode.0 as usize).copied().unwrap_or_default()
    }
}

/// The words of a buffer.
pub(super) fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| word.try_into().map_or(0, u32::from_le_bytes)).collect()
}

/// The word of `queue_state` at a place.
pub(super) fn at(words: &[u32], place: u32) -> u32 {
    words.get(place as usize).copied().unwrap_or(0)
}

/// Reads the counts.
pub(super) fn counts(words: &[u32], opcodes: u32) -> (Vec<Counts>, u32) {
    let row = |n: u32| {
        let first = state::COUNTS + state::ROW * n;
        Counts { done: at(words, first), faulted: at(words, first + 1), requeued: at(words, first + 2) }
    };
    ((0..opcodes).map(row).collect(), row(opcodes).faulted)
}

/// A record of `queue_tasks`.
#[derive(Clone, Copy)]
pub(super) struct Record<'w>(&'w [u32]);

impl Record<'_> {
    pub(super) fn all<'w>(
        words: &'w [u32],
        layout: &QueueLayout,
    ) -> impl Iterator<Item = (TaskId, Record<'w>)> {
        (0..).map(TaskId).zip(words.chunks_exact(layout.stride() as usize).map(Record))
    }

    fn word(&self, word: u32) -> u32 {
        at(self.0, word)
    }

    pub(super) fn status(&self) -> u32 {
        self.word(word::STATUS)
    }

    pub(super) fn is_task(&self) -> bool {
        self.status() != 0
    }

    pub(super) fn fault(&self, task: TaskId) -> Option<TaskFault> {
        if self.status() != status::FAULTED {
            return None;
        }
        let (code, address) = (self.word(word::CODE), self.word(word::ADDRESS));
        let fault = match self.word(word::FAULT) {
            fault::OPCODE => Fault::UnknownOpcode,
            fault::OVERFLOW => Fault::Overflow { children: code, capacity: address },
            _ => Fault::Trap { code, address },
        };
        Some(TaskFault { task, opcode: Opcode(self.word(word::OPCODE)), fault })
    }
}
