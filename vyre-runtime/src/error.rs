//! Why a session cannot be opened or a run fails.

use vyre_driver::BackendError;
use vyre_megakernel::{
    ArtifactError, BindingError, CompileError, EnvelopeError, MaterializeError, ProfileDigest,
};
use vyre_spec::{DataType, PartialElement};

use crate::Lost;

/// Why a session cannot be opened, a run fails, or a result cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The backend failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The request cannot be compiled.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// Bytes are no artifact.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    /// The envelope is not one for this backend, or not under this key.
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
    /// The bindings do not fit the artifact.
    #[error(transparent)]
    Binding(#[from] BindingError),
    /// The artifact is for a device with another profile.
    #[error(
        "the artifact is for a device with the profile {artifact}, but `{device}` of backend `{backend}` has \
         {profile}: compile the request again, with this device's profile"
    )]
    OtherDevice {
        /// The profile's digest in the artifact.
        artifact: ProfileDigest,
        /// The backend's id.
        backend: String,
        /// The device's name.
        device: String,
        /// The digest of the device's profile.
        profile: ProfileDigest,
    },
    /// A value that runs retain was lost, and this run does not bind it.
    #[error(
        "the retained value `{name}` was lost {why}: bind it in this run, or call `reset` to begin with zeros"
    )]
    RetainedLost {
        /// Its name.
        name: String,
        /// How it was lost.
        why: Lost,
    },
    /// The run gives no output of this name.
    #[error("the run gave no output `{name}`; it gave: {}", if known.is_empty() { "none".to_owned() } else { known.join(", ") })]
    UnknownOutput {
        /// The name.
        name: String,
        /// The outputs that it gave.
        known: Vec<String>,
    },
    /// An output is read as another type than it has.
    #[error("output `{name}` has {has} elements, but was read as {asked}: ask for {has}")]
    OutputType {
        /// Its name.
        name: String,
        /// Its element type.
        has: DataType,
        /// The type asked for.
        asked: DataType,
    },
    /// An output's bytes are no whole number of elements: a fault of the backend's.
    #[error(transparent)]
    Bytes(#[from] PartialElement),
}

impl SessionError {
    /// Whether the device is gone, or was recovered for somebody else: [`crate::ArtifactSession::rematerialize`] is
    /// what helps.
    pub fn is_loss(&self) -> bool {
        matches!(
            self,
            Self::Backend(BackendError::DeviceLost { .. } | BackendError::BadHandle { problem: "stale", .. })
        )
    }
}

impl From<MaterializeError> for SessionError {
    fn from(error: MaterializeError) -> Self {
        match error {
            MaterializeError::Backend(error) => error.into(),
            MaterializeError::Envelope(error) => error.into(),
        }
    }
}
