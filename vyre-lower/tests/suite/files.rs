//! File tests: programs in text form beside what lowering found about each of their accesses, divisions and
//! shifts, and on what contract. With `UPDATE_EXPECT=1` in the environment, the files are written.

use std::fmt::Write;
use std::path::Path;

use vyre_foundation::check::check;
use vyre_foundation::text::parse;
use vyre_lower::lower;
use vyre_spec::CompileOptions;

use crate::interpreter::profile;

/// A descriptor's contract, and of its instructions those that say why they need no guard, or do; without
/// the numbers of values, which say nothing.
fn findings(descriptor: &str) -> String {
    let mut text = String::new();
    for line in descriptor.lines().map(str::trim) {
        if let Some(condition) = line.strip_prefix("contract ") {
            let _ = writeln!(text, "contract {condition}");
        }
        let Some((inst, reason)) = line.split_once("  // ") else { continue };
        let inst = inst.split_once(" = ").map_or(inst, |(_, op)| op);
        let digits = |c: char| c.is_ascii_digit();
        let plain: String =
            inst.split('%').map(|part| part.trim_start_matches(digits)).collect::<Vec<_>>().join("%");
        let _ = writeln!(text, "{plain}: {reason}");
    }
    text
}

#[test]
fn accesses_are_proven_or_guarded_for_the_reason_given() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/access");
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "vyre"));
    files.sort();
    assert!(!files.is_empty());
    let mut failures = String::new();
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let (program, _) = parse(&text).unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
        let program = check(program).unwrap_or_else(|findings| panic!("{name}: {findings:?}"));
        let options = CompileOptions { launch_contract: true, ..CompileOptions::default() };
        let got = findings(&lower(&program, &profile(), &options).unwrap().to_string());
        let beside = path.with_extension("access");
        if std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1") {
            std::fs::write(beside, got).unwrap();
            continue;
        }
        let want = std::fs::read_to_string(beside).unwrap_or_default();
        if want != got {
            let _ = writeln!(failures, "{name}: want\n{want}\ngot\n{got}");
        }
    }
    assert!(failures.is_empty(), "{failures}");
}
