//! Artifacts and envelopes: their files, and `run` on them.

use std::fs;
use std::path::Path;
use std::time::Instant;

use vyre_driver::{PayloadError, PayloadKey, VyreBackend, backend_registration};
use vyre_foundation::graph::{ProgramGraph, Source};
use vyre_megakernel::fuse::Step;
use vyre_megakernel::{Artifact, ArtifactEnvelope, BindingSet, Held, Pipelines, schedule};

use crate::args::{Inputs, Run};
use crate::error::CliError;
use crate::files::{self, Wanted};
use crate::inputs;
use crate::run::{Progress, Ran};

/// What such files begin with.
const MAGICS: [&[u8]; 2] = [b"VYREENV\0", b"VYREART\0"];

/// Whether a file is an artifact or an envelope, by its first bytes.
pub(crate) fn is_artifact(path: &Path) -> Result<bool, CliError> {
    let bytes = fs::read(path).map_err(|source| CliError::Read { path: path.to_owned(), source })?;
    Ok(MAGICS.iter().any(|magic| bytes.starts_with(magic)))
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

/// The pipelines of an envelope: of a payload where there is one that the backend takes, else of the programs.
fn pipelines(
    backend: &dyn VyreBackend,
    envelope: &ArtifactEnvelope,
    key: Option<&PayloadKey>,
) -> Result<(Pipelines, Option<String>), CliError> {
    let artifact = envelope.artifact();
    let registration = backend_registration(backend.id())?;
    if let Some(key) = key {
        envelope.verify(key)?;
    }
    if let (Some(compiler), Some(materializer)) = (registration.target_compiler, registration.materializer) {
        for format in compiler.formats(backend.profile()) {
            let Ok(payload) = envelope.payload(registration.id, &[format]) else { continue };
            match materializer.materialize(backend, payload, key) {
                Ok(pipelines) => {
                    return Ok((Pipelines::new(artifact, pipelines)?, Some(format.to_owned())));
                }
                // Another format may need no trust.
                Err(vyre_driver::BackendError::Payload(PayloadError::Untrusted { .. })) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    let compiled = artifact.programs().iter().map(|p| backend.compile_checked(p, artifact.options()));
    Ok((Pipelines::new(artifact, compiled.collect::<Result<_, _>>()?)?, None))
}

/// Runs an artifact on files.
pub(crate) fn run(arguments: &Run) -> Result<(), CliError> {
    if arguments.verify {
        return Err(CliError::Without { option: "--verify", needs: "a program's FILE" });
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
    let device = vyre_megakernel::ProfileDigest::of(backend.profile());
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

/// The bytes of each value that a file is given for, by name.
fn bound(graph: &ProgramGraph, inputs: &Inputs) -> Result<Vec<(String, Vec<u8>)>, CliError> {
    let given = |value: &&vyre_foundation::graph::GraphValue| {
        matches!(value.source, Source::Input | Source::Retained { .. })
    };
    let declared = || graph.values().iter().filter(given);
    inputs::known("input", &inputs.buffers, declared().map(|value| value.name.as_str()))?;
    let mut bytes = Vec::new();
    for value in declared() {
        let wanted = Wanted { name: &value.name, element: value.element };
        match inputs::given(wanted, inputs)? {
            Some(read) => bytes.push((value.name.clone(), read)),
            None if value.source == Source::Input => return Err(inputs::missing(wanted)),
            None => {}
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

/// How many kernels a run launches.
pub(crate) fn kernels(artifact: &Artifact) -> usize {
    artifact.plan().steps.iter().filter(|step| matches!(step, Step::Run(_))).count()
}
