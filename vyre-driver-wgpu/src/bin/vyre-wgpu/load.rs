//! Programs from files, and findings shown in their text.

use std::path::Path;
use std::{fs, io};

use vyre_foundation::check::{Checked, check};
use vyre_foundation::diag::{Diagnostic, render};
use vyre_foundation::graph::ProgramGraph;
use vyre_foundation::ir::Program;
use vyre_foundation::text::{self, SourceMap};

use crate::artifact;
use crate::error::CliError;

/// A checked program and its text.
pub(crate) struct Loaded<'a> {
    pub(crate) program: Checked<Program>,
    path: &'a Path,
    text: String,
    map: SourceMap,
}

fn read(path: &Path) -> Result<String, CliError> {
    let failed = |source| CliError::Read { path: path.to_owned(), source };
    let bytes = fs::read(path).map_err(failed)?;
    if artifact::begins_one(&bytes) {
        return Err(CliError::IsArtifact { path: path.to_owned() });
    }
    String::from_utf8(bytes).map_err(|error| failed(io::Error::new(io::ErrorKind::InvalidData, error)))
}

/// Whether a text is one of a graph, as far as one sees without parsing.
fn has_graph(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with("graph "))
}

/// Whether a file is the text of a graph.
pub(crate) fn is_graph(path: &Path) -> Result<bool, CliError> {
    read(path).map(|text| has_graph(&text))
}

/// Reads, parses and checks a program.
pub(crate) fn load(path: &Path) -> Result<Loaded<'_>, CliError> {
    let text = read(path)?;
    if has_graph(&text) {
        return Err(CliError::IsGraph { path: path.to_owned() });
    }
    let (program, map) = match text::parse(&text) {
        Ok(parsed) => parsed,
        Err(errors) => {
            let name = path.display().to_string();
            let rendered = errors.iter().map(|error| error.render(&name, &text)).collect();
            return Err(CliError::Findings { path: path.to_owned(), count: errors.len(), rendered });
        }
    };
    match check(program) {
        Ok(program) => Ok(Loaded { program, path, text, map }),
        Err(diagnostics) => Err(located(path, &text, &map, &diagnostics)),
    }
}

/// Reads, parses and checks a graph; a program is the graph that runs it.
pub(crate) fn graph(path: &Path) -> Result<ProgramGraph, CliError> {
    let text = read(path)?;
    if !has_graph(&text) {
        return Ok(ProgramGraph::from_program(&load(path)?.program));
    }
    text::parse_graph(&text).map(|(graph, _)| graph).map_err(|errors| {
        let name = path.display().to_string();
        let rendered = errors.iter().map(|error| error.render(&name, &text)).collect();
        CliError::Findings { path: path.to_owned(), count: errors.len(), rendered }
    })
}

impl Loaded<'_> {
    /// Findings about this program, shown in its text.
    pub(crate) fn findings(&self, diagnostics: &[Diagnostic]) -> CliError {
        located(self.path, &self.text, &self.map, diagnostics)
    }
}

fn located(path: &Path, text: &str, map: &SourceMap, diagnostics: &[Diagnostic]) -> CliError {
    let rendered = render(diagnostics, map, &path.display().to_string(), text);
    CliError::Findings { path: path.to_owned(), count: diagnostics.len(), rendered }
}
