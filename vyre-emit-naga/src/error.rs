//! What emission and the writers refuse.

use naga::WithSpan;
use naga::valid::ValidationError;
use vyre_lower::kernel::{BlockId, InstId};

/// Why a descriptor did not become a module. Each of these is a fault of lowering or of this crate, not of
/// the program: a descriptor that its verifier accepts has none of them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmitError {
    /// An op that its row calls not native, so that lowering had to replace it.
    #[error("kernel `{kernel}`: op `{op}` has no native form; lowering must replace it before emission")]
    NotNative {
        /// The kernel.
        kernel: String,
        /// The op's text name.
        op: &'static str,
    },
    /// An instruction reads a value that is not defined where it stands.
    #[error("kernel `{kernel}`: the value of instruction {value:?} is read where it is not defined")]
    Undefined {
        /// The kernel.
        kernel: String,
        /// The instruction that is read.
        value: InstId,
    },
    /// A table index with nothing behind it.
    #[error("kernel `{kernel}`: {what} {index} does not exist")]
    Missing {
        /// The kernel.
        kernel: String,
        /// What the index is of.
        what: &'static str,
        /// The index.
        index: u32,
    },
    /// An instruction lacks what its op needs: a result type, a lane, an expected value.
    #[error("kernel `{kernel}`: an instruction of block {block:?} lacks {what}")]
    Incomplete {
        /// The kernel.
        kernel: String,
        /// The block.
        block: BlockId,
        /// What is missing.
        what: &'static str,
    },
    /// The blocks nest so deep that naga needs a thread with more stack, and there is none.
    #[error("kernel `{kernel}`: no thread for its deeply nested blocks: {source}")]
    Thread {
        /// The kernel.
        kernel: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// naga's validator rejects the module.
    #[error("kernel `{kernel}`: naga rejects the emitted module: {}\n{text}", chain(source))]
    Invalid {
        /// The kernel.
        kernel: String,
        /// What naga says.
        source: Box<WithSpan<ValidationError>>,
        /// The descriptor, as text.
        text: String,
    },
}

/// Why a module has no form in a target language.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// naga's SPIR-V writer lacks something that the module uses.
    #[error("no SPIR-V for this kernel: {0}")]
    Spirv(#[from] naga::back::spv::Error),
    /// naga's WGSL writer lacks something that the module uses.
    #[error("no WGSL for this kernel: {0}")]
    Wgsl(#[from] naga::back::wgsl::Error),
    /// naga's MSL writer lacks something that the module uses.
    #[error("no MSL for this kernel: {0}")]
    Msl(#[from] naga::back::msl::Error),
    /// naga's HLSL writer lacks something that the module uses.
    #[error("no HLSL for this kernel: {0}")]
    Hlsl(#[from] naga::back::hlsl::Error),
    /// naga's HLSL writer has no cooperative matrices.
    #[error("no HLSL for this kernel: naga 30 writes no cooperative matrices, which tiles are, in HLSL")]
    HlslTiles,
    /// The blocks nest so deep that naga needs a thread with more stack, and there is none.
    #[error("no thread for the kernel's deeply nested blocks: {0}")]
    Thread(#[from] std::io::Error),
    /// The module has no entry point that MSL can express.
    #[error("no MSL for this kernel: its entry point cannot be written: {0}")]
    MslEntryPoint(naga::back::msl::EntryPointError),
    /// The module has no entry point that HLSL can express.
    #[error("no HLSL for this kernel: its entry point cannot be written: {0}")]
    HlslEntryPoint(naga::back::hlsl::EntryPointError),
}

/// An error and everything behind it, joined by colons: naga's outer messages alone name no cause.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}
