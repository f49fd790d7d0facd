//! Names of declarations.
//!
//! * Every name is an identifier: a letter or `_`, then letters, digits and `_`, all ASCII.
//! * No name but the program's is a word of the text form: a keyword, a type, a built-in value, or an op.
//! * No two declarations have one name, of whatever kind they are.

use std::collections::HashMap;

use vyre_spec::ops::{AtomicOp, BinaryOp, CastOp, CollectiveOp, SubgroupOp, TernaryOp, UnaryOp};
use vyre_spec::{Access, BuiltIn, DataType};

use crate::diag::{Code, Diagnostic, Site};
use crate::ir::{BufferId, ParamId, PrivateId, Program, SharedId, TileId, VarId};

/// The words of the text form that are neither types, accesses, built-in values nor ops.
pub(crate) const KEYWORDS: &[&str] = &[
    "program",
    "param",
    "specialize",
    "buffer",
    "shared",
    "private",
    "launch",
    "domain",
    "workgroups",
    "let",
    "load",
    "store",
    "var",
    "get",
    "set",
    "if",
    "else",
    "for",
    "in",
    "while",
    "break",
    "continue",
    "return",
    "barrier",
    "fence",
    "trap",
    "len",
    "ceil_div",
    "true",
    "false",
];

/// Whether a word has a meaning of its own in the text form.
pub(crate) fn is_reserved(word: &str) -> bool {
    KEYWORDS.contains(&word)
        || DataType::from_name(word).is_some()
        || Access::ALL.iter().any(|access| access.name() == word)
        || BuiltIn::ALL.iter().any(|built_in| built_in.name().0 == word)
        || UnaryOp::from_name(word).is_some()
        || BinaryOp::from_name(word).is_some()
        || TernaryOp::from_name(word).is_some()
        || CastOp::from_name(word).is_some()
        || AtomicOp::from_name(word).is_some()
        || SubgroupOp::from_name(word).is_some()
        || CollectiveOp::from_name(word).is_some()
}

/// Whether a word is an identifier.
pub(crate) fn is_identifier(word: &str) -> bool {
    let mut bytes = word.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

pub(crate) fn check(program: &Program, findings: &mut Vec<Diagnostic>) {
    let mut check = Names::new(
        findings,
        "rename one of them: buffers, parameters, arrays, tiles and variables share one set of names",
    );
    check.outer(Site::Program, program.name());
    for (i, x) in (0..).zip(program.buffers()) {
        check.name(Site::Buffer(BufferId::new(i)), &x.name);
    }
    for (i, x) in (0..).zip(program.params()) {
        check.name(Site::Param(ParamId::new(i)), &x.name);
    }
    for (i, x) in (0..).zip(program.shared()) {
        check.name(Site::Shared(SharedId::new(i)), &x.name);
    }
    for (i, x) in (0..).zip(program.privates()) {
        check.name(Site::Private(PrivateId::new(i)), &x.name);
    }
    for (i, x) in (0..).zip(program.tiles()) {
        check.name(Site::Tile(TileId::new(i)), &x.name);
    }
    for (i, x) in (0..).zip(program.vars()) {
        check.name(Site::Var(VarId::new(i)), &x.name);
    }
}

enum BadName {
    NotIdentifier,
    Reserved,
}

impl BadName {
    fn at<S>(self, site: S, name: &str) -> Diagnostic<S> {
        match self {
            Self::NotIdentifier => Diagnostic::new(
                Code::BadName,
                site,
                format!("`{}` is not an identifier", name.escape_debug()),
            )
            .with_help("use ASCII letters, digits and `_`, and no digit at the start"),
            Self::Reserved => {
                Diagnostic::new(Code::BadName, site, format!("`{name}` is a word of the text form"))
                    .with_help(format!("choose another name, such as `{name}_`"))
            }
        }
    }
}

fn bad_name(name: &str) -> Option<BadName> {
    if !is_identifier(name) {
        Some(BadName::NotIdentifier)
    } else if is_reserved(name) {
        Some(BadName::Reserved)
    } else {
        None
    }
}

/// The check of one set of names.
pub(crate) struct Names<'a, 'f, S> {
    seen: HashMap<&'a str, S>,
    findings: &'f mut Vec<Diagnostic<S>>,
    /// What to do about two of one name.
    help: &'static str,
}

impl<'a, 'f, S: Copy> Names<'a, 'f, S> {
    pub(crate) fn new(findings: &'f mut Vec<Diagnostic<S>>, help: &'static str) -> Self {
        Self { seen: HashMap::new(), findings, help }
    }

    /// The name of the whole, which may be a word of the text form.
    pub(crate) fn outer(&mut self, site: S, name: &str) {
        if !is_identifier(name) {
            self.findings.push(BadName::NotIdentifier.at(site, name));
        }
    }

    pub(crate) fn name(&mut self, site: S, name: &'a str) {
        if let Some(problem) = bad_name(name) {
            self.findings.push(problem.at(site, name));
        }
        match self.seen.get(name) {
            None => {
                self.seen.insert(name, site);
            }
            Some(&first) => self.findings.push(
                Diagnostic::new(Code::DuplicateName, site, format!("the name `{name}` is declared twice"))
                    .with_related(first, "declared here first")
                    .with_help(self.help),
            ),
        }
    }
}
