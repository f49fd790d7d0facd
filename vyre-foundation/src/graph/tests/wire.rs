//! The wire form: that encoding and decoding are inverse, and what damaged bytes give.

use super::*;
use crate::graph::wire::{GraphWireError, MAGIC, VERSION, decode, encode};
use crate::wire::WireError;

/// The bytes with their hash: what a writer that is not ours might give.
fn seal(bytes: &[u8]) -> Vec<u8> {
    [bytes, blake3::hash(bytes).as_bytes()].concat()
}

/// An encoded graph's bytes without their hash.
fn unsealed(graph: &ProgramGraph) -> Vec<u8> {
    let mut bytes = encode(graph);
    bytes.truncate(bytes.len() - 32);
    bytes
}

/// The graph that gives back its input, written by hand from docs/WIRE.md.
const SAME: [u8; 29] = [
    b'V', b'Y', b'R', b'G', 1, 0, 0, 0, // magic, version
    1, b'g', // name
    0,    // params
    1, 1, 1, b'n', // one dimension, the symbol `n`
    0,    // programs
    1, 1, b'x', 5, 1, 0, 1, // one value: name, u32, one axis, dimension 0, an input
    0, // nodes
    1, 1, b'o', 0, // one output: name, value 0
    0, // one byte too many
];

#[test]
fn the_layout_is_the_documented_one() {
    assert_eq!((MAGIC, VERSION), (*b"VYRG", 1));
    let g = GraphBuilder::new("g");
    let x = g.input::<u32>("x", [g.dim("n")]);
    g.output("o", x);
    let same = g.finish().unwrap();
    assert_eq!(unsealed(&same), SAME[..28]);
    let fill = Kernel::build("f", |k| {
        let v = k.param::<u32>("v");
        let out = k.write_only::<u32>("out", 2);
        k.domain([2], |[i]| out.store(i, v));
    })
    .unwrap();
    let program = crate::wire::encode(&fill);
    let program = &program[..program.len() - 32];
    let g = GraphBuilder::new("h");
    let w = g.constant("w", &[7u8]);
    let s = g.retained::<u32>("s", [2]);
    let filled = g.node(&fill).named("a").giving(["b"]).call((300u32,)).unwrap();
    g.update(s, filled);
    let _ = w;
    let by_hand = [
        b"VYRG\x01\0\0\0\x01h\0",
        &[2, 0, 1, 0, 2][..], // dimensions 1 and 2
        &[1, program.len() as u8],
        program,
        &[2, 1, b'w', DataType::U8.tag(), 1, 0, 0, 1, 7], // w: u8, one axis of dimension 0, a constant of one byte
        &[1, b's', 5, 1, 1, 2, 3], // s: u32, one axis of dimension 1, retained, becomes value 2
        &[1, 1, b'a', 0, 1, b'b'], // one node: name, program 0, its output's name
        &[0, 5, 0xAC, 0x02, 0, 0], // the literal 300u32, no counts, no outputs
    ];
    assert_eq!(unsealed(&g.finish().unwrap()), by_hand.concat());
}

#[test]
fn decoding_undoes_encoding() {
    let graph = everything();
    let decoded = decode(&encode(&graph)).unwrap();
    assert_eq!(decoded, graph);
    // What follows from the declarations is the same too.
    assert_eq!(decoded.requirements(), graph.requirements());
    assert_eq!(decoded.id(), graph.id());
    assert!(graph.node_ids().all(|id| decoded.extents(id) == graph.extents(id)));
    assert_eq!(graph.id().as_bytes()[..], encode(&graph)[encode(&graph).len() - 32..]);
}

#[test]
fn each_kind_of_damage_has_its_error() {
    let decoded = |bytes: &[u8]| decode(&seal(bytes)).unwrap_err();
    let same = &SAME[..28];
    assert_eq!(decode(b"VYRE"), Err(GraphWireError::Magic));
    assert_eq!(decode(b"VYRG\x02\0\0\0"), Err(GraphWireError::Version { found: 2, reads: 1 }));
    let short = WireError::Truncated { offset: 28, what: "the content hash" };
    assert_eq!(decode(same), Err(short.into()));
    let mut bytes = seal(same);
    bytes[9] = b'q';
    assert_eq!(decode(&bytes), Err(GraphWireError::Checksum { len: 28 }));
    let with = |at: usize, new: &[u8]| decoded(&[&same[..at], new, &same[at + 1..]].concat());
    assert_eq!(decoded(&SAME), GraphWireError::Trailing { offset: 28, count: 1 });
    assert_eq!(with(12, &[9]), WireError::Tag { offset: 12, what: "dimension", tag: 9 }.into());
    // The first dimension reads the one before it.
    let before = WireError::Dangling { offset: 13, what: "dimension", index: 1, count: 0 };
    assert_eq!(with(12, &[3]), before.into());
    let dangling = WireError::Dangling { offset: 27, what: "value", index: 1, count: 1 };
    assert_eq!(with(27, &[1]), dangling.into());
    assert_eq!(with(20, &[9]), WireError::Number { offset: 20, what: "a shape's axes" }.into());
    assert!(matches!(with(9, b"1"), GraphWireError::Wrong(found) if found[0].code == Code::BadName));
    // A second dimension that nothing uses.
    let unused = [&same[..11], &[2, 1, 1, b'n', 0, 7], &same[15..]].concat();
    assert_eq!(decoded(&unused), GraphWireError::NotCanonical { offset: 11 });
}

#[test]
fn damaged_bytes_are_refused_or_another_graph() {
    let bytes = unsealed(&everything());
    let check = |damaged: Vec<u8>| {
        if let Ok(graph) = decode(&seal(&damaged)) {
            assert_eq!(unsealed(&graph), damaged);
        }
        assert!(decode(&damaged).is_err());
    };
    for at in 0..bytes.len() {
        assert!(decode(&seal(&bytes[..at])).is_err(), "cut at {at}");
        for flip in [1, 2, 0x80, 0xFF] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            check(damaged);
        }
        let mut inserted = bytes.clone();
        inserted.insert(at, bytes[at]);
        check(inserted);
    }
}

#[test]
fn long_graphs_are_encoded_in_linear_time() {
    let saxpy = saxpy();
    let g = GraphBuilder::new("long");
    let mut y = g.input::<f32>("x", [g.dim("n")]);
    for _ in 0..10_000 {
        y = g.call(&saxpy, (1.0f32, y, y)).unwrap();
    }
    g.output("y", y);
    let graph = g.finish().unwrap();
    assert_eq!(decode(&encode(&graph)).unwrap(), graph);
}

#[test]
fn findings_about_many_nodes_are_cut() {
    let saxpy = saxpy();
    let g = GraphBuilder::new("many");
    let x = g.input::<f32>("many_x", [g.dim("n")]);
    for _ in 0..300 {
        g.call(&saxpy, (1.0f32, x, x)).unwrap();
    }
    let mut bytes = unsealed(&g.finish().unwrap());
    let at = bytes.windows(6).position(|window| window == b"many_x").unwrap() + 6;
    assert_eq!(std::mem::replace(&mut bytes[at], DataType::U32.tag()), DataType::F32.tag());
    let Err(GraphWireError::Wrong(findings)) = decode(&seal(&bytes)) else { panic!("it is accepted") };
    // Two of each node: both of its inputs.
    assert_eq!(findings.len(), 100);
    assert!(findings.iter().all(|finding| finding.code == Code::GraphType));
    assert_eq!(findings[99].site, GraphSite::Node(GraphNodeId::new(49)));
}
