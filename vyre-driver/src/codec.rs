//! The bytes that artifacts and payloads are made of: little-endian numbers, and byte strings after their
//! length. Reading is strict: what [`Writer`] would not have written is an error with its place.

use std::fmt;

use vyre_spec::{DeviceProfile, Quirks, TileProduct};

/// Why bytes cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// They end too early.
    #[error("the bytes end early: {needs} are needed at byte {at}")]
    Truncated {
        /// Where.
        at: usize,
        /// How many bytes are needed there.
        needs: u64,
    },
    /// Something in them is not as a writer writes it.
    #[error("the bytes have {what} at byte {at}")]
    Malformed {
        /// Where.
        at: usize,
        /// What.
        what: &'static str,
    },
}

/// The digest of a device profile: artifacts and payloads run on devices that have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProfileDigest(pub [u8; 32]);

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
                    folds_floats,
                    splits_fma,
                    folds_self_comparison,
                    loses_large_divisors,
                    loses_special_values,
                    loses_halves,
                    clobbers_wide,
                    fails_on_returns,
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
            tiles,
        } = profile;
        let mut out = Writer::default();
        for text in [backend, name, driver, api] {
            out.string(text.as_bytes());
        }
        for flag in [
            is_software,
            folds_floats,
            splits_fma,
            folds_self_comparison,
            loses_large_divisors,
            loses_special_values,
            loses_halves,
            clobbers_wide,
            fails_on_returns,
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
        out.u64(tiles.len() as u64);
        for &TileProduct { rows, columns, depth, factor, sum } in tiles {
            [rows, columns, depth].into_iter().for_each(|side| out.u32(side));
            out.u8(factor.tag());
            out.u8(sum.tag());
        }
        Self(blake3::derive_key("vyre device profile", &out.0))
    }
}

impl fmt::Display for ProfileDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex(f, &self.0)
    }
}

fn hex(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

/// Writes numbers and byte strings; the bytes so far are its field.
#[derive(Clone, Debug, Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    /// One byte.
    pub fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    /// Four bytes, little-endian.
    pub fn u32(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }

    /// Eight bytes, little-endian.
    pub fn u64(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }

    /// The length, and the bytes.
    pub fn string(&mut self, bytes: &[u8]) {
        self.u64(bytes.len() as u64);
        self.0.extend(bytes);
    }
}

/// Reads what [`Writer`] writes.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    /// What is not read yet.
    pub rest: &'a [u8],
    len: usize,
}

impl<'a> Reader<'a> {
    /// Reads `bytes` from their start.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, len: bytes.len() }
    }

    /// How many bytes were read.
    pub fn at(&self) -> usize {
        self.len - self.rest.len()
    }

    /// The next bytes.
    ///
    /// # Errors
    /// [`CodecError::Truncated`] if there are fewer.
    pub fn bytes(&mut self, count: u64) -> Result<&'a [u8], CodecError> {
        let cut = CodecError::Truncated { at: self.at(), needs: count };
        let count = usize::try_from(count).map_err(|_| cut)?;
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(cut)?;
        self.rest = rest;
        Ok(taken)
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    /// [`CodecError::Truncated`] if there are fewer.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], CodecError> {
        let (at, taken) = (self.at(), self.bytes(N as u64)?);
        taken.try_into().map_err(|_| CodecError::Truncated { at, needs: N as u64 })
    }

    /// A number of four bytes.
    ///
    /// # Errors
    /// [`CodecError::Truncated`] if there are fewer.
    pub fn u32(&mut self) -> Result<u32, CodecError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// A number of eight bytes.
    ///
    /// # Errors
    /// [`CodecError::Truncated`] if there are fewer.
    pub fn u64(&mut self) -> Result<u64, CodecError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A byte that is 0 or 1.
    ///
    /// # Errors
    /// [`CodecError::Malformed`] for another, [`CodecError::Truncated`] for none.
    pub fn flag(&mut self) -> Result<bool, CodecError> {
        let at = self.at();
        match self.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            [_] => Err(CodecError::Malformed { at, what: "a flag that is neither 0 nor 1" }),
        }
    }

    /// A byte string after its length.
    ///
    /// # Errors
    /// [`CodecError::Truncated`] if there are fewer.
    pub fn string(&mut self) -> Result<&'a [u8], CodecError> {
        let len = self.u64()?;
        self.bytes(len)
    }
}
