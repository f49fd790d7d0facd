//! The environment variables that this crate reads: all of them, and nowhere else.
//!
//! | variable | values | meaning |
//! | --- | --- | --- |
//! | `VYRE_ADAPTER_INDEX` | a whole number | use the adapter with this index in the list that `vyre-wgpu info` prints |
//! | `VYRE_ALLOW_SOFTWARE` | `1` or `0` | permit software adapters (lavapipe, SwiftShader, WARP); default `0` |
//! | `VYRE_WGPU_TIMESTAMPS` | `1` or `0` | have the device measure its own times, where it can; default `1` |
//! | `VYRE_CACHE_DIR` | a directory | keep the driver's compiled kernels there, for the next process; default none |
//! | `VYRE_DUMP_KDESC` | a directory | write the descriptor of every kernel that is compiled there |
//! | `VYRE_DUMP_PHASES` | a directory | write the text of every stage of each compilation there: program, optimised program, descriptor, WGSL, SPIR-V listing |
//! | `VYRE_CAPTURE_FAILED_DESCRIPTOR` | a directory | write the error and the descriptor of every compilation that fails there |
//!
//! A variable that is set to the empty string counts as unset. Any other value is a typed error: a
//! misspelt setting must not silently mean its default. A directory that does not exist is made. Variables
//! are read when a device is acquired; what a [`WgpuBackendBuilder`](crate::WgpuBackendBuilder) is told goes
//! first.
//!
//! The cache directory is used only if nobody else can write it; otherwise it is ignored, and
//! [`DiskCacheStats::refused`](crate::DiskCacheStats) says why. A dump that cannot be written fails no
//! compilation: [`WgpuBackendStats::dump_failure`](crate::WgpuBackendStats) names the first.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use vyre_driver::BackendError;

const ADAPTER_INDEX: &str = "VYRE_ADAPTER_INDEX";
const ALLOW_SOFTWARE: &str = "VYRE_ALLOW_SOFTWARE";
const TIMESTAMPS: &str = "VYRE_WGPU_TIMESTAMPS";
const CACHE_DIR: &str = "VYRE_CACHE_DIR";
const DUMP_KDESC: &str = "VYRE_DUMP_KDESC";
const DUMP_PHASES: &str = "VYRE_DUMP_PHASES";
const CAPTURE_FAILED: &str = "VYRE_CAPTURE_FAILED_DESCRIPTOR";

/// What the environment asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The pinned adapter, if one is.
    pub(crate) adapter_index: Option<usize>,
    /// Whether software adapters may be chosen.
    pub(crate) allow_software: bool,
    /// Whether the device's own clock is used where there is one.
    pub(crate) timestamps: bool,
    /// Where compiled kernels are kept.
    pub(crate) cache_dir: Option<PathBuf>,
    /// What is dumped.
    pub(crate) dumps: DumpSettings,
}

/// Where to dump what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DumpSettings {
    /// The descriptor of each compiled kernel.
    pub(crate) descriptors: Option<PathBuf>,
    /// Each stage of each compilation.
    pub(crate) phases: Option<PathBuf>,
    /// Each compilation that fails.
    pub(crate) failures: Option<PathBuf>,
}

impl DumpSettings {
    /// The directories, by the variables that name them.
    pub(crate) fn named(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        [(DUMP_KDESC, &self.descriptors), (DUMP_PHASES, &self.phases), (CAPTURE_FAILED, &self.failures)]
            .into_iter()
            .filter_map(|(name, dir)| Some((name, dir.as_deref()?)))
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            adapter_index: None,
            allow_software: false,
            timestamps: true,
            cache_dir: None,
            dumps: DumpSettings::default(),
        }
    }
}

impl Settings {
    /// Reads the process environment.
    pub(crate) fn from_env() -> Result<Self, BackendError> {
        Self::from_lookup(std::env::var_os::<&str>)
    }

