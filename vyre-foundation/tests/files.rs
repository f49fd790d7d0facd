//! File tests: programs in text form, with what is expected of them beside or inside.
//!
//! * `tests/ir/check/*.vyre` are checked. Each finding is expected by a comment on its line,
//!   `//~ CODE part of the message`; a file without any is accepted. A `.txt` beside it has the findings as
//!   rendered.
//! * `tests/ir/opt/*.vyre` are optimised, by the passes that a first line `// passes: a, b` names or else by
//!   the whole table; a `.opt` beside each has the result's text.
//! * `tests/ir/sanitize/*.vyre` are run by the reference machine with its sanitizer, on zeros, eight words for
//!   each input. Each report is expected as the findings of a check are; a `.txt` beside likewise. In other orders
//!   of invocations the same kinds of faults are found, and none in a program that has none.
//!
//! With `UPDATE_EXPECT=1` in the environment, files beside are written instead of compared.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by a panic")]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use vyre_foundation::check::{Checked, check};
use vyre_foundation::diag;
use vyre_foundation::ir::Program;
use vyre_foundation::launch::Params;
use vyre_foundation::machine::{MachineOptions, Report, Schedule, run};
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

/// Compares findings with what a file's comments expect.
fn compare(path: &Path, text: &str, found: Vec<Line>, failures: &mut String) {
    let mut expected = expectations(text);
    for (line, code, message) in found {
        let wanted = expected
            .iter()
            .position(|(l, c, part)| *l == line && *c == code && message.contains(part.as_str()));
        match wanted {
            Some(position) => {
                expected.remove(position);
            }
            None => {
                let _ = writeln!(failures, "{}:{line}: unexpected {code} {message}", name(path));
            }
        }
    }
    for (line, code, part) in expected {
        let _ = writeln!(failures, "{}:{line}: missing {code} {part}", name(path));
    }
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
        compare(&path, &text, found, &mut failures);
        let beside = path.with_extension("txt");
        if beside.exists() {
            expect(&beside, &rendered, &mut failures);
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

/// What the sanitizer reports of a run on zeros.
fn sanitized(program: &Checked<Program>, schedule: Schedule) -> Vec<Report> {
    let zeros = [0; 32];
    let inputs: Vec<&[u8]> =
        program.buffers().iter().filter(|b| b.access.is_input()).map(|_| &zeros[..]).collect();
    let options =
        MachineOptions { sanitize: true, schedule, step_budget: Some(10_000), ..MachineOptions::default() };
    run(program, &Params::new(), &inputs, &options).unwrap().reports
}

#[test]
fn sanitizer() {
    let mut failures = String::new();
    for path in files("sanitize") {
        let text = std::fs::read_to_string(&path).unwrap();
        let (program, map) = parse(&text).unwrap_or_else(|errors| panic!("{}: {errors:?}", name(&path)));
        let checked = check(program).unwrap_or_else(|findings| panic!("{}: {findings:?}", name(&path)));
        let reports = sanitized(&checked, Schedule::InOrder);
        let line_of = |byte: usize| 1 + text[..byte].matches('\n').count();
        let diagnostics: Vec<_> = reports.iter().map(|report| report.diagnostic(&checked)).collect();
        let found = diagnostics.iter().map(|finding| {
            let line = line_of(map.span(finding.site).range().start);
            (line, finding.code.to_string(), finding.message.clone())
        });
        compare(&path, &text, found.collect(), &mut failures);
        let beside = path.with_extension("txt");
        if beside.exists() {
            expect(&beside, &diag::render(&diagnostics, &map, &name(&path), &text), &mut failures);
        }
        let codes = |reports: &[Report]| {
            reports.iter().map(|report| report.diagnostic(&checked).code.to_string()).collect::<BTreeSet<_>>()
        };
        for seed in 0..8 {
            // An unordered load may also come before what it raced with was written.
            let (here, other) = (codes(&reports), codes(&sanitized(&checked, Schedule::Seeded(seed))));
            if !other.is_superset(&here) || here.is_empty() && !other.is_empty() {
                let _ = writeln!(failures, "{}: seed {seed} finds {other:?}", name(&path));
            }
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
