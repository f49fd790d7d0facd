//! Lists that come again.
//!
//! A program that is dispatched over and over gives lists that differ in nothing but the host's bytes. What planning
//! the second of them came to is kept; those after it take it as it is, with their own bytes in staging memory that
//! stays mapped. Nothing of it depends on when a list is submitted but whether the buffers that it names are still
//! there, which is asked each time, and whether launch data have been the same for long enough to go to memory.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use vyre_driver::{BackendError, Command, CommandList, Resource};

use super::frame::Frame;
use super::{Parts, Ready};
use crate::buffer::{Readback, Staging, UploadPart};
use crate::core::Core;
use crate::pipeline::WgpuPipeline;

/// Lists that are known. They are searched one by one.
const MOST_LISTS: usize = 16;
/// Commands of a list that is kept, at most.
const MOST_COMMANDS: usize = 32;
/// Bytes of a list's transients, uploads and reads, at most: what takes longer to move than to plan gains nothing.
const MOST_BYTES: u64 = 1 << 20;
/// Pairs of staging and readback memory that wait for the next submission of one list.
const MOST_IDLE: usize = 4;

/// The lists that were submitted last, with the plans of those that came twice.
#[derive(Debug, Default)]
pub(crate) struct Remembered {
    /// The last used at the end.
    lists: Mutex<Vec<Known>>,
}

/// A list without its bytes.
#[derive(Debug)]
struct Known {
    commands: Vec<Command<'static>>,
    transients: Vec<u64>,
    plan: Option<Arc<Kept>>,
}

/// The plan of a list, for any number of submissions, at the same time as well: the queue runs them in order, and each
/// writes the plan's buffers before it reads them, as it does with those of a pool.
#[derive(Debug)]
pub(super) struct Kept {
    frame: Arc<Frame>,
    parts: Vec<UploadPart>,
    residents: Vec<Resource>,
    /// Of submissions that have ended.
    idle: Mutex<Vec<(Staging, Readback)>>,
}

impl Remembered {
    fn lock(&self) -> MutexGuard<'_, Vec<Known>> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A list with everything that its submission needs, planned only if it is not known.
    pub(super) fn ready(&self, core: &Core, list: &CommandList<'_>) -> Result<Ready, BackendError> {
        if !is_small(list) {
            return Ready::new(core, list);
        }
        let Some(plan) = self.seen(list) else { return Ready::new(core, list) };
        if let Some(kept) = plan.filter(|kept| kept.is_current(core)) {
            return kept.again(core, list);
        }
        let Parts { mut ready, parts, residents } = Ready::parts(core, list)?;
        let frame = Arc::clone(&ready.frame);
        let kept = Arc::new(Kept { frame, parts, residents, idle: Mutex::default() });
        ready.home = Some(Arc::downgrade(&kept));
        let mut lists = self.lock();
        // A buffer that is freed is looked for here after it has left the table, so none is missed.
        let old = match lists.iter_mut().find(|known| known.is(list)) {
            Some(known) if core.lasting.residents.has_all(&kept.residents) => known.plan.replace(kept),
            _ => None,
        };
        drop(lists);
        drop(old);
        Ok(ready)
    }

    /// Whether a list was submitted lately, and its plan. From now on it was.
    fn seen(&self, list: &CommandList<'_>) -> Option<Option<Arc<Kept>>> {
        let mut lists = self.lock();
        if let Some(position) = lists.iter().rposition(|known| known.is(list)) {
            if let Some(later) = lists.get_mut(position..) {
                later.rotate_left(1);
            }
            return Some(lists.last().and_then(|known| known.plan.clone()));
        }
        let known = Known::of(list)?;
        let oldest = (lists.len() >= MOST_LISTS).then(|| lists.remove(0));
        lists.push(known);
        drop(lists);
        // Its buffers go back to the pool without our lock.
        drop(oldest);
        None
    }

    /// Forgets the lists that name a buffer, which has been freed.
    pub(crate) fn forget(&self, resource: Resource) {
        let names =
            |known: &Known| known.plan.as_ref().is_some_and(|kept| kept.residents.contains(&resource));
        let mut lists = self.lock();
        let mut gone = Vec::new();
        while let Some(position) = lists.iter().position(names) {
            gone.push(lists.remove(position));
        }
        drop(lists);
        drop(gone);
    }

    /// The bytes of the buffers that are kept for the next submission alone, with what `look` says at that moment.
    pub(crate) fn idle_bytes<R>(&self, look: impl FnOnce() -> R) -> (u64, R) {
        let lists = self.lock();
        (lists.iter().filter_map(|known| known.plan.as_ref()).map(|kept| kept.bytes()).sum(), look())
    }

    /// Forgets every list.
    pub(crate) fn clear(&self) {
        let gone = std::mem::take(&mut *self.lock());
        drop(gone);
    }
}

