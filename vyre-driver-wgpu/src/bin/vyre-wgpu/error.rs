//! What the command refuses, and what to do about it.

use std::io;
#[cfg(feature = "cli")]
use std::path::PathBuf;

use vyre_driver::BackendError;
#[cfg(feature = "cli")]
use vyre_foundation::graph::SolveError;
use vyre_foundation::launch::LaunchError;
#[cfg(feature = "cli")]
use vyre_foundation::machine::MachineError;
#[cfg(feature = "cli")]
use vyre_megakernel::{BindingError, EnvelopeError};

/// Why the command failed; its status is then 1.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    #[error(transparent)]
    Arguments(#[from] lexopt::Error),
    #[error("there is no command `{name}`")]
    UnknownCommand { name: String },
    #[error("`{command}` lacks {what}")]
    MissingArgument { command: &'static str, what: &'static str },
    #[cfg(not(feature = "cli"))]
    #[error("`{what}` needs the feature `cli`, which this vyre-wgpu was built without")]
    NeedsFeature { what: String },
    #[error("standard output: {0}")]
    Output(io::Error),
    #[error(transparent)]
    Backend(#[from] BackendError),
    #[error("the demo's own program is wrong: {0}")]
    DemoProgram(#[from] vyre_foundation::build::BuildError),
    #[error("the device computed {got} where 6 * 7 = 42 was asked")]
    WrongDemo { got: String },
    #[cfg(feature = "cli")]
    #[error("a side of the row `{row}` gave a wrong result")]
    WrongBench { row: &'static str },
    #[cfg(feature = "cli")]
    #[error("the value `{got}` of `{option}` is not {expected}")]
    Value { option: String, got: String, expected: String },
    #[cfg(feature = "cli")]
    #[error("`{option} {name}` is given twice")]
    Repeated { option: &'static str, name: String },
    #[cfg(feature = "cli")]
    #[error("two outputs go to {}, where only the last would stay", path.display())]
    SamePath { path: PathBuf },
    #[cfg(feature = "cli")]
    #[error("`{option}` means nothing without {needs}")]
    Without { option: &'static str, needs: &'static str },
    #[cfg(feature = "cli")]
    #[error("of {options} only one can be given")]
    Exclusive { options: &'static str },
    #[cfg(feature = "cli")]
    #[error("{} holds a graph of programs, not one program", path.display())]
    IsGraph { path: PathBuf },
    #[cfg(feature = "cli")]
    #[error("{} is an artifact, not a text", path.display())]
    IsArtifact { path: PathBuf },
    #[cfg(feature = "cli")]
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[cfg(feature = "cli")]
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[cfg(feature = "cli")]
    #[error("{}: {count} {}", path.display(), if *count == 1 { "finding" } else { "findings" })]
    Findings { path: PathBuf, count: usize, rendered: String },
    #[cfg(feature = "cli")]
    #[error("the program has no {role} `{name}`; it has: {}", if known.is_empty() { "none".to_owned() } else { known.join(", ") })]
    UnknownName { role: &'static str, name: String, known: Vec<String> },
    #[cfg(feature = "cli")]
    #[error("no file is given for the input buffer{}", list(inputs))]
    MissingInput { inputs: Vec<(String, vyre_spec::DataType)> },
    #[cfg(feature = "cli")]
    #[error("buffer `{buffer}` holds {needs}, but {} holds {got}", path.display())]
    ArrayType { buffer: String, needs: vyre_spec::DataType, path: PathBuf, got: String },
    #[cfg(feature = "cli")]
    #[error("{} is in Fortran order", path.display())]
    FortranOrder { path: PathBuf },
    #[cfg(feature = "cli")]
    #[error("{} is no NumPy array: {why}", path.display())]
    NotAnArray { path: PathBuf, why: String },
    #[cfg(feature = "cli")]
    #[error("{}: its {len} bytes are no whole number of the {element} elements of buffer `{buffer}`", path.display())]
    PartialElement { path: PathBuf, len: usize, buffer: String, element: vyre_spec::DataType },
    #[cfg(feature = "cli")]
    #[error(transparent)]
    Machine(#[from] MachineError),
    #[cfg(feature = "cli")]
    #[error(
        "the reference machine traps with code {code} in invocation {invocation}, address {address}, but the \
         device does not; nothing was written"
    )]
    TrapMissed { code: u32, invocation: u64, address: u32 },
    #[cfg(feature = "cli")]
    #[error("the program trapped with code {code} in invocation {invocation}, address {address}")]
    Trap { code: u32, invocation: u64, address: u32 },
    #[cfg(feature = "cli")]
    #[error(transparent)]
    Lower(#[from] vyre_lower::LowerError),
    #[cfg(feature = "cli")]
    #[error(transparent)]
    Emit(#[from] vyre_emit_naga::EmitError),
    #[cfg(feature = "cli")]
    #[error(transparent)]
    Form(#[from] vyre_emit_naga::WriteError),
    #[cfg(feature = "cli")]
    #[error(transparent)]
    Artifact(#[from] vyre_megakernel::ArtifactError),
    #[cfg(feature = "cli")]
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
    #[cfg(feature = "cli")]
    #[error(transparent)]
    Request(#[from] vyre_megakernel::RequestError),
    #[cfg(feature = "cli")]
    #[error(transparent)]
    Compile(#[from] vyre_megakernel::CompileError),
    #[cfg(feature = "cli")]
    #[error(transparent)]
    Attach(#[from] vyre_megakernel::AttachError),
    #[cfg(feature = "cli")]
    #[error(transparent)]
    Binding(#[from] BindingError),
    #[cfg(feature = "cli")]
    #[error("{} is no key: its {len} bytes are neither 32 bytes nor 64 hexadecimal digits", path.display())]
    Key { path: PathBuf, len: usize },
    #[cfg(feature = "cli")]
    #[error("the artifact is for a device with another profile than {device} has")]
    OtherDevice { device: String },
    #[cfg(feature = "cli")]
    #[error("the device differs from the reference machine in `{buffer}`: {mismatch}; nothing was written")]
    Differs { buffer: String, mismatch: vyre_spec::Mismatch },
}

impl CliError {
    /// What to do, where the message does not say it.
    pub(crate) fn help(&self) -> Option<String> {
        let help = match self {
            Self::Arguments(_) | Self::UnknownCommand { .. } | Self::MissingArgument { .. } => {
                "`vyre-wgpu --help` lists the commands and their arguments"
            }
            #[cfg(not(feature = "cli"))]
            Self::NeedsFeature { .. } => {
                "build it with `--features cli`: cargo run -p vyre-driver-wgpu --features cli --bin vyre-wgpu"
            }
            Self::Backend(BackendError::Launch(LaunchError::MissingParam { name, .. })) => {
                return Some(format!("pass `--param {name}=VALUE`"));
            }
            // These say what they need.
            Self::Backend(BackendError::Launch(_)) => return None,
            #[cfg(feature = "cli")]
            Self::Backend(BackendError::BackendNotLinked { linked, .. }) => {
                return Some(format!("`--backend` takes {}", linked.join(" or ")));
            }
            Self::Backend(error) => return Some(error.help()),
            Self::WrongDemo { .. } => "the driver is broken: update it, or pick another adapter",
            Self::Output(_) | Self::DemoProgram(_) => return None,
            #[cfg(feature = "cli")]
            other => return other.file_help(),
        };
        Some(help.to_owned())
    }

    #[cfg(feature = "cli")]
    fn file_help(&self) -> Option<String> {
        let help = match self {
            Self::MissingInput { inputs } => {
                let options: Vec<_> = inputs.iter().map(|(name, _)| format!("--in {name}=PATH")).collect();
                return Some(format!("pass `{}`", options.join(" ")));
            }
            Self::IsGraph { .. } => {
                "`vyre-wgpu compile` makes an artifact of it, which `run` and `inspect` take; `check` takes the text"
            }
            Self::IsArtifact { .. } => {
                "`run` and `inspect` take it; the others take the text of a program or graph"
            }
            Self::Envelope(EnvelopeError::NotAnEnvelope) => {
                "`vyre-wgpu compile` makes an artifact of the text of a graph or program"
            }
            Self::Envelope(EnvelopeError::NoMac | EnvelopeError::WrongMac) => {
                "`--key-file` takes the key that `vyre-wgpu compile --key-file` sealed the artifact with"
            }
            Self::ArrayType { needs, .. } => {
                let bits = needs.width();
                let numpy = match needs {
                    vyre_spec::DataType::Bool => "bool_".to_owned(),
                    // NumPy has no bfloat16: its bits are passed.
                    vyre_spec::DataType::BF16 => "uint16".to_owned(),
                    ty if ty.is_float() => format!("float{bits}"),
                    ty if ty.is_signed_int() => format!("int{bits}"),
                    _ => format!("uint{bits}"),
                };
                return Some(format!("convert it, in NumPy with `array.astype(numpy.{numpy})`"));
            }
            Self::Machine(MachineError::Launch(LaunchError::MissingParam { name, .. })) => {
                return Some(format!("pass `--param {name}=VALUE`"));
            }
            Self::Key { .. } => "`openssl rand 32` makes a key",
            Self::OtherDevice { .. } | Self::Artifact(_) | Self::Envelope(_) => {
                "`vyre-wgpu compile` compiles the graph for this machine's device"
            }
            Self::Binding(BindingError::Solve(SolveError::MissingDim { symbol })) => {
                return Some(format!("pass `--dim {symbol}=N`"));
            }
            Self::Binding(BindingError::Solve(SolveError::MissingParam { name, .. })) => {
                return Some(format!("pass `--param {name}=VALUE`"));
            }
            Self::FortranOrder { .. } => "save it with `numpy.ascontiguousarray(array)`",
            Self::PartialElement { .. } => "`--pad` fills up the last element with zero bytes",
            Self::Lower(error) => return Some(error.help()),
            Self::Emit(_) => "this is a fault of Vyre: please report the program",
            Self::Differs { .. } => {
                "where the program's ops are not exact, `--tolerance ULP` says how far floats may be apart"
            }
            Self::SamePath { .. } => "give each output a file of its own",
            Self::Repeated { .. } | Self::Without { .. } | Self::Exclusive { .. } | Self::Value { .. } => {
                "`vyre-wgpu --help` lists the commands and their arguments"
            }
            _ => return None,
        };
        Some(help.to_owned())
    }
}

/// Names and types of inputs, after a word that stands in the singular.
#[cfg(feature = "cli")]
fn list(inputs: &[(String, vyre_spec::DataType)]) -> String {
    match inputs {
        [(name, element)] => format!(" `{name}`, which holds {element}"),
        _ => {
            let inputs: Vec<_> =
                inputs.iter().map(|(name, element)| format!("`{name}` ({element})")).collect();
            format!("s {}", inputs.join(", "))
        }
    }
}
