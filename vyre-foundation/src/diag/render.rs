//! Findings with an excerpt of the text around them, as a terminal shows them. The only user of the
//! rendering crate.

use std::ops::Range;

use codespan_reporting::diagnostic::{Diagnostic as Report, Label};
use codespan_reporting::term;

use super::cut::{Cut, sentence};
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
    let place = within(text, place);
    let related: Vec<_> = related.map(|(range, label)| (within(text, range), label)).collect();
    let places: Vec<_> =
        std::iter::once(&place).chain(related.iter().map(|(range, _)| range)).cloned().collect();
    let file = Cut::new(name, text, &places);
    let labels = related
        .into_iter()
        .map(|(range, label)| Label::secondary((), file.range(range)).with_message(sentence(label)));
    let report = Report::error()
        .with_code(code)
        .with_message(sentence(message))
        .with_labels_iter(std::iter::once(Label::primary((), file.range(place))).chain(labels))
        .with_notes_iter(help.map(|help| format!("help: {}", sentence(help))));
    // The places are inside the text, which is what rendering can fail for.
    term::emit_into_string(&term::Config::default(), &file, &report)
        .unwrap_or_else(|_| format!("error[{code}]: {}\n", sentence(message)))
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

/// How many findings [`render`] shows.
const SHOWN: usize = 100;

/// The first findings about a program, each with an excerpt of its text, and how many there are beyond a
/// hundred.
///
/// `map` has the program's places in `text`, from [`text::parse`] or [`text::print_with_map`]; `name` is the
/// text's name, such as a file's.
pub fn render(findings: &[Diagnostic], map: &SourceMap, name: &str, text: &str) -> String {
    let mut out = String::new();
    for finding in findings.iter().take(SHOWN) {
        let place = |site: Site| map.span(site).range();
        let related = finding.related.iter().map(|(site, label)| (place(*site), label.as_str()));
        let file = (name, text);
        let help = finding.help.as_deref();
        out += &excerpt(file, finding.code, &finding.message, place(finding.site), related, help);
    }
    if findings.len() > SHOWN {
        out += &format!("and {} more findings\n", findings.len() - SHOWN);
    }
    out
}

/// The findings about a program that has no text, such as one from the builder, with excerpts of what
/// [`text::print`] gives for it.
pub fn render_printed(findings: &[Diagnostic], program: &Program) -> String {
    let (text, map) = text::print_with_map(program);
    render(findings, &map, program.name(), &text)
}
