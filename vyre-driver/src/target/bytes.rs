//! The byte form of payloads: a magic and a version, the content, its digest, and the MAC.
//!
//! Reading is strict: every accepted byte string is the one that [`TargetPayload::to_bytes`] writes. It
//! allocates no more than a small multiple of the bytes that are there.

use vyre_foundation::wire::WireError;
use vyre_spec::{Capability, CapabilitySet};

use super::{PayloadKernel, PayloadProgram, TargetPayload, digest};
use crate::ProfileDigest;
use crate::codec::{CodecError, Reader, Writer};

const MAGIC: [u8; 8] = *b"VYREPAY\0";
const VERSION: u32 = 1;

impl TargetPayload {
    /// The most bytes that are read as a payload.
    pub const MAX_BYTES: usize = 256 << 20;

    /// The payload's canonical bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let content = self.content();
        let digest = digest(&content);
        let mut out = Writer(content);
        out.0.extend(digest);
        out.u8(u8::from(self.mac.is_some()));
        out.0.extend(self.mac.iter().flatten());
        out.0
    }

    pub(super) fn content(&self) -> Vec<u8> {
        let mut out = Writer(MAGIC.to_vec());
        out.u32(VERSION);
        for text in [&self.backend, &self.format, &self.device] {
            out.string(text.as_bytes());
        }
        out.0.extend(self.profile.0);
        out.u32(self.needs.bits());
        out.u32(self.programs.len() as u32);
        for program in &self.programs {
            out.string(&program.program);
            out.u32(program.kernels.len() as u32);
            for kernel in &program.kernels {
                out.string(kernel.entry_point.as_bytes());
                kernel.workgroup_size.iter().for_each(|&n| out.u32(n));
                out.string(&kernel.layout);
                out.string(&kernel.code);
            }
        }
        out.0
    }

    /// Reads a payload's bytes. This shows that they are whole, not who made them: that is for
    /// [`Materializer`](super::Materializer).
    ///
    /// # Errors
    /// [`PayloadError`] for bytes that [`Self::to_bytes`] did not write.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PayloadError> {
        if bytes.len() > Self::MAX_BYTES {
            return Err(PayloadError::TooLarge { bytes: bytes.len(), most: Self::MAX_BYTES });
        }
        let mut reader = Reader::new(bytes);
        if reader.array().ok() != Some(MAGIC) {
            return Err(PayloadError::NotAPayload);
        }
        match reader.u32()? {
            VERSION => {}
            got => return Err(PayloadError::Version { got, known: VERSION }),
        }
        let [backend, format, device] = [text(&mut reader)?, text(&mut reader)?, text(&mut reader)?];
        let profile = ProfileDigest(reader.array()?);
        let needs = capabilities(&mut reader)?;
        let mut programs = Vec::new();
        for _ in 0..reader.u32()? {
            let program = reader.string()?.to_vec();
            let mut kernels = Vec::new();
            for _ in 0..reader.u32()? {
                kernels.push(PayloadKernel {
                    entry_point: text(&mut reader)?,
                    workgroup_size: [reader.u32()?, reader.u32()?, reader.u32()?],
                    layout: reader.string()?.to_vec(),
                    code: reader.string()?.to_vec(),
                });
            }
            programs.push(PayloadProgram { program, kernels });
        }
        let content = bytes.get(..reader.at()).unwrap_or_default();
        if reader.array()? != digest(content) {
            return Err(PayloadError::Damaged);
        }
        let mac = if reader.flag()? { Some(reader.array()?) } else { None };
        if !reader.rest.is_empty() {
            return Err(CodecError::Malformed { at: reader.at(), what: "bytes after its end" }.into());
        }
        Ok(Self { backend, format, device, profile, needs, programs, mac })
    }
}

fn text(reader: &mut Reader<'_>) -> Result<String, CodecError> {
    let at = reader.at();
    let bytes = reader.string()?.to_vec();
    String::from_utf8(bytes).map_err(|_| CodecError::Malformed { at, what: "a text that is not UTF-8" })
}

fn capabilities(reader: &mut Reader<'_>) -> Result<CapabilitySet, CodecError> {
    let at = reader.at();
    let bits = reader.u32()?;
    let known = Capability::ALL
        .into_iter()
        .fold(CapabilitySet::EMPTY, |set, c| set.with_if(c, CapabilitySet::EMPTY.with(c).bits() & bits != 0));
    if known.bits() == bits {
        Ok(known)
    } else {
        Err(CodecError::Malformed { at, what: "an unknown feature" })
    }
}

/// Why a payload is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// The bytes do not begin as a payload does.
    #[error("these bytes are no target payload: they do not begin with `VYREPAY`")]
    NotAPayload,
    /// They are of another version of the format.
    #[error("the target payload has format version {got}, but this release reads {known}")]
    Version {
        /// The version that they have.
        got: u32,
        /// The version that this release reads.
        known: u32,
    },
    /// They are more than a payload may be.
    #[error("the target payload has {bytes} bytes, above the limit of {most}")]
    TooLarge {
        /// How many there are.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// They end too early, or hold what no payload holds.
    #[error("the target payload is malformed: {0}")]
    Codec(#[from] CodecError),
    /// The digest does not fit: bytes were changed or lost.
    #[error("the target payload is damaged: its content does not have the digest that it carries")]
    Damaged,
    /// A key was given, but the payload has no MAC.
    #[error("the target payload carries no MAC, but a key was given that it must be verified with")]
    NoMac,
    /// The MAC is not the one that the key gives.
    #[error(
        "the target payload's MAC does not verify under the key: it was changed, or made with another key"
    )]
    WrongMac,
    /// The code cannot be validated, so it must be trusted, but is not.
    #[error(
        "the target payload holds `{format}` code that this process did not compile, and no key verifies it: it is not run"
    )]
    Untrusted {
        /// The format of its code.
        format: String,
    },
    /// The format is not one that the backend takes on the device.
    #[error("the backend takes no `{format}` code for {device}; it takes: {}", if known.is_empty() { "none".to_owned() } else { known.join(", ") })]
    Format {
        /// The format.
        format: String,
        /// The device.
        device: String,
        /// The formats that it takes.
        known: Vec<String>,
    },
    /// It is for another backend.
    #[error("the target payload is for the backend `{payload}`, but was given to `{backend}`")]
    OtherBackend {
        /// The payload's backend.
        payload: String,
        /// The backend that it was given to.
        backend: String,
    },
    /// It is for a device with another profile.
    #[error("the target payload was compiled for {payload}, whose profile is not that of {device}{}", if payload == device { " as it is now: its driver or settings have changed" } else { "" })]
    OtherDevice {
        /// The device that it was compiled for.
        payload: String,
        /// The device that should run it.
        device: String,
    },
    /// A program cannot be decoded.
    #[error("program {index} of the target payload cannot be decoded: {source}")]
    Wire {
        /// The program's position.
        index: usize,
        /// Why.
        source: WireError,
    },
    /// A kernel is not what its program and format ask for.
    #[error("kernel {kernel} of program {program} of the target payload is refused: {why}")]
    Kernel {
        /// The program's position.
        program: usize,
        /// The kernel's position in it.
        kernel: usize,
        /// Why.
        why: String,
    },
}
