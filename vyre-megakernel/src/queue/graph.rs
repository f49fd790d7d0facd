//! Task graphs, as the host builds them.

use std::fmt;

/// A task, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(pub u32);

impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {}", self.0)
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A handler, by the order in which the compiler was given it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Opcode(pub u32);

impl fmt::Debug for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "opcode {}", self.0)
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A task but for its arguments and dependants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) opcode: Opcode,
    pub(super) lane: u32,
    /// Tasks that it waits for, as it says itself.
    pub(super) joins: u32,
    /// Where its arguments begin and how many they are.
    pub(super) arguments: (u32, u32),
}

/// Tasks and what they wait for. [`super::WorkQueue::check`] proves that each can run.
///
/// ```
/// use vyre_megakernel::queue::{Opcode, TaskGraph};
/// let mut graph = TaskGraph::new();
/// let load = graph.add(Opcode(0), 0, &[7]);
/// let sum = graph.add(Opcode(1), 0, &[]);
/// graph.depend(sum, load);
/// assert_eq!(graph.len(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskGraph {
    pub(super) rows: Vec<Row>,
    pub(super) words: Vec<u32>,
    /// Who tells whom.
    pub(super) links: Vec<(TaskId, TaskId)>,
}

impl TaskGraph {
    /// No tasks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a task of a priority lane, 0 the first to be served. Arguments are words; those of other types are
    /// their bits.
    pub fn add(&mut self, opcode: Opcode, lane: u32, arguments: &[u32]) -> TaskId {
        let id = TaskId(self.rows.len() as u32);
        let arguments_at = (self.words.len() as u32, arguments.len() as u32);
        self.words.extend_from_slice(arguments);
        self.rows.push(Row { opcode, lane, joins: 0, arguments: arguments_at });
        id
    }

    /// Makes a task wait for another one.
    pub fn depend(&mut self, task: TaskId, on: TaskId) {
        self.link(on, task);
        if let Some(row) = self.rows.get_mut(task.0 as usize) {
            row.joins = row.joins.saturating_add(1);
        }
    }

    /// Has a task tell another one when it is done, without making that one wait: for tasks whose number of
    /// joins [`Self::expect`] says.
    pub fn link(&mut self, from: TaskId, to: TaskId) {
        self.links.push((from, to));
    }

    /// Sets how many tasks must tell a task before it runs.
    pub fn expect(&mut self, task: TaskId, joins: u32) {
        if let Some(row) = self.rows.get_mut(task.0 as usize) {
            row.joins = joins;
        }
    }

    /// The number of tasks.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The opcode of a task.
    pub fn opcode(&self, task: TaskId) -> Option<Opcode> {
        self.rows.get(task.0 as usize).map(|row| row.opcode)
    }
}
