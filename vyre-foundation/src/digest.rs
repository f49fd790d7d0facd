//! Content ids: equal programs have equal ids, on every platform and in every run.

use std::fmt;

use crate::ir::Program;

/// The BLAKE3 hash of a program's wire bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProgramId([u8; 32]);

impl ProgramId {
    /// The hash.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for ProgramId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ProgramId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProgramId({self})")
    }
}

impl Program {
    /// The program's content id; it takes time linear in the program.
    pub fn id(&self) -> ProgramId {
        ProgramId(*blake3::hash(&crate::wire::encode_unsealed(self)).as_bytes())
    }
}
