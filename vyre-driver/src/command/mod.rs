//! Device work as data.

mod dispatch;
mod list;
mod repeat;

pub use dispatch::DispatchCommand;
pub use list::{CommandList, ReadId};
pub use repeat::{MAX_REPEAT_DEPTH, Repeated};

use crate::{BackendError, Resource};

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
    /// Copies bytes; the spans are of one length. Where they overlap, what is written is what the source held
    /// before.
    Copy {
        /// From where.
        from: Span,
        /// Where to.
        to: Span,
    },
    /// Runs a pipeline.
    Dispatch(DispatchCommand),
    /// Runs a pipeline of a workgroup launch as many workgroups wide as the device finds in a buffer when
    /// it gets there: x, y, z, each a `u32`. A 0 runs nothing. An axis above the device's limit runs nothing
    /// either, and fails the list with [`BackendError::IndirectCounts`].
    DispatchIndirect {
        /// What is run; without counts of its own.
        dispatch: DispatchCommand,
        /// The counts: 12 bytes at a multiple of 4, in a buffer that the dispatch does not write.
        counts: Span,
    },
    /// Runs commands, in order, `count` times over. There are no reads among them, and repetitions are nested
    /// no deeper than [`MAX_REPEAT_DEPTH`].
    Repeat {
        /// The commands.
        commands: Repeated<'a>,
        /// How often; 0 runs nothing, but what could not run is refused all the same.
        count: u32,
    },
    /// Reads bytes back once the list has run; the results come in the order of these commands.
    Read {
        /// From where.
        from: Span,
    },
}

impl<'a> Command<'a> {
    /// Commands that run `count` times over.
    pub fn repeat(commands: Vec<Self>, count: u32) -> Self {
        Self::Repeat { commands: commands.into(), count }
    }

    /// Checks what does not depend on a device: that lengths which a command says twice are equal, that
    /// nothing is read in a repetition, and what [`DispatchCommand::check`] does.
    ///
    /// # Errors
    /// [`BackendError::Config`], [`BackendError::BindingCount`] or [`BackendError::Aliasing`].
    pub fn check(&self) -> Result<(), BackendError> {
        self.check_as(true)
    }

    fn check_as(&self, is_outermost: bool) -> Result<(), BackendError> {
        match self {
            Self::Upload { to, bytes } => {
                equal("the length of an upload's span", to.len, bytes.len() as u64, "the slice")
            }
            Self::Copy { from, to } => {
                equal("the length of a copy's destination", to.len, from.len, "its source")
            }
            Self::Read { .. } if !is_outermost => {
                Err(config("repeat", "a read cannot be repeated".to_owned()))
            }
            Self::Fill { .. } | Self::Read { .. } => Ok(()),
            Self::Dispatch(dispatch) => dispatch.check(),
            Self::DispatchIndirect { dispatch, counts } => dispatch.check_indirect(counts),
            Self::Repeat { commands, .. } if commands.is_too_deep() => {
                Err(config("repeat", format!("repetitions are nested deeper than {MAX_REPEAT_DEPTH}")))
            }
            // The type bounds how deep this goes.
            Self::Repeat { commands, .. } => commands.iter().try_for_each(|command| command.check_as(false)),
        }
    }
}

fn equal(field: &'static str, to: u64, from: u64, of: &str) -> Result<(), BackendError> {
    if to == from { Ok(()) } else { Err(config(field, format!("it is {to} bytes, but {of} has {from}"))) }
}

fn config(field: &'static str, why: String) -> BackendError {
    BackendError::Config { field, why }
}
