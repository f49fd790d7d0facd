//! Jobs that check themselves: random task graphs whose tasks show what they saw, and task graphs made to mislead.
//!
//! The handler of [`mix`] mixes the values of the tasks that its own waited for into one of its own. Only if each of them had
//! been stored, and was seen, does the last value come out right; how often each task ran is counted beside. The same
//! work as a sequence of dispatches, a level of the graph at a time, is [`Trial::levels`] with [`mix_level`].

mod adversaries;

use vyre_driver::{Resource, VyreBackend};
use vyre_foundation::build::{BuildError, Kernel, Val};
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;

use super::report::words;
use super::{Opcode, QueueError, QueueOptions, QueueReport, TaskGraph, TaskId, WorkQueue};

pub use adversaries::{Adversaries, adversarial, adversaries, play};

/// Tasks that a task of a trial waits for, at most: its arguments.
pub const PRODUCERS: u32 = 4;

/// A generator of numbers: SplitMix64.
#[derive(Clone, Debug)]
pub struct Numbers(u64);

impl Numbers {
    /// From a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`, or 0.
    pub fn below(&mut self, end: u32) -> u32 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u32
    }
}

const FIRST: u32 = 0x9E37_79B1;
const FACTOR: u32 = 0x85EB_CA6B;

fn first(task: u32) -> u32 {
    task.wrapping_mul(FIRST).wrapping_add(1)
}

fn mixed(value: u32, producer: u32) -> u32 {
    (value.rotate_left(5) ^ producer).wrapping_mul(FACTOR)
}

/// The value of a task, from those of the tasks that it waits for. `producer` gives each one's number plus one, or 0.
fn mix_one<'k>(
    k: &'k Kernel,
    task: Val<'k, u32>,
    load: impl Fn(Val<'k, u32>) -> Val<'k, u32>,
    producer: impl Fn(u32) -> Val<'k, u32>,
) -> Val<'k, u32> {
    let value = k.var("value", task * FIRST + 1u32);
    for n in 0..PRODUCERS {
        let producer = producer(n);
        k.if_(producer.ne(0u32), || {
            let now = value.get();
            let turned = (now << 5u32) | (now >> 27u32);
            value.set((turned ^ load(producer - 1u32)) * FACTOR);
        });
    }
    value.get()
}

/// The handler: stores the task's value in `values`, and counts in `runs` that it ran.
///
/// # Errors
/// None, unless the builder's rules change.
pub fn mix() -> Result<Checked<Program>, BuildError> {
    Kernel::build("mix", |k| {
        let task = k.param::<u32>("task");
        let producers: Vec<_> = (0..PRODUCERS).map(|n| k.param::<u32>(format!("producer{n}"))).collect();
        let values = k.read_write::<u32>("values");
        let runs = k.read_write::<u32>("runs");
        k.domain([1], |_| {
            let producer = |n: u32| producers.get(n as usize).copied().unwrap_or(task);
            values.store(task, mix_one(k, task, |at| values.load(at), producer));
            runs.atomic_add(task, 1u32);
        });
    })
}

/// The same for `count` tasks that do not wait for each other, from the place `start` of `order`.
///
/// # Errors
/// As [`mix`].
pub fn mix_level() -> Result<Checked<Program>, BuildError> {
    Kernel::build("mix_level", |k| {
        let start = k.param::<u32>("start");
        let count = k.param::<u32>("count");
        let order = k.read_only::<u32>("order");
        let producers = k.read_only::<u32>("producers");
        let values = k.read_write::<u32>("values");
        k.domain([count], |[i]| {
            let task = order.load(start + i);
            let producer = |n: u32| producers.load(task * PRODUCERS + n);
            values.store(task, mix_one(k, task, |at| values.load(at), producer));
        });
    })
}

/// A random graph of [`mix`] tasks, and what they come to.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The graph.
    pub graph: TaskGraph,
    /// Each task's value.
    pub values: Vec<u32>,
    /// The numbers of the tasks that each waits for, plus one; [`PRODUCERS`] for each task.
    pub producers: Vec<u32>,
    levels: Vec<u32>,
}

/// Where a trial went wrong.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TrialError {
    /// The queue did not run.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// Tasks are not done.
    #[error("{done} of {tasks} tasks are done")]
    Incomplete {
        /// Tasks that are done.
        done: u64,
        /// All of them.
        tasks: u64,
    },
    /// The checker accepted a graph that cannot run.
    #[error("the checker accepted the adversarial graph of seed {seed}, whose tasks do not run once each")]
    FalseAccept {
        /// Its seed.
        seed: u64,
    },
    /// The checker refused a graph that can run.
    #[error("the checker refused the adversarial graph of seed {seed}, whose tasks run once each:{findings}")]
    FalseRefusal {
        /// Its seed.
        seed: u64,
        /// Why.
        findings: String,
    },
    /// A task did not run once.
    #[error("{task} ran {times} times")]
    Runs {
        /// The task.
        task: TaskId,
        /// How often it ran.
        times: u32,
    },
    /// A task did not see what another one had stored.
    #[error(
        "{task} came to {got:#010x}, not {expected:#010x}: it did not see what a task before it had stored"
    )]
    Value {
        /// The task.
        task: TaskId,
        /// What is right.
        expected: u32,
        /// What was found.
        got: u32,
    },
}

