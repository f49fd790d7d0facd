//! Programs from files, and findings shown in their text.

use std::fs;
use std::path::Path;

use vyre_foundation::check::{Checked, check};
use vyre_foundation::diag::Diagnostic;
use vyre_foundation::ir::Program;
use vyre_foundation::text::{self, SourceMap, TextError};

use crate::error::CliError;

/// A checked program and its text.
pub(crate) struct Loaded<'a> {
    pub(crate) program: Checked<Program>,
    path: &'a Path,
    text: String,
    map: SourceMap,
}

/// Reads, parses and checks a program.
pub(crate) fn load(path: &Path) -> Result<Loaded<'_>, CliError> {
    let text = fs::read_to_string(path).map_err(|source| CliError::Read { path: path.to_owned(), source })?;
    let (program, map) = match text::parse(&text) {
        Ok(parsed) => parsed,
        Err(errors) => return Err(findings(path, &text, &errors)),
    };
    match check(program) {
        Ok(program) => Ok(Loaded { program, path, text, map }),
        Err(diagnostics) => Err(located(path, &text, &map, &diagnostics)),
    }
}

impl Loaded<'_> {
    /// Findings about this program, shown in its text.
    pub(crate) fn findings(&self, diagnostics: &[Diagnostic]) -> CliError {
        located(self.path, &self.text, &self.map, diagnostics)
    }
}

fn located(path: &Path, text: &str, map: &SourceMap, diagnostics: &[Diagnostic]) -> CliError {
    let place = |d: &Diagnostic| TextError {
        code: d.code,
        span: map.span(d.site),
        line: 0,
        column: 0,
        message: d.message.clone(),
        related: d.related.iter().map(|(site, label)| (map.span(*site), label.clone())).collect(),
        help: d.help.clone(),
    };
    let errors: Vec<TextError> = diagnostics.iter().map(place).collect();
    findings(path, text, &errors)
}

/// How many findings are shown; an error repeated in each line of a long program need not be.
const SHOWN: usize = 100;

fn findings(path: &Path, text: &str, errors: &[TextError]) -> CliError {
    let name = path.display().to_string();
    let mut rendered: String = errors.iter().take(SHOWN).map(|error| error.render(&name, text)).collect();
    if errors.len() > SHOWN {
        rendered += &format!("and {} more findings\n\n", errors.len() - SHOWN);
    }
    CliError::Findings { path: path.to_owned(), count: errors.len(), rendered }
}
