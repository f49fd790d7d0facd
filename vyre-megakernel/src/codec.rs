//! The bytes that artifacts are made of: little-endian numbers, and byte strings after their length.

use std::fmt;

use vyre_spec::{DeviceProfile, Quirks};

use crate::ArtifactError;

/// The digest of a device profile: an artifact runs on devices that have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProfileDigest(pub(crate) [u8; 32]);

impl ProfileDigest {
    /// The digest of every field.
    pub fn of(profile: &DeviceProfile) -> Self {
        // Named one by one, so that a new field cannot be left out.
        let DeviceProfile {
            backend,
            name,
            driver,
            api,
            is_software,
            capabilities,
            quirks:
                Quirks {
                    max_loop_iterations,
                    folds_literal_zero,
                    splits_fma,
                    folds_self_comparison,
                    loses_large_divisors,
                    loses_special_values,
                    flushes_subnormals,
                },
            subgroup_size,
            max_workgroup_size,
            max_workgroup_invocations,
            max_workgroups_per_axis,
            max_shared_bytes,
            max_storage_binding_bytes,
            max_buffer_bytes,
            max_storage_bindings,
            max_immediate_bytes,
        } = profile;
        let mut out = Writer::default();
        for text in [backend, name, driver, api] {
            out.string(text.as_bytes());
        }
        for flag in [
            is_software,
            folds_literal_zero,
            splits_fma,
            folds_self_comparison,
            loses_large_divisors,
            loses_special_values,
            flushes_subnormals,
        ] {
            out.u8(u8::from(*flag));
        }
        out.u32(capabilities.bits());
        for optional in [max_loop_iterations, subgroup_size] {
            out.u8(u8::from(optional.is_some()));
            out.u32(optional.unwrap_or(0));
        }
        max_workgroup_size.iter().for_each(|&axis| out.u32(axis));
        for limit in [
            max_workgroup_invocations,
            max_workgroups_per_axis,
            max_shared_bytes,
            max_storage_bindings,
            max_immediate_bytes,
        ] {
            out.u32(*limit);
        }
        out.u64(*max_storage_binding_bytes);
        out.u64(*max_buffer_bytes);
        Self(blake3::derive_key("vyre device profile", &out.0))
    }
}

impl fmt::Display for ProfileDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(f, &self.0)
    }
}

pub(crate) fn hex(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

#[derive(Default)]
pub(crate) struct Writer(pub(crate) Vec<u8>);

impl Writer {
    pub(crate) fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }

    pub(crate) fn string(&mut self, bytes: &[u8]) {
        self.u64(bytes.len() as u64);
        self.0.extend(bytes);
    }
}

/// Reads what [`Writer`] writes.
pub(crate) struct Reader<'a> {
    pub(crate) rest: &'a [u8],
    len: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, len: bytes.len() }
    }

    /// How many bytes were read.
    pub(crate) fn at(&self) -> usize {
        self.len - self.rest.len()
    }

    pub(crate) fn bytes(&mut self, count: u64) -> Result<&'a [u8], ArtifactError> {
        let cut = ArtifactError::Truncated { at: self.at(), needs: count };
        let count = usize::try_from(count).map_err(|_| cut.clone())?;
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(cut)?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], ArtifactError> {
        let (at, taken) = (self.at(), self.bytes(N as u64)?);
        taken.try_into().map_err(|_| ArtifactError::Truncated { at, needs: N as u64 })
    }

    pub(crate) fn u32(&mut self) -> Result<u32, ArtifactError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, ArtifactError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A byte that is 0 or 1.
    pub(crate) fn flag(&mut self) -> Result<bool, ArtifactError> {
        let at = self.at();
        match self.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            [_] => Err(ArtifactError::Malformed { at, what: "a flag that is neither 0 nor 1" }),
        }
    }

    pub(crate) fn string(&mut self) -> Result<&'a [u8], ArtifactError> {
        let len = self.u64()?;
        self.bytes(len)
    }
}
