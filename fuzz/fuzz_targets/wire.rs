//! Any bytes are a program or an error; a program has one form of bytes, and its text holds it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vyre_foundation::check::check;
use vyre_foundation::{text, wire};

fuzz_target!(|bytes: &[u8]| {
    let Ok(program) = wire::decode(bytes) else { return };
    assert!(wire::encode(&program) == bytes, "the bytes are canonical");
    let (again, _) = text::parse(&text::print(&program)).expect("what is printed is read");
    assert!(again == program, "the text holds the program");
    let _ = check(program);
});
