//! The wgpu backend of Vyre: runs checked compute programs on Vulkan, DX12 and Metal devices.
//!
//! [`WgpuBackend`] opens an adapter and implements the contract of `vyre-driver`. Its way from a program to a
//! kernel is one function (`compile`), its way from a command list to a submission another (`exec`).
//!
//! Whole graphs run through sessions of `vyre-runtime`. It finds this backend by its registration, as long as the
//! program uses this crate:
//!
//! ```
//! # use vyre_driver::VyreBackend;
//! # use vyre_megakernel::{BindingSet, CompileRequest, samples};
//! use vyre_driver::backend::backend_registration;
//! use vyre_driver_wgpu::WGPU_BACKEND_ID;
//! use vyre_runtime::ArtifactSession;
//!
//! # let graph = samples::chain(3)?;
//! # let request = CompileRequest::graph(&graph, vyre_driver_wgpu::WgpuBackend::shared()?.profile()).validate()?;
//! let registration = backend_registration(WGPU_BACKEND_ID)?;
//! let session = ArtifactSession::compile(registration, &request)?;
//! # let outputs = session.instance().submit(&BindingSet::new().values("x", &[1.0f32, 2.0]))?.wait(None)?;
//! # assert_eq!(outputs.values::<f32>("y")?.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `request` is a validated `CompileRequest` of a graph or program, for the profile of this device. Inputs are bound by a
//! `BindingSet` and submitted through `session.instance()`; its `wait` gives the outputs.
#![deny(unsafe_code)]

#[cfg(target_family = "wasm")]
compile_error!(
    "vyre-driver-wgpu blocks on the device, which a browser does not allow: it has no WebAssembly form"
);

mod acquire;
mod backend;
mod batch;
mod buffer;
mod builtin;
mod cache;
mod capabilities;
mod compile;
mod completion;
mod contract;
mod core;
mod device_buffer;
#[cfg(test)]
mod device_tests;
mod driver_cache;
mod dump;
mod env;
mod exec;
mod facets;
mod generation;
mod impact;
mod ir;
mod kernel;
mod lifecycle;
mod mapped;
mod optimizer;
mod persistent;
mod pipeline;
mod probe;
#[cfg(feature = "parity-testing")]
mod probe_op;
mod profile;
mod raw;
mod resident;
mod seam;
mod speculative;
mod stats;
mod steady;
mod streaming;
mod tiles;
mod trace;
#[allow(unsafe_code, reason = "the one module that may: each call carries its argument")]
mod trusted;

pub use acquire::{AdapterReport, Choice, Refusal};
pub use backend::{WGPU_BACKEND_ID, WgpuBackend, WgpuBackendBuilder};
pub use cache::DiskCacheStats;
pub use capabilities::CapabilityLine;
#[doc(hidden)]
pub use compile::descriptors;
pub use ir::{LoweringError, WgpuIR, WgpuProgram};
pub use pipeline::WgpuPipeline;
#[doc(hidden)]
pub use seam::{Fault, Site};
pub use stats::{CacheStats, WgpuBackendStats};
pub use streaming::HostIngressStream;
/// The shader IR that programs are lowered to.
pub use vyre_emit_naga::naga;
#[cfg(feature = "parity-testing")]
pub use vyre_spec::ops::UnaryOp as UnOp;
/// The graphics layer whose types this crate's methods give.
pub use wgpu;
