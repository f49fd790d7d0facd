//! What is to be compiled, for which device, and whether that device can run it.

use vyre_foundation::check::Checked;
use vyre_foundation::ir::{Launch, Program};
use vyre_spec::{Axis, Capability, CompileOptions, DeviceProfile};

/// A request to compile a whole program for a device.
#[derive(Clone, Debug)]
pub struct CompileRequest {
    pub(crate) program: Checked<Program>,
    pub(crate) profile: DeviceProfile,
    pub(crate) options: CompileOptions,
}

/// A request that its device can carry out.
#[derive(Clone, Debug)]
pub struct ValidRequest(pub(crate) CompileRequest);

/// Why a device cannot carry a request out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The device lacks a capability.
    #[error("program `{program}` needs {what}, which `{device}` lacks (capability `{}`): use another device", capability.name())]
    Capability {
        /// The program.
        program: String,
        /// What needs it.
        what: &'static str,
        /// The capability.
        capability: Capability,
        /// The device's name.
        device: String,
    },
    /// A device limit is passed.
    #[error("program `{program}`: {what} is {value}, but `{device}` takes at most {limit}: make it smaller")]
    Limit {
        /// The program.
        program: String,
        /// What.
        what: String,
        /// Its value.
        value: u64,
        /// The limit.
        limit: u64,
        /// The device's name.
        device: String,
    },
    /// A row of the workgroup is no whole number of subgroups.
    #[error(
        "program `{program}`: a workgroup of {invocations} invocations along x is no whole number of the {lanes} \
         lanes of `{device}`: change its size"
    )]
    PartialSubgroup {
        /// The program.
        program: String,
        /// The invocations of a workgroup along x.
        invocations: u64,
        /// The lanes of a subgroup.
        lanes: u32,
        /// The device's name.
        device: String,
    },
    /// An option does not fit the program.
    #[error("the option `{option}` cannot be honoured: {why}")]
    Option {
        /// The option.
        option: &'static str,
        /// Why.
        why: &'static str,
    },
}

impl CompileRequest {
    /// A request for a device, with the default options.
    pub fn new(program: &Checked<Program>, profile: &DeviceProfile) -> Self {
        Self { program: program.clone(), profile: profile.clone(), options: CompileOptions::default() }
    }

    /// With options.
    #[must_use]
    pub fn with_options(mut self, options: CompileOptions) -> Self {
        self.options = options;
        self
    }

    /// Proves that the device can carry the request out, as far as its profile tells.
    ///
    /// # Errors
    /// The first capability, limit or option that is in the way.
    pub fn validate(self) -> Result<ValidRequest, RequestError> {
        self.options_fit()?;
        self.workgroup_fits()?;
        let shared = self.program.shared().iter().map(|a| u64::from(a.len) * u64::from(a.element.size()));
        self.limit("the shared memory in bytes", shared.sum(), u64::from(self.profile.max_shared_bytes))?;
        let buffers = self.program.buffers().len() as u64;
        self.limit("the number of buffers", buffers, u64::from(self.profile.max_storage_bindings))?;
        self.subgroups_fit()?;
        Ok(ValidRequest(self))
    }

    /// The workgroup's size: the author's, or that of the options.
    fn workgroup(&self) -> Option<[u32; 3]> {
        self.program.launch().workgroup_size().or(self.options.workgroup_size)
    }

    fn options_fit(&self) -> Result<(), RequestError> {
        let refuse = |option, why| Err(RequestError::Option { option, why });
        if self.options.fold_grid {
            return refuse("fold_grid", "the driver decides it for each launch");
        }
        if self.options.indirect {
            return refuse("indirect", "the driver decides it for each launch");
        }
        if !self.options.windows.is_empty() {
            return refuse("windows", "the driver decides it for each launch");
        }
        match (self.program.launch(), self.options.workgroup_size) {
            (Launch::Workgroups { .. } | Launch::Indirect { .. }, Some(_)) => {
                refuse("workgroup_size", "a workgroup launch has the author's size")
            }
            (Launch::Domain { .. }, Some(size)) if size.contains(&0) => {
                refuse("workgroup_size", "it has no invocations")
            }
            _ => Ok(()),
        }
    }

    fn workgroup_fits(&self) -> Result<(), RequestError> {
        let Some(size) = self.workgroup() else { return Ok(()) };
        for (axis, (value, limit)) in
            Axis::ALL.iter().zip(size.into_iter().zip(self.profile.max_workgroup_size))
        {
            let what = format!("the workgroup's {} axis", axis.name());
            self.limit(what, u64::from(value), u64::from(limit))?;
        }
        let limit = u64::from(self.profile.max_workgroup_invocations);
        self.limit("the invocations of a workgroup", invocations(size), limit)
    }

    fn subgroups_fit(&self) -> Result<(), RequestError> {
        if !self.program.facts().has_subgroup() {
            return Ok(());
        }
        let (program, device) = (self.program.name().to_owned(), self.profile.name.clone());
        let lanes = self.profile.subgroup_size;
        let Some(lanes) = lanes.filter(|_| self.profile.capabilities.contains(Capability::Subgroup)) else {
            let what = "subgroups of a fixed size";
            return Err(RequestError::Capability { program, what, capability: Capability::Subgroup, device });
        };
        let invocations = self.workgroup().map_or(0, |[x, _, _]| u64::from(x));
        if !invocations.is_multiple_of(u64::from(lanes.max(1))) {
            return Err(RequestError::PartialSubgroup { program, invocations, lanes, device });
        }
        Ok(())
    }

    fn limit(&self, what: impl Into<String>, value: u64, limit: u64) -> Result<(), RequestError> {
        if value <= limit {
            return Ok(());
        }
        let (program, device) = (self.program.name().to_owned(), self.profile.name.clone());
        Err(RequestError::Limit { program, what: what.into(), value, limit, device })
    }
}

fn invocations(size: [u32; 3]) -> u64 {
    size.into_iter().map(u64::from).fold(1, u64::saturating_mul)
}

impl ValidRequest {
    /// The program.
    pub fn program(&self) -> &Checked<Program> {
        &self.0.program
    }

    /// The device's profile.
    pub fn profile(&self) -> &DeviceProfile {
        &self.0.profile
    }

    /// The options.
    pub fn options(&self) -> &CompileOptions {
        &self.0.options
    }
}
