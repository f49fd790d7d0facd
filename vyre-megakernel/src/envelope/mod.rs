//! An artifact together with its programs compiled for devices, as one file.
//!
//! An envelope's bytes are, with numbers in little-endian order:
//!
//! | bytes | content |
//! | --- | --- |
//! | 8 | `VYREENV` and a zero |
//! | 4 | the version of this format |
//! | 8 + n | the length of the artifact's bytes, and the bytes |
//! | 4 | the number of target payloads, sorted by backend and format, each pair once |
//! | 8 + n each | the length of a payload's bytes, and the bytes |
//! | 32 | BLAKE3 of all before |
//! | 1 + 32 | whether a MAC follows, and the MAC: BLAKE3 of all before the digest, under the key |
//!
//! Each payload carries a digest, and a MAC if it is sealed, of its own.

mod error;
mod target;

use std::cmp::Ordering;

use vyre_driver::codec::{CodecError, Reader, Writer};
use vyre_driver::{PayloadKey, TargetPayload};
use vyre_foundation::wire;

use crate::Artifact;
pub use error::{AttachError, EnvelopeError, MaterializeError};
pub use target::Materialized;

const MAGIC: [u8; 8] = *b"VYREENV\0";
const VERSION: u32 = 1;
const CONTEXT: &str = "vyre artifact envelope";
const DIGEST: usize = 32;

/// An artifact, and any number of target payloads of its programs: what a session can start from without
/// compiling.
#[derive(Clone, Debug)]
pub struct ArtifactEnvelope {
    artifact: Artifact,
    /// Sorted by backend and format.
    payloads: Vec<TargetPayload>,
    /// Kept as it was read, and looked at by [`Self::verify`] alone.
    mac: Option<[u8; 32]>,
}

impl ArtifactEnvelope {
    /// The most bytes that are read as an envelope.
    pub const MAX_BYTES: usize = 1 << 30;

    /// An artifact without payloads.
    pub fn new(artifact: Artifact) -> Self {
        Self { artifact, payloads: Vec::new(), mac: None }
    }

    /// The same with a payload. A MAC of the envelope is gone afterwards: [`Self::sealed`] comes last.
    ///
    /// # Errors
    /// If the payload is of other programs or for another profile than the artifact, or if there is one of its
    /// backend and format.
    pub fn with_payload(mut self, payload: TargetPayload) -> Result<Self, EnvelopeError> {
        self.belongs(&payload)?;
        match self.payloads.binary_search_by(|known| order(known, &payload)) {
            Ok(_) => Err(EnvelopeError::Twice { backend: payload.backend, format: payload.format }),
            Err(at) => {
                self.payloads.insert(at, payload);
                self.mac = None;
                Ok(self)
            }
        }
    }

    /// The same with MACs under `key`: of the envelope and of each payload.
    #[must_use]
    pub fn sealed(mut self, key: &PayloadKey) -> Self {
        self.payloads = self.payloads.into_iter().map(|payload| payload.sealed(key)).collect();
        self.mac = Some(key.mac(&self.content()));
        self
    }

    /// Checks the envelope's MAC, in constant time. Those of the payloads are checked where they are materialised.
    ///
    /// # Errors
    /// [`EnvelopeError::NoMac`] or [`EnvelopeError::WrongMac`].
    pub fn verify(&self, key: &PayloadKey) -> Result<(), EnvelopeError> {
        let mac = self.mac.ok_or(EnvelopeError::NoMac)?;
        if key.verifies(&self.content(), mac) { Ok(()) } else { Err(EnvelopeError::WrongMac) }
    }

    /// Whether it carries a MAC.
    pub fn is_sealed(&self) -> bool {
        self.mac.is_some()
    }

    /// The artifact.
    pub fn artifact(&self) -> &Artifact {
        &self.artifact
    }

    /// The payloads, sorted by backend and format.
    pub fn payloads(&self) -> &[TargetPayload] {
        &self.payloads
    }

    /// The payload for a backend whose format comes first in `formats`.
    ///
    /// # Errors
    /// [`EnvelopeError::NoPayload`] if there is none.
    pub fn payload(&self, backend: &str, formats: &[&str]) -> Result<&TargetPayload, EnvelopeError> {
        let of = |format: &&str| {
            self.payloads.iter().find(|payload| payload.backend == backend && payload.format == **format)
        };
        formats.iter().find_map(of).ok_or_else(|| self.no_payload(backend))
    }

    fn no_payload(&self, backend: &str) -> EnvelopeError {
        let held = self.payloads.iter().map(|p| format!("{} ({})", p.backend, p.format)).collect();
        EnvelopeError::NoPayload { backend: backend.to_owned(), held }
    }

