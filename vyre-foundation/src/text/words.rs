//! Which words a name may be, and how one that may not is written.

use vyre_spec::ops::{AtomicOp, BinaryOp, CastOp, SubgroupOp, TernaryOp, UnaryOp};
use vyre_spec::{Access, BuiltIn, DataType};

/// The words of the text form that are neither types, accesses, built-in values nor ops.
pub(crate) const KEYWORDS: &[&str] = &[
    "program",
    "param",
    "specialize",
    "buffer",
    "shared",
    "private",
    "extent",
    "launch",
    "domain",
    "axes",
    "workgroups",
    "let",
    "load",
    "store",
    "var",
    "declare",
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
    "trap",
    "len",
    "ceil_div",
    "result",
    "loop_var",
    "bits",
    "inf",
    "nan",
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
}

/// Whether a word is an identifier: a letter or `_`, then letters, digits and `_`, all ASCII.
pub(crate) fn is_identifier(word: &str) -> bool {
    let mut bytes = word.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Writes a name: as it is if it can be read back so, else in backquotes with what needs it escaped.
pub(crate) fn write_name(out: &mut String, name: &str) {
    if is_identifier(name) && !is_reserved(name) {
        out.push_str(name);
        return;
    }
    out.push('`');
    for c in name.chars() {
        if c == '`' || c == '\\' || !(' '..='~').contains(&c) {
            out.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out.push('`');
}
