//! In which order invocations run.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use vyre_spec::MemoryOrdering;

use super::exec::{Around, Machine, Thread};
use super::group::{Group, Invocation, Settled, Shape, Status};
use super::observe::{Blind, Observer};
use super::{Overrun, Schedule, TrapRecord};

/// Workgroups in flight under a seeded schedule.
pub(super) const WINDOW: usize = 8;
/// Instructions between switches under a seeded schedule, at most.
const QUANTUM: u64 = 24;
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
        Schedule::InOrder if !machine.code.suspends && !O::ON => {
            straight(machine, shape, 0..shape.groups, thread)
        }
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

/// Runs workgroups whose invocations never wait, one invocation after the other.
fn straight<O: Observer>(
    machine: &Machine<'_>,
    shape: &Shape,
    groups: std::ops::Range<u64>,
    thread: &mut Thread<O>,
) -> Result<(), Overrun> {
    let code = machine.code;
    let mut invocation = Invocation::new(code);
    let mut shared = vec![0; code.shared_words];
    for group in groups {
        shared.fill(0);
        let mut around = Around { group, intervals: Default::default(), shared: &mut shared };
        for lane in 0..shape.lanes_of(group) {
            invocation.start(code, shape, group, lane);
            machine.run(&mut invocation, &mut around, thread, u64::MAX);
            if invocation.status == Status::Ready {
                return Err(overrun(machine, &invocation));
            }
        }
    }
    Ok(())
}

fn overrun(machine: &Machine<'_>, invocation: &Invocation) -> Overrun {
    Overrun { node: machine.code.site(invocation.pc), invocation: invocation.linear }
}

/// Runs workgroups as resumable invocations: lane after lane, or in the random order of `rng`.
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
            let mut group = spare.pop().unwrap_or_else(|| Group::new(code, shape));
            group.start(code, shape, linear);
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
        match group.settle(code, shape.subgroup_size, &mut thread.observer) {
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

/// Runs ready lanes of a workgroup: all of them in order, or some steps of a random one.
fn advance<O: Observer>(
    machine: &Machine<'_>,
    group: &mut Group,
    rng: Option<&mut Rng>,
    thread: &mut Thread<O>,
) -> Result<(), Overrun> {
    let Group { linear, shared, lanes, ready, intervals } = group;
    let mut around = Around { group: *linear, intervals: *intervals, shared };
    let Some(rng) = rng else {
        for &lane in ready.iter() {
            let invocation = &mut lanes[lane as usize];
            machine.run(invocation, &mut around, thread, u64::MAX);
            if invocation.status == Status::Ready {
                return Err(overrun(machine, invocation));
            }
        }
        ready.clear();
        return Ok(());
    };
    if ready.is_empty() {
        return Ok(());
    }
    let position = rng.below(ready.len() as u64) as usize;
    let invocation = &mut lanes[ready[position] as usize];
    machine.run(invocation, &mut around, thread, 1 + rng.below(QUANTUM));
    if invocation.status != Status::Ready {
        ready.swap_remove(position);
    } else if thread.fuel == 0 {
        return Err(overrun(machine, invocation));
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

/// SplitMix64: small, seedable, and enough to shuffle an execution.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// A number below `n`, which is not 0.
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }
}
