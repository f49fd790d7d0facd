//! A command list, run on the reference machine.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{PoisonError, RwLockReadGuard, RwLockWriteGuard};
use std::time::Instant;

use vyre_foundation::machine::{self, MachineError, MachineOptions};
use vyre_spec::{Axis, TRAP_LOOP_LIMIT};

use super::{Bytes, Done, ReferenceBackend, ReferencePipeline};
use crate::{
    BackendError, Binding, BufferRef, Command, CommandList, DispatchCommand, Resource, Span, VyreBackend,
};

/// Runs a list whose residents these are. What it writes becomes visible once all of it has gone well.
pub(super) fn run(
    backend: &ReferenceBackend,
    list: &CommandList<'_>,
    residents: &HashMap<Resource, Bytes>,
) -> Result<Done, BackendError> {
    let start = Instant::now();
    list.commands().iter().try_for_each(Command::check)?;
    let written: HashSet<BufferRef> =
        list.uses().filter(|&(_, writes)| writes).map(|(buffer, _)| buffer).collect();
    // Every list takes its locks in the order of slots, so that no two wait for each other.
    let order: BTreeMap<u64, (&Resource, &Bytes)> = residents.iter().map(|(r, b)| (r.slot, (r, b))).collect();
    let mut guards = Vec::with_capacity(order.len());
    for (resource, bytes) in order.into_values() {
        guards.push((BufferRef::Resident(*resource), Guard::of(bytes, &written, *resource)));
    }
    let mut run = Run { backend, buffers: HashMap::new(), reads: Vec::new() };
    for (i, &len) in list.transients().iter().enumerate() {
        run.buffers.insert(
            BufferRef::Transient(i as u32),
            Contents::Own(zeroed(len, backend.profile.max_buffer_bytes)?),
        );
    }
    for (buffer, guard) in &guards {
        run.buffers.insert(*buffer, guard.contents());
    }
    // All of it before any of it: a fault of the program must not hide a command that is wrong.
    list.flat().try_for_each(|command| run.admit(command))?;
    let faulted = match run.execute(list.commands()) {
        Ok(()) => None,
        // The program's own fault is its outcome, not a refusal.
        Err(error @ (BackendError::Trap { .. } | BackendError::LoopLimit { .. })) => Some(error),
        Err(error) => return Err(error),
    };
    let Run { buffers, reads, .. } = run;
    let mut own: HashMap<_, _> = buffers
        .into_iter()
        .filter_map(|(buffer, contents)| match contents {
            Contents::Own(bytes) => Some((buffer, bytes)),
            Contents::Shared(_) => None,
        })
        .collect();
    for (buffer, guard) in guards {
        if let (Guard::Write(mut guard), Some(bytes)) = (guard, own.remove(&buffer)) {
            *guard = bytes;
        }
    }
    Ok(Done { reads: faulted.map_or(Ok(reads), Err), took: start.elapsed(), timed: list.is_timed() })
}

/// The lock of a resident, for as long as a list runs.
enum Guard<'b> {
    Read(RwLockReadGuard<'b, Vec<u8>>),
    Write(RwLockWriteGuard<'b, Vec<u8>>),
}

impl<'b> Guard<'b> {
    fn of(bytes: &'b Bytes, written: &HashSet<BufferRef>, resource: Resource) -> Self {
        // A writer changes all bytes at once or none, so a poisoned lock guards whole contents.
        if written.contains(&BufferRef::Resident(resource)) {
            Self::Write(bytes.write().unwrap_or_else(PoisonError::into_inner))
        } else {
            Self::Read(bytes.read().unwrap_or_else(PoisonError::into_inner))
        }
    }

    fn contents(&self) -> Contents<'_> {
        match self {
            Self::Read(bytes) => Contents::Shared(bytes),
            Self::Write(bytes) => Contents::Own(bytes.to_vec()),
        }
    }
}

/// What a buffer holds while a list runs.
enum Contents<'b> {
    /// Nothing in the list writes it.
    Shared(&'b [u8]),
    Own(Vec<u8>),
}

impl Contents<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Shared(bytes) => bytes,
            Self::Own(bytes) => bytes,
        }
    }
}

/// A list under way.
struct Run<'b> {
    backend: &'b ReferenceBackend,
    buffers: HashMap<BufferRef, Contents<'b>>,
    reads: Vec<Vec<u8>>,
}

