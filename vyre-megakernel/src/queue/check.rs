//! The static checker: every task of a graph that passes can run, whatever the others do but fault.
//!
//! * Opcodes have handlers, with as many arguments; lanes exist.
//! * Links are between tasks that exist, and no two of them are alike.
//! * A task waits for exactly those that tell it: one fewer and it would run too early, one more and never.
//! * No task waits for itself, directly or not.

use super::graph::Row;
use super::layout::MAX_TASKS;
use super::{Opcode, QueueLayout, TaskGraph, TaskId};

/// Findings of one check, at most.
const MOST: usize = 64;

/// What is wrong with a task graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TaskFinding {
    /// No handler has the opcode.
    #[error("{task}: {opcode} has no handler; there are {known}, and `handler` gives the opcode of each")]
    UnknownOpcode {
        /// The task.
        task: TaskId,
        /// Its opcode.
        opcode: Opcode,
        /// How many handlers there are.
        known: u32,
    },
    /// Arguments are missing or too many.
    #[error("{task}: the handler of {opcode} takes {needs} arguments, not {got}")]
    Arguments {
        /// The task.
        task: TaskId,
        /// Its opcode.
        opcode: Opcode,
        /// The handler's parameters.
        needs: u32,
        /// The task's arguments.
        got: u32,
    },
    /// There is no such lane.
    #[error("{task}: there is no lane {lane}, only {lanes}")]
    Lane {
        /// The task.
        task: TaskId,
        /// Its lane.
        lane: u32,
        /// The queue's lanes.
        lanes: u32,
    },
    /// A link names a task that does not exist.
    #[error("{from} is to tell {to}, but there are {count} tasks")]
    NoTask {
        /// The task that tells.
        from: TaskId,
        /// The one that is told.
        to: TaskId,
        /// How many tasks there are.
        count: u32,
    },
    /// A task would tell another one twice.
    #[error("{from} is to tell {to} twice: link them once")]
    DoubleJoin {
        /// The task that tells.
        from: TaskId,
        /// The one that is told.
        to: TaskId,
    },
    /// A task waits for more tasks than tell it, so that it would never run, or for fewer, so that it would run
    /// too early.
    #[error(
        "{task} waits for {joins} tasks, but {links} tell it: use `depend`, or `expect` as many as link to it"
    )]
    Joins {
        /// The task.
        task: TaskId,
        /// For how many it waits.
        joins: u32,
        /// How many tell it.
        links: u32,
    },
    /// Tasks wait for each other in a circle.
    #[error("tasks wait for each other in a circle: {}", circle(tasks, *length))]
    Cycle {
        /// The tasks, each waiting for the one before it, the first for the last; 16 of them at most.
        tasks: Vec<TaskId>,
        /// How many there are in the circle.
        length: u32,
    },
    /// There are too many tasks, arguments or links.
    #[error("there are {count} {what}, more than {limit}: split the graph")]
    TooMany {
        /// What.
        what: &'static str,
        /// How many.
        count: u64,
        /// The limit.
        limit: u64,
    },
}

fn circle(tasks: &[TaskId], length: u32) -> String {
    let mut text: Vec<String> = tasks.iter().map(|task| task.0.to_string()).collect();
    if (tasks.len() as u32) < length {
        text.push(format!("… ({length} in all)"));
    }
    text.join(" → ")
}

impl TaskFinding {
    /// The task that it is about first, if it is about one.
    pub fn task(&self) -> Option<TaskId> {
        match self {
            Self::UnknownOpcode { task, .. }
            | Self::Arguments { task, .. }
            | Self::Lane { task, .. }
            | Self::Joins { task, .. } => Some(*task),
            Self::NoTask { from, .. } | Self::DoubleJoin { from, .. } => Some(*from),
            Self::Cycle { tasks, .. } => tasks.first().copied(),
            Self::TooMany { .. } => None,
        }
    }
}

