//! Translation validation: each pass alone on random programs, as they are drawn and as the passes before it in the table
//! leave them, against the reference machine.
//!
//! `VYRE_OPT_SEEDS=N` tries N programs of each kind for each pass instead of a few hundred.

use super::{PASSES, Pass};
use crate::machine::{MachineOptions, Schedule};
use crate::testing::{GenConfig, GeneratedCase, Launches, generate, shrink};
use vyre_spec::Comparison;

/// The kinds of programs. An optimisation may change a NaN's payload, so none may show: all are exact.
fn kinds() -> [GenConfig; 4] {
    let workgroups = GenConfig { launches: Launches::Workgroups, ..GenConfig::default() };
    [
        GenConfig { subnormals: true, ..GenConfig::default() },
        GenConfig { subgroup_size: Some(4), traps: true, nodes: 80, ..workgroups.clone() },
        GenConfig { grid_barriers: true, ..workgroups },
        // Expressions of few types meet each other more often.
        GenConfig {
            types: vyre_spec::TypeSet::of(&[vyre_spec::DataType::I32, vyre_spec::DataType::F32]),
            depth: 5,
            max_trips: 12,
            ..GenConfig::default()
        },
    ]
}

fn seeds() -> u64 {
    std::env::var("VYRE_OPT_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(120)
}

/// Whether the pass changed the case, or how the results differ.
fn validate(pass: &Pass, case: &GeneratedCase) -> Result<bool, String> {
    let options =
        MachineOptions { subgroup_size: case.subgroup_size, threads: 1, ..MachineOptions::default() };
    let Some(program) = pass.change(&case.program) else { return Ok(false) };
    let changed = GeneratedCase { program, ..case.clone() };
    let want = case.run(&options).map_err(|error| error.to_string())?;
    // Another order of invocations, so that a pass that breaks the order of accesses shows.
    let options = MachineOptions { schedule: Schedule::Seeded(case.seed), ..options };
    let got = changed.run(&options).map_err(|error| format!("after: {error}"))?;
    if want.trap.is_some() != got.trap.is_some() {
        return Err(format!("trap {:?} became {:?}", want.trap, got.trap));
    }
    let same = case.compare(Comparison::EXACT, &want.outputs, &got.outputs);
    same.map_err(|(name, mismatch)| format!("{name}: {mismatch}")).map(|()| true)
}

fn fail(pass: &Pass, case: GeneratedCase, fault: &str) -> ! {
    let seed = case.seed;
    let small = shrink(case, &mut |case| validate(pass, case).is_err());
    let [before, after] =
        [&small.program, &pass.run(&small.program)].map(|program| crate::text::print(program));
    panic!("{} on seed {seed}: {fault}; shrunk:\n{before}\nafter:\n{after}", pass.name)
}

#[test]
fn every_pass_alone_keeps_what_random_programs_mean() {
    let mut changed = vec![0u64; PASSES.len()];
    for config in kinds() {
        for seed in 0..seeds() {
            let drawn = generate(seed, &config);
            let mut reached = drawn.clone();
            for (pass, changed) in PASSES.iter().zip(&mut changed) {
                for case in [&drawn, &reached] {
                    match validate(pass, case) {
                        Ok(did) => *changed += u64::from(did),
                        Err(fault) => fail(pass, case.clone(), &fault),
                    }
                }
                reached.program = pass.run(&reached.program);
            }
        }
    }
    let counts: Vec<_> = PASSES.iter().map(|pass| pass.name).zip(&changed).collect();
    println!("programs changed of {} by each pass: {counts:?}", 8 * seeds());
    // A pass that never does anything is not tried.
    for (name, count) in counts {
        assert!(*count * 100 >= seeds(), "{name} changed only {count} of {} programs", 8 * seeds());
    }
}
