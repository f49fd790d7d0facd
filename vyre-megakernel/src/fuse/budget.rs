//! What a caller promises about a graph, and how long its plan may be searched for.

use std::time::Duration;

use vyre_spec::Value;

/// Dimensions and parameters that the caller promises. A run that breaks a promise is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The numbers of symbols, by name.
    pub dims: Vec<(String, u64)>,
    /// The values of parameters, by name.
    pub params: Vec<(String, Value)>,
}

impl Facts {
    /// No promise.
    pub fn new() -> Self {
        Self::default()
    }

    /// With the number of a symbol; a later one of the same name replaces it.
    #[must_use]
    pub fn with_dim(mut self, name: impl Into<String>, value: u64) -> Self {
        let name = name.into();
        self.dims.retain(|(other, _)| *other != name);
        self.dims.push((name, value));
        self
    }

    /// With the value of a parameter; a later one of the same name replaces it.
    #[must_use]
    pub fn with_param(mut self, name: impl Into<String>, value: Value) -> Self {
        let name = name.into();
        self.params.retain(|(other, _)| *other != name);
        self.params.push((name, value));
        self
    }

    /// The number of a symbol.
    pub fn dim(&self, name: &str) -> Option<u64> {
        self.dims.iter().find(|(other, _)| other == name).map(|&(_, value)| value)
    }

    /// The value of a parameter.
    pub fn param(&self, name: &str) -> Option<Value> {
        self.params.iter().find(|(other, _)| other == name).map(|&(_, value)| value)
    }
}

/// How long a plan may be searched for. Candidates and work bound the search, whose result depends on them alone; time can
/// only end it with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchBudget {
    /// Fused kernels that may be tried.
    pub candidates: u32,
    /// Statements and expressions of all kernels that are tried, and kernels that are looked at to find out which need
    /// each other.
    pub work: u64,
    /// Wall-clock time, beyond which planning fails.
    pub time: Option<Duration>,
}

impl SearchBudget {
    /// Nothing is tried: one kernel for each node.
    pub const fn none() -> Self {
        Self { candidates: 0, work: 0, time: None }
    }
}

impl Default for SearchBudget {
    /// Enough for graphs of some thousand nodes.
    fn default() -> Self {
        Self { candidates: 20_000, work: 20_000_000, time: None }
    }
}
