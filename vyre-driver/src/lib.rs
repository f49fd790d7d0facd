//! The backend contract of Vyre.
//!
//! A backend compiles checked programs to pipelines, owns buffers, and executes [`CommandList`]s: the one
//! form of device work. Everything else that the contract offers builds a list. This crate knows nothing
//! of lowering, naga, wgpu or artifacts.
#![forbid(unsafe_code)]

mod backend;
pub mod codec;
mod command;
mod config;
#[cfg(feature = "conformance")]
pub mod conformance;
mod dispatch;
mod error;
mod memo;
mod pipeline;
mod reference;
mod registry;
mod resource;
mod target;

pub use backend::VyreBackend;
pub use codec::ProfileDigest;
pub use command::{Binding, BufferRef, Command, CommandList, DispatchCommand, ReadId, Span};
pub use config::{DispatchConfig, LaunchOptions};
pub use error::BackendError;
pub use memo::checked;
pub use pipeline::{CompiledPipeline, Completion, Finished, Visitor};
pub use reference::{REFERENCE_BACKEND_ID, ReferenceBackend};
pub use registry::{BackendRegistration, backend_registration, backend_registrations};
pub use resource::{BackendInstance, Resource};
pub use target::{
    Materializer, PayloadError, PayloadKernel, PayloadKey, PayloadProgram, TargetCompiler, TargetPayload,
};

pub use inventory;
