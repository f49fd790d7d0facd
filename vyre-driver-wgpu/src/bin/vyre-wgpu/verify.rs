//! `--verify`: a device's outputs against the reference machine's.

use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_foundation::launch::Params;
use vyre_foundation::machine::{self, MachineOptions};
use vyre_spec::{Comparison, ErrorBound};

use crate::error::CliError;

/// What the reference machine computes, with subgroups as wide as the device's.
pub(crate) fn reference(
    program: &Checked<Program>,
    buffers: &[&[u8]],
    params: &Params,
    subgroup_size: Option<u32>,
) -> Result<Vec<Vec<u8>>, CliError> {
    let mut options = MachineOptions::default();
    options.subgroup_size = subgroup_size.unwrap_or(options.subgroup_size);
    let outcome = machine::run(program, params, buffers, &options)?;
    match outcome.trap {
        None => Ok(outcome.outputs),
        // The device's own trap would have ended the run before.
        Some(t) => Err(CliError::TrapMissed { code: t.code, invocation: t.invocation, address: t.address }),
    }
}

/// Compares each output element by element. Without a tolerance they must be equal, but for NaN payloads
/// and flushed subnormals.
pub(crate) fn compare(
    program: &Program,
    got: &[Vec<u8>],
    want: &[Vec<u8>],
    tolerance: Option<f32>,
) -> Result<(), CliError> {
    let comparison = match tolerance {
        None => Comparison::EXACT,
        Some(ulp) => Comparison { bound: ErrorBound::Ulp(ulp), operand: 0.0 },
    };
    for ((buffer, got), want) in program.outputs().map(|id| program.buffer(id)).zip(got).zip(want) {
        comparison
            .outputs(buffer.element, want, got)
            .map_err(|mismatch| CliError::Differs { buffer: buffer.name.clone(), mismatch })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use vyre_foundation::build::Kernel;
    use vyre_spec::Mismatch;

    use super::*;

    fn differs(got: &[f32], want: &[f32], tolerance: Option<f32>) -> Option<(usize, usize)> {
        let program = Kernel::build("p", |k| {
            let out = k.read_write::<f32>("out");
            k.domain([out.len()], |[i]| out.store(i, 1.0f32));
        })
        .unwrap();
        let bytes = |x: &[f32]| vec![x.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>()];
        match compare(&program, &bytes(got), &bytes(want), tolerance) {
            Ok(()) => None,
            Err(CliError::Differs { mismatch: Mismatch::Element { count, element, .. }, .. }) => {
                Some((count, element))
            }
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn differences_are_counted_and_the_first_is_named() {
        let next = f32::from_bits(1.0f32.to_bits() + 1);
        assert_eq!(differs(&[1.0, f32::NAN], &[1.0, -f32::NAN], None), None);
        assert_eq!(differs(&[0.0], &[1e-45], None), None, "a subnormal may be flushed");
        assert_eq!(differs(&[1.0, next, next], &[1.0, 1.0, 1.0], None), Some((2, 1)));
        assert_eq!(differs(&[1.0, next, next], &[1.0, 1.0, 1.0], Some(1.0)), None);
        assert_eq!(differs(&[0.0], &[-0.0], None), Some((1, 0)), "the sign of zero counts");
    }
}
