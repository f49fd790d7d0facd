//! Artifacts and envelopes: their files, and `run` on them.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::time::Instant;

use vyre_driver::{BackendError, PayloadError, PayloadKey, VyreBackend, backend_registration};
use vyre_foundation::graph::{GraphValue, ProgramGraph, Source};
use vyre_megakernel::{
    Artifact, ArtifactEnvelope, BindingSet, EnvelopeError, Held, MaterializeError, Materialized, Pipelines,
    ProfileDigest, schedule,
};

use crate::args::{Inputs, Run};
use crate::error::CliError;
use crate::files::{self, Wanted};
use crate::inputs;
use crate::run::{Progress, Ran};

/// What such files begin with.
const MAGICS: [&[u8]; 2] = [b"VYREENV\0", b"VYREART\0"];

/// Whether a file is an artifact or an envelope, by its first bytes.
pub(crate) fn is_artifact(path: &Path) -> Result<bool, CliError> {
    let failed = |source| CliError::Read { path: path.to_owned(), source };
    let mut start = Vec::new();
    let longest = MAGICS.iter().map(|magic| magic.len()).max().unwrap_or(0) as u64;
    File::open(path).map_err(failed)?.take(longest).read_to_end(&mut start).map_err(failed)?;
    Ok(begins_one(&start))
}

/// Whether bytes begin as an artifact or an envelope does.
pub(crate) fn begins_one(bytes: &[u8]) -> bool {
    MAGICS.iter().any(|magic| bytes.starts_with(magic))
}

/// Reads an envelope, or an artifact as an envelope without payloads.
pub(crate) fn load(path: &Path) -> Result<ArtifactEnvelope, CliError> {
    let bytes = fs::read(path).map_err(|source| CliError::Read { path: path.to_owned(), source })?;
    if bytes.starts_with(MAGICS[1]) {
        return Ok(ArtifactEnvelope::new(Artifact::from_bytes(&bytes)?));
    }
    Ok(ArtifactEnvelope::from_bytes(&bytes)?)
}

/// Reads a key: 32 bytes, or 64 hexadecimal digits.
pub(crate) fn key(path: &Path) -> Result<PayloadKey, CliError> {
    let bytes = fs::read(path).map_err(|source| CliError::Read { path: path.to_owned(), source })?;
    let wrong = || CliError::Key { path: path.to_owned(), len: bytes.len() };
    if let Ok(key) = <[u8; 32]>::try_from(bytes.as_slice()) {
        return Ok(PayloadKey::new(key));
    }
    let digits = std::str::from_utf8(&bytes).map_err(|_| wrong())?.trim();
    if digits.len() != 64 || !digits.is_ascii() {
        return Err(wrong());
    }
    let mut key = [0; 32];
    for (byte, at) in key.iter_mut().zip((0..64).step_by(2)) {
        let digits = digits.get(at..at + 2).ok_or_else(wrong)?;
        *byte = u8::from_str_radix(digits, 16).map_err(|_| wrong())?;
    }
    Ok(PayloadKey::new(key))
}

/// The pipelines of an envelope, and the format of the payload that they are of; else they are of the programs.
fn pipelines(
    backend: &dyn VyreBackend,
    envelope: &ArtifactEnvelope,
    key: Option<&PayloadKey>,
) -> Result<(Pipelines, Option<String>), CliError> {
    let artifact = envelope.artifact();
    let registration = backend_registration(backend.id())?;
    match envelope.materialize(backend, registration, key) {
        Ok(Materialized { payload, pipelines }) => {
            return Ok((Pipelines::new(artifact, pipelines)?, Some(payload.format.clone())));
        }
        // There is none that the backend takes.
        Err(
            MaterializeError::Envelope(EnvelopeError::NoPayload { .. })
            | MaterializeError::Backend(
                BackendError::NoFacet { .. } | BackendError::Payload(PayloadError::Untrusted { .. }),
            ),
        ) => {}
        Err(MaterializeError::Envelope(error)) => return Err(error.into()),
        Err(MaterializeError::Backend(error)) => return Err(error.into()),
    }
    let compiled = artifact.programs().iter().map(|p| backend.compile_checked(p, artifact.options()));
    Ok((Pipelines::new(artifact, compiled.collect::<Result<_, _>>()?)?, None))
}

