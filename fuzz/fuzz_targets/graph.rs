//! Any bytes are a graph or an error, as bytes and as text; a graph has one form of bytes, and its text holds it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vyre_foundation::graph::{ProgramGraph, wire};
use vyre_foundation::text;

fn holds(graph: &ProgramGraph) {
    let (again, _) = text::parse_graph(&text::print_graph(graph)).expect("what is printed is read");
    assert!(again == *graph, "the text holds the graph");
    assert!(wire::decode(&wire::encode(graph)).is_ok_and(|decoded| decoded == *graph), "so do the bytes");
}

fuzz_target!(|bytes: &[u8]| {
    if let Ok(graph) = wire::decode(bytes) {
        assert!(wire::encode(&graph) == bytes, "the bytes are canonical");
        holds(&graph);
    }
    let Ok(source) = std::str::from_utf8(bytes) else { return };
    if let Ok((graph, _)) = text::parse_graph(source) {
        holds(&graph);
    }
});
