//! The wire form: that encoding and decoding are inverse, and what damaged bytes give.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod samples;

use samples::{EVERYTHING, REFUSED, body};
use vyre_foundation::ir::{Arena, Program};
use vyre_foundation::text::{parse, print};
use vyre_foundation::wire::{MAGIC, VERSION, WireError, decode, encode};

fn program(text: &str) -> Program {
    match parse(text) {
        Ok((program, _)) => program,
        Err(errors) => panic!("{}", errors[0]),
    }
}

/// The bytes with their hash: what a writer that is not ours might give.
fn seal(bytes: &[u8]) -> Vec<u8> {
    [bytes, blake3::hash(bytes).as_bytes()].concat()
}

/// An encoded program's bytes without their hash.
fn unsealed(program: &Program) -> Vec<u8> {
    let mut bytes = encode(program);
    bytes.truncate(bytes.len() - 32);
    bytes
}

/// The empty program of the name `p`, written by hand from docs/WIRE.md.
const EMPTY: [u8; 26] = [
    b'V', b'Y', b'R', b'E', 2, 0, 0, 0, // magic, version
    1, b'p', // name
    0, 0, 0, 0, 0, 0, // params, buffers, shared and private arrays, tiles, variables
    1, 0, 1, // one extent, the literal 1
    0, 1, 0, 0, 0, // a domain of one axis
    0, // expressions
    0, // the end of the body
];

#[test]
fn the_layout_is_the_documented_one() {
    assert_eq!((MAGIC, VERSION), (*b"VYRE", 2));
    let empty = Arena::new("p").finish().unwrap().0;
    assert_eq!(unsealed(&empty), EMPTY);
    let p = program("program q { buffer b: readwrite u32[300]; launch domain(1) { store b[1] = -(1); } }");
    let by_hand = [
        &[b'V', b'Y', b'R', b'E', 2, 0, 0, 0, 1, b'q', 0][..],
        &[1, 1, b'b', 5, 1, 1], // one buffer: name, u32, read-write, extent 0
        &[0, 0, 0, 0],
        &[2, 0, 0xAC, 0x02, 0, 1], // extents 300 and 1
        &[0, 1, 1, 1, 1],
        &[2, 0, 5, 1, 6, 1, 1], // the literal 1u32, and neg of the expression one before
        &[2, 0, 0, 0, 1, 0],    // a store to buffer 0 of expression 1 at expression 0, the end
    ]
    .concat();
    assert_eq!(unsealed(&p), by_hand);
    assert_eq!(decode(&seal(&by_hand)).unwrap(), p);
}

#[test]
fn a_coherent_buffer_is_one_bit() {
    let text = |word| {
        format!("program q {{ buffer b: readwrite {word} u32[]; launch domain(1) {{ store b[0] = 1; }} }}")
    };
    let (plain, coherent) = (program(&text("")), program(&text("coherent")));
    let (a, b) = (unsealed(&plain), unsealed(&coherent));
    let different: Vec<_> = a.iter().zip(&b).filter(|(a, b)| a != b).collect();
    assert_eq!(different, [(&1, &0x81)]);
    assert_eq!(decode(&seal(&b)).unwrap(), coherent);
    assert_ne!(plain, coherent);
}

#[test]
fn decoding_undoes_encoding() {
    for statements in [EVERYTHING].iter().chain(&REFUSED) {
        let p = program(&body(statements));
        assert_eq!(decode(&encode(&p)).unwrap(), p, "{statements}");
    }
}

#[test]
fn equal_programs_have_one_id_and_others_another() {
    let a = program(&body("let i = global_id.x; store h[i] = i * i;"));
    let b = program(&body("store h[global_id.x] = global_id.x * global_id.x; // the same\n"));
    let c = program(&body("store h[global_id.x] = global_id.x * global_id.y;"));
    assert_eq!(a.id(), b.id());
    assert_ne!(a.id(), c.id());
    let bytes = encode(&a);
    assert_eq!(a.id().as_bytes()[..], bytes[bytes.len() - 32..]);
    assert_eq!(a.id().to_string().len(), 64);
}

