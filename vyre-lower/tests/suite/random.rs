//! Random programs, lowered and interpreted, against the reference machine.

use vyre_foundation::launch::resolve;
use vyre_foundation::machine::MachineOptions;
use vyre_foundation::opt::optimize;
use vyre_foundation::testing::{GenConfig, GeneratedCase, Launches, generate, shrink};
use vyre_lower::kernel::{Op, Proof};
use vyre_lower::{LowerError, lower, lower_all};
use vyre_spec::{Comparison, CompileOptions, DataType, DeviceProfile, Quirks, TypeSet};

use crate::interpreter::{execute_all_bytes, profile, windowed, without_wide};

/// What a case gives when it is lowered, or how it fails; `None` if it is refused for what grid barriers would
/// have to carry, or if the launch breaks a contract.
fn lowered(
    case: &GeneratedCase,
    profile: &DeviceProfile,
    options: &CompileOptions,
) -> Result<Option<Vec<Vec<u8>>>, String> {
    let program = &case.program;
    let mut inputs = case.inputs.iter();
    let bytes: Vec<Option<&Vec<u8>>> = program
        .buffers()
        .iter()
        .map(|buffer| if buffer.access.is_input() { inputs.next() } else { None })
        .collect();
    let bound: Vec<_> = bytes.iter().map(|b| b.map(|b| b.len() as u64)).collect();
    let launch = resolve(program, &case.params, &bound, None).map_err(|error| error.to_string())?;
    let lens = program.buffer_ids().map(|id| launch.byte_len(program, id) as usize);
    let kernel = match lower_all(program, profile, &windowed(options, profile, lens)) {
        Err(LowerError::GridSyncApart { .. }) => return Ok(None),
        lowered => lowered.map_err(|error| error.to_string())?,
    };
    if !kernel.kernels.iter().all(|kernel| kernel.contract.holds(&launch)) {
        return Ok(None);
    }
    let buffers: Vec<Vec<u8>> = bytes
        .iter()
        .zip(&launch.lengths)
        .zip(program.buffers())
        .map(|((bytes, &len), buffer)| {
            bytes.cloned().unwrap_or_else(|| vec![0; len as usize * buffer.element.size() as usize])
        })
        .collect();
    let outcome = execute_all_bytes(&kernel, program, &case.params, &buffers, profile);
    Ok(Some(program.outputs().map(|id| outcome.buffers[id.index()].clone()).collect()))
}

/// Whether the case ran, and agreed.
pub(crate) fn agrees(
    case: &GeneratedCase,
    profile: &DeviceProfile,
    options: &CompileOptions,
) -> Result<bool, String> {
    let machine =
        MachineOptions { subgroup_size: case.subgroup_size, threads: 1, ..MachineOptions::default() };
    let want = case.run(&machine).map_err(|error| error.to_string())?.outputs;
    for launch_contract in [false, true] {
        let options = CompileOptions { launch_contract, ..options.clone() };
        let Some(got) = lowered(case, profile, &options)? else { return Ok(launch_contract) };
        case.compare(Comparison::EXACT, &want, &got)
            .map_err(|(name, mismatch)| format!("{name}, contract {launch_contract}: {mismatch:?}"))?;
    }
    Ok(true)
}

fn try_seeds(
    seeds: std::ops::Range<u64>,
    config: &GenConfig,
    profile: &DeviceProfile,
    options: &CompileOptions,
) {
    let (all, mut ran) = (seeds.clone().count(), 0);
    for seed in seeds {
        let case = generate(seed, config);
        match agrees(&case, profile, options) {
            Ok(agreed) => ran += usize::from(agreed),
            Err(fault) => {
                let small = shrink(case, &mut |case| agrees(case, profile, options).is_err());
                panic!(
                    "seed {seed}: {fault}; shrunk, {:?}:\n{:?}",
                    agrees(&small, profile, options),
                    small.program
                );
            }
        }
    }
    assert!(ran * 100 >= all * 99, "only {ran} of {all} ran");
}

#[test]
fn random_programs_mean_the_same() {
    let config = GenConfig { subgroup_size: Some(4), subnormals: true, ..GenConfig::default() };
    try_seeds(0..600, &config, &profile(), &CompileOptions::default());
}

