//! The checker: `Program` in, [`Checked`] or every diagnostic out.

mod facts;

pub use facts::{Checkable, Checked, Facts, Uniformity, Usage};

use crate::diag::Diagnostic;
use crate::ir::Program;

/// Proves a program sound, or says everything that is wrong with it.
///
/// # Errors
/// Every finding, in program order.
pub fn check(program: Program) -> Result<Checked<Program>, Vec<Diagnostic>> {
    let facts = Facts::default();
    Ok(Checked::new(program, facts))
}
