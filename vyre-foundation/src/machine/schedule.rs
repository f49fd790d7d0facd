//! In which order invocations run.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use vyre_spec::MemoryOrdering;

use super::bank::Span;
use super::code::Code;
use super::exec::{Machine, Thread};
use super::group::{Group, Settled};
use super::observe::{Blind, Observer};
use super::rng::Rng;
use super::shape::Shape;
use super::team::{Status, Team};
use super::{Overrun, Schedule, TrapRecord};

/// Workgroups in flight under a seeded schedule.
pub(super) const WINDOW: usize = 8;
/// Instructions between switches under a seeded schedule, at most.
const QUANTUM: u64 = 24;
/// Words that registers may take for them to stay in a fast cache.
const CACHED_WORDS: usize = 1 << 15;
/// Workgroups that a thread takes at once.
const CHUNK: u64 = 16;

/// Runs every invocation of a launch.
///
/// # Errors
/// If the budget is spent before the end.
pub(super) fn run<O: Observer>(
    machine: &Machine<'_>,
    shape: &Shape,
    schedule: Schedule,
    thread: &mut Thread<O>,
) -> Result<(), Overrun> {
    match schedule {
        Schedule::InOrder if !machine.code.suspends => straight(machine, shape, 0..shape.groups, thread),
        Schedule::InOrder => interleaved(machine, shape, 0..shape.groups, None, thread),
        Schedule::Seeded(seed) => interleaved(machine, shape, 0..shape.groups, Some(Rng(seed)), thread),
    }
}

/// Runs workgroups on several threads, in order within each; the caller knows that no workgroup can see
/// another's order. Returns the trap of the first workgroup that has one.
pub(super) fn run_parallel(
    machine: &Machine<'_>,
    shape: &Shape,
    threads: usize,
) -> Option<(u64, TrapRecord)> {
    let next = AtomicU64::new(0);
    let worker = || {
        let mut thread = Thread::new(Blind, u64::MAX);
        let mut first = None;
        loop {
            let start = next.fetch_add(CHUNK, Relaxed);
            if start >= shape.groups {
                return first;
            }
            let groups = start..shape.groups.min(start.saturating_add(CHUNK));
            thread.fuel = u64::MAX;
            let ended = if machine.code.suspends {
                interleaved(machine, shape, groups, None, &mut thread)
            } else {
                straight(machine, shape, groups, &mut thread)
            };
            debug_assert!(ended.is_ok(), "2^64 instructions");
            // Chunks come in ascending order, so the thread's first trap is that of its first workgroup.
            first = first.or(thread.trap.take());
        }
    };
    let traps: Vec<Option<(u64, TrapRecord)>> = std::thread::scope(|scope| {
        let handles: Vec<_> = (1..threads).map(|_| scope.spawn(worker)).collect();
        let own = worker();
        let join = |handle: std::thread::ScopedJoinHandle<'_, _>| match handle.join() {
            Ok(trap) => trap,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        std::iter::once(own).chain(handles.into_iter().map(join)).collect()
    });
    traps.into_iter().flatten().min_by_key(|&(group, _)| group)
}

/// Runs workgroups whose invocations never wait, some lanes after the other.
fn straight<O: Observer>(
    machine: &Machine<'_>,
    shape: &Shape,
    groups: std::ops::Range<u64>,
    thread: &mut Thread<O>,
) -> Result<(), Overrun> {
    let code = machine.code;
    let held = batch(code, shape);
    let mut group = Group::new(code, held);
    for linear in groups {
        group.enter(linear);
        let lanes = shape.lanes_of(linear) as usize;
        for first in (0..lanes).step_by(held) {
            group.team(code, shape, first, Span { first: 0, width: held.min(lanes - first) });
            let (team, mut around) = group.split(0);
            machine.run(team, &mut around, thread, u64::MAX);
            if team.status == Status::Starved {
                return Err(overrun(machine, team));
            }
            group.dismiss();
        }
        thread.observer.end(linear);
    }
    Ok(())
}

