//! Repository tasks.
#![forbid(unsafe_code)]
fn main() {}
