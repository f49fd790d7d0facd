//! What lowering proves about a program.

pub(crate) mod bounds;
pub(crate) mod first_write;
pub(crate) mod loops;
