//! The environment variables that this crate reads: all of them, and nowhere else.
//!
//! | variable | values | meaning |
//! | --- | --- | --- |
//! | `VYRE_ADAPTER_INDEX` | a whole number | use the adapter with this index in the list that `vyre-wgpu info` prints |
//! | `VYRE_ALLOW_SOFTWARE` | `1` or `0` | permit software adapters (lavapipe, SwiftShader, WARP); default `0` |
//! | `VYRE_WGPU_TIMESTAMPS` | `1` or `0` | whether timed work asks the device for its time; default `1`, where it has timestamps |
//!
//! A variable that is set to the empty string counts as unset. Any other value is a typed error: a
//! misspelt setting must not silently mean its default. Variables are read when a device is acquired.

use vyre_driver::BackendError;

const ADAPTER_INDEX: &str = "VYRE_ADAPTER_INDEX";
const ALLOW_SOFTWARE: &str = "VYRE_ALLOW_SOFTWARE";
const TIMESTAMPS: &str = "VYRE_WGPU_TIMESTAMPS";

/// What the environment asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The pinned adapter, if one is.
    pub(crate) adapter_index: Option<usize>,
    /// Whether software adapters may be chosen.
    pub(crate) allow_software: bool,
    /// Whether the device's timestamps may be used.
    pub(crate) timestamps: bool,
}

impl Settings {
    /// Reads the process environment.
    pub(crate) fn from_env() -> Result<Self, BackendError> {
        Self::from_lookup(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    /// Reads the settings through `lookup`, so that tests need not change the process environment.
    fn from_lookup(lookup: impl Fn(&'static str) -> Option<String>) -> Result<Self, BackendError> {
        let get = |name| lookup(name).filter(|value| !value.is_empty());
        let invalid = |name: &str, value, expected: &str| BackendError::Environment {
            name: name.to_owned(),
            value,
            expected: expected.to_owned(),
        };

        let adapter_index = match get(ADAPTER_INDEX) {
            None => None,
            Some(value) => match value.parse() {
                Ok(index) => Some(index),
                Err(_) => return Err(invalid(ADAPTER_INDEX, value, "a whole number")),
            },
        };
        let switch = |name, default| match get(name).as_deref() {
            None => Ok(default),
            Some("0") => Ok(false),
            Some("1") => Ok(true),
            Some(other) => Err(invalid(name, other.to_owned(), "`0` or `1`")),
        };
        let (allow_software, timestamps) = (switch(ALLOW_SOFTWARE, false)?, switch(TIMESTAMPS, true)?);
        Ok(Self { adapter_index, allow_software, timestamps })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&'static str, &str)]) -> Result<Settings, BackendError> {
        Settings::from_lookup(|name| {
            pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn unset_and_empty_mean_the_defaults() {
        let defaults = Settings { adapter_index: None, allow_software: false, timestamps: true };
        assert_eq!(read(&[]).unwrap(), defaults);
        assert_eq!(read(&[(ADAPTER_INDEX, ""), (ALLOW_SOFTWARE, "")]).unwrap(), defaults);
    }

    #[test]
    fn valid_values_are_taken() {
        let settings = read(&[(ADAPTER_INDEX, "3"), (ALLOW_SOFTWARE, "1"), (TIMESTAMPS, "0")]).unwrap();
        assert_eq!(settings, Settings { adapter_index: Some(3), allow_software: true, timestamps: false });
    }

    #[test]
    fn other_values_are_refused_by_name() {
        for (variable, value) in
            [(ADAPTER_INDEX, "first"), (ADAPTER_INDEX, "-1"), (ALLOW_SOFTWARE, "true"), (TIMESTAMPS, "2")]
        {
            let message = read(&[(variable, value)]).unwrap_err().to_string();
            assert!(message.contains(variable) && message.contains(value), "{message}");
        }
    }
}
