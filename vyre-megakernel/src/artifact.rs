//! The immutable result of compiling a request.
//!
//! An artifact's bytes are, with numbers in little-endian order:
//!
//! | bytes | content |
//! | --- | --- |
//! | 8 | `VYREART` and a zero |
//! | 4 | the version of this format |
//! | 32 | the digest of the device profile |
//! | 1 + 4 + 1 + 12 | options: optimise, ULP budget, whether a workgroup size follows, its axes or zeros |
//! | 8 + n | the length of the program's wire form, and the wire form |
//! | 32 | BLAKE3 of all before, which is the artifact's id |

use std::fmt;

use vyre_driver::codec::{CodecError, Reader, Writer};
use vyre_foundation::check::{self, Checked};
use vyre_foundation::diag::Diagnostic;
use vyre_foundation::ir::Program;
use vyre_foundation::wire::{self, WireError};
use vyre_spec::CompileOptions;

use crate::{ProfileDigest, ValidRequest};

const MAGIC: [u8; 8] = *b"VYREART\0";
const VERSION: u32 = 1;
const CONTEXT: &str = "vyre artifact";
const DIGEST: usize = 32;

/// The content id of an artifact.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArtifactId([u8; DIGEST]);

impl ArtifactId {
    /// The id as bytes.
    pub const fn as_bytes(&self) -> &[u8; DIGEST] {
        &self.0
    }
}

impl fmt::Display for ArtifactId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ArtifactId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A compiled request. Equal requests give equal bytes, on every machine.
#[derive(Clone, Debug)]
pub struct Artifact {
    program: Checked<Program>,
    options: CompileOptions,
    profile: ProfileDigest,
    bytes: Vec<u8>,
    id: ArtifactId,
}

/// Why bytes are no artifact.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArtifactError {
    /// They do not begin as an artifact does.
    #[error("these bytes are no artifact: they do not begin with `VYREART`")]
    NotAnArtifact,
    /// They are of another version of the format.
    #[error("the artifact has format version {got}, but this release reads {known}: compile it again")]
    Version {
        /// The version that they have.
        got: u32,
        /// The version that this release reads.
        known: u32,
    },
    /// The digest does not fit: bytes were changed or lost.
    #[error("the artifact is damaged: its bytes do not have the digest that it ends with")]
    Damaged,
    /// They end too early.
    #[error("the artifact ends early: {needs} bytes are needed at byte {at}")]
    Truncated {
        /// Where.
        at: usize,
        /// How many bytes are missing there.
        needs: u64,
    },
    /// Something in them is not as compiling writes it.
    #[error("the artifact has {what} at byte {at}")]
    Malformed {
        /// Where.
        at: usize,
        /// What.
        what: &'static str,
    },
    /// The program cannot be decoded.
    #[error("the artifact's program cannot be decoded: {0}")]
    Wire(#[from] WireError),
    /// The program does not pass the checker.
    #[error("the artifact's program is wrong: {}", .0.first().map_or_else(String::new, ToString::to_string))]
    Program(Vec<Diagnostic>),
}

impl From<CodecError> for ArtifactError {
    fn from(error: CodecError) -> Self {
        match error {
            CodecError::Truncated { at, needs } => Self::Truncated { at, needs },
            CodecError::Malformed { at, what } => Self::Malformed { at, what },
        }
    }
}

/// Compiles a request. The result depends on the request alone.
pub fn compile(request: &ValidRequest) -> Artifact {
    let (program, options) = (request.program(), request.options());
    let profile = ProfileDigest::of(request.profile());
    let mut out = Writer(MAGIC.to_vec());
    out.u32(VERSION);
    out.0.extend(profile.0);
    out.u8(u8::from(options.optimize));
    out.u32(options.ulp_budget);
    out.u8(u8::from(options.workgroup_size.is_some()));
    options.workgroup_size.unwrap_or_default().into_iter().for_each(|axis| out.u32(axis));
    out.string(&wire::encode(program));
    let id = ArtifactId(blake3::derive_key(CONTEXT, &out.0));
    out.0.extend(id.0);
    Artifact { program: program.clone(), options: options.clone(), profile, bytes: out.0, id }
}

impl Artifact {
    /// Reads an artifact's bytes and checks its program again, so that bytes of any origin may be read.
    ///
    /// # Errors
    /// Bytes that [`compile`] did not write.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ArtifactError> {
        let mut reader = Reader::new(bytes);
        if reader.array().ok() != Some(MAGIC) {
            return Err(ArtifactError::NotAnArtifact);
        }
        match reader.u32()? {
            VERSION => {}
            got => return Err(ArtifactError::Version { got, known: VERSION }),
        }
        let content = bytes.len().checked_sub(DIGEST).filter(|&len| len >= reader.at());
        let cut = ArtifactError::Truncated { at: bytes.len(), needs: DIGEST as u64 };
        let (content, digest) = bytes.split_at(content.ok_or(cut)?);
        let id = ArtifactId(blake3::derive_key(CONTEXT, content));
        if id.0 != digest {
            return Err(ArtifactError::Damaged);
        }
        let profile = ProfileDigest(reader.array()?);
        let optimize = reader.flag()?;
        let ulp_budget = reader.u32()?;
        let sized = reader.flag()?;
        let size = [reader.u32()?, reader.u32()?, reader.u32()?];
        let program = reader.string()?;
        let (end, tail) = (reader.at(), reader.rest.len());
        if tail != DIGEST || (!sized && size != [0; 3]) {
            return Err(ArtifactError::Malformed { at: end, what: "bytes that mean nothing" });
        }
        let program = check::check(wire::decode(program)?).map_err(ArtifactError::Program)?;
        let options = CompileOptions {
            optimize,
            workgroup_size: sized.then_some(size),
            ulp_budget,
            ..CompileOptions::default()
        };
        Ok(Self { program, options, profile, bytes: bytes.to_vec(), id })
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The content id.
    pub fn id(&self) -> ArtifactId {
        self.id
    }

    /// The program.
    pub fn program(&self) -> &Checked<Program> {
        &self.program
    }

    /// The programs that a run dispatches, each once: what a target payload of this artifact holds.
    pub fn programs(&self) -> &[Checked<Program>] {
        std::slice::from_ref(&self.program)
    }

    /// The options to compile the programs with.
    pub fn options(&self) -> &CompileOptions {
        &self.options
    }

    /// The digest of the device profile that the artifact is for.
    pub fn profile(&self) -> ProfileDigest {
        self.profile
    }
}
