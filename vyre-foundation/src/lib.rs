//! The Vyre compute IR: programs as data, their typed builder, text and wire forms, the checker that
//! proves them sound, the reference machine that defines what they mean, the optimiser, and
//! graphs of programs.
#![forbid(unsafe_code)]

pub mod build;
pub mod check;
pub mod diag;
pub mod digest;
pub mod graph;
pub mod ir;
pub mod launch;
pub mod machine;
pub mod opt;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod text;
pub mod wire;
