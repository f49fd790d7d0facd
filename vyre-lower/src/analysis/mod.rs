//! What lowering proves about a program.

pub(crate) mod align;
pub(crate) mod first_write;
pub(crate) mod loops;
pub(crate) mod range;
