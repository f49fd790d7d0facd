//! How a dispatch is configured.

use std::time::Duration;

use vyre_foundation::ir::{Launch, Program};
use vyre_foundation::launch::Params;
use vyre_spec::{CompileOptions, Value};

use crate::BackendError;

/// The configuration of one dispatch. Every field is honoured or refused, never ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DispatchConfig {
    /// Names traces and errors.
    pub label: Option<String>,
    /// The time from submission after which the caller gets [`BackendError::Timeout`]; at least 1 ms.
    pub timeout: Option<Duration>,
    /// The dispatch is refused before it runs if its outputs would take more bytes.
    pub max_output_bytes: Option<u64>,
    /// Replaces the workgroup counts of a workgroup launch; refused for a domain.
    pub grid: Option<[u32; 3]>,
    /// The workgroup size of a domain launch; refused for workgroups.
    pub workgroup_size: Option<[u32; 3]>,
    /// 0: strict float semantics. 1 and more: contraction and faster forms within the stated bounds.
    pub ulp_budget: u32,
    /// Leaves the optimiser out, for comparison.
    pub unoptimized: bool,
    /// The program's parameters.
    pub params: Params,
}

/// The part of a configuration that concerns one launch and not the code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchOptions {
    /// Names traces and errors.
    pub label: Option<String>,
    /// The time allowed from submission.
    pub timeout: Option<Duration>,
    /// The most bytes that the outputs may take.
    pub max_output_bytes: Option<u64>,
    /// Workgroup counts that replace the program's own.
    pub counts: Option<[u32; 3]>,
    /// The program's parameters.
    pub params: Params,
}

impl DispatchConfig {
    /// With a parameter's value.
    #[must_use]
    pub fn param<T: vyre_spec::Element>(mut self, name: impl Into<String>, value: T) -> Self {
        self.params = self.params.with(name, Value::new(value));
        self
    }

    /// Splits the configuration into what belongs to the pipeline's cache key and what to the launch.
    ///
    /// # Errors
    /// [`BackendError::Config`] for a field that the program's launch cannot honour.
    pub fn split(&self, program: &Program) -> Result<(CompileOptions, LaunchOptions), BackendError> {
        let refuse = |field, why: &str| Err(BackendError::Config { field, why: why.into() });
        match program.launch() {
            Launch::Domain { .. } if self.grid.is_some() => {
                return refuse("grid", "a domain launch has no workgroup counts of its own");
            }
            Launch::Workgroups { .. } if self.workgroup_size.is_some() => {
                return refuse("workgroup_size", "a workgroup launch has the author's size");
            }
            _ => {}
        }
        if self.timeout.is_some_and(|t| t < Duration::from_millis(1)) {
            return refuse("timeout", "it is below 1 ms");
        }
        let compile = CompileOptions {
            optimize: !self.unoptimized,
            workgroup_size: self.workgroup_size,
            ulp_budget: self.ulp_budget,
            fold_grid: false,
        };
        let launch = LaunchOptions {
            label: self.label.clone(),
            timeout: self.timeout,
            max_output_bytes: self.max_output_bytes,
            counts: self.grid,
            params: self.params.clone(),
        };
        Ok((compile, launch))
    }
}
