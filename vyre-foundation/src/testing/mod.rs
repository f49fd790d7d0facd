//! Random programs, their mutation and their shrinking, for tests of this and other crates.
//!
//! Everything follows from a seed, which a failing test prints. [`generate`] draws programs from the op
//! tables, so that a new row is covered without a change here; [`generate_graph`] makes graphs of such. [`shrink`] makes a failing case small.
//! [`mutate`] damages programs, text and bytes.

mod case;
mod generate;
pub mod mutate;
mod ops;
mod rebuild;
mod shrink;
#[cfg(test)]
mod tests;
mod values;

pub use case::GeneratedCase;
pub use generate::graphs::{GeneratedGraph, GraphConfig, generate_graph};
pub use generate::{GenConfig, Launches, generate};
pub use shrink::shrink;
pub use values::{edge_values, random_value};

pub use fastrand::Rng;
