//! The specification of the Vyre compute IR as data: element types, op tables with their scalar
//! semantics, memory model vocabulary, device profiles and compile options.
//!
//! Every op is one row of a table in [`ops`]. The row states its wire tag, name, type rule, algebraic
//! laws, NaN rule, error bound, native mapping and evaluation; the folder, the reference machine, the
//! checker, the text and wire forms, the emitter and the documentation are projections of that row.
#![forbid(unsafe_code)]

mod bytes;
mod capability;
mod float;
mod memory;
pub mod ops;
mod options;
mod tile;
mod types;
mod value;

pub use bytes::{PartialElement, from_bytes, to_bytes};
pub use half::{bf16, f16};

pub use capability::{Capability, CapabilitySet, DeviceProfile, Quirks};
pub use float::FloatFormat;
pub use memory::{Access, Axis, BuiltIn, FenceScope, MemoryOrdering, TRAP_LOOP_LIMIT};
pub use options::CompileOptions;
pub use tile::{TileLayout, TileProduct, TileRole, TileType};
pub use types::{DataType, Element, TypeSet, class};
pub use value::{Comparison, ErrorBound, Mismatch, NanRule, Value};
