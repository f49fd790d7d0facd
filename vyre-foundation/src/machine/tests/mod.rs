//! Tests of the reference machine. Expected values are worked out by hand.

mod control;
mod launches;
mod memory;
mod sanitizer;
mod tiles;
mod waiting;

use super::{MachineOptions, Outcome, Schedule, run};
use crate::build::{Kernel, Val};
use crate::check::Checked;
use crate::ir::Program;
use crate::launch::Params;

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect()
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// Runs in order and under several seeds, sanitized and not; all must agree, without reports.
fn run_clean(program: &Checked<Program>, params: &Params, inputs: &[&[u32]]) -> Outcome {
    let owned: Vec<Vec<u8>> = inputs.iter().map(|i| bytes(i)).collect();
    let inputs: Vec<&[u8]> = owned.iter().map(Vec::as_slice).collect();
    let first = run(program, params, &inputs, &MachineOptions::default()).unwrap();
    for schedule in [Schedule::InOrder, Schedule::Seeded(1), Schedule::Seeded(2)] {
        for sanitize in [false, true] {
            let options = MachineOptions { schedule, sanitize, ..MachineOptions::default() };
            assert_eq!(run(program, params, &inputs, &options).unwrap(), first, "{options:?}");
        }
    }
    first
}

/// The words of the first output, where nothing trapped.
fn output(outcome: &Outcome) -> Vec<u32> {
    assert_eq!(outcome.trap, None);
    words(&outcome.outputs[0])
}

/// A domain of `points` with an output of as many words, to which `value` gives each point's.
fn per_point(points: u32, value: impl for<'k> FnOnce(&'k Kernel, Val<'k, u32>) -> Val<'k, u32>) -> Vec<u32> {
    let program = Kernel::build("test", |k| {
        let out = k.write_only::<u32>("out", u64::from(points));
        k.domain([u64::from(points)], |[i]| out.store(i, value(k, i)));
    })
    .unwrap();
    output(&run_clean(&program, &Params::new(), &[]))
}
