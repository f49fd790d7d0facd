//! How names are written.

use crate::check::{is_identifier, is_reserved};

/// Writes a name: as it is if it can be read back so, else in backquotes with what needs it escaped.
pub(crate) fn write_name(out: &mut String, name: &str) {
    if is_identifier(name) && !is_reserved(name) {
        out.push_str(name);
    } else {
        write_quoted(out, name);
    }
}

/// Writes a program's name, which may be a word of the language.
pub(crate) fn write_program_name(out: &mut String, name: &str) {
    if is_identifier(name) {
        out.push_str(name);
    } else {
        write_quoted(out, name);
    }
}

fn write_quoted(out: &mut String, name: &str) {
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
