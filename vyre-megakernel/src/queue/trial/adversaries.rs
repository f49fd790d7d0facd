//! Task graphs that are made to mislead the static checker.

use std::collections::{BTreeMap, BTreeSet};

use vyre_driver::VyreBackend;

use super::super::{Opcode, QueueOptions, TaskFinding, TaskGraph, TaskId, WorkQueue};
use super::{Numbers, PRODUCERS, Trial, TrialError, first, mixed};

/// A small task graph of [`super::mix`] tasks, possibly wrong in one or more ways: circles, joins that are missing or
/// double, links to nowhere, opcodes, lanes and arguments that do not exist.
pub fn adversarial(opcode: Opcode, seed: u64) -> TaskGraph {
    let mut numbers = Numbers::new(seed);
    let mut graph = TaskGraph::new();
    let tasks = numbers.below(10);
    let odd = |numbers: &mut Numbers| numbers.below(40) == 0;
    for _ in 0..tasks {
        let opcode = if odd(&mut numbers) { Opcode(numbers.below(3) + 7) } else { opcode };
        let lane = if odd(&mut numbers) { 1 + numbers.below(9) } else { 0 };
        let count = if odd(&mut numbers) { numbers.below(6) } else { PRODUCERS };
        graph.add(opcode, lane, &vec![0; count as usize]);
    }
    let forward = numbers.below(3) > 0;
    for _ in 0..numbers.below(2 * tasks + 1) {
        let (a, b) = (numbers.below(tasks), numbers.below(tasks));
        let (mut from, mut to) = if forward { (a.min(b), a.max(b)) } else { (a, b) };
        if from == to && !odd(&mut numbers) {
            continue;
        }
        if odd(&mut numbers) {
            (from, to) = (numbers.below(tasks + 2), numbers.below(tasks + 2));
        }
        let known = graph.links.contains(&(TaskId(from), TaskId(to)));
        if known && !odd(&mut numbers) {
            continue;
        }
        if odd(&mut numbers) {
            // A join that is missing.
            graph.link(TaskId(from), TaskId(to));
        } else {
            graph.depend(TaskId(to), TaskId(from));
        }
    }
    if odd(&mut numbers) && tasks > 0 {
        graph.expect(TaskId(numbers.below(tasks)), numbers.below(4));
    }
    with_producers(&mut graph);
    graph
}

/// Makes each task's arguments the numbers of those that tell it, plus one, as far as there is room.
fn with_producers(graph: &mut TaskGraph) {
    for &(from, to) in &graph.links {
        let Some(&(at, count)) = graph.rows.get(to.0 as usize).map(|row| &row.arguments) else { continue };
        let own = graph.words.get_mut(at as usize..(at + count) as usize).unwrap_or_default();
        if let Some(free) = own.iter_mut().find(|word| **word == 0) {
            *free = from.0 + 1;
        }
    }
}

/// An order in which the tasks of a graph run, if each of them would run once, told by different tasks, and nobody is
/// told anything afterwards. It plays the graph through, one task after the other, and so knows nothing of how the
/// checker decides.
pub fn play(graph: &TaskGraph, handlers: &[u32], lanes: u32) -> Option<Vec<u32>> {
    let known = graph
        .rows
        .iter()
        .all(|row| row.lane < lanes && handlers.get(row.opcode.0 as usize) == Some(&row.arguments.1));
    let different: BTreeSet<_> = graph.links.iter().collect();
    if !known || different.len() != graph.links.len() {
        return None;
    }
    let mut waits: Vec<u32> = graph.rows.iter().map(|row| row.joins).collect();
    let mut ready: Vec<u32> = (0u32..).zip(&waits).filter(|(_, n)| **n == 0).map(|(task, _)| task).collect();
    let mut order = Vec::new();
    while let Some(task) = ready.pop() {
        order.push(task);
        for (_, to) in graph.links.iter().filter(|(from, _)| from.0 == task) {
            let waits = waits.get_mut(to.0 as usize)?;
            *waits = waits.checked_sub(1)?;
            if *waits == 0 {
                ready.push(to.0);
            }
        }
    }
    let whole = order.len() == graph.rows.len();
    // A link from a task that does not exist tells nobody.
    let real = graph.links.iter().all(|(from, _)| (from.0 as usize) < graph.rows.len());
    (whole && real).then_some(order)
}

