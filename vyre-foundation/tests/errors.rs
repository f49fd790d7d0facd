//! The page of diagnostic codes: for each, a small program that has the fault, the message as it is printed,
//! and the remedy in it.
//!
//! `tests/ir/errors/CODE.vyre` is read, checked and, where it passes, run by the reference machine with its
//! sanitizer on 8 elements for each buffer. With `UPDATE_EXPECT=1` in the environment the page is written
//! instead of compared.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by a panic")]

use std::fmt::Write;
use std::path::Path;

use vyre_foundation::build::{BuildError, Kernel};
use vyre_foundation::check::check;
use vyre_foundation::diag::{self, Code, Diagnostic};
use vyre_foundation::graph::{GraphBuilder, GraphError};
use vyre_foundation::launch::Params;
use vyre_foundation::machine::{MachineOptions, run};
use vyre_foundation::text::{parse, parse_graph};

const INTRODUCTION: &str = "\
# Diagnostic codes

What the parser, the builder and the checker find in a program, and what the reference machine sees in a run
(`V06xx`; `vyre-wgpu check FILE --run`). Codes are stable: one is never given another meaning. This page is
generated from the table in `vyre_foundation::diag` and from small programs that each have one fault; the test
`errors` of vyre-foundation compares it with what is printed.
";

/// What a sample's program gives.
fn printed(code: Code, text: &str) -> String {
    let name = format!("{code}.vyre");
    let mut codes = Vec::new();
    let mut message = String::new();
    let is_graph = text.lines().any(|line| line.starts_with("graph "));
    let parsed = if is_graph { Err(parse_graph(text).unwrap_err()) } else { parse(text) };
    match parsed {
        Err(errors) => {
            for error in errors {
                codes.push(error.code);
                message += &error.render(&name, text);
            }
        }
        Ok((program, map)) => {
            let findings = check(program).map_or_else(|findings| findings, |checked| reports(&checked));
            codes = findings.iter().map(|finding| finding.code).collect();
            message = diag::render(&findings, &map, &name, text);
        }
    }
    assert_eq!(codes, [code], "{name}: it has this fault and no other\n{message}");
    assert!(message.contains("help: "), "{name}: the message has no remedy\n{message}");
    message
}

/// What the sanitizer sees in a run on zeros.
fn reports(program: &vyre_foundation::check::Checked<vyre_foundation::ir::Program>) -> Vec<Diagnostic> {
    let zeros = [0; 32];
    let inputs: Vec<&[u8]> =
        program.buffers().iter().filter(|b| b.access.is_input()).map(|_| &zeros[..]).collect();
    let options = MachineOptions { sanitize: true, step_budget: Some(1000), ..MachineOptions::default() };
    let outcome = run(program, &Params::new(), &inputs, &options).unwrap();
    outcome.reports.iter().map(|report| report.diagnostic(program)).collect()
}

/// A kernel that uses a handle of another: the one fault that only Rust can have. The page shows these lines.
fn mixed() -> BuildError {
    // [mixed]
    let mut inner = None;
    let outer = Kernel::build("outer", |k| {
        let n = k.param::<u32>("n");
        inner = Some(Kernel::build("inner", |k| {
            let out = k.read_write::<u32>("out");
            k.domain([out.len()], |[i]| out.store(i, n));
        }));
        k.domain([1], |[_]| {});
    });
    // [end]
    assert!(outer.is_ok());
    inner.unwrap().unwrap_err()
}

/// A retained value that is updated twice, which the text has no words for.
fn updated_twice() -> GraphError {
    // [twice]
    let g = GraphBuilder::new("counter");
    let seen = g.retained::<u32>("seen", [4]);
    let next = g.input::<u32>("next", [4]);
    g.update(seen, next);
    g.update(seen, seen);
    // [end]
    g.finish().unwrap_err()
}

/// The lines of this file after a mark, and the message without what may change: the lines that it names.
fn rust_sample(mark: &str, message: &str) -> Option<String> {
    let source = include_str!("errors.rs");
    let shown = source.split(&format!("// [{mark}]\n")).nth(1)?.split("    // [end]").next()?;
    let shown = shown.lines().map(|line| line.strip_prefix("    ").unwrap_or(line)).collect::<Vec<_>>();
    let message = message.lines().filter(|line| !line.trim_start().starts_with("at "));
    let message = message.collect::<Vec<_>>().join("\n");
    Some(format!("```rust,ignore\n{}\n```\n\n```text\n{message}\n```", shown.join("\n")))
}

/// What the page has for a code whose fault no text can have.
fn without_program(code: Code) -> Option<String> {
    match code {
        Code::MixedBuilders => {
            let error = mixed();
            assert!(error.diagnostics().all(|d| d.code == code && d.help.is_some()));
            Some(rust_sample("mixed", &error.to_string())?)
        }
        Code::DivergenceSeen => Some(
            "No program that the checker accepts is known to give it: barriers and subgroup ops in divergent flow \
             are refused before a run (V0302, V0303). The machine watches all the same.\n\nhelp: Move it out of the \
             divergent branch or loop."
                .into(),
        ),
        Code::GraphUpdate => {
            let error = updated_twice();
            assert!(error.diagnostics().all(|d| d.code == code && d.help.is_some()));
            Some(rust_sample("twice", &error.to_string())?)
        }
        _ => None,
    }
}

#[test]
fn every_code_has_its_program_message_and_remedy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut page = String::from(INTRODUCTION);
    for &code in Code::ALL {
        let _ = write!(page, "\n## {code} {code:?}\n\n{}\n", code.summary());
        let sample = root.join(format!("tests/ir/errors/{code}.vyre"));
        match std::fs::read_to_string(&sample) {
            Ok(text) => {
                let message = printed(code, &text);
                let (text, message) = (text.trim_end(), message.trim_end());
                let _ = write!(page, "\n```text\n{text}\n```\n\n```text\n{message}\n```\n");
            }
            Err(_) => {
                let why = without_program(code).unwrap_or_else(|| panic!("{code} has no sample"));
                let _ = write!(page, "\n{why}\n");
            }
        }
    }
    let path = root.join("../docs/ERRORS.md");
    if std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1") {
        std::fs::write(&path, &page).unwrap();
    }
    let current = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(current == page, "docs/ERRORS.md is out of date: run this test with UPDATE_EXPECT=1");
}
