//! What lowering proves about a program.

pub(crate) mod bounds;
pub(crate) mod loops;