impl Trial {
    /// A graph of so many tasks, each waiting for up to [`PRODUCERS`] of the `window` tasks before it, in lanes by
    /// chance. The narrower the window, the deeper the graph.
    pub fn random(opcode: Opcode, tasks: u32, seed: u64, window: u32, lanes: u32) -> Self {
        let mut numbers = Numbers::new(seed);
        let (mut graph, mut values, mut levels) = (TaskGraph::new(), Vec::new(), Vec::new());
        let mut producers = Vec::new();
        for task in 0..tasks {
            let reach = task.min(window);
            let mut own = [0u32; PRODUCERS as usize];
            let (mut value, mut level) = (first(task), 0);
            let count = numbers.below(PRODUCERS + 1).min(reach);
            for n in 0..count as usize {
                let producer = task - 1 - numbers.below(reach);
                if own.contains(&(producer + 1)) {
                    continue;
                }
                own[n] = producer + 1;
                value = mixed(value, values[producer as usize]);
                level = level.max(levels[producer as usize] + 1);
            }
            let id = graph.add(opcode, numbers.below(lanes), &own);
            for &producer in own.iter().filter(|&&producer| producer != 0) {
                graph.depend(id, TaskId(producer - 1));
            }
            values.push(value);
            levels.push(level);
            producers.extend(own);
        }
        Self { graph, values, producers, levels }
    }

    /// The tasks in an order in which those of a level come together, and where each level begins and ends.
    pub fn levels(&self) -> (Vec<u32>, Vec<(u32, u32)>) {
        let deepest = self.levels.iter().max().copied().map_or(0, |level| level + 1);
        let mut order: Vec<u32> = (0..self.levels.len() as u32).collect();
        order.sort_by_key(|&task| self.levels[task as usize]);
        let start = |level: u32| order.partition_point(|&task| self.levels[task as usize] < level) as u32;
        let spans = (0..deepest).map(|level| (start(level), start(level + 1))).collect();
        (order, spans)
    }

    /// Runs the graph on a queue whose handlers are [`mix`], and checks what came of it.
    ///
    /// # Errors
    /// What went wrong, with the first task that shows it.
    pub fn run(
        &self,
        queue: &WorkQueue,
        backend: &dyn VyreBackend,
        options: &QueueOptions,
    ) -> Result<QueueReport, TrialError> {
        let tasks = queue
            .check(self.graph.clone())
            .map_err(|error| QueueError::Kernel { message: error.to_string() })?;
        let bytes = 4 * (self.values.len() as u64).max(1);
        let values = backend.allocate(bytes).map_err(QueueError::from)?;
        let runs = backend.allocate(bytes).map_err(QueueError::from)?;
        let result = queue
            .run(backend, &tasks, &[("values", values), ("runs", runs)], options)
            .map_err(TrialError::from)
            .and_then(|report| self.verify(backend, values, runs).map(|()| report));
        for resource in [values, runs] {
            // A lost device has freed them already.
            let _ = backend.free(resource);
        }
        let report = result?;
        let (done, tasks) = (report.done(), self.values.len() as u64);
        if done != tasks || !report.is_complete() {
            return Err(TrialError::Incomplete { done, tasks });
        }
        Ok(report)
    }

    fn verify(&self, backend: &dyn VyreBackend, values: Resource, runs: Resource) -> Result<(), TrialError> {
        let read = |resource| backend.download_resident(&resource).map_err(QueueError::from);
        let (values, runs) = (words(&read(values)?), words(&read(runs)?));
        for (task, &times) in (0..).map(TaskId).zip(&runs).take(self.values.len()) {
            if times != 1 {
                return Err(TrialError::Runs { task, times });
            }
        }
        self.verify_values(&values)
    }

    /// Checks the values of all tasks.
    ///
    /// # Errors
    /// The first one that is wrong.
    pub fn verify_values(&self, values: &[u32]) -> Result<(), TrialError> {
        for (task, (&expected, &got)) in (0..).map(TaskId).zip(self.values.iter().zip(values)) {
            if expected != got {
                return Err(TrialError::Value { task, expected, got });
            }
        }
        Ok(())
    }
}