    /// The canonical bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let content = self.content();
        let digest = blake3::derive_key(CONTEXT, &content);
        let mut out = Writer(content);
        out.0.extend(digest);
        out.u8(u8::from(self.mac.is_some()));
        out.0.extend(self.mac.iter().flatten());
        out.0
    }

    fn content(&self) -> Vec<u8> {
        let mut out = Writer(MAGIC.to_vec());
        out.u32(VERSION);
        out.string(self.artifact.bytes());
        out.u32(self.payloads.len() as u32);
        for payload in &self.payloads {
            out.string(&payload.to_bytes());
        }
        out.0
    }

    /// Reads an envelope's bytes: every accepted byte string is the one that [`Self::to_bytes`] writes. This shows
    /// that they are whole, not who made them: that is for [`Self::verify`]. Memory is a small multiple of the bytes.
    ///
    /// # Errors
    /// Bytes that [`Self::to_bytes`] did not write.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, EnvelopeError> {
        if bytes.len() > Self::MAX_BYTES {
            return Err(EnvelopeError::TooLarge { bytes: bytes.len(), most: Self::MAX_BYTES });
        }
        let mut reader = Reader::new(bytes);
        if reader.array().ok() != Some(MAGIC) {
            return Err(EnvelopeError::NotAnEnvelope);
        }
        match reader.u32()? {
            VERSION => {}
            got => return Err(EnvelopeError::Version { got, known: VERSION }),
        }
        // The outer structure first, so that nothing is decoded of bytes whose digest does not fit.
        let (artifact, artifact_at) = nested(&mut reader)?;
        let count = reader.u32()?;
        let mut parts = Vec::new();
        for _ in 0..count {
            parts.push(nested(&mut reader)?);
        }
        let content = bytes.get(..reader.at()).unwrap_or_default();
        if reader.array::<DIGEST>()? != blake3::derive_key(CONTEXT, content) {
            return Err(EnvelopeError::Damaged);
        }
        let mac = if reader.flag()? { Some(reader.array()?) } else { None };
        if !reader.rest.is_empty() {
            return Err(CodecError::Malformed { at: reader.at(), what: "bytes after its end" }.into());
        }
        let artifact = Artifact::from_bytes(artifact)
            .map_err(|source| EnvelopeError::Artifact { at: artifact_at, source })?;
        let mut envelope = Self { artifact, payloads: Vec::with_capacity(parts.len()), mac };
        for (index, (part, at)) in parts.into_iter().enumerate() {
            let payload = TargetPayload::from_bytes(part).map_err(|source| EnvelopeError::Payload {
                index,
                at,
                source,
            })?;
            envelope.belongs(&payload)?;
            match envelope.payloads.last().map(|last| order(last, &payload)) {
                Some(Ordering::Greater) => {
                    return Err(CodecError::Malformed { at, what: "payloads out of order" }.into());
                }
                Some(Ordering::Equal) => {
                    return Err(EnvelopeError::Twice { backend: payload.backend, format: payload.format });
                }
                Some(Ordering::Less) | None => envelope.payloads.push(payload),
            }
        }
        Ok(envelope)
    }

    /// Whether a payload is of the artifact's programs, for the device that the artifact is for.
    fn belongs(&self, payload: &TargetPayload) -> Result<(), EnvelopeError> {
        if payload.profile != self.artifact.profile() {
            return Err(EnvelopeError::OtherProfile {
                format: payload.format.clone(),
                payload: payload.profile,
                artifact: self.artifact.profile(),
            });
        }
        let programs = self.artifact.programs();
        let what = if payload.programs.len() == programs.len() {
            let mut pairs = programs.iter().zip(&payload.programs);
            let other = pairs.position(|(program, held)| wire::encode(program) != held.program);
            other.map(|index| format!("program {index}"))
        } else {
            Some(format!("it has {}, not {}", payload.programs.len(), programs.len()))
        };
        what.map_or(Ok(()), |what| {
            let (format, device) = (payload.format.clone(), payload.device.clone());
            Err(EnvelopeError::OtherPrograms { format, device, what })
        })
    }
}

/// A byte string, and where it begins.
fn nested<'a>(reader: &mut Reader<'a>) -> Result<(&'a [u8], usize), CodecError> {
    let bytes = reader.string()?;
    Ok((bytes, reader.at() - bytes.len()))
}

fn order(a: &TargetPayload, b: &TargetPayload) -> Ordering {
    (&a.backend, &a.format).cmp(&(&b.backend, &b.format))
}
