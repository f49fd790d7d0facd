//! The wire form of programs: a canonical byte string, versioned and with a content hash.
//!
//! One program has one encoding, and [`decode`] refuses every other byte string. `docs/WIRE.md` has the
//! layout. Decoding takes time and memory linear in the number of bytes, whatever they are.

mod decode;
mod encode;
mod error;
mod tags;

pub use decode::decode;
pub(crate) use decode::{Reader, decode_unsealed};
pub use encode::encode;
pub(crate) use encode::{Writer, encode_unsealed};
pub use error::WireError;

/// The first bytes of every encoded program.
pub const MAGIC: [u8; 4] = *b"VYRE";

/// The version of the format that this crate writes and reads.
pub const VERSION: u32 = 2;

/// Bytes of the content hash at the end.
pub(crate) const HASH: usize = 32;