/// What a number of adversarial graphs came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Adversaries {
    /// Graphs that the checker accepted, and the queue ran.
    pub accepted: u32,
    /// Their tasks.
    pub tasks: u64,
    /// Findings of the others, by kind.
    pub refused: BTreeMap<&'static str, u32>,
    /// Passes that the accepted ones took.
    pub passes: u32,
}

fn kind(finding: &TaskFinding) -> &'static str {
    match finding {
        TaskFinding::UnknownOpcode { .. } => "opcode",
        TaskFinding::Arguments { .. } => "arguments",
        TaskFinding::Lane { .. } => "lane",
        TaskFinding::NoTask { .. } => "no task",
        TaskFinding::DoubleJoin { .. } => "double join",
        TaskFinding::Joins { .. } => "joins",
        TaskFinding::Cycle { .. } => "cycle",
        TaskFinding::TooMany { .. } => "too many",
    }
}

/// Graphs that run together.
const BATCH: u32 = 2000;

/// Checks the adversarial graphs of these seeds against a play through each, and runs those that are accepted.
///
/// # Errors
/// A graph that is wrongly accepted or refused, or what goes wrong in a run.
pub fn adversaries(
    queue: &WorkQueue,
    backend: &dyn VyreBackend,
    opcode: Opcode,
    seeds: std::ops::Range<u64>,
    options: &QueueOptions,
) -> Result<Adversaries, TrialError> {
    let mut result = Adversaries::default();
    let mut batch = Trial::empty();
    let mut together = 0;
    let run = |batch: &mut Trial, result: &mut Adversaries| {
        let trial = std::mem::replace(batch, Trial::empty());
        result.tasks += trial.values.len() as u64;
        trial.run(queue, backend, options).map(|report| result.passes += report.passes)
    };
    for seed in seeds {
        let graph = adversarial(opcode, seed);
        let order = play(&graph, queue.arguments(), queue.layout().lanes);
        match (queue.check(graph.clone()), order) {
            (Ok(_), Some(order)) => {
                batch.append(&graph, &order);
                result.accepted += 1;
                together += 1;
            }
            (Ok(_), None) => return Err(TrialError::FalseAccept { seed }),
            (Err(error), Some(_)) => {
                let findings = error.0.iter().map(|finding| format!("\n  {finding}")).collect();
                return Err(TrialError::FalseRefusal { seed, findings });
            }
            (Err(error), None) => {
                for kind in error.0.iter().map(kind).collect::<BTreeSet<_>>() {
                    *result.refused.entry(kind).or_default() += 1;
                }
            }
        }
        if together == BATCH {
            together = 0;
            run(&mut batch, &mut result)?;
        }
    }
    run(&mut batch, &mut result)?;
    Ok(result)
}

impl Trial {
    fn empty() -> Self {
        Self { graph: TaskGraph::new(), values: Vec::new(), producers: Vec::new(), levels: Vec::new() }
    }

    /// Adds the tasks of a graph, which run in this order.
    fn append(&mut self, graph: &TaskGraph, order: &[u32]) {
        let base = self.values.len() as u32;
        let arguments = |task: u32| -> Vec<u32> {
            let Some(row) = graph.rows.get(task as usize) else { return Vec::new() };
            let (at, count) = row.arguments;
            let own = graph.words.get(at as usize..(at + count) as usize).unwrap_or_default();
            own.iter().map(|&word| if word == 0 { 0 } else { word + base }).collect()
        };
        for (task, row) in (0u32..).zip(&graph.rows) {
            let id = self.graph.add(row.opcode, row.lane, &arguments(task));
            self.graph.expect(id, row.joins);
        }
        for (from, to) in &graph.links {
            self.graph.link(TaskId(from.0 + base), TaskId(to.0 + base));
        }
        self.values.resize(self.values.len() + order.len(), 0);
        for &task in order {
            let mut value = first(task + base);
            for producer in arguments(task).into_iter().filter(|&producer| producer != 0) {
                value = mixed(value, self.values.get(producer as usize - 1).copied().unwrap_or(0));
            }
            if let Some(slot) = self.values.get_mut((task + base) as usize) {
                *slot = value;
            }
        }
    }
}
