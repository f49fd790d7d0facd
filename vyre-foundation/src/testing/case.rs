//! A program with everything that a run of it needs.

use vyre_spec::{Comparison, Mismatch};

use crate::check::Checked;
use crate::ir::Program;
use crate::launch::Params;
use crate::machine::{MachineError, MachineOptions, Outcome, run};

/// A program, its parameters and its inputs.
#[derive(Clone, Debug)]
pub struct GeneratedCase {
    /// The seed that it was generated from.
    pub seed: u64,
    /// The program.
    pub program: Checked<Program>,
    /// The parameters' values.
    pub params: Params,
    /// The bytes of each input buffer, in declaration order.
    pub inputs: Vec<Vec<u8>>,
    /// Lanes of a subgroup that the program was generated for.
    pub subgroup_size: u32,
}

impl GeneratedCase {
    /// Runs the case on the reference machine.
    ///
    /// # Errors
    /// As [`run`].
    pub fn run(&self, options: &MachineOptions) -> Result<Outcome, MachineError> {
        let inputs: Vec<&[u8]> = self.inputs.iter().map(Vec::as_slice).collect();
        run(&self.program, &self.params, &inputs, options)
    }

    /// Compares outputs with the reference's, each by its element type.
    ///
    /// # Errors
    /// The name of the first output that differs, and where.
    pub fn compare(
        &self,
        comparison: Comparison,
        want: &[Vec<u8>],
        got: &[Vec<u8>],
    ) -> Result<(), (String, Mismatch)> {
        for (i, id) in self.program.outputs().enumerate() {
            let buffer = self.program.buffer(id);
            let at = |outputs: &[Vec<u8>]| outputs.get(i).cloned().unwrap_or_default();
            comparison
                .outputs(buffer.element, &at(want), &at(got))
                .map_err(|mismatch| (buffer.name.clone(), mismatch))?;
        }
        Ok(())
    }
}
