//! Lists of commands.

use super::{BufferRef, Command, Span};

/// The position of a read's bytes among the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReadId(pub u32);

/// Commands that run in order, each seeing the memory effects of those before: one submission.
#[derive(Clone, Debug, Default)]
pub struct CommandList<'a> {
    label: Option<String>,
    timed: bool,
    commands: Vec<Command<'a>>,
    transients: Vec<u64>,
    reads: u32,
}

impl<'a> CommandList<'a> {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// With a label for spans and traces.
    #[must_use]
    pub fn labeled(mut self, label: Option<String>) -> Self {
        self.label = label;
        self
    }

    /// Asks for [`crate::Finished::device_time`], which a device without timestamps leaves `None`.
    #[must_use]
    pub fn timed(mut self, timed: bool) -> Self {
        self.timed = timed;
        self
    }

    /// The label.
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// Whether the device's time is asked for.
    pub fn is_timed(&self) -> bool {
        self.timed
    }

    /// The commands, in order.
    pub fn commands(&self) -> &[Command<'a>] {
        &self.commands
    }

    /// The bytes of each transient buffer.
    pub fn transients(&self) -> &[u64] {
        &self.transients
    }

    /// How many reads the list has.
    pub fn reads(&self) -> usize {
        self.reads as usize
    }

    /// Every command, in order; the commands of a repetition follow it, once.
    pub(crate) fn flat(&self) -> impl Iterator<Item = &Command<'a>> + '_ {
        let mut stack = vec![self.commands.iter()];
        std::iter::from_fn(move || {
            loop {
                let Some(command) = stack.last_mut()?.next() else {
                    stack.pop();
                    continue;
                };
                if let Command::Repeat { commands, .. } = command {
                    stack.push(commands.iter());
                }
                return Some(command);
            }
        })
    }

    /// Every buffer that a command names, as often as it does, with whether it may write it; commands of a
    /// repetition count once.
    pub fn uses(&self) -> impl Iterator<Item = (BufferRef, bool)> + '_ {
        self.flat().flat_map(|command| {
            let (spans, run) = match command {
                Command::Upload { to, .. } | Command::Fill { to, .. } => ([Some((to, true)), None], None),
                Command::Copy { from, to } => ([Some((from, false)), Some((to, true))], None),
                Command::Read { from } => ([Some((from, false)), None], None),
                Command::Dispatch(dispatch) => ([None, None], Some(dispatch)),
                Command::DispatchIndirect { dispatch, counts } => {
                    ([Some((counts, false)), None], Some(dispatch))
                }
                Command::Repeat { .. } => ([None, None], None),
            };
            let bound = run.into_iter().flat_map(|dispatch| {
                let writes = dispatch.pipeline().program().buffers().iter().map(|b| b.access.is_output());
                dispatch.bindings().iter().map(|binding| binding.buffer).zip(writes)
            });
            spans.into_iter().flatten().map(|(span, writes)| (span.buffer, writes)).chain(bound)
        })
    }

    /// A buffer that lives as long as the list's work.
    pub fn transient(&mut self, len: u64) -> BufferRef {
        self.transients.push(len);
        BufferRef::Transient(self.transients.len() as u32 - 1)
    }

    /// Adds a command.
    pub fn push(&mut self, command: Command<'a>) {
        if let Command::Read { .. } = command {
            self.reads += 1;
        }
        self.commands.push(command);
    }

    /// Writes host bytes at an offset of a buffer.
    pub fn upload(&mut self, buffer: BufferRef, offset: u64, bytes: &'a [u8]) {
        self.push(Command::Upload { to: Span { buffer, offset, len: bytes.len() as u64 }, bytes });
    }

    /// Reads a span back.
    pub fn read(&mut self, from: Span) -> ReadId {
        self.push(Command::Read { from });
        ReadId(self.reads - 1)
    }
}
