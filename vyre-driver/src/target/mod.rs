//! Target payloads: programs compiled to a device's code before they run, as bytes that can be kept, and the
//! two facets of a backend that make them and admit them.

mod bytes;
#[cfg(test)]
mod tests;

pub use bytes::PayloadError;

use std::fmt;
use std::sync::Arc;

use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_spec::{CapabilitySet, CompileOptions, DeviceProfile};

use crate::{BackendError, CompiledPipeline, ProfileDigest, VyreBackend};

/// Compiles programs to target payloads, without a device.
pub trait TargetCompiler: Send + Sync + fmt::Debug {
    /// The formats that a device of this profile takes, best first. Empty if it takes none.
    fn formats(&self, profile: &DeviceProfile) -> Vec<&'static str>;

    /// Compiles programs to one of [`Self::formats`]. The same arguments give the same bytes. With `launch_contract`,
    /// there may be kernels that rest on a contract, each with a guarded one for launches that break it.
    ///
    /// # Errors
    /// [`PayloadError::Format`] for a format that the device does not take, or [`BackendError::Unsupported`]
    /// or [`BackendError::Limit`] if it cannot run a program.
    fn compile_as(
        &self,
        format: &str,
        programs: &[Checked<Program>],
        profile: &DeviceProfile,
        options: &CompileOptions,
    ) -> Result<TargetPayload, BackendError>;

    /// Compiles programs to the best format that the device takes.
    ///
    /// # Errors
    /// As [`Self::compile_as`].
    fn compile(
        &self,
        programs: &[Checked<Program>],
        profile: &DeviceProfile,
        options: &CompileOptions,
    ) -> Result<TargetPayload, BackendError> {
        let best = self.formats(profile).first().copied().unwrap_or("none");
        self.compile_as(best, programs, profile, options)
    }
}

/// Makes pipelines of target payloads.
///
/// Code runs without the backend's run-time checks only if it is *trusted*: its bytes were compiled in this
/// process, or carry a MAC that `key` verifies. Other code is taken only in a format that the backend can
/// validate, and runs with every run-time check on.
pub trait Materializer: Send + Sync + fmt::Debug {
    /// The pipelines of a payload's programs, in order, ready to dispatch on `backend`.
    ///
    /// # Errors
    /// [`BackendError::Payload`] says why the payload is refused: it is for another backend or device, its MAC
    /// is missing or wrong although a key is given, or its code is neither trusted nor valid.
    fn materialize(
        &self,
        backend: &dyn VyreBackend,
        payload: &TargetPayload,
        key: Option<&PayloadKey>,
    ) -> Result<Vec<Arc<dyn CompiledPipeline>>, BackendError>;
}

/// A secret key under which payloads are authenticated, by keyed BLAKE3. Whoever has it can make code that runs
/// unchecked.
#[derive(Clone)]
pub struct PayloadKey([u8; 32]);

impl PayloadKey {
    /// The key of these bytes, which should be random.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The MAC of `content`. What is authenticated begins with a magic of its own, so that the MAC of one kind of
    /// content is that of no other.
    pub fn mac(&self, content: &[u8]) -> [u8; 32] {
        *blake3::keyed_hash(&self.0, content).as_bytes()
    }

    /// Whether `mac` is that of `content`, in constant time.
    pub fn verifies(&self, content: &[u8], mac: [u8; 32]) -> bool {
        blake3::Hash::from_bytes(mac) == blake3::Hash::from_bytes(self.mac(content))
    }
}

impl fmt::Debug for PayloadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PayloadKey(..)")
    }
}

/// Compiled programs, and what they need of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetPayload {
    /// The id of the backend that it is for.
    pub backend: String,
    /// The format of its code, one of those of the backend's compiler.
    pub format: String,
    /// The name of the device that it was compiled for.
    pub device: String,
    /// The digest of that device's profile: code may rest on any property of it.
    pub profile: ProfileDigest,
    /// The device features that the code uses.
    pub needs: CapabilitySet,
    /// The programs, in the order in which they were given.
    pub programs: Vec<PayloadProgram>,
    /// The MAC, if it was sealed; kept as it was read, and looked at by [`Self::verify`] alone.
    mac: Option<[u8; 32]>,
}

/// A program of a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayloadProgram {
    /// Its wire form.
    pub program: Vec<u8>,
    /// Its kernels; the backend says which is for what.
    pub kernels: Vec<PayloadKernel>,
}

/// A kernel of a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayloadKernel {
    /// The name of its entry point.
    pub entry_point: String,
    /// Invocations per axis of a workgroup.
    pub workgroup_size: [u32; 3],
    /// Its bindings and launch data, in the backend's encoding.
    pub layout: Vec<u8>,
    /// Its code, in the payload's format.
    pub code: Vec<u8>,
}

impl TargetPayload {
    /// A payload without a MAC.
    pub fn new(
        backend: &str,
        format: &str,
        profile: &DeviceProfile,
        needs: CapabilitySet,
        programs: Vec<PayloadProgram>,
    ) -> Self {
        Self {
            backend: backend.to_owned(),
            format: format.to_owned(),
            device: profile.name.clone(),
            profile: ProfileDigest::of(profile),
            needs,
            programs,
            mac: None,
        }
    }

    /// The same with a MAC under `key`.
    #[must_use]
    pub fn sealed(mut self, key: &PayloadKey) -> Self {
        self.mac = Some(key.mac(&self.content()));
        self
    }

    /// Checks the MAC, in constant time.
    ///
    /// # Errors
    /// [`PayloadError::NoMac`] or [`PayloadError::WrongMac`].
    pub fn verify(&self, key: &PayloadKey) -> Result<(), PayloadError> {
        let mac = self.mac.ok_or(PayloadError::NoMac)?;
        if key.verifies(&self.content(), mac) { Ok(()) } else { Err(PayloadError::WrongMac) }
    }

    /// The digest of everything but the MAC.
    pub fn digest(&self) -> [u8; 32] {
        digest(&self.content())
    }
}

/// The digest of a payload's content.
fn digest(content: &[u8]) -> [u8; 32] {
    blake3::derive_key("vyre target payload", content)
}
