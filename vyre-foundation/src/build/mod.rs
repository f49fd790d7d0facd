//! The typed builder: a kernel written in Rust, as data.
//!
//! [`Kernel::build`] hands a closure the [`Kernel`] under construction. Declarations give typed, `Copy`
//! handles; operators and methods on them record expressions; blocks are closures. What the op tables
//! define is what the handles offer: each row is a method, or the operator that the row names.
//!
//! ```
//! use vyre_foundation::build::Kernel;
//!
//! let saxpy = Kernel::build("saxpy", |k| {
//!     let a = k.param::<f32>("a");
//!     let x = k.read_only::<f32>("x");
//!     let y = k.read_write::<f32>("y").with_len(x.len());
//!     k.domain([y.len()], |[i]| {
//!         y.store(i, a * x.load(i) + y.load(i));
//!     });
//! })?;
//! assert_eq!(saxpy.buffers().len(), 2);
//! # Ok::<(), vyre_foundation::build::BuildError>(())
//! ```
//!
//! Rust itself refuses operands of different types, ops on types that their row does not take, loads from
//! write-only buffers, stores to read-only ones and atomics on private arrays:
//!
//! ```compile_fail
//! # use vyre_foundation::build::Kernel;
//! Kernel::build("wrong", |k| {
//!     let x = k.read_only::<f32>("x");
//!     k.domain([x.len()], |[i]| x.store(i, 1.0)); // `x` is read-only
//! });
//! ```
//!
//! ```compile_fail
//! # use vyre_foundation::build::Kernel;
//! Kernel::build("wrong", |k| {
//!     let x = k.read_write::<f32>("x");
//!     k.domain([x.len()], |[i]| x.store(i, x.load(i) + i)); // f32 + u32
//! });
//! ```
//!
//! Everything else is for the checker, and [`BuildError`] gives each finding with the line of Rust that it is
//! about. Nothing here panics.
//!
//! # Where a program lives while it is built
//!
//! A handle holds a reference to its kernel, whose tables sit in a `RefCell` that is never borrowed while
//! code of the user's runs. So handles are `Copy`, need no global state, cannot outlive their kernel, and
//! need no extra argument on statements. A handle of one kernel that is used in another is told apart by that
//! reference, and is a diagnostic ([`Code::MixedBuilders`](crate::diag::Code::MixedBuilders)).

mod array;
mod bits;
mod control;
mod error;
mod extent;
mod kernel;
mod launch;
mod names;
mod ops;
#[cfg(test)]
mod tests;
mod tile;
mod val;
mod var;

pub use array::{
    Array, Atomics, Bound, Loads, Private, ReadOnly, ReadWrite, Shared, Stores, Uniform, WriteOnly, kind,
};
pub use error::{BuildError, Finding};
pub use extent::{Extent, IntoExtent};
pub use kernel::Kernel;
pub use launch::{AxisCount, Workgroup};
pub(crate) use names::FreeNames;
pub use tile::Tile;
pub use val::{IntoIndex, IntoVal, Val};
pub use var::Var;
