//! What lowering proves about a program.

pub(crate) mod bounds;
