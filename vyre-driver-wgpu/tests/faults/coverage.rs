//! No method is forgotten: the tables here against the list of documented methods.

use std::collections::BTreeSet;

use crate::calls;
use crate::methods::{METHODS, calls as is_called};
use crate::states::LIFE;
use crate::steady::STEADY;

/// The calls that are swept beyond the documented methods: the core that these build on, and what the objects
/// that they give can do.
const BEYOND: &[&str] = &[
    "HostIngressStream::finish",
    "HostIngressStream::next_outputs",
    "HostIngressStream::push",
    "PendingDispatch::try_wait",
    "VyreBackend::allocate",
    "VyreBackend::allocate_retained",
    "VyreBackend::compile_checked",
    "VyreBackend::dispatch_checked",
    "VyreBackend::dispatch_pipeline_into",
    "VyreBackend::free",
    "VyreBackend::submit",
    "WgpuPipeline::dispatch",
    "WgpuPipeline::dispatch_into",
];

const SOURCES: &[&str] = &[
    include_str!("backend_calls.rs"),
    include_str!("resident_calls.rs"),
    include_str!("inherent_calls.rs"),
    include_str!("optimizer_calls.rs"),
    include_str!("steady.rs"),
    include_str!("states.rs"),
];

/// The text of a method's row: from its name to the next row. Rows of the last table are tests' own calls.
fn row(name: &str) -> String {
    let start = format!("\"{name}\"");
    let rest = SOURCES.iter().find_map(|text| text.split_once(&start)).map(|(_, rest)| rest);
    let rest = rest.unwrap_or_else(|| panic!("no text has {start}"));
    let end = rest.find("\n    (\"").unwrap_or(rest.len());
    // What a row's functions call is its own as well.
    let helpers =
        ["fn scan(", "fn empty("].map(|helper| rest.split_once(helper).map_or("", |(_, body)| body));
    let called = ["scan(b", "empty(b"].iter().zip(helpers).filter(|(call, _)| rest[..end].contains(*call));
    rest[..end].to_owned() + &called.map(|(_, body)| body).collect::<String>()
}

#[test]
fn every_documented_method_meets_the_faults() {
    let documented: BTreeSet<String> = METHODS
        .iter()
        .flat_map(|(owner, methods)| methods.iter().map(move |method| format!("{owner}::{method}")))
        .collect();
    let rows: Vec<&str> = calls::all()
        .map(|row| row.0)
        .chain(STEADY.iter().map(|row| row.0))
        .chain(LIFE.iter().map(|row| row.0))
        .collect();
    for name in &rows {
        let (owner, method) = name.split_once("::").unwrap();
        assert!(documented.contains(*name) || BEYOND.contains(name), "`{name}` is no method of the list");
        assert!(is_called(&row(name), method) || owner == "Debug", "the row of `{name}` does not call it");
    }
    let swept: BTreeSet<&str> = rows.iter().copied().collect();
    assert_eq!(swept.len(), rows.len(), "a method has two rows");
    let forgotten: Vec<_> = documented.iter().filter(|name| !swept.contains(name.as_str())).collect();
    assert!(forgotten.is_empty(), "{forgotten:?}");
    assert_eq!(swept.len(), documented.len() + BEYOND.len());
}
