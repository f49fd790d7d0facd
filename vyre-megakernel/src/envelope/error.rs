//! Why bytes are no envelope, and why a payload does not go into one or come out of it.

use vyre_driver::codec::CodecError;
use vyre_driver::{BackendError, PayloadError, ProfileDigest};

use crate::ArtifactError;

/// Why bytes are no envelope, or why a payload does not belong into one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EnvelopeError {
    /// They do not begin as an envelope does.
    #[error("these bytes are no artifact envelope: they do not begin with `VYREENV`")]
    NotAnEnvelope,
    /// They are of another version of the format.
    #[error("the envelope has format version {got}, but this release reads {known}: compile it again")]
    Version {
        /// The version that they have.
        got: u32,
        /// The version that this release reads.
        known: u32,
    },
    /// They are more than an envelope may be.
    #[error("the envelope has {bytes} bytes, above the limit of {most}")]
    TooLarge {
        /// How many there are.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// The digest does not fit: bytes were changed or lost.
    #[error(
        "the envelope is damaged: its content does not have the digest that it carries; copy or compile it again"
    )]
    Damaged,
    /// They end too early, or hold what no envelope holds.
    #[error("the envelope is malformed: {0}")]
    Codec(#[from] CodecError),
    /// The artifact in it cannot be read.
    #[error("the envelope begins its artifact at byte {at}: {source}")]
    Artifact {
        /// Where the artifact begins.
        at: usize,
        /// Why.
        source: ArtifactError,
    },
    /// A payload in it cannot be read.
    #[error("payload {index} of the envelope, from byte {at}: {source}")]
    Payload {
        /// Its position.
        index: usize,
        /// Where it begins.
        at: usize,
        /// Why.
        source: PayloadError,
    },
    /// A payload is of other programs than the artifact's.
    #[error("the `{format}` payload for {device} is of other programs than the artifact's: {what}")]
    OtherPrograms {
        /// The payload's format.
        format: String,
        /// The device that it is for.
        device: String,
        /// What differs.
        what: String,
    },
    /// A payload is for a device with another profile than the artifact's.
    #[error(
        "the `{format}` payload is for a device with the profile {payload}, but the artifact is for {artifact}: compile \
         it for that profile"
    )]
    OtherProfile {
        /// The payload's format.
        format: String,
        /// The digest of its device's profile.
        payload: ProfileDigest,
        /// That of the artifact's.
        artifact: ProfileDigest,
    },
    /// There are two payloads of one backend and format.
    #[error("the envelope holds two payloads of the format `{format}` for the backend `{backend}`")]
    Twice {
        /// The backend.
        backend: String,
        /// The format.
        format: String,
    },
    /// A key was given, but the envelope has no MAC.
    #[error(
        "the envelope carries no MAC, but a key was given that it must be verified with: seal it, or give no key"
    )]
    NoMac,
    /// The MAC is not the one that the key gives.
    #[error("the envelope's MAC does not verify under the key: it was changed, or made with another key")]
    WrongMac,
    /// It holds no payload that a backend takes.
    #[error("the envelope holds no payload for the backend `{backend}`; it holds: {}", if held.is_empty() { "none".to_owned() } else { held.join(", ") })]
    NoPayload {
        /// The backend.
        backend: String,
        /// The backend and format of each payload that it holds.
        held: Vec<String>,
    },
}

/// Why no payload can be attached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AttachError {
    /// The target compiler refuses a program, or there is none.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The payload does not belong into the envelope.
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
    /// The profile is not the artifact's.
    #[error("the profile {given} is not that of the device that the artifact is for, {artifact}")]
    Profile {
        /// The digest of the profile that was given.
        given: ProfileDigest,
        /// That of the artifact's.
        artifact: ProfileDigest,
    },
}

/// Why no payload gives pipelines: one of the two, and nothing else.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MaterializeError {
    /// The backend takes no payloads, or refuses this one.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The key does not verify the envelope, or there is no payload for the backend.
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
}
