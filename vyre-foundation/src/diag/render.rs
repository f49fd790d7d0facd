//! Findings with an excerpt of the text around them, as a terminal shows them. The only user of the
//! rendering crate.

use std::ops::Range;

use codespan_reporting::diagnostic::{Diagnostic as Report, Label};
use codespan_reporting::files::SimpleFile;
use codespan_reporting::term;

use super::{Code, Diagnostic, Site};
use crate::ir::Program;
use crate::text::{self, SourceMap};

/// One finding as text with an excerpt: places are byte ranges of `text`, related ones have a label each.
pub(crate) fn excerpt<'a>(
    file: (&str, &str),
    code: Code,
    message: &str,
    place: Range<usize>,
    related: impl Iterator<Item = (Range<usize>, &'a str)>,
    help: Option<&str>,
) -> String {
    let (name, text) = file;
    let related = related.map(|(range, label)| Label::secondary((), within(text, range)).with_message(label));
    let report = Report::error()
        .with_code(code)
        .with_message(message)
        .with_labels_iter(std::iter::once(Label::primary((), within(text, place))).chain(related))
        .with_notes_iter(help.map(|help| format!("help: {help}")));
    let file = SimpleFile::new(name, text);
    // The places are inside the text, which is what rendering can fail for.
    term::emit_into_string(&term::Config::default(), &file, &report)
        .unwrap_or_else(|_| format!("error[{code}]: {message}\n"))
}

/// The range, moved to the text's end and to boundaries of characters if it is not of this text.
fn within(text: &str, range: Range<usize>) -> Range<usize> {
    let boundary = |mut at: usize| {
        at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = boundary(range.start);
    start..boundary(range.end).max(start)
}

/// The findings about a program, each with an excerpt of its text.
///
/// `map` has the program's places in `text`, from [`text::parse`] or [`text::print_with_map`]; `name` is the
/// text's name, such as a file's.
pub fn render(findings: &[Diagnostic], map: &SourceMap, name: &str, text: &str) -> String {
    let mut out = String::new();
    for finding in findings {
        let place = |site: Site| map.span(site).range();
        let related = finding.related.iter().map(|(site, label)| (place(*site), label.as_str()));
        let file = (name, text);
        let help = finding.help.as_deref();
        out += &excerpt(file, finding.code, &finding.message, place(finding.site), related, help);
    }
    out
}

/// The findings about a program that has no text, such as one from the builder, with excerpts of what
/// [`text::print`] gives for it.
pub fn render_printed(findings: &[Diagnostic], program: &Program) -> String {
    let (text, map) = text::print_with_map(program);
    render(findings, &map, program.name(), &text)
}