/// Runs an artifact on files.
pub(crate) fn run(arguments: &Run) -> Result<(), CliError> {
    if arguments.verify {
        return Err(CliError::Without { option: "--verify", needs: "the text of a program" });
    }
    let progress = Progress::new();
    let envelope = load(&arguments.file)?;
    let (artifact, graph) = (envelope.artifact(), envelope.artifact().graph());
    let paths = inputs::paths("output", graph.outputs().iter().map(|o| o.name.as_str()), &arguments.outputs)?;
    progress.at("reading the inputs");
    let bytes = bound(graph, &arguments.inputs)?;
    let key = arguments.key_file.as_deref().map(key).transpose()?;

    progress.at("opening the backend");
    let backend = (backend_registration(&arguments.backend)?.open)()?;
    let device = ProfileDigest::of(backend.profile());
    if artifact.profile() != device {
        return Err(CliError::OtherDevice { device: backend.profile().name.clone() });
    }
    progress.at("running");
    let (pipelines, format) = pipelines(&*backend, &envelope, key.as_ref())?;
    let mut bindings = BindingSet::new().label(graph.name());
    for (name, bytes) in &bytes {
        bindings = bindings.bytes(name.as_str(), bytes);
    }
    for (name, value) in params(graph, &arguments.inputs)? {
        bindings = bindings.param_value(name, value);
    }
    for (name, number) in &arguments.inputs.dims {
        bindings = bindings.dim(name, *number);
    }
    let start = Instant::now();
    let schedule = schedule(artifact, &pipelines, &bindings, &Held::new())?;
    let outputs = backend.submit(&schedule.list)?.wait(None)?;
    let elapsed = start.elapsed();
    progress.at("writing the outputs");
    let mut written = Vec::new();
    for ((read, bytes), path) in schedule.reads.iter().zip(&outputs).zip(&paths) {
        if let Some(path) = path {
            files::write(path, read.element, bytes)?;
        }
        let elements = bytes.len() / read.element.size() as usize;
        written.push((read.name.as_str(), read.element, elements, path.as_ref()));
    }
    drop(progress);
    let what = match format {
        Some(format) => format!("its {format} payload"),
        None => "its programs, compiled now".to_owned(),
    };
    Ran { what: "graph", name: graph.name(), note: &what, elapsed, written }.print(&*backend, arguments)
}

/// What a file for a value has to hold.
fn wanted(value: &GraphValue) -> Wanted<'_> {
    Wanted { name: &value.name, element: value.element }
}

/// The bytes of each value that a file is given for, by name.
fn bound(graph: &ProgramGraph, inputs: &Inputs) -> Result<Vec<(String, Vec<u8>)>, CliError> {
    let given = |value: &&GraphValue| matches!(value.source, Source::Input | Source::Retained { .. });
    let declared = || graph.values().iter().filter(given);
    inputs::known("input", &inputs.buffers, declared().map(|value| value.name.as_str()))?;
    inputs::all_given(declared().filter(|value| value.source == Source::Input).map(wanted), inputs)?;
    let mut bytes = Vec::new();
    for value in declared() {
        if let Some(read) = inputs::given(wanted(value), inputs)? {
            bytes.push((value.name.clone(), read));
        }
    }
    Ok(bytes)
}

/// The parameters of a graph that are given.
pub(crate) fn params(
    graph: &ProgramGraph,
    inputs: &Inputs,
) -> Result<Vec<(String, vyre_spec::Value)>, CliError> {
    inputs::scalars(graph.params().iter().map(|param| (param.name.as_str(), param.ty)), inputs)
}
