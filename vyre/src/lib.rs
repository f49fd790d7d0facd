#![cfg_attr(feature = "wgpu", doc = include_str!("../README.md"))]
#![cfg_attr(not(feature = "wgpu"), doc = "GPU compute kernels as data: build, prove and run them from Rust.")]
#![forbid(unsafe_code)]

mod error;
pub mod prelude;

use std::sync::Arc;

pub use error::Error;

/// The backend contract: backends, command lists, configuration, errors and the registry.
pub use vyre_driver as driver;
/// The wgpu backend, for choosing an adapter; [`backend`] opens the usual one.
#[cfg(feature = "wgpu")]
pub use vyre_driver_wgpu as wgpu;
/// The IR: builder, text and wire forms, checker, graphs of programs, reference machine and optimiser.
pub use vyre_foundation as foundation;
/// Whole-program compile requests and artifacts.
pub use vyre_megakernel as megakernel;
/// Sessions that run artifacts on a backend.
pub use vyre_runtime as runtime;
/// Element types, op tables and device profiles.
pub use vyre_spec as spec;
pub use vyre_spec::{from_bytes, to_bytes};

use vyre_driver::{BackendError, VyreBackend, backend_registration, backend_registrations};

/// Opens the preferred linked backend: `wgpu`, unless the program links one of higher precedence.
///
/// The reference machine, an oracle that runs on the CPU, is never chosen here: name it, with
/// [`backend_named`].
///
/// # Errors
/// [`BackendError::NoDevice`] says what was probed and what to do; [`BackendError::BackendNotLinked`] where
/// the feature `wgpu` is off and nothing else is linked.
pub fn backend() -> Result<Arc<dyn VyreBackend>, BackendError> {
    match backend_registrations().into_iter().find(|registration| registration.precedence > 0) {
        Some(registration) => (registration.open)(),
        None => backend_named("wgpu"),
    }
}

/// Opens the linked backend with this id, such as `wgpu` or `reference`.
///
/// # Errors
/// [`BackendError::BackendNotLinked`] with the ids that are, or why the backend cannot be opened.
pub fn backend_named(id: &str) -> Result<Arc<dyn VyreBackend>, BackendError> {
    (backend_registration(id)?.open)()
}

/// The blocks of `docs/getting-started.md`, as documentation tests.
#[cfg(all(doctest, feature = "wgpu"))]
#[doc = include_str!("../../docs/getting-started.md")]
struct GettingStarted;
