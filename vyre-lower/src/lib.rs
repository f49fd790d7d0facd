//! Lowering of checked Vyre programs to kernel descriptors: guards, legalisation and launch planning.
#![forbid(unsafe_code)]

mod access;
mod analysis;
mod batch;
mod bindings;
mod contract;
mod control;
mod error;
pub mod grid_sync;
pub mod kernel;
mod launch;
mod legalize;
mod lower;
mod merge;
mod pairs;
mod place;
mod prologue;
mod returns;
mod tile;
mod trap;
mod types;
mod vectorise;
mod windows;
mod writer;

pub use error::LowerError;
pub use lower::{Lowered, lower, lower_all};
