//! What most programs use: `use vyre::prelude::*;`.

pub use crate::{from_bytes, to_bytes};
pub use vyre_driver::{BackendError, DispatchConfig, VyreBackend};
pub use vyre_foundation::build::{
    BuildError, Extent, Kernel, Private, ReadOnly, ReadWrite, Shared, Uniform, Val, Var, Workgroup, WriteOnly,
};
pub use vyre_foundation::check::Checked;
pub use vyre_foundation::graph::{GraphBuilder, GraphError, ProgramGraph};
pub use vyre_foundation::ir::Program;
pub use vyre_spec::{DataType, Element, MemoryOrdering, Value};
