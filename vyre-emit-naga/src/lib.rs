//! Emission: a verified kernel descriptor becomes a [`naga::Module`], validated, and from there SPIR-V words
//! or WGSL, MSL or HLSL text.
//!
//! Lowering made every guard explicit and left only ops that devices have, so emission adds nothing: each
//! instruction becomes one naga expression or statement, and the writers run with all of their own checks
//! off where they allow that. Which naga operator stands for an op is told by the `native` column of its
//! row in `vyre-spec`.
#![forbid(unsafe_code)]

mod atomics;
mod bindings;
mod body;
mod control;
mod error;
mod module;
mod ops;
mod spirv;
mod stack;
mod subgroup;
mod text;
mod tile;
mod types;

#[cfg(test)]
mod tests;

pub use bindings::{BindingKind, EmittedBinding};
pub use error::{EmitError, WriteError};
pub use module::{Emitted, emit};
pub use naga;
pub use spirv::{SpirvOptions, to_spirv};
pub use stack::with_stack;
pub use text::{to_hlsl, to_msl, to_wgsl};
