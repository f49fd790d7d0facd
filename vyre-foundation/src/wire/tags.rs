//! Tags of the format's variants; those of ops, types and accesses are in their tables.

/// The bit of a buffer's access byte that makes it coherent.
pub(super) const COHERENT: u8 = 0x80;

pub(super) mod extent {
    pub(in crate::wire) const LITERAL: u8 = 0;
    pub(in crate::wire) const PARAM: u8 = 1;
    pub(in crate::wire) const LENGTH: u8 = 2;
    // 3 and more: the operations' own tags.
}

pub(super) mod launch {
    pub(in crate::wire) const DOMAIN: u8 = 0;
    pub(in crate::wire) const WORKGROUPS: u8 = 1;
    pub(in crate::wire) const INDIRECT: u8 = 2;
}

pub(super) mod expr {
    pub(in crate::wire) const LITERAL: u8 = 0;
    pub(in crate::wire) const PARAM: u8 = 1;
    pub(in crate::wire) const BUILT_IN: u8 = 2;
    pub(in crate::wire) const LENGTH: u8 = 3;
    pub(in crate::wire) const RESULT: u8 = 4;
    pub(in crate::wire) const LOOP_VAR: u8 = 5;
    pub(in crate::wire) const UNARY: u8 = 6;
    pub(in crate::wire) const BINARY: u8 = 7;
    pub(in crate::wire) const TERNARY: u8 = 8;
    pub(in crate::wire) const CAST: u8 = 9;
}

pub(super) mod place {
    pub(in crate::wire) const BUFFER: u8 = 0;
    pub(in crate::wire) const SHARED: u8 = 1;
    pub(in crate::wire) const PRIVATE: u8 = 2;
}

pub(super) mod node {
    /// The end of a region.
    pub(in crate::wire) const END: u8 = 0;
    pub(in crate::wire) const LOAD: u8 = 1;
    pub(in crate::wire) const STORE: u8 = 2;
    pub(in crate::wire) const ATOMIC: u8 = 3;
    pub(in crate::wire) const DECLARE: u8 = 4;
    pub(in crate::wire) const GET: u8 = 5;
    pub(in crate::wire) const SET: u8 = 6;
    pub(in crate::wire) const IF: u8 = 7;
    pub(in crate::wire) const FOR: u8 = 8;
    pub(in crate::wire) const WHILE: u8 = 9;
    pub(in crate::wire) const BREAK: u8 = 10;
    pub(in crate::wire) const CONTINUE: u8 = 11;
    pub(in crate::wire) const RETURN: u8 = 12;
    pub(in crate::wire) const BARRIER: u8 = 13;
    pub(in crate::wire) const SUBGROUP: u8 = 14;
    pub(in crate::wire) const TRAP: u8 = 15;
    pub(in crate::wire) const FENCE: u8 = 17;
    pub(in crate::wire) const COLLECTIVE: u8 = 18;
    pub(in crate::wire) const TILE: u8 = 16;
}

pub(super) mod tile {
    pub(in crate::wire) const FILL: u8 = 0;
    pub(in crate::wire) const LOAD: u8 = 1;
    pub(in crate::wire) const STORE: u8 = 2;
    pub(in crate::wire) const MULTIPLY_ADD: u8 = 3;
    pub(in crate::wire) const ADD: u8 = 4;
    pub(in crate::wire) const SUBTRACT: u8 = 5;
    pub(in crate::wire) const SCALE: u8 = 6;
}
