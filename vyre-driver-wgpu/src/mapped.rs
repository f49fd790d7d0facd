//! Outputs seen where the device put them, without a copy.

use bytemuck::{Pod, PodCastError};
use vyre_driver::{BackendError, DispatchConfig, VyreBackend, checked, host_list};
use vyre_foundation::ir::Program;

use crate::backend::WgpuBackend;

impl WgpuBackend {
    /// Runs a program on input bytes, as `dispatch_borrowed` does, and hands each output's position and bytes
    /// to `visitor`, in declaration order. The bytes lie in memory that the device wrote and the host reads,
    /// which ends with the visit: nothing is copied.
    ///
    /// # Errors
    /// As `dispatch_borrowed`, and the visitor's own, which ends the visit.
    pub fn dispatch_borrowed_for_each_mapped_output<F>(
        &self,
        program: &Program,
        inputs: &[&[u8]],
        config: &DispatchConfig,
        mut visitor: F,
    ) -> Result<(), BackendError>
    where
        F: FnMut(usize, &[u8]) -> Result<(), BackendError>,
    {
        let list = host_list(self, &checked(program)?, inputs, config)?;
        let done = self.submit(&list).and_then(|work| work.visit(config.timeout, &mut visitor));
        done.map(drop).map_err(|error| error.labeled(list.label()))
    }

    /// The same, with each output as a slice of `T`.
    ///
    /// # Errors
    /// As [`Self::dispatch_borrowed_for_each_mapped_output`], and [`BackendError::OutputLayout`] for an output
    /// that is no whole number of `T`, or not aligned for it: mapped outputs start at multiples of 16 bytes.
    pub fn dispatch_borrowed_for_each_pod_output<T, F>(
        &self,
        program: &Program,
        inputs: &[&[u8]],
        config: &DispatchConfig,
        mut visitor: F,
    ) -> Result<(), BackendError>
    where
        T: Pod,
        F: FnMut(usize, &[T]) -> Result<(), BackendError>,
    {
        self.dispatch_borrowed_for_each_mapped_output(program, inputs, config, |output, bytes| {
            visitor(output, as_slice(output, bytes)?)
        })
    }
}

/// The bytes of an output as values.
fn as_slice<T: Pod>(output: usize, bytes: &[u8]) -> Result<&[T], BackendError> {
    // No bytes may lie anywhere.
    if bytes.is_empty() {
        return Ok(&[]);
    }
    bytemuck::try_cast_slice(bytes).map_err(|error| BackendError::OutputLayout {
        output,
        bytes: bytes.len(),
        ty: std::any::type_name::<T>(),
        problem: match error {
            PodCastError::TargetAlignmentGreaterAndInputNotAligned => {
                format!("they are not aligned to {}", align_of::<T>())
            }
            _ => format!("they are no whole number of {} bytes", size_of::<T>()),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sixteen bytes that start at a multiple of 16.
    #[repr(align(16))]
    struct Aligned([u8; 16]);

    #[test]
    fn bytes_become_values_where_they_fit() {
        let bytes = Aligned(std::array::from_fn(|i| i as u8));
        assert_eq!(as_slice::<u16>(0, &bytes.0[..4]).unwrap(), [0x0100, 0x0302]);
        assert_eq!(as_slice::<u64>(0, &[]).unwrap(), [0_u64; 0]);
        let refused = as_slice::<u32>(1, &bytes.0[..6]).unwrap_err();
        assert!(matches!(&refused, BackendError::OutputLayout { output: 1, bytes: 6, .. }), "{refused}");
        assert!(refused.to_string().contains("no whole number of 4 bytes"), "{refused}");
        let refused = as_slice::<u64>(0, &bytes.0[4..12]).unwrap_err();
        assert!(refused.to_string().contains("not aligned to 8"), "{refused}");
    }
}