/// Lanes that run together where none waits for another: few enough that their registers stay in a fast cache,
/// whole subgroups.
pub(super) fn batch(code: &Code, shape: &Shape) -> usize {
    let unit = if code.has_subgroup { shape.subgroup_size as usize } else { 1 };
    let fitting = (CACHED_WORDS / code.template.len().max(1)).clamp(16, 256);
    (fitting / unit * unit).max(unit).min(shape.most_lanes()).max(1)
}

fn overrun(machine: &Machine<'_>, team: &Team) -> Overrun {
    let lane = team.active.first().unwrap_or(0);
    Overrun { node: machine.code.site(team.pc), invocation: team.linear + lane as u64 }
}

/// Runs workgroups as resumable teams: one each, or several in the random order of `rng`.
fn interleaved<O: Observer>(
    machine: &Machine<'_>,
    shape: &Shape,
    groups: std::ops::Range<u64>,
    mut rng: Option<Rng>,
    thread: &mut Thread<O>,
) -> Result<(), Overrun> {
    let code = machine.code;
    let window = match (&rng, code.grid_sync) {
        // The whole grid meets at a grid barrier.
        (_, true) => usize::MAX,
        (Some(_), false) => WINDOW,
        (None, false) => 1,
    };
    let mut waiting = Waiting { next: groups, drawn: Vec::new() };
    let mut active: Vec<Group> = Vec::new();
    let mut at_grid: Vec<Group> = Vec::new();
    let mut spare: Vec<Group> = Vec::new();
    loop {
        while active.len() + at_grid.len() < window {
            let Some(linear) = waiting.draw(rng.as_mut()) else { break };
            let mut group = spare.pop().unwrap_or_else(|| Group::new(code, shape.most_lanes()));
            group.start(code, shape, linear, rng.as_mut());
            active.push(group);
        }
        if active.is_empty() {
            if at_grid.is_empty() {
                return Ok(());
            }
            active.append(&mut at_grid);
            active.iter_mut().for_each(|group| group.release(MemoryOrdering::GridSync));
        }
        let chosen = rng.as_mut().map_or(0, |rng| rng.below(active.len() as u64) as usize);
        let group = &mut active[chosen];
        advance(machine, group, rng.as_mut(), thread)?;
        if !group.ready.is_empty() {
            continue;
        }
        match group.settle(code, thread) {
            Settled::Running => {}
            Settled::Grid => at_grid.push(active.remove(chosen)),
            Settled::Done => {
                let group = active.swap_remove(chosen);
                thread.observer.end(group.linear);
                spare.push(group);
            }
        }
    }
}

/// Runs ready teams of a workgroup: all of them in order, or some steps of a random one.
fn advance<O: Observer>(
    machine: &Machine<'_>,
    group: &mut Group,
    rng: Option<&mut Rng>,
    thread: &mut Thread<O>,
) -> Result<(), Overrun> {
    let (position, quantum) = match rng {
        None => (0, u64::MAX),
        Some(rng) => (rng.below(group.ready.len() as u64) as usize, 1 + rng.below(QUANTUM)),
    };
    let Some(&chosen) = group.ready.get(position) else { return Ok(()) };
    let (team, mut around) = group.split(chosen);
    machine.run(team, &mut around, thread, quantum);
    match team.status {
        Status::Ready => {}
        Status::Starved => return Err(overrun(machine, team)),
        Status::AtBarrier | Status::Done => {
            group.ready.swap_remove(position);
        }
    }
    Ok(())
}

/// Workgroups that have not started: in order, or drawn at random from the next few.
struct Waiting {
    next: std::ops::Range<u64>,
    drawn: Vec<u64>,
}

impl Waiting {
    fn draw(&mut self, rng: Option<&mut Rng>) -> Option<u64> {
        let Some(rng) = rng else { return self.next.next() };
        while self.drawn.len() < 8 * WINDOW {
            let Some(group) = self.next.next() else { break };
            self.drawn.push(group);
        }
        if self.drawn.is_empty() {
            return None;
        }
        let position = rng.below(self.drawn.len() as u64) as usize;
        Some(self.drawn.swap_remove(position))
    }
}
