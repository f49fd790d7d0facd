//! The verifier: what an emitter may rely on.

use std::ops::Deref;

use super::{InstId, KernelDescriptor};

/// A descriptor that the verifier accepted: what emitters take.
#[derive(Clone, Debug, PartialEq)]
pub struct VerifiedKernel(KernelDescriptor);

impl Deref for VerifiedKernel {
    type Target = KernelDescriptor;
    fn deref(&self) -> &KernelDescriptor {
        &self.0
    }
}

/// How a descriptor breaks an invariant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kernel `{kernel}` breaks an invariant of descriptors at {}: {rule}", at.map_or("its tables".to_owned(), |id| format!("%{}", id.0)))]
pub struct VerifyError {
    /// The kernel's name.
    pub kernel: String,
    /// The instruction, if one is to blame.
    pub at: Option<InstId>,
    /// What should have held.
    pub rule: &'static str,
}

/// Checks a descriptor.
///
/// # Errors
/// The first broken invariant.
pub fn verify(kernel: KernelDescriptor) -> Result<VerifiedKernel, VerifyError> {
    if kernel.blocks.is_empty() {
        return Err(VerifyError { kernel: kernel.name, at: None, rule: "block 0 is the body" });
    }
    Ok(VerifiedKernel(kernel))
}
