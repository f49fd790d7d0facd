//! `run`: a program on files.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use serde_json::json;
use vyre_driver::{DispatchConfig, VyreBackend, backend_registration};
use vyre_driver_wgpu::WGPU_BACKEND_ID;
use vyre_spec::DataType;

use crate::args::Run;
use crate::error::CliError;
use crate::{artifact, files, inputs, load, verify};

pub(crate) fn run(arguments: &Run) -> Result<(), CliError> {
    if artifact::is_artifact(&arguments.file)? {
        return artifact::run(arguments);
    }
    let only = [(!arguments.inputs.dims.is_empty(), "--dim"), (arguments.key_file.is_some(), "--key-file")];
    if let Some((_, option)) = only.into_iter().find(|(given, _)| *given) {
        return Err(CliError::Without { option, needs: "an artifact" });
    }
    if arguments.verify && arguments.backend != WGPU_BACKEND_ID {
        return Err(CliError::Without { option: "--verify", needs: "`--backend wgpu`" });
    }
    let progress = Progress::new();
    let loaded = load::load(&arguments.file)?;
    let program = &loaded.program;
    let paths = inputs::outputs(program, &arguments.outputs)?;
    let params = inputs::params(program, &arguments.inputs)?;
    progress.at("reading the inputs");
    let buffers = inputs::buffers(program, &arguments.inputs)?;
    let buffers: Vec<&[u8]> = buffers.iter().map(Vec::as_slice).collect();
    let config = DispatchConfig { params, ..DispatchConfig::default() };

    progress.at("opening the backend");
    let backend = (backend_registration(&arguments.backend)?.open)()?;
    progress.at("running");
    let start = Instant::now();
    let outputs = backend.dispatch_checked(program, &buffers, &config)?;
    let elapsed = start.elapsed();
    if arguments.verify {
        progress.at("running on the reference machine");
        let subgroup_size = backend.profile().subgroup_size;
        let want = verify::reference(program, &buffers, &config.params, subgroup_size)?;
        verify::compare(program, &outputs, &want, arguments.tolerance)?;
    }
    progress.at("writing the outputs");
    let declared = program.outputs().map(|id| program.buffer(id));
    let mut written = Vec::new();
    for ((buffer, bytes), path) in declared.zip(&outputs).zip(&paths) {
        if let Some(path) = path {
            files::write(path, buffer.element, bytes)?;
        }
        let elements = bytes.len() / buffer.element.size() as usize;
        written.push((buffer.name.as_str(), buffer.element, elements, path.as_ref()));
    }
    drop(progress);
    let note = if arguments.verify { "the same as on the reference machine" } else { "" };
    Ran { what: "program", name: program.name(), note, elapsed, written }.print(&*backend, arguments)
}

/// A run, as it is reported.
pub(crate) struct Ran<'a> {
    pub(crate) what: &'static str,
    pub(crate) name: &'a str,
    pub(crate) note: &'a str,
    pub(crate) elapsed: Duration,
    /// Name, type, elements, and where it was written.
    pub(crate) written: Vec<(&'a str, DataType, usize, Option<&'a PathBuf>)>,
}

impl Ran<'_> {
    pub(crate) fn print(self, backend: &dyn VyreBackend, arguments: &Run) -> Result<(), CliError> {
        let Self { what, name, note, elapsed, written } = self;
        let device = backend.profile();
        if arguments.json {
            let outputs: Vec<_> = written
                .iter()
                .map(|(name, element, elements, path)| {
                    json!({ "name": name, "type": element.name(), "elements": elements,
                            "path": path.map(|p| p.display().to_string()) })
                })
                .collect();
            let summary = json!({
                what: name,
                "backend": backend.id(),
                "device": device.name,
                "software": device.is_software,
                "seconds": elapsed.as_secs_f64(),
                "verified": arguments.verify,
                "outputs": outputs,
            });
            return crate::print(&format!("{summary:#}\n"));
        }
        let comma = if note.is_empty() { "" } else { ", " };
        let mut text = format!(
            "`{name}` ran on {} in {:.1} ms{comma}{note}\n",
            device.name,
            elapsed.as_secs_f64() * 1e3
        );
        for (name, element, elements, path) in written {
            let _ = match path {
                Some(path) => writeln!(text, "{name}: {elements} {element} written to {}", path.display()),
                None => writeln!(text, "{name}: {elements} {element} not written: no --out {name}=PATH"),
            };
        }
        crate::print(&text)
    }
}

/// What is being done, on standard error while it takes long; nothing where that is no terminal.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    pub(crate) fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    pub(crate) fn at(&self, what: &'static str) {
        self.0.set_message(what);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