impl Run<'_> {
    /// Refuses a command that cannot run; what is inside a repetition is looked at by itself.
    fn admit(&self, command: &Command<'_>) -> Result<(), BackendError> {
        let lies_in = |what, span| self.read(what, span).map(drop);
        match command {
            Command::Upload { to, .. } => lies_in("an upload", *to),
            Command::Fill { to, .. } => lies_in("a fill", *to),
            Command::Copy { from, to } => {
                lies_in("a copy's source", *from)?;
                lies_in("a copy's destination", *to)
            }
            Command::Read { from } => lies_in("a read", *from),
            Command::Dispatch(dispatch) => {
                self.admit_dispatch(dispatch)?;
                dispatch.resolved().map(drop)
            }
            Command::DispatchIndirect { dispatch, counts } => {
                self.admit_dispatch(dispatch)?;
                lies_in("the workgroup counts", *counts)
            }
            Command::Repeat { .. } => Ok(()),
        }
    }

    fn admit_dispatch(&self, dispatch: &DispatchCommand) -> Result<(), BackendError> {
        let own = dispatch.pipeline().as_any().downcast_ref::<ReferencePipeline>();
        if own.is_none_or(|pipeline| pipeline.owner != self.backend.instance) {
            let handle = format!("of the pipeline of `{}`", dispatch.pipeline().program().name());
            return Err(BackendError::BadHandle { handle, problem: "foreign" });
        }
        dispatch.bindings().iter().try_for_each(|binding| self.read("a binding", whole(binding)).map(drop))
    }

    fn execute(&mut self, commands: &[Command<'_>]) -> Result<(), BackendError> {
        for command in commands {
            match command {
                Command::Upload { to, bytes } => self.write("an upload", *to)?.copy_from_slice(bytes),
                Command::Fill { to, byte } => self.write("a fill", *to)?.fill(*byte),
                Command::Copy { from, to } => {
                    let from = self.read("a copy's source", *from)?.to_vec();
                    self.write("a copy's destination", *to)?.copy_from_slice(&from);
                }
                Command::Read { from } => {
                    let bytes = self.read("a read", *from)?.to_vec();
                    self.reads.push(bytes);
                }
                Command::Dispatch(dispatch) => match dispatch.own_counts() {
                    None => self.dispatch(dispatch, dispatch.counts())?,
                    Some(counts) => self.indirect(dispatch, counts)?,
                },
                Command::DispatchIndirect { dispatch, counts } => self.indirect(dispatch, *counts)?,
                // However often, it comes to nothing.
                Command::Repeat { commands, .. } if commands.is_idle() => {}
                // The type bounds how deep this goes.
                Command::Repeat { commands, count } => {
                    for _ in 0..*count {
                        self.execute(commands)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn indirect(&mut self, dispatch: &DispatchCommand, counts: Span) -> Result<(), BackendError> {
        let most = self.backend.profile.max_workgroups_per_axis;
        let mut found = [0; 3];
        let bytes = self.read("the workgroup counts", counts)?;
        for (count, word) in found.iter_mut().zip(bytes.chunks_exact(4)) {
            *count = word.try_into().map_or(0, u32::from_le_bytes);
        }
        if let Some((axis, &count)) = Axis::ALL.iter().zip(&found).find(|&(_, &n)| n > most) {
            return Err(BackendError::IndirectCounts { axis: *axis, count });
        }
        self.dispatch(dispatch, Some(found))
    }

    fn read(&self, what: &'static str, span: Span) -> Result<&[u8], BackendError> {
        let all = self.buffers.get(&span.buffer).ok_or_else(|| unknown(span.buffer))?.bytes();
        let range = range(what, span, all.len() as u64)?;
        Ok(all.get(range).unwrap_or_default())
    }

    fn write(&mut self, what: &'static str, span: Span) -> Result<&mut [u8], BackendError> {
        let contents = self.buffers.get_mut(&span.buffer).ok_or_else(|| unknown(span.buffer))?;
        let range = range(what, span, contents.bytes().len() as u64)?;
        if let Contents::Shared(bytes) = contents {
            *contents = Contents::Own(bytes.to_vec());
        }
        let Contents::Own(all) = contents else { return Ok(Default::default()) };
        Ok(all.get_mut(range).unwrap_or_default())
    }

    fn dispatch(&mut self, dispatch: &DispatchCommand, counts: Option<[u32; 3]>) -> Result<(), BackendError> {
        let program = dispatch.pipeline().program();
        let contents = dispatch.bindings().iter().map(|b| self.read("a binding", whole(b)).map(Some));
        let contents = contents.collect::<Result<Vec<_>, _>>()?;
        let options = MachineOptions {
            counts,
            subgroup_size: self.backend.profile.subgroup_size.unwrap_or(1),
            ..MachineOptions::default()
        };
        let outcome = machine::run_bound(program, dispatch.params(), &contents, &options);
        let outcome = outcome.map_err(|error| match error {
            MachineError::Launch(error) => BackendError::Launch(error),
            error => BackendError::Unsupported {
                what: error.to_string(),
                device: self.backend.profile().name.clone(),
                remedy: "use a smaller launch, or a device".into(),
            },
        })?;
        if let Some(trap) = outcome.trap {
            let invocation = trap.invocation as u32;
            return Err(match trap.code {
                TRAP_LOOP_LIMIT => BackendError::LoopLimit { invocation },
                code => BackendError::Trap { code, invocation, address: trap.address },
            });
        }
        for (id, bytes) in program.outputs().zip(outcome.outputs) {
            if let Some(binding) = dispatch.bindings().get(id.index()) {
                self.write("a binding", whole(binding))?.copy_from_slice(&bytes);
            }
        }
        Ok(())
    }
}

fn whole(binding: &Binding) -> Span {
    Span { buffer: binding.buffer, offset: 0, len: binding.len }
}

fn range(what: &'static str, span: Span, len: u64) -> Result<std::ops::Range<usize>, BackendError> {
    let Span { offset, len: bytes, .. } = span;
    match offset.checked_add(bytes) {
        Some(end) if end <= len => Ok(offset as usize..end as usize),
        _ => Err(BackendError::OutOfRange { what, offset, bytes, len }),
    }
}

/// Residents have been looked up before, so only a transient can be missing.
fn unknown(buffer: BufferRef) -> BackendError {
    let handle = match buffer {
        BufferRef::Transient(index) => format!("transient {index}"),
        BufferRef::Resident(resource) => resource.to_string(),
    };
    BackendError::BadHandle { handle, problem: "foreign" }
}

/// Zero bytes of the host's own memory, at most `limit`.
pub(super) fn zeroed(len: u64, limit: u64) -> Result<Vec<u8>, BackendError> {
    if len > limit {
        return Err(BackendError::Limit { what: "the bytes of a buffer".to_owned(), value: len, limit });
    }
    let fail = || BackendError::OutOfMemory { doing: "allocating a buffer", bytes: Some(len) };
    let count = usize::try_from(len).map_err(|_| fail())?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(count).map_err(|_| fail())?;
    bytes.resize(count, 0);
    Ok(bytes)
}
