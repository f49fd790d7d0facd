//! Random programs: naga and `spirv-val` accept every module that they become.

use vyre_foundation::testing::{GenConfig, Launches, generate};
use vyre_lower::{LowerError, lower_all};
use vyre_spec::{Capability, CapabilitySet, CompileOptions, DeviceProfile, Quirks};

use super::spirv_val;
use crate::{SpirvOptions, emit, to_spirv};

/// Devices with everything, with nothing beyond the necessary, and with every fault that lowering works around.
fn profiles() -> [DeviceProfile; 3] {
    let reference = DeviceProfile { subgroup_size: Some(4), ..DeviceProfile::reference() };
    let all = Capability::ALL.into_iter().fold(CapabilitySet::EMPTY, CapabilitySet::with);
    let rich = DeviceProfile { capabilities: all, max_immediate_bytes: 128, ..reference.clone() };
    let poor =
        DeviceProfile { capabilities: CapabilitySet::EMPTY.with(Capability::Subgroup), ..reference.clone() };
    let quirks = Quirks {
        max_loop_iterations: Some(1 << 20),
        folds_floats: true,
        splits_fma: true,
        folds_self_comparison: true,
        loses_large_divisors: true,
        loses_special_values: true,
        fails_on_returns: true,
        ..Quirks::default()
    };
    [rich, poor, DeviceProfile { quirks, ..reference }]
}

#[test]
fn modules_of_random_programs_are_accepted() {
    let mut checked = 0;
    for seed in 0..120 {
        let config = GenConfig {
            subgroup_size: Some(4),
            exact: false,
            subnormals: true,
            traps: true,
            grid_barriers: seed % 4 == 0,
            indirect: seed % 4 == 1,
            launches: if seed % 2 == 0 { Launches::Workgroups } else { Launches::Both },
            ..GenConfig::default()
        };
        let case = generate(seed, &config);
        for profile in profiles() {
            let options = CompileOptions {
                launch_contract: seed % 2 == 0,
                fold_grid: seed % 5 == 0,
                ..CompileOptions::default()
            };
            let lowered = match lower_all(&case.program, &profile, &options) {
                Ok(lowered) => lowered,
                // What the device lacks is refused by name.
                Err(LowerError::Unsupported { .. }) => continue,
                Err(error) => panic!("seed {seed}: {error}"),
            };
            for kernel in &lowered.kernels {
                let emitted = emit(kernel).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
                spirv_val(&to_spirv(&emitted, &SpirvOptions::default()).unwrap());
                checked += 1;
            }
        }
    }
    assert!(checked > 100, "{checked}");
}
