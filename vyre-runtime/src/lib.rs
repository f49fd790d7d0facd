//! Sessions that run artifacts on a registered backend.
//!
//! [`ArtifactSession::compile`] takes a backend's registration and a valid request, admits the artifact to the
//! device and compiles its program there. An [`ArtifactInstance`] of the session submits runs: bindings by
//! name in, outputs by name out. Sessions are independent of each other, and instances may be used from many
//! threads.
//!
//! ```
//! use vyre_driver::{REFERENCE_BACKEND_ID, backend_registration};
//! use vyre_foundation::build::Kernel;
//! use vyre_megakernel::{BindingSet, CompileRequest};
//! use vyre_runtime::ArtifactSession;
//!
//! let scale = Kernel::build("scale", |k| {
//!     let by = k.param::<f32>("by");
//!     let x = k.read_write::<f32>("x");
//!     k.domain([x.len()], |[i]| x.store(i, x.load(i) * by));
//! })?;
//! let registration = backend_registration(REFERENCE_BACKEND_ID)?;
//! let request = CompileRequest::new(&scale, (registration.open)()?.profile()).validate()?;
//! let session = ArtifactSession::compile(registration, &request)?;
//!
//! let bindings = BindingSet::new().values("x", &[1.0f32, 2.0]).param("by", 3.0f32);
//! let outputs = session.instance().submit(&bindings)?.wait(None)?;
//! assert_eq!(outputs.values::<f32>("x")?, [3.0, 6.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod error;
mod instance;
mod outputs;
mod ready;
mod retained;
mod session;
mod submission;

pub use error::SessionError;
pub use instance::ArtifactInstance;
pub use outputs::Outputs;
pub use retained::Lost;
pub use session::ArtifactSession;
pub use submission::{Progress, Running, Submission};
