//! Whole graphs: compile requests, fusion, immutable artifacts and their schedule.
//!
//! A [`CompileRequest`] names a graph of programs (or one program), the device profile that it is for, and what
//! bounds the search. [`CompileRequest::validate`] proves that the device can run it, [`compile`] makes the
//! [`Artifact`]: canonical bytes with a content id, which hold the graph and the plan by which it runs. An
//! [`ArtifactEnvelope`] adds its programs compiled for devices. [`schedule`] turns an artifact and a [`BindingSet`]
//! into the command list of one run, the one way an artifact runs. Nothing here touches a device.
//!
//! ```
//! use vyre_foundation::build::Kernel;
//! use vyre_foundation::graph::GraphBuilder;
//! use vyre_megakernel::{Artifact, CompileRequest, compile};
//! use vyre_spec::DeviceProfile;
//!
//! let square = Kernel::build("square", |k| {
//!     let x = k.read_only::<u32>("x");
//!     let y = k.write_only::<u32>("y", x.len());
//!     k.domain([x.len()], |[i]| y.store(i, x.load(i) * x.load(i)));
//! })?;
//! let g = GraphBuilder::new("fourth_power");
//! let n = g.dim("n");
//! let x = g.input::<u32>("x", [n]);
//! let y = g.call(&square, [g.call(&square, [x])?])?;
//! g.output("y", y);
//! let graph = g.finish()?;
//!
//! let request = CompileRequest::graph(&graph, &DeviceProfile::reference()).validate()?;
//! let artifact = compile(&request)?;
//! let again = Artifact::from_bytes(artifact.bytes())?;
//! assert_eq!(artifact.id(), again.id());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod artifact;
mod bindings;
mod envelope;
pub mod fuse;
mod prepared;
pub mod queue;
mod request;
pub mod samples;
mod schedule;

pub use artifact::{Artifact, ArtifactError, ArtifactId, CompileError, PlanFault, Rejected, compile};
pub use bindings::{BindingError, BindingSet, Key};
pub use envelope::{ArtifactEnvelope, AttachError, EnvelopeError, MaterializeError, Materialized};
pub use fuse::{Facts, SearchBudget};
pub use prepared::{Held, Prepared};
pub use request::{CompileRequest, RequestError, ValidRequest};
pub use schedule::{Pipelines, ReadBack, Schedule, schedule};
/// The digest of a device profile, of the contract.
pub use vyre_driver::ProfileDigest;
