//! What tells devices and lowerings apart that do not give the same code.

use std::hash::{Hash, Hasher};

use vyre_spec::{CompileOptions, DeviceProfile};

use crate::codec::ProfileDigest;

/// A key that differs wherever generated code may: it covers the backend, its version and that of this crate,
/// everything the profile says of the device, and the compile options. Equal in every run of one build.
pub(super) fn feature_key(
    backend: &str,
    version: &str,
    profile: &DeviceProfile,
    options: &CompileOptions,
) -> u64 {
    let mut digest = Digest(blake3::Hasher::new_derive_key("vyre-driver device feature key"));
    (backend, version, env!("CARGO_PKG_VERSION")).hash(&mut digest);
    digest.write(&ProfileDigest::of(profile).0);
    options.hash(&mut digest);
    digest.finish()
}

/// Feeds everything that is hashed to BLAKE3: unlike the standard library's hash, it stays what it is.
struct Digest(blake3::Hasher);

impl Hasher for Digest {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let mut first = [0; 8];
        self.0.finalize_xof().fill(&mut first);
        u64::from_le_bytes(first)
    }
}

#[cfg(test)]
mod tests {
    use vyre_spec::Capability;

    use super::*;

    #[test]
    fn everything_that_code_depends_on_is_in_the_key() {
        let profile = DeviceProfile::reference();
        let options = CompileOptions::default();
        let mut keys = vec![
            feature_key("a", "1", &profile, &options),
            feature_key("b", "1", &profile, &options),
            feature_key("a", "2", &profile, &options),
            // Strings are delimited: what one ends with is not what the next begins with.
            feature_key("a1", "", &profile, &options),
        ];
        let profiles: [fn(&mut DeviceProfile); 25] = [
            |p| p.backend.push('x'),
            |p| p.name.push('x'),
            |p| p.driver.push('x'),
            |p| p.api.push('x'),
            |p| p.is_software = !p.is_software,
            |p| p.capabilities = p.capabilities.with(Capability::Immediates),
            |p| p.quirks.max_loop_iterations = Some(7),
            |p| p.quirks.folds_floats = true,
            |p| p.quirks.splits_fma = true,
            |p| p.quirks.folds_self_comparison = true,
            |p| p.quirks.loses_large_divisors = true,
            |p| p.quirks.loses_special_values = true,
            |p| p.quirks.loses_halves = true,
            |p| p.quirks.clobbers_wide = true,
            |p| p.quirks.fails_on_returns = true,
            |p| p.quirks.flushes_subnormals = true,
            |p| p.subgroup_size = None,
            |p| p.max_workgroup_size[1] += 1,
            |p| p.max_workgroup_invocations += 1,
            |p| p.max_workgroups_per_axis -= 1,
            |p| p.max_shared_bytes += 1,
            |p| p.max_storage_binding_bytes -= 1,
            |p| p.max_buffer_bytes -= 1,
            |p| p.max_storage_bindings -= 1,
            |p| p.max_immediate_bytes += 1,
        ];
        for change in profiles {
            let mut changed = profile.clone();
            change(&mut changed);
            keys.push(feature_key("a", "1", &changed, &options));
        }
        let compile: [fn(&mut CompileOptions); 7] = [
            |o| o.optimize = !o.optimize,
            |o| o.workgroup_size = Some([64, 1, 1]),
            |o| o.ulp_budget = 1,
            |o| o.fold_grid = true,
            |o| o.launch_contract = !o.launch_contract,
            |o| o.indirect = !o.indirect,
            |o| o.windows.push(2),
        ];
        for change in compile {
            let mut changed = options.clone();
            change(&mut changed);
            keys.push(feature_key("a", "1", &profile, &changed));
        }
        let made = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), made, "two of them share a key");
    }

    #[test]
    fn equal_devices_share_a_key() {
        let key = || feature_key("a", "1", &DeviceProfile::reference(), &CompileOptions::default());
        assert_eq!(key(), key());
    }
}
