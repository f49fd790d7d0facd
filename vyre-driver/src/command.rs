//! Device work as data.

use std::sync::Arc;

use vyre_foundation::ir::Launch;
use vyre_foundation::launch::Params;

use crate::{BackendError, CompiledPipeline, Resource};

/// A buffer that a command names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BufferRef {
    /// A buffer that the caller allocated.
    Resident(Resource),
    /// A buffer that lives as long as the list's work, by position; its bytes are unspecified until
    /// written.
    Transient(u32),
}

/// Bytes of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// The buffer.
    pub buffer: BufferRef,
    /// The first byte.
    pub offset: u64,
    /// How many bytes.
    pub len: u64,
}

/// What a dispatch binds to one of the program's buffers: a whole buffer's leading `len` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Binding {
    /// The buffer.
    pub buffer: BufferRef,
    /// The bytes that the program sees.
    pub len: u64,
}

/// One command.
#[derive(Clone, Debug)]
pub enum Command<'a> {
    /// Writes host bytes; the destination is as long as they are.
    Upload {
        /// Where to.
        to: Span,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// Sets every byte.
    Fill {
        /// Where.
        to: Span,
        /// To what.
        byte: u8,
    },
    /// Copies bytes; the spans are of one length and do not overlap.
    Copy {
        /// From where.
        from: Span,
        /// Where to.
        to: Span,
    },
    /// Runs a pipeline.
    Dispatch(DispatchCommand),
    /// Reads bytes back once the list has run; the results come in the order of these commands.
    Read {
        /// From where.
        from: Span,
    },
}

impl Command<'_> {
    /// Checks what does not depend on a device: that lengths which a command says twice are equal, and
    /// what [`DispatchCommand::check`] does.
    ///
    /// # Errors
    /// [`BackendError::Config`], [`BackendError::BindingCount`] or [`BackendError::Aliasing`].
    pub fn check(&self) -> Result<(), BackendError> {
        let equal = |field, to: u64, from: u64, of: &str| {
            let why = || format!("it is {to} bytes, but {of} has {from}");
            if to == from { Ok(()) } else { Err(BackendError::Config { field, why: why() }) }
        };
        match self {
            Self::Upload { to, bytes } => {
                equal("the length of an upload's span", to.len, bytes.len() as u64, "the slice")
            }
            Self::Copy { from, to } => {
                equal("the length of a copy's destination", to.len, from.len, "its source")
            }
            Self::Fill { .. } | Self::Read { .. } => Ok(()),
            Self::Dispatch(dispatch) => dispatch.check(),
        }
    }
}

/// A run of a pipeline.
#[derive(Clone, Debug)]
pub struct DispatchCommand {
    /// What is run.
    pub pipeline: Arc<dyn CompiledPipeline>,
    /// One for each of the program's buffers, in declaration order.
    pub bindings: Vec<Binding>,
    /// The parameters.
    pub params: Params,
    /// Workgroup counts that replace the program's own.
    pub counts: Option<[u32; 3]>,
}

impl DispatchCommand {
    /// Checks what does not depend on a device: one binding for each of the program's buffers, no buffer
    /// bound twice where one of the two may be written, and workgroup counts only where the program
    /// launches workgroups.
    ///
    /// # Errors
    /// [`BackendError::BindingCount`], [`BackendError::Aliasing`] or [`BackendError::Config`].
    pub fn check(&self) -> Result<(), BackendError> {
        if let (Launch::Domain { .. }, Some(_)) = (self.pipeline.program().launch(), self.counts) {
            let why = "a domain launch has no workgroup counts of its own".to_owned();
            return Err(BackendError::Config { field: "counts", why });
        }
        let declared = self.pipeline.program().buffers();
        let (needs, got) = (declared.len(), self.bindings.len());
        if needs != got {
            return Err(BackendError::BindingCount { needs, got });
        }
        let bound = || self.bindings.iter().zip(declared);
        for (i, (binding, buffer)) in bound().enumerate() {
            let twice = bound().take(i).find(|(earlier, first)| {
                earlier.buffer == binding.buffer && (first.access.is_output() || buffer.access.is_output())
            });
            if let Some((_, first)) = twice {
                return Err(BackendError::Aliasing {
                    first: first.name.clone(),
                    second: buffer.name.clone(),
                });
            }
        }
        Ok(())
    }
}

/// The position of a read's bytes among the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReadId(pub u32);

/// Commands that run in order, each seeing the memory effects of those before: one submission.
#[derive(Clone, Debug, Default)]
pub struct CommandList<'a> {
    label: Option<String>,
    commands: Vec<Command<'a>>,
    transients: Vec<u64>,
    reads: u32,
}

impl<'a> CommandList<'a> {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// With a label for traces and errors.
    #[must_use]
    pub fn labeled(mut self, label: Option<String>) -> Self {
        self.label = label;
        self
    }

    /// The label.
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
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

    /// Every buffer that a command names, as often as it does.
    pub fn buffers(&self) -> impl Iterator<Item = BufferRef> + '_ {
        self.commands.iter().flat_map(|command| {
            let (spans, bindings): (Vec<Span>, &[Binding]) = match command {
                Command::Upload { to, .. } | Command::Fill { to, .. } => (vec![*to], &[]),
                Command::Copy { from, to } => (vec![*from, *to], &[]),
                Command::Read { from } => (vec![*from], &[]),
                Command::Dispatch(dispatch) => (Vec::new(), &dispatch.bindings),
            };
            spans.into_iter().map(|span| span.buffer).chain(bindings.iter().map(|binding| binding.buffer))
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
