//! The key of a compiled program: equal exactly if everything is equal that decides its code.
//!
//! The encoding is written out here, so that keys on disk do not depend on the standard library's hashing. The
//! profile goes in by the contract's digest. The options are taken apart without `..`: a new one does not
//! compile until it has its place here.

use vyre_driver::codec::ProfileDigest;
use vyre_foundation::ir::Program;
use vyre_spec::{CompileOptions, DeviceProfile};

/// Raised whenever the encoding below or the format of entries changes.
const FORMAT: u32 = 2;

/// The key of a program, compiled with these options for this device by this version.
pub(crate) fn key(program: &Program, options: &CompileOptions, profile: &DeviceProfile) -> [u8; 32] {
    let mut key = Encoder(blake3::Hasher::new_derive_key("vyre-driver-wgpu compiled program"));
    key.u32(FORMAT);
    key.text(env!("CARGO_PKG_VERSION"));
    key.0.update(program.id().as_bytes());
    encode_options(&mut key, options);
    key.0.update(&ProfileDigest::of(profile).0);
    *key.0.finalize().as_bytes()
}

fn encode_options(key: &mut Encoder, options: &CompileOptions) {
    let CompileOptions {
        optimize,
        workgroup_size,
        ulp_budget,
        fold_grid,
        launch_contract,
        indirect,
        windows,
    } = options;
    key.bool(*optimize);
    key.option(workgroup_size.as_ref(), |key, size| size.iter().for_each(|&n| key.u32(n)));
    key.u32(*ulp_budget);
    key.bool(*fold_grid);
    key.bool(*launch_contract);
    key.bool(*indirect);
    key.u64(windows.len() as u64);
    windows.iter().for_each(|&n| key.u32(n));
}

/// Feeds values to BLAKE3, each so that none can be taken for two.
struct Encoder(blake3::Hasher);

impl Encoder {
    fn u32(&mut self, value: u32) {
        self.0.update(&value.to_le_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.0.update(&value.to_le_bytes());
    }

    fn bool(&mut self, value: bool) {
        self.0.update(&[u8::from(value)]);
    }

    fn text(&mut self, text: &str) {
        self.u64(text.len() as u64);
        self.0.update(text.as_bytes());
    }

    fn option<T>(&mut self, value: Option<&T>, encode: impl FnOnce(&mut Self, &T)) {
        self.bool(value.is_some());
        if let Some(value) = value {
            encode(self, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use vyre_foundation::build::Kernel;
    use vyre_foundation::check::Checked;
    use vyre_spec::{Capability, CapabilitySet, Quirks};

    fn program(literal: u32) -> Checked<Program> {
        Kernel::build("program", |k| {
            let out = k.write_only::<u32>("out", 64_u64);
            k.domain([64_u64], |[i]| out.store(i, i * literal));
        })
        .unwrap()
    }

    fn profiles() -> Vec<DeviceProfile> {
        let base = DeviceProfile::reference;
        let quirks = |change: fn(&mut Quirks)| {
            let mut profile = base();
            change(&mut profile.quirks);
            profile
        };
        let mut all = vec![
            base(),
            DeviceProfile { backend: "other".into(), ..base() },
            DeviceProfile { name: "other".into(), ..base() },
            DeviceProfile { driver: "other".into(), ..base() },
            DeviceProfile { api: "other".into(), ..base() },
            DeviceProfile { is_software: !base().is_software, ..base() },
            DeviceProfile { subgroup_size: None, ..base() },
            DeviceProfile { subgroup_size: Some(0), ..base() },
            DeviceProfile { max_workgroup_size: [1, 2, 3], ..base() },
            DeviceProfile { max_workgroup_size: [1, 3, 2], ..base() },
            DeviceProfile { max_workgroup_invocations: 7, ..base() },
            DeviceProfile { max_workgroups_per_axis: 7, ..base() },
            DeviceProfile { max_shared_bytes: 7, ..base() },
            DeviceProfile { max_storage_binding_bytes: 7, ..base() },
            DeviceProfile { max_buffer_bytes: 7, ..base() },
            DeviceProfile { max_storage_bindings: 7, ..base() },
            DeviceProfile { max_immediate_bytes: 7, ..base() },
            quirks(|quirks| quirks.max_loop_iterations = Some(0)),
            quirks(|quirks| quirks.max_loop_iterations = Some(65_535)),
            quirks(|quirks| quirks.folds_floats = true),
            quirks(|quirks| quirks.splits_fma = true),
            quirks(|quirks| quirks.folds_self_comparison = true),
            quirks(|quirks| quirks.loses_large_divisors = true),
            quirks(|quirks| quirks.loses_special_values = true),
            quirks(|quirks| quirks.loses_halves = true),
            quirks(|quirks| quirks.clobbers_wide = true),
            quirks(|quirks| quirks.fails_on_returns = true),
            quirks(|quirks| quirks.flushes_subnormals = true),
            // Where one text ends and the next begins matters.
            DeviceProfile { name: "ab".into(), driver: "c".into(), ..base() },
            DeviceProfile { name: "a".into(), driver: "bc".into(), ..base() },
        ];
        for capability in Capability::ALL {
            let mut profile = base();
            profile.capabilities = CapabilitySet::EMPTY.with(capability);
            all.push(profile);
        }
        all
    }

    #[test]
    fn one_literal_one_option_one_field_of_the_device_makes_another_key() {
        let plain = CompileOptions::default;
        let options = [
            plain(),
            CompileOptions { optimize: false, ..plain() },
            CompileOptions { workgroup_size: Some([1, 1, 1]), ..plain() },
            CompileOptions { workgroup_size: Some([1, 2, 1]), ..plain() },
            CompileOptions { ulp_budget: 1, ..plain() },
            CompileOptions { fold_grid: true, ..plain() },
            CompileOptions { launch_contract: true, ..plain() },
            CompileOptions { indirect: true, ..plain() },
            CompileOptions { windows: vec![2], ..plain() },
            CompileOptions { windows: vec![1, 2], ..plain() },
        ];
        let mut keys = BTreeSet::new();
        let mut count = 0;
        for program in [program(3), program(4)] {
            for options in &options {
                for profile in profiles() {
                    keys.insert(key(&program, options, &profile));
                    count += 1;
                }
            }
        }
        assert_eq!(keys.len(), count);
        assert_eq!(count, 2 * 10 * (30 + Capability::ALL.len()));
    }

    #[test]
    fn equal_content_has_one_key() {
        let (options, profile) = (CompileOptions::default(), DeviceProfile::reference());
        assert_eq!(key(&program(5), &options, &profile), key(&program(5), &options, &profile));
    }
}