/// A task graph whose tasks can all run.
#[derive(Clone, Debug)]
pub struct CheckedTasks {
    pub(super) rows: Vec<Row>,
    pub(super) words: Vec<u32>,
    /// Where each task's dependants begin, and where the last one's end.
    pub(super) starts: Vec<u32>,
    pub(super) dependants: Vec<u32>,
    /// What it was checked against: arguments of each opcode, and lanes.
    pub(super) handlers: Vec<u32>,
    pub(super) lanes: u32,
    deepest: u32,
}

impl CheckedTasks {
    /// The number of tasks.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The number of links.
    pub fn links(&self) -> usize {
        self.dependants.len()
    }

    /// Tasks on the longest way through the graph.
    pub fn depth(&self) -> u32 {
        self.deepest
    }

    /// A task's dependants.
    pub fn dependants(&self, task: TaskId) -> &[u32] {
        let at = task.0 as usize;
        let range = self.starts.get(at).zip(self.starts.get(at + 1));
        range.and_then(|(&a, &b)| self.dependants.get(a as usize..b as usize)).unwrap_or(&[])
    }
}

/// Findings, up to [`MOST`].
#[derive(Default)]
struct Findings(Vec<TaskFinding>);

impl Findings {
    fn add(&mut self, finding: TaskFinding) {
        if self.0.len() < MOST {
            self.0.push(finding);
        }
    }
}

/// Checks a graph for handlers that take so many arguments each.
pub(super) fn check(
    graph: TaskGraph,
    handlers: &[u32],
    layout: &QueueLayout,
) -> Result<CheckedTasks, Vec<TaskFinding>> {
    let mut found = Findings::default();
    let sizes = [
        ("tasks", graph.rows.len(), u64::from(MAX_TASKS)),
        ("words of arguments", graph.words.len(), u64::from(u32::MAX)),
        ("links", graph.links.len(), u64::from(u32::MAX >> 2)),
    ];
    for (what, count, limit) in sizes {
        if count as u64 > limit {
            found.add(TaskFinding::TooMany { what, count: count as u64, limit });
            return Err(found.0);
        }
    }
    tasks(&graph, handlers, layout, &mut found);
    let count = graph.rows.len() as u32;
    for &(from, to) in graph.links.iter().filter(|(from, to)| from.0.max(to.0) >= count) {
        found.add(TaskFinding::NoTask { from, to, count });
    }
    if !found.0.is_empty() {
        return Err(found.0);
    }
    let (starts, dependants) = by_task(&graph);
    let indegrees = joins(&graph, &starts, &dependants, &mut found);
    let deepest = order(&starts, &dependants, indegrees, &mut found);
    if !found.0.is_empty() {
        return Err(found.0);
    }
    let TaskGraph { rows, words, .. } = graph;
    let (handlers, lanes) = (handlers.to_vec(), layout.lanes);
    Ok(CheckedTasks { rows, words, starts, dependants, handlers, lanes, deepest })
}

fn tasks(graph: &TaskGraph, handlers: &[u32], layout: &QueueLayout, found: &mut Findings) {
    for (task, row) in (0..).map(TaskId).zip(&graph.rows) {
        let (opcode, got) = (row.opcode, row.arguments.1);
        match handlers.get(opcode.0 as usize) {
            None => found.add(TaskFinding::UnknownOpcode { task, opcode, known: handlers.len() as u32 }),
            Some(&needs) if needs != got => {
                found.add(TaskFinding::Arguments { task, opcode, needs, got });
            }
            Some(_) => {}
        }
        if row.lane >= layout.lanes {
            found.add(TaskFinding::Lane { task, lane: row.lane, lanes: layout.lanes });
        }
    }
}

