//! What is wrong with a built program, and on which line.

use std::fmt;
use std::panic::Location;

use super::kernel::{Caller, Lines};
use crate::diag::{Diagnostic, Site};
use crate::ir::{ExprId, NodeId, Renumbering};

/// A diagnostic with the line of Rust that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding<S = Site> {
    /// What is wrong. Its sites are of the program, or graph, in normal form.
    pub diagnostic: Diagnostic<S>,
    /// The line that made what the diagnostic is about, unless it is about the program as a whole.
    pub line: Option<&'static Location<'static>>,
    /// The lines of the diagnostic's related places, in their order.
    pub related: Vec<Option<&'static Location<'static>>>,
}

/// Everything that is wrong with a program that [`Kernel::build`](super::Kernel::build) recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError {
    kernel: String,
    findings: Vec<Finding>,
}

impl BuildError {
    pub(super) fn new(kernel: String, reported: Vec<(Diagnostic, Caller)>) -> Self {
        let mut error = Self { kernel, findings: Vec::new() };
        for (diagnostic, line) in reported {
            error.push(diagnostic, Some(line));
        }
        error
    }

    pub(super) fn push(&mut self, diagnostic: Diagnostic, line: Option<Caller>) {
        let related = vec![None; diagnostic.related.len()];
        self.findings.push(Finding { diagnostic, line, related });
    }

    /// Adds the checker's diagnostics, whose sites are of the finished program.
    pub(super) fn locate(&mut self, diagnostics: Vec<Diagnostic>, lines: &Lines, moved: &Renumbering) {
        let nodes = invert(lines.nodes.len(), |i| moved.node(NodeId::new(i)).map(NodeId::index));
        let exprs = invert(lines.exprs.len(), |i| moved.expr(ExprId::new(i)).map(ExprId::index));
        let at = |table: &[Caller], index: usize| table.get(index).copied();
        let line = |site: Site| match site {
            Site::Program => None,
            Site::Buffer(id) => at(&lines.buffers, id.index()),
            Site::Param(id) => at(&lines.params, id.index()),
            Site::Shared(id) => at(&lines.shared, id.index()),
            Site::Private(id) => at(&lines.privates, id.index()),
            Site::Tile(id) => at(&lines.tiles, id.index()),
            Site::Var(id) => at(&lines.vars, id.index()),
            Site::Node(id) => nodes.get(id.index()).and_then(|&old| at(&lines.nodes, old)),
            Site::Expr(id) => exprs.get(id.index()).and_then(|&old| at(&lines.exprs, old)),
        };
        for diagnostic in diagnostics {
            let related = diagnostic.related.iter().map(|&(site, _)| line(site)).collect();
            self.findings.push(Finding { line: line(diagnostic.site), related, diagnostic });
        }
    }

    /// The kernel's name.
    pub fn kernel(&self) -> &str {
        &self.kernel
    }

    /// The findings: those of the builder, then those of the checker in program order.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The diagnostics alone.
    pub fn diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        self.findings.iter().map(|finding| &finding.diagnostic)
    }
}

/// The old index of each new one.
fn invert(count: usize, new: impl Fn(u32) -> Option<usize>) -> Vec<usize> {
    let mut pairs: Vec<_> = (0..count).filter_map(|old| Some((new(old as u32)?, old))).collect();
    pairs.sort_unstable();
    pairs.into_iter().map(|(_, old)| old).collect()
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel `{}` is wrong:", self.kernel)?;
        self.findings.iter().try_for_each(|finding| write!(f, "\n{finding}"))
    }
}

impl<S> fmt::Display for Finding<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { diagnostic, line, related } = self;
        write!(f, "{}: {}", diagnostic.code, diagnostic.message)?;
        if let Some(line) = line {
            write!(f, "\n  at {line}")?;
        }
        for ((_, label), line) in diagnostic.related.iter().zip(related) {
            write!(f, "\n  {label}")?;
            if let Some(line) = line {
                write!(f, ": {line}")?;
            }
        }
        if let Some(help) = &diagnostic.help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for BuildError {}
