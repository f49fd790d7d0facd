//! The check that each documented method has a test which calls it.

use std::fs;
use std::path::Path;

use crate::methods::{METHODS, calls};

/// The files whose tests the table names.
const FILES: [&str; 5] = ["backend", "inherent", "optimizer", "residents", "views"];

/// The text of a test function, up to the next one.
fn test_body<'a>(sources: &'a str, name: &str) -> Option<&'a str> {
    let from = sources.find(&format!("#[test]\nfn {name}() {{"))?;
    let rest = &sources[from + 1..];
    Some(&rest[..rest.find("\n#[test]").unwrap_or(rest.len())])
}

#[test]
fn the_documents_table_names_a_test_that_calls_each_method() {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let document = fs::read_to_string(crate_dir.join("../docs/testing/vyre-driver-wgpu.md")).unwrap();
    let read =
        |file: &str| fs::read_to_string(crate_dir.join(format!("tests/api_surface/{file}.rs"))).unwrap();
    let sources: String = FILES.map(read).join("\n");
    let rows: Vec<(&str, &str)> = document
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.strip_suffix("` |")?.split_once("` | `"))
        .filter(|(method, _)| method.contains("::"))
        .collect();
    let mut listed = 0;
    for (owner, methods) in METHODS {
        for method in *methods {
            let name = format!("{owner}::{method}");
            let row = rows.iter().find(|(row, _)| *row == name);
            let (_, test) = row.unwrap_or_else(|| panic!("the table lacks `{name}`"));
            let body = test_body(&sources, test).unwrap_or_else(|| panic!("there is no test `{test}`"));
            let formatted = *owner == "Debug" && body.contains("{b:?}");
            assert!(calls(body, method) || formatted, "`{test}` does not call `{name}`");
            listed += 1;
        }
    }
    assert_eq!(rows.len(), listed, "the table has rows for methods that are not listed");
}

#[test]
fn every_method_is_held_to_its_documented_signature() {
    let text = include_str!("signatures.rs");
    let held = |owner: &str, method: &str| {
        let path = match owner {
            "WgpuBackend" => format!("WgpuBackend::{method}"),
            "Debug" => format!("<WgpuBackend as fmt::Debug>::{method}"),
            _ => format!("<WgpuBackend as {owner}>::{method}"),
        };
        text.contains(&format!("{path};")) || text.contains(&format!("{path}::<"))
    };
    for (owner, methods) in METHODS {
        let without: Vec<_> = methods.iter().filter(|method| !held(owner, method)).collect();
        assert!(without.is_empty(), "{owner}: {without:?}");
    }
}
