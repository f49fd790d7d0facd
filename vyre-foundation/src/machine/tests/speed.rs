//! How fast the machine is; printed, never asserted.

use std::time::Instant;

use crate::build::Kernel;
use crate::launch::Params;
use crate::machine::{MachineOptions, run};

#[test]
#[ignore = "a measurement: cargo test -p vyre-foundation --lib speed -- --ignored --nocapture"]
fn operations_per_second() {
    let program = Kernel::build("test", |k| {
        let out = k.write_only::<u32>("out", 1000);
        k.domain([1000], |[i]| {
            let v = k.var("v", i);
            k.for_(0u32, 1000u32, |n| v.set((v.get() * 1_664_525u32 + n) ^ (n >> 3u32)));
            out.store(i, v.get());
        });
    })
    .unwrap();
    let options = MachineOptions { threads: 1, ..MachineOptions::default() };
    let start = Instant::now();
    let outcome = run(&program, &Params::new(), &[], &options).unwrap();
    let seconds = start.elapsed().as_secs_f64();
    // Four ops a trip.
    println!("{:.0} million ops per second ({} bytes)", 4.0 / seconds, outcome.outputs[0].len());
}