#[test]
fn each_kind_of_damage_has_its_error() {
    let decoded = |bytes: &[u8]| decode(&seal(bytes)).unwrap_err();
    assert_eq!(decode(b""), Err(WireError::Magic));
    assert_eq!(decode(b"VYRE\x01\0\0\0"), Err(WireError::Version { found: 1, reads: 2 }));
    assert_eq!(decode(&EMPTY), Err(WireError::Truncated { offset: 26, what: "the content hash" }));
    let mut bytes = seal(&EMPTY);
    bytes[9] = b'q';
    assert_eq!(decode(&bytes), Err(WireError::Checksum { len: 26 }));
    let with = |at: usize, new: &[u8]| [&EMPTY[..at], new, &EMPTY[at + 1..]].concat();
    assert_eq!(decoded(&EMPTY[..25]), WireError::Truncated { offset: 25, what: "the body" });
    assert_eq!(decoded(&[&EMPTY[..], &[0, 0]].concat()), WireError::Trailing { offset: 26, count: 2 });
    // 1 in two bytes; a count that the bytes cannot hold; a name that is not UTF-8; a tag that means nothing.
    assert_eq!(decoded(&with(8, &[0x81, 0])), WireError::Number { offset: 8, what: "a name's length" });
    let count = WireError::Count { offset: 24, what: "expressions", count: u32::MAX, left: 1 };
    assert_eq!(decoded(&with(24, &[0xFF, 0xFF, 0xFF, 0xFF, 0x0F])), count);
    assert_eq!(decoded(&with(9, &[0xFF])), WireError::Utf8 { offset: 8 });
    assert_eq!(decoded(&with(19, &[9])), WireError::Tag { offset: 19, what: "launch", tag: 9 });
    let dangling = WireError::Dangling { offset: 21, what: "extent", index: 7, count: 1 };
    assert_eq!(decoded(&with(21, &[7])), dangling);
    // An expression that nothing uses.
    assert_eq!(decoded(&with(24, &[1, 0, 5, 1])), WireError::NotCanonical { offset: 24 });
    // An extent that is given twice.
    assert_eq!(
        decoded(&[&EMPTY[..16], &[2, 0, 1, 0, 1, 0, 1, 0, 0, 1, 0, 0]].concat()),
        WireError::NotCanonical { offset: 16 }
    );
}

/// Damaged bytes are refused, or are the one encoding of another program.
fn survives(bytes: &[u8]) -> bool {
    match decode(bytes) {
        Ok(program) => {
            assert_eq!(encode(&program), bytes);
            // What the checker would refuse can still be printed.
            print(&program);
            true
        }
        Err(error) => {
            let offset = error.offset();
            assert!(
                offset.is_some_and(|offset| offset <= bytes.len())
                    || error == WireError::Magic
                    || matches!(error, WireError::Version { .. }),
                "{error:?}"
            );
            false
        }
    }
}

#[test]
fn no_damage_to_the_bytes_is_believed_or_fatal() {
    let bytes = unsealed(&program(&body(EVERYTHING)));
    let sealed = seal(&bytes);
    let mut tried = 0;
    let mut other_programs = 0;
    let mut check = |bytes: &[u8]| {
        tried += 1;
        other_programs += u32::from(survives(&seal(bytes)));
    };
    for at in 0..bytes.len() {
        check(&bytes[..at]);
        let mut damaged = bytes.clone();
        damaged.remove(at);
        check(&damaged);
        for value in [0, 1, 2, 7, 0x7F, 0x80, 0x81, 0xFF] {
            let mut damaged = bytes.clone();
            damaged.insert(at, value);
            check(&damaged);
            damaged = bytes.clone();
            damaged[at] = value;
            check(&damaged);
        }
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            check(&damaged);
            // Without a new hash, a single wrong bit is always found.
            let mut unchecked = sealed.clone();
            unchecked[at] ^= 1 << bit;
            assert!(decode(&unchecked).is_err());
        }
        if at + 4 <= bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at..at + 4].reverse();
            check(&damaged);
        }
    }
    assert!(tried > 10_000, "{tried}");
    // The damage is not all caught at the first byte: some of it makes other programs.
    assert!(other_programs > 100, "{other_programs}");
}

#[test]
fn depth_is_no_matter() {
    let n = 100_000;
    let text = body(&format!(
        "store z[0] = {}s{}; {}{}",
        "-(".repeat(n),
        ")".repeat(n),
        "if n < 3 { ".repeat(n),
        "}".repeat(n)
    ));
    let run = move || {
        let p = program(&text);
        assert!(decode(&encode(&p)).unwrap() == p);
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap().join().unwrap();
}
