//! Random programs, lowered and interpreted, against the reference machine.

use vyre_foundation::launch::resolve;
use vyre_foundation::machine::MachineOptions;
use vyre_foundation::testing::{GenConfig, GeneratedCase, Launches, generate, shrink};
use vyre_lower::kernel::{Op, Proof};
use vyre_lower::lower;
use vyre_spec::{Comparison, CompileOptions, DeviceProfile, Quirks};

use crate::interpreter::{execute, profile};

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// What a case gives when it is lowered, or how it fails.
fn lowered(
    case: &GeneratedCase,
    profile: &DeviceProfile,
    options: &CompileOptions,
) -> Result<Vec<Vec<u8>>, String> {
    let program = &case.program;
    let kernel = lower(program, profile, options).map_err(|error| error.to_string())?;
    let mut inputs = case.inputs.iter();
    let bytes: Vec<Option<&Vec<u8>>> = program
        .buffers()
        .iter()
        .map(|buffer| if buffer.access.is_input() { inputs.next() } else { None })
        .collect();
    let bound: Vec<_> = bytes.iter().map(|b| b.map(|b| b.len() as u64)).collect();
    let launch = resolve(program, &case.params, &bound, None).map_err(|error| error.to_string())?;
    let buffers: Vec<Vec<u32>> = bytes
        .iter()
        .zip(&launch.lengths)
        .map(|(bytes, &len)| bytes.map_or_else(|| vec![0; len as usize], |bytes| words(bytes)))
        .collect();
    let outcome = execute(&kernel, program, &case.params, &buffers, profile);
    let output = |words: &Vec<u32>| words.iter().flat_map(|w| w.to_le_bytes()).collect();
    Ok(program.outputs().map(|id| output(&outcome.buffers[id.index()])).collect())
}

fn agrees(case: &GeneratedCase, profile: &DeviceProfile, options: &CompileOptions) -> Result<(), String> {
    let machine =
        MachineOptions { subgroup_size: case.subgroup_size, threads: 1, ..MachineOptions::default() };
    let want = case.run(&machine).map_err(|error| error.to_string())?.outputs;
    let got = lowered(case, profile, options)?;
    case.compare(Comparison::EXACT, &want, &got).map_err(|(name, mismatch)| format!("{name}: {mismatch:?}"))
}

fn try_seeds(
    seeds: std::ops::Range<u64>,
    config: &GenConfig,
    profile: &DeviceProfile,
    options: &CompileOptions,
) {
    for seed in seeds {
        let case = generate(seed, config);
        if let Err(fault) = agrees(&case, profile, options) {
            let small = shrink(case, &mut |case| agrees(case, profile, options).is_err());
            panic!(
                "seed {seed}: {fault}; shrunk, {:?}:\n{:?}",
                agrees(&small, profile, options),
                small.program
            );
        }
    }
}

#[test]
fn random_programs_mean_the_same() {
    let config = GenConfig { subgroup_size: Some(4), subnormals: true, ..GenConfig::default() };
    try_seeds(0..600, &config, &profile(), &CompileOptions::default());
}

#[test]
fn random_programs_mean_the_same_on_a_device_with_quirks_and_a_folded_grid() {
    let quirks = Quirks {
        max_loop_iterations: Some(1 << 20),
        folds_literal_zero: true,
        splits_fma: true,
        folds_self_comparison: true,
        loses_large_divisors: true,
        loses_special_values: true,
        ..Quirks::default()
    };
    let profile = DeviceProfile { quirks, max_workgroups_per_axis: 3, ..profile() };
    let options = CompileOptions { fold_grid: true, ..CompileOptions::default() };
    let config = GenConfig { launches: Launches::Both, max_invocations: 20, ..GenConfig::default() };
    try_seeds(10_000..10_200, &config, &profile, &options);
}

#[test]
fn some_accesses_of_random_programs_are_proven() {
    let config = GenConfig::default();
    let (mut proven, mut guarded) = (0, 0);
    for seed in 0..100 {
        let case = generate(seed, &config);
        let kernel = lower(&case.program, &profile(), &CompileOptions::default()).unwrap();
        for inst in &kernel.insts {
            match inst.op {
                Op::Load { proof, .. } | Op::Store { proof, .. } | Op::Atomic { proof, .. } => match proof {
                    Proof::Proven(_) => proven += 1,
                    Proof::Guarded => guarded += 1,
                },
                _ => {}
            }
        }
    }
    assert!(proven > 100 && guarded > 100, "{proven} proven, {guarded} guarded");
}
