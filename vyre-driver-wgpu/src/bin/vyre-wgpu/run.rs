//! `run`: a program on files.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use serde_json::json;
use vyre_driver::{DispatchConfig, backend_registration};
use vyre_driver_wgpu::WGPU_BACKEND_ID;

use crate::args::Run;
use crate::error::CliError;
use crate::{files, inputs, load, verify};

pub(crate) fn run(arguments: &Run) -> Result<(), CliError> {
    if arguments.verify && arguments.backend != WGPU_BACKEND_ID {
        return Err(CliError::Without { option: "--verify", needs: "--backend wgpu" });
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
            "program": program.name(),
            "backend": backend.id(),
            "device": device.name,
            "software": device.is_software,
            "seconds": elapsed.as_secs_f64(),
            "verified": arguments.verify,
            "outputs": outputs,
        });
        return crate::print(&format!("{summary:#}\n"));
    }
    let mut text = format!(
        "`{}` ran on {} in {:.1} ms{}\n",
        program.name(),
        device.name,
        elapsed.as_secs_f64() * 1e3,
        if arguments.verify { ", the same as on the reference machine" } else { "" }
    );
    for (name, element, elements, path) in written {
        let _ = match path {
            Some(path) => writeln!(text, "{name}: {elements} {element} written to {}", path.display()),
            None => writeln!(text, "{name}: {elements} {element} not written: no --out {name}=PATH"),
        };
    }
    crate::print(&text)
}

/// What is being done, on standard error while it takes long; nothing where that is no terminal.
struct Progress(ProgressBar);

impl Progress {
    fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    fn at(&self, what: &'static str) {
        self.0.set_message(what);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
