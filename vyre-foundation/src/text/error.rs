//! What is wrong with a text, and where.

use std::fmt;

use super::Span;
use crate::diag::{Code, Diagnostic, excerpt};

/// One finding about a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// The stable code.
    pub code: Code,
    /// The place, in bytes.
    pub span: Span,
    /// The line of the place, from 1.
    pub line: u32,
    /// The column of the place in characters, from 1.
    pub column: u32,
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// Further places that explain it, each with a label.
    pub related: Vec<(Span, String)>,
    /// What to do.
    pub help: Option<String>,
}

impl TextError {
    pub(crate) fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self { code, span, line: 0, column: 0, message: message.into(), related: Vec::new(), help: None }
    }

    /// A diagnostic at the place that its site stands at.
    pub(crate) fn of<S>(diagnostic: Diagnostic<S>, place: impl Fn(S) -> Span) -> Self {
        let Diagnostic { code, site, message, related, help } = diagnostic;
        let related = related.into_iter().map(|(site, label)| (place(site), label)).collect();
        Self { related, help, ..Self::new(code, place(site), message) }
    }

    #[must_use]
    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    #[must_use]
    pub(crate) fn with_related(mut self, span: Span, label: impl Into<String>) -> Self {
        self.related.push((span, label.into()));
        self
    }

    /// Sets line and column from the text.
    pub(crate) fn locate(&mut self, text: &str) {
        let before = text.get(..self.span.start as usize).unwrap_or(text);
        self.line = 1 + before.bytes().filter(|&b| b == b'\n').count() as u32;
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        self.column = 1 + before[line_start..].chars().count() as u32;
    }

    /// The finding with an excerpt of the text around it, as a terminal shows it.
    ///
    /// `name` is the text's name, such as a file's; `text` is what was parsed.
    pub fn render(&self, name: &str, text: &str) -> String {
        let related = self.related.iter().map(|(span, label)| (span.range(), label.as_str()));
        excerpt((name, text), self.code, &self.message, self.span.range(), related, self.help.as_deref())
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.line, self.column, self.code, self.message)?;
        if let Some(help) = &self.help {
            write!(f, " (help: {help})")?;
        }
        Ok(())
    }
}

impl std::error::Error for TextError {}
