//! Why bytes are no program.

use crate::ir::ArenaError;

/// Why bytes are no program; `offset` is the byte where it shows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The bytes do not begin as a program does.
    #[error("the bytes are no encoded Vyre program: they do not begin with `VYRE`")]
    Magic,
    /// Another version of the format.
    #[error(
        "the program is encoded in version {found} of the format, but this build reads version {reads}: encode it again"
    )]
    Version {
        /// The version of the bytes.
        found: u32,
        /// The version that is read.
        reads: u32,
    },
    /// The content hash does not match.
    #[error(
        "the content hash does not match the {len} bytes before it: the program was damaged or cut short"
    )]
    Checksum {
        /// How many bytes the hash is of.
        len: usize,
    },
    /// The bytes end inside of something.
    #[error("byte {offset}: the bytes end inside of {what}")]
    Truncated {
        /// Where.
        offset: usize,
        /// What is incomplete.
        what: &'static str,
    },
    /// A number is not in its shortest form or above its limit.
    #[error("byte {offset}: {what} is not in its shortest form, or too large")]
    Number {
        /// Where.
        offset: usize,
        /// What the number is.
        what: &'static str,
    },
    /// A count is more than the bytes that are left could hold.
    #[error("byte {offset}: {count} {what} cannot be in the {left} bytes that are left")]
    Count {
        /// Where.
        offset: usize,
        /// Of what.
        what: &'static str,
        /// The count.
        count: u32,
        /// The bytes left.
        left: usize,
    },
    /// A tag means nothing.
    #[error("byte {offset}: {tag} is no {what}")]
    Tag {
        /// Where.
        offset: usize,
        /// Of what.
        what: &'static str,
        /// The tag.
        tag: u8,
    },
    /// A name is not UTF-8.
    #[error("byte {offset}: a name is not UTF-8")]
    Utf8 {
        /// Where the name begins.
        offset: usize,
    },
    /// An id names nothing.
    #[error("byte {offset}: {what} {index} is referred to, but there are only {count}")]
    Dangling {
        /// Where.
        offset: usize,
        /// Which table.
        what: &'static str,
        /// The id.
        index: u32,
        /// The table's size.
        count: usize,
    },
    /// Bytes follow the program.
    #[error("byte {offset}: {count} bytes follow the end of the program")]
    Trailing {
        /// Where.
        offset: usize,
        /// How many.
        count: usize,
    },
    /// The bytes hold a program, but are not its canonical encoding.
    #[error("byte {offset}: the program is not in normal form: encode it with this crate")]
    NotCanonical {
        /// Where the canonical encoding differs first.
        offset: usize,
    },
    /// The tables do not fit together.
    #[error("the tables do not fit together: {0}")]
    Structure(#[from] ArenaError),
}

impl WireError {
    /// The byte where the error shows; `None` where it is about the bytes as a whole.
    pub fn offset(&self) -> Option<usize> {
        match *self {
            Self::Magic | Self::Version { .. } | Self::Checksum { .. } | Self::Structure(_) => None,
            Self::Truncated { offset, .. }
            | Self::Number { offset, .. }
            | Self::Count { offset, .. }
            | Self::Tag { offset, .. }
            | Self::Utf8 { offset }
            | Self::Dangling { offset, .. }
            | Self::Trailing { offset, .. }
            | Self::NotCanonical { offset } => Some(offset),
        }
    }
}