/// The dependants of all tasks, those of one together and in order, and where each one's begin.
fn by_task(graph: &TaskGraph) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0u32; graph.rows.len() + 1];
    for (from, _) in &graph.links {
        starts[from.0 as usize + 1] += 1;
    }
    for i in 1..starts.len() {
        starts[i] += starts[i - 1];
    }
    let mut next = starts.clone();
    let mut dependants = vec![0u32; graph.links.len()];
    for (from, to) in &graph.links {
        let at = &mut next[from.0 as usize];
        dependants[*at as usize] = to.0;
        *at += 1;
    }
    for range in starts.windows(2) {
        dependants[range[0] as usize..range[1] as usize].sort_unstable();
    }
    (starts, dependants)
}

/// How many tell each task.
fn joins(graph: &TaskGraph, starts: &[u32], dependants: &[u32], found: &mut Findings) -> Vec<u32> {
    let mut links = vec![0u32; graph.rows.len()];
    for (from, range) in (0..).map(TaskId).zip(starts.windows(2)) {
        let own = &dependants[range[0] as usize..range[1] as usize];
        for &to in own {
            links[to as usize] += 1;
        }
        let mut twice: Vec<u32> = own.windows(2).filter(|w| w[0] == w[1]).map(|w| w[0]).collect();
        twice.dedup();
        for to in twice {
            found.add(TaskFinding::DoubleJoin { from, to: TaskId(to) });
        }
    }
    for (task, (row, &links)) in (0..).map(TaskId).zip(graph.rows.iter().zip(&links)) {
        if row.joins != links {
            found.add(TaskFinding::Joins { task, joins: row.joins, links });
        }
    }
    links
}

/// Looks for circles: takes away tasks that wait for nobody until there are none. Gives the length of the longest way.
fn order(starts: &[u32], dependants: &[u32], mut waits: Vec<u32>, found: &mut Findings) -> u32 {
    let own = |task: u32| {
        let at = task as usize;
        &dependants[starts[at] as usize..starts[at + 1] as usize]
    };
    let mut ready: Vec<u32> = (0u32..).zip(&waits).filter(|(_, n)| **n == 0).map(|(task, _)| task).collect();
    let mut depth = vec![1u32; waits.len()];
    let mut taken = 0;
    while let Some(&task) = ready.get(taken) {
        taken += 1;
        for &to in own(task) {
            depth[to as usize] = depth[to as usize].max(depth[task as usize] + 1);
            waits[to as usize] -= 1;
            if waits[to as usize] == 0 {
                ready.push(to);
            }
        }
    }
    if taken < waits.len() {
        found.add(cycle(starts, dependants, &waits));
    }
    depth.into_iter().max().unwrap_or(0)
}

/// A circle among the tasks that still wait for others.
fn cycle(starts: &[u32], dependants: &[u32], waits: &[u32]) -> TaskFinding {
    // Each of them waits for one of them, so going back from any of them comes to a circle.
    let mut before = vec![u32::MAX; waits.len()];
    for (from, range) in (0u32..).zip(starts.windows(2)) {
        if waits[from as usize] > 0 {
            for &to in &dependants[range[0] as usize..range[1] as usize] {
                before[to as usize] = from;
            }
        }
    }
    let first = waits.iter().position(|&n| n > 0).unwrap_or(0);
    let mut seen = vec![u32::MAX; waits.len()];
    let (mut at, mut steps, mut way) = (first as u32, 0u32, Vec::new());
    while seen.get(at as usize).is_some_and(|&when| when == u32::MAX) {
        seen[at as usize] = steps;
        way.push(at);
        steps += 1;
        at = before[at as usize];
    }
    let start = seen.get(at as usize).map_or(0, |&when| when as usize);
    let circle = way.get(start..).unwrap_or(&[]);
    let length = circle.len() as u32;
    // Its smallest task comes first, so that the finding does not depend on where the search began.
    let least = circle.iter().enumerate().min_by_key(|(_, task)| **task).map_or(0, |(i, _)| i);
    let forward = circle.iter().rev().cycle().skip(circle.len().saturating_sub(1 + least));
    let tasks = forward.take(circle.len().min(16)).map(|&task| TaskId(task)).collect();
    TaskFinding::Cycle { tasks, length }
}