/// Whether a list is one whose plan is worth keeping.
fn is_small(list: &CommandList<'_>) -> bool {
    let commands = list.commands();
    if list.is_timed() || commands.len() > MOST_COMMANDS {
        return false;
    }
    let mut bytes = list.transients().iter().fold(0, |sum: u64, len| sum.saturating_add(*len));
    let mut runs = false;
    for command in commands {
        match command {
            Command::Upload { bytes: some, .. } => bytes = bytes.saturating_add(some.len() as u64),
            Command::Read { from } => bytes = bytes.saturating_add(from.len),
            Command::Dispatch(_) | Command::DispatchIndirect { .. } => runs = true,
            Command::Fill { .. } | Command::Copy { .. } => {}
            Command::Repeat { .. } => return false,
        }
    }
    runs && bytes <= MOST_BYTES
}

impl Known {
    /// A small list without its bytes; `None` for one that is not kept after all.
    fn of(list: &CommandList<'_>) -> Option<Self> {
        let commands = list.commands().iter().map(|command| {
            Some(match command {
                Command::Upload { to, .. } => Command::Upload { to: *to, bytes: &[] },
                Command::Fill { to, byte } => Command::Fill { to: *to, byte: *byte },
                Command::Copy { from, to } => Command::Copy { from: *from, to: *to },
                Command::Read { from } => Command::Read { from: *from },
                Command::Dispatch(dispatch) | Command::DispatchIndirect { dispatch, .. } => {
                    // A persistent pipeline holds its backend, which would never go.
                    let own = dispatch.pipeline().as_any().downcast_ref::<WgpuPipeline>();
                    if own.is_none_or(|pipeline| pipeline.persistent().is_some()) {
                        return None;
                    }
                    match command {
                        Command::DispatchIndirect { counts, .. } => {
                            Command::DispatchIndirect { dispatch: dispatch.clone(), counts: *counts }
                        }
                        _ => Command::Dispatch(dispatch.clone()),
                    }
                }
                Command::Repeat { .. } => return None,
            })
        });
        Some(Self {
            commands: commands.collect::<Option<_>>()?,
            transients: list.transients().to_vec(),
            plan: None,
        })
    }

    /// Whether `list` is the same but for the host's bytes.
    fn is(&self, list: &CommandList<'_>) -> bool {
        let commands = list.commands();
        self.commands.len() == commands.len()
            && self.transients == list.transients()
            && self.commands.iter().zip(commands).all(|(known, new)| same(known, new))
    }
}

/// Whether two commands are the same but for the host's bytes.
fn same(known: &Command<'_>, new: &Command<'_>) -> bool {
    match (known, new) {
        (Command::Upload { to, .. }, Command::Upload { to: new, bytes }) => {
            to == new && new.len == bytes.len() as u64
        }
        (Command::Fill { to, byte }, Command::Fill { to: new, byte: with }) => to == new && byte == with,
        (Command::Copy { from, to }, Command::Copy { from: new, to: target }) => from == new && to == target,
        (Command::Read { from }, Command::Read { from: new }) => from == new,
        (Command::Dispatch(run), Command::Dispatch(new)) => run == new,
        (
            Command::DispatchIndirect { dispatch, counts },
            Command::DispatchIndirect { dispatch: new, counts: of },
        ) => dispatch == new && counts == of,
        _ => false,
    }
}

impl Kept {
    fn idle(&self) -> MutexGuard<'_, Vec<(Staging, Readback)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bytes(&self) -> u64 {
        let idle = self.idle();
        self.frame.own_bytes()
            + idle.iter().map(|(staging, readback)| staging.bytes() + readback.bytes()).sum::<u64>()
    }

    /// Whether planning would come to the same once more. Counts a run of its launches.
    fn is_current(&self, core: &Core) -> bool {
        core.lasting.residents.has_all(&self.residents) && !self.frame.note()
    }

    /// Makes it ready with the bytes of `list`.
    fn again(self: &Arc<Self>, core: &Core, list: &CommandList<'_>) -> Result<Ready, BackendError> {
        let generation = &core.generation;
        generation.check()?;
        let uploads: Vec<&[u8]> = list
            .commands()
            .iter()
            .filter_map(|command| match command {
                Command::Upload { bytes, .. } => Some(*bytes),
                _ => None,
            })
            .collect();
        let idle = self.idle().pop();
        let filled = idle.filter(|(staging, _)| staging.fill(&uploads, Duration::ZERO).is_ok());
        let (staging, readback) = match filled {
            Some(pair) => pair,
            None => (
                Staging::new(generation, &core.pool, &uploads, self.parts.clone())?,
                Readback::new(generation, &core.pool, &self.frame.reads)?,
            ),
        };
        let home = Some(Arc::downgrade(self));
        let frame = Arc::clone(&self.frame);
        Ok(Ready { frame, staging, readback, timer: None, reads: list.reads(), home })
    }
}

/// Memory of a submission that has ended goes back to the plan, if that is still kept.
pub(super) fn give_back(home: &Weak<Kept>, staging: Staging, readback: Readback) {
    let Some(kept) = home.upgrade() else { return };
    readback.reset();
    let mut idle = kept.idle();
    if idle.len() < MOST_IDLE {
        idle.push((staging, readback));
    }
}