    /// Reads the settings through `lookup`, so that tests need not change the process environment.
    fn from_lookup(lookup: impl Fn(&'static str) -> Option<OsString>) -> Result<Self, BackendError> {
        let get = |name| lookup(name).filter(|value| !value.is_empty());
        let invalid = |name: &str, value: &OsString, expected: &str| BackendError::Environment {
            name: name.to_owned(),
            value: value.to_string_lossy().into_owned(),
            expected: expected.to_owned(),
        };
        let switch = |name, default| match get(name) {
            None => Ok(default),
            Some(value) if value == "0" => Ok(false),
            Some(value) if value == "1" => Ok(true),
            Some(value) => Err(invalid(name, &value, "`0` or `1`")),
        };
        let directory = |name| match get(name).map(PathBuf::from) {
            Some(dir) if dir.exists() && !dir.is_dir() => {
                Err(invalid(name, &dir.into_os_string(), "a directory"))
            }
            dir => Ok(dir),
        };

        let adapter_index = match get(ADAPTER_INDEX) {
            None => None,
            Some(value) => match value.to_str().and_then(|value| value.parse().ok()) {
                Some(index) => Some(index),
                None => return Err(invalid(ADAPTER_INDEX, &value, "a whole number")),
            },
        };
        Ok(Self {
            adapter_index,
            allow_software: switch(ALLOW_SOFTWARE, false)?,
            timestamps: switch(TIMESTAMPS, true)?,
            cache_dir: directory(CACHE_DIR)?,
            dumps: DumpSettings {
                descriptors: directory(DUMP_KDESC)?,
                phases: directory(DUMP_PHASES)?,
                failures: directory(CAPTURE_FAILED)?,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [&str; 7] =
        [ADAPTER_INDEX, ALLOW_SOFTWARE, TIMESTAMPS, CACHE_DIR, DUMP_KDESC, DUMP_PHASES, CAPTURE_FAILED];

    fn read(pairs: &[(&'static str, &str)]) -> Result<Settings, BackendError> {
        Settings::from_lookup(|name| {
            pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn every_variable_is_in_the_tables_of_this_file_and_of_the_readme() {
        for (page, text) in [("env.rs", include_str!("env.rs")), ("README.md", include_str!("../README.md"))]
        {
            for name in ALL {
                let rows = text
                    .lines()
                    .filter(|line| line.trim_start_matches("//! ").starts_with(&format!("| `{name}` | ")));
                assert_eq!(rows.count(), 1, "{page} has no row of {name}, or several");
            }
        }
    }

    #[test]
    fn unset_and_empty_mean_the_defaults() {
        assert_eq!(read(&[]).unwrap(), Settings::default());
        assert_eq!(read(&ALL.map(|name| (name, ""))).unwrap(), Settings::default());
    }

    #[test]
    fn valid_values_are_taken() {
        let settings = read(&[
            (ADAPTER_INDEX, "3"),
            (ALLOW_SOFTWARE, "1"),
            (TIMESTAMPS, "0"),
            (CACHE_DIR, "no/such/place"),
            (DUMP_KDESC, "a"),
            (DUMP_PHASES, "b"),
            (CAPTURE_FAILED, "c"),
        ]);
        let dumps = DumpSettings {
            descriptors: Some("a".into()),
            phases: Some("b".into()),
            failures: Some("c".into()),
        };
        assert_eq!(
            settings.unwrap(),
            Settings {
                adapter_index: Some(3),
                allow_software: true,
                timestamps: false,
                cache_dir: Some("no/such/place".into()),
                dumps,
            }
        );
    }

    #[test]
    fn other_values_are_refused_by_name() {
        let file = file!().rsplit('/').next().unwrap();
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(file);
        let file = file.to_str().unwrap();
        for (variable, value) in [
            (ADAPTER_INDEX, "first"),
            (ADAPTER_INDEX, "-1"),
            (ALLOW_SOFTWARE, "true"),
            (ALLOW_SOFTWARE, "2"),
            (TIMESTAMPS, "yes"),
            (CACHE_DIR, file),
            (DUMP_KDESC, file),
            (DUMP_PHASES, file),
            (CAPTURE_FAILED, file),
        ] {
            let message = read(&[(variable, value)]).unwrap_err().to_string();
            assert!(message.contains(variable) && message.contains(value), "{message}");
        }
    }
}
