//! Whole-program compile requests, immutable artifacts and their schedule.
//!
//! A [`CompileRequest`] names a checked program, the device profile that it is for and the options.
//! [`CompileRequest::validate`] proves that the device can run it, [`compile`] makes the [`Artifact`]:
//! canonical bytes with a content id. [`schedule`] turns an artifact and a [`BindingSet`] into the command
//! list of one run, the one way an artifact runs. Nothing here touches a device.
//!
//! In this release a request has one program; graphs of several come later.
//!
//! ```
//! use vyre_foundation::build::Kernel;
//! use vyre_megakernel::{Artifact, CompileRequest, compile};
//! use vyre_spec::DeviceProfile;
//!
//! let square = Kernel::build("square", |k| {
//!     let x = k.read_write::<u32>("x");
//!     k.domain([x.len()], |[i]| x.store(i, i * i));
//! })?;
//! let request = CompileRequest::new(&square, &DeviceProfile::reference()).validate()?;
//! let artifact = compile(&request);
//! let again = Artifact::from_bytes(artifact.bytes())?;
//! assert_eq!(artifact.id(), again.id());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod artifact;
mod bindings;
mod envelope;
pub mod fuse;
mod request;
pub mod samples;
mod schedule;
#[cfg(test)]
mod tests;

pub use artifact::{Artifact, ArtifactError, ArtifactId, compile};
pub use bindings::{BindingError, BindingSet};
pub use envelope::{ArtifactEnvelope, AttachError, EnvelopeError};
pub use request::{CompileRequest, RequestError, ValidRequest};
pub use schedule::{Schedule, schedule};
/// The digest of a device profile, of the contract.
pub use vyre_driver::ProfileDigest;
