//! The registered facets: the target compiler, which needs no device, and the materializer.
//!
//! Two formats of code:
//!
//! - `spirv`: the words, little-endian, as they are loaded on Vulkan. They cannot be validated here, so they
//!   run only if they are trusted.
//! - `naga-wgsl`: the naga module in its text form, as naga writes and reads it. Trusted, it is loaded as any
//!   lowered module is; from elsewhere, naga reads and validates it again and it runs with every check on. The
//!   text form rather than naga's own structures, because its reader is made for input that nobody vouches for:
//!   it limits nesting and cannot build what its types exclude.
//!
//! A program has two kernels: one for grids that fit the device's per-axis limit, one for those that are folded. Where
//! `launch_contract` asks for kernels that rest on one, and they do, two more follow for launches that break it.

mod compiler;
mod layout;
mod materializer;
#[cfg(test)]
mod tests;
mod trust;

pub(crate) use compiler::WgpuTargetCompiler;
pub(crate) use materializer::WgpuMaterializer;

/// The format of SPIR-V words.
const SPIRV: &str = "spirv";
/// The format of naga modules.
const NAGA: &str = "naga-wgsl";
