//! The wire form of graphs: a canonical byte string, versioned and with a content hash.
//!
//! One graph has one encoding, and [`decode`] refuses every other byte string. `docs/WIRE.md` has the layout. Decoding
//! takes time and memory linear in the number of bytes, whatever they are.

mod decode;
mod encode;
mod error;

pub use decode::decode;
pub use encode::encode;
pub(crate) use encode::encode_unsealed;
pub use error::GraphWireError;

/// The first bytes of every encoded graph.
pub const MAGIC: [u8; 4] = *b"VYRG";

/// The version of the format that this crate writes and reads.
pub const VERSION: u32 = 1;

/// Tags of the format's variants.
mod tags {
    pub(super) const LITERAL: u8 = 0;
    pub(super) const SYMBOL: u8 = 1;
    pub(super) const PARAM: u8 = 2;
    // 3 and more: the operations' own tags, which extents have too.

    pub(super) const CONSTANT: u8 = 0;
    pub(super) const INPUT: u8 = 1;
    pub(super) const RETAINED: u8 = 2;

    pub(super) const OF_LITERAL: u8 = 0;
    pub(super) const OF_PARAM: u8 = 1;
    pub(super) const OF_DIM: u8 = 2;
}