/// The optimiser's results have forms that programs are not drawn in: selections for branches, loops unrolled.
#[test]
fn optimised_random_programs_mean_the_same() {
    let config = GenConfig { subgroup_size: Some(4), subnormals: true, ..GenConfig::default() };
    for seed in 70_000..70_300 {
        let drawn = generate(seed, &config);
        let case = GeneratedCase { program: optimize(&drawn.program), ..drawn };
        let agreed = agrees(&case, &profile(), &CompileOptions::default());
        assert!(agreed.is_ok(), "seed {seed}: {agreed:?}:\n{:?}", case.program);
    }
}

#[test]
fn random_programs_mean_the_same_on_a_device_with_quirks_and_a_folded_grid() {
    let quirks = Quirks {
        max_loop_iterations: Some(1 << 20),
        folds_floats: true,
        splits_fma: true,
        folds_self_comparison: true,
        loses_large_divisors: true,
        loses_special_values: true,
        loses_halves: true,
        clobbers_wide: true,
        fails_on_returns: true,
        ..Quirks::default()
    };
    let profile = DeviceProfile { quirks, max_workgroups_per_axis: 3, ..profile() };
    let options = CompileOptions { fold_grid: true, ..CompileOptions::default() };
    // Such a device has no fused multiply-add of f64.
    let types: Vec<_> = DataType::ALL.into_iter().filter(|&ty| ty != DataType::F64).collect();
    let types = TypeSet::of(&types);
    let config = GenConfig { launches: Launches::Both, max_invocations: 20, types, ..GenConfig::default() };
    try_seeds(10_000..10_200, &config, &profile, &options);
}

/// Atomics on 64-bit elements stay among the words.
#[test]
fn random_programs_mean_the_same_on_a_device_that_spoils_64_bit_integers() {
    let quirks = Quirks { clobbers_wide: true, ..Quirks::default() };
    let profile = DeviceProfile { quirks, ..profile() };
    let config = GenConfig { subgroup_size: Some(4), subnormals: true, ..GenConfig::default() };
    try_seeds(80_000..80_300, &config, &profile, &CompileOptions::default());
}

#[test]
fn random_programs_mean_the_same_on_a_device_without_64_bit_integers() {
    let types: Vec<_> = DataType::ALL.into_iter().filter(|&ty| ty != DataType::F64).collect();
    let atomics = TypeSet::of(&[DataType::U32, DataType::I32, DataType::F32]);
    let config =
        GenConfig { subgroup_size: Some(4), types: TypeSet::of(&types), atomics, ..GenConfig::default() };
    let narrow = without_wide(profile());
    try_seeds(50_000..50_300, &config, &narrow, &CompileOptions::default());
    let windows = DeviceProfile { max_storage_binding_bytes: 64, ..narrow };
    try_seeds(50_300..50_400, &config, &windows, &CompileOptions::default());
}

#[test]
fn random_programs_with_counts_in_memory_mean_the_same() {
    let config = GenConfig {
        launches: Launches::Workgroups,
        subnormals: true,
        indirect: true,
        ..GenConfig::default()
    };
    try_seeds(40_000..40_200, &config, &profile(), &CompileOptions::default());
    // As an indirect dispatch of a program that knows nothing of it.
    let options = CompileOptions { indirect: true, ..CompileOptions::default() };
    try_seeds(50_000..50_200, &GenConfig { indirect: false, ..config }, &profile(), &options);
}

#[test]
fn random_programs_with_grid_barriers_mean_the_same() {
    let config = GenConfig {
        launches: Launches::Workgroups,
        subgroup_size: Some(4),
        subnormals: true,
        grid_barriers: true,
        ..GenConfig::default()
    };
    try_seeds(20_000..20_600, &config, &profile(), &CompileOptions::default());
    let options = CompileOptions { fold_grid: true, ..CompileOptions::default() };
    let profile = DeviceProfile { max_workgroups_per_axis: 3, ..profile() };
    try_seeds(30_000..30_200, &config, &profile, &options);
}

#[test]
fn random_programs_over_windows_mean_the_same() {
    let config = GenConfig { subgroup_size: Some(4), subnormals: true, ..GenConfig::default() };
    // Windows of 64 and 16 bytes: of 8 elements of 64 bits, and of one vector.
    for (limit, seeds) in [(100, 60_000..60_300), (16, 70_000..70_150)] {
        let profile = DeviceProfile { max_storage_binding_bytes: limit, ..profile() };
        try_seeds(seeds, &config, &profile, &CompileOptions::default());
    }
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
                    Proof::Guarded(_) => guarded += 1,
                    Proof::Contract(_) => panic!("a contract that nobody asked for"),
                },
                _ => {}
            }
        }
    }
    assert!(proven > 100 && guarded > 100, "{proven} proven, {guarded} guarded");
}
