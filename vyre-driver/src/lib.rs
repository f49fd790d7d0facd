//! The backend contract of Vyre.
//!
//! A backend compiles checked programs to pipelines, owns buffers, and executes [`CommandList`]s: the one
//! form of device work. Everything else that the contract offers builds a list. This crate knows nothing
//! of lowering, naga, wgpu or artifacts.
#![forbid(unsafe_code)]

pub mod backend;
mod caps;
pub mod codec;
mod command;
mod config;
#[cfg(feature = "conformance")]
pub mod conformance;
mod device_buffer;
mod error;
mod executable;
mod feature;
pub mod impact;
mod memo;
mod memory;
mod ops;
pub mod optimizer;
mod pending;
mod pipeline;
mod reference;
mod registry;
mod resource;
pub mod speculate;
mod sugar;
mod target;
mod timing;

pub use backend::VyreBackend;
pub use caps::{AdapterCaps, BackendCapabilities, BackendValidationCapabilities};
pub use codec::ProfileDigest;
pub use command::{
    Binding, BufferRef, Command, CommandList, DispatchCommand, MAX_REPEAT_DEPTH, ReadId, Repeated, Span,
};
pub use config::{DispatchConfig, DispatchPreset, LaunchOptions, SpeculationMode};
pub use device_buffer::DeviceBuffer;
pub use error::BackendError;
pub use executable::Executable;
pub use feature::Feature;
pub use memo::{ValidationCacheSnapshot, checked, prepared, validation_cache_snapshot};
pub use memory::{Memory, MemoryRef, OutputBuffers};
pub use ops::OpId;
pub use pending::{PendingDispatch, TryWait};
pub use pipeline::{CompiledPipeline, Completion, Finished, PipelineCacheSnapshot, Visitor};
pub use reference::{REFERENCE_BACKEND_ID, ReferenceBackend};
pub use registry::{BackendRegistration, backend_registration, backend_registrations};
pub use resource::{BackendInstance, Resource};
pub use sugar::host::host_list;
pub use sugar::memory::dispatch as dispatch_memory;
pub use target::{
    Materializer, PayloadError, PayloadKernel, PayloadKey, PayloadProgram, TargetCompiler, TargetPayload,
};
pub use timing::{ResidentSequenceTiming, TimedDispatchResult, Timing};

pub use inventory;
