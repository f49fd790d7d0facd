//! Any text is read or refused; what is read prints to a text that reads as the same program, and is checked and, where
//! it is accepted, run in bounded time and memory.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vyre_foundation::check::check;
use vyre_foundation::launch::Params;
use vyre_foundation::machine::{MachineOptions, run};
use vyre_foundation::{text, wire};

fuzz_target!(|source: &str| {
    let Ok((program, _)) = text::parse(source) else { return };
    let printed = text::print(&program);
    let (again, _) = text::parse(&printed).expect("what is printed is read");
    assert!(again == program, "the text holds the program");
    assert!(wire::decode(&wire::encode(&program)).is_ok_and(|decoded| decoded == program), "so do the bytes");
    let Ok(checked) = check(program) else { return };
    let options = MachineOptions {
        step_budget: Some(10_000),
        memory_limit: 16 << 20,
        sanitize: true,
        ..MachineOptions::default()
    };
    let input = [0x5a; 64];
    let inputs: Vec<&[u8]> =
        checked.buffers().iter().filter(|buffer| buffer.access.is_input()).map(|_| &input[..]).collect();
    // Parameters are missing and lengths may not fit, which is an error like any other.
    let _ = run(&checked, &Params::new(), &inputs, &options);
});
