//! File tests: programs in text form, with what is expected of them beside or inside.
//!
//! * `tests/ir/check/*.vyre` are checked. Each finding is expected by a comment on its line,
//!   `//~ CODE part of the message`; a file without any is accepted. A `.txt` beside it has the findings as
//!   rendered.
//! * `tests/ir/opt/*.vyre` are optimised, by the passes that a first line `// passes: a, b` names or else by
//!   the whole table; a `.opt` beside each has the result's text.
//!
//! With `UPDATE_EXPECT=1` in the environment, files beside are written instead of compared.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by a panic")]

use std::fmt::Write;
use std::path::{Path, PathBuf};

use vyre_foundation::check::check;
use vyre_foundation::diag;
use vyre_foundation::opt::{PASSES, optimize};
use vyre_foundation::text::{parse, print};

/// The `.vyre` files of a folder, in the order of their names.
fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ir").join(folder);
    let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|e| e == "vyre")).collect();
    files.sort();
    assert!(!files.is_empty(), "{folder:?} has no file");
    files
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// Compares with a file, or writes it; what differs goes to `failures`.
fn expect(path: &Path, got: &str, failures: &mut String) {
    if std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1") {
        std::fs::write(path, got).unwrap();
        return;
    }
    let want = std::fs::read_to_string(path).unwrap_or_default();
    if want != got {
        let _ = writeln!(failures, "{}: want\n{want}\ngot\n{got}", name(path));
    }
}

/// Line (from 1), code and message, or a part of it.
type Line = (usize, String, String);

fn expectations(text: &str) -> Vec<Line> {
    let mut expected = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        for comment in line.split("//~").skip(1) {
            let (code, part) = comment.trim().split_once(' ').unwrap_or((comment.trim(), ""));
            expected.push((number, code.to_owned(), part.trim().to_owned()));
        }
    }
    expected
}

#[test]
fn checks() {
    let mut failures = String::new();
    for path in files("check") {
        let text = std::fs::read_to_string(&path).unwrap();
        let line_of = |byte: usize| 1 + text[..byte].matches('\n').count();
        let mut rendered = String::new();
        let mut found: Vec<Line> = Vec::new();
        match parse(&text) {
            Err(errors) => {
                for error in errors {
                    found.push((error.line as usize, error.code.to_string(), error.message.clone()));
                    rendered += &error.render(&name(&path), &text);
                }
            }
            Ok((program, map)) => {
                if let Err(findings) = check(program) {
                    for finding in &findings {
                        let line = line_of(map.span(finding.site).range().start);
                        found.push((line, finding.code.to_string(), finding.message.clone()));
                    }
                    rendered = diag::render(&findings, &map, &name(&path), &text);
                }
            }
        }
        let mut expected = expectations(&text);
        for (line, code, message) in found {
            let wanted = expected
                .iter()
                .position(|(l, c, part)| *l == line && *c == code && message.contains(part.as_str()));
            match wanted {
                Some(position) => {
                    expected.remove(position);
                }
                None => {
                    let _ = writeln!(failures, "{}:{line}: unexpected {code} {message}", name(&path));
                }
            }
        }
        for (line, code, part) in expected {
            let _ = writeln!(failures, "{}:{line}: missing {code} {part}", name(&path));
        }
        let beside = path.with_extension("txt");
        if beside.exists() {
            expect(&beside, &rendered, &mut failures);
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn optimisations() {
    let mut failures = String::new();
    for path in files("opt") {
        let text = std::fs::read_to_string(&path).unwrap();
        let (program, _) = parse(&text).unwrap_or_else(|errors| panic!("{}: {errors:?}", name(&path)));
        let checked = check(program).unwrap_or_else(|findings| panic!("{}: {findings:?}", name(&path)));
        let first = text.lines().next().unwrap_or_default();
        let result = match first.strip_prefix("// passes:") {
            None => optimize(&checked),
            Some(list) => list.split(',').map(str::trim).fold(checked, |program, wanted| {
                let pass = PASSES.iter().find(|pass| pass.name == wanted);
                pass.unwrap_or_else(|| panic!("{}: no pass `{wanted}`", name(&path))).run(&program)
            }),
        };
        expect(&path.with_extension("opt"), &print(&result), &mut failures);
    }
    assert!(failures.is_empty(), "{failures}");
}
