//! Graphs of programs: whole computations as data, with typed values between programs.
//!
//! A [`ProgramGraph`] lists values and nodes. A node runs one program: it reads values, one for each input
//! buffer, and computes a value for each output buffer. Values never change: a `ReadWrite` buffer takes one value
//! and gives a new one of the same shape, and who else reads the old value still finds it as it was. Elements of a
//! `WriteOnly` output that the program does not store are 0. Nodes stand after those whose values they read.
//!
//! Shapes are lists of [`Dim`]s: numbers, symbols that a run settles, and arithmetic on them. Those of computed values
//! follow from the counts that the programs' buffers declare. [`solve`] settles symbols from what is bound, and
//! checks every length. [`evaluate`] runs a graph on the reference machine, which says what it means.
//!
//! ```
//! use vyre_foundation::build::Kernel;
//! use vyre_foundation::graph::GraphBuilder;
//!
//! let saxpy = Kernel::build("saxpy", |k| {
//!     let a = k.param::<f32>("a");
//!     let x = k.read_only::<f32>("x");
//!     let y = k.read_write::<f32>("y").with_len(x.len());
//!     k.domain([y.len()], |[i]| y.store(i, a * x.load(i) + y.load(i)));
//! })?;
//!
//! let g = GraphBuilder::new("twice");
//! let n = g.dim("n");
//! let a = g.param::<f32>("a");
//! let x = g.input::<f32>("x", [n]);
//! let y = g.input::<f32>("y", [n]);
//! let once = g.call(&saxpy, [a, x, y])?;
//! let twice = g.call(&saxpy, [a, once, once])?;
//! g.output("result", twice);
//! let graph = g.finish()?;
//! assert_eq!(graph.nodes().len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod args;
pub(crate) mod assemble;
mod build;
mod check;
mod derive;
pub(crate) mod dims;
mod error;
mod evaluate;
mod ids;
mod model;
mod single;
mod solve;
pub mod wire;

#[cfg(test)]
mod tests;

pub use args::{Arg, IntoArgs, IntoDim, IntoShape};
pub use build::{Call, DimHandle, GraphBuilder, Handle};
pub use dims::Dim;
pub(crate) use dims::DimTable;
pub use error::{GraphDiagnostic, GraphError, GraphSite};
pub use evaluate::{EvaluateError, Evaluation, Inputs, evaluate};
pub use ids::{DimId, GraphNodeId, GraphParamId, GraphValueId};
pub use model::{
    GraphNode, GraphOutput, GraphParam, GraphValue, Lifetime, ParamSource, ProgramGraph, Requirement, Source,
};
pub use solve::{Bindings, SolveError, Solved, solve};

/// Axes that a value's shape has, at most.
pub const MAX_AXES: usize = 8;
