//! What is to be compiled, for which device, and whether that device can run it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use vyre_foundation::check::Checked;
use vyre_foundation::graph::{Dim, ProgramGraph};
use vyre_foundation::ir::{Launch, Program};
use vyre_spec::{Axis, Capability, CompileOptions, DataType, DeviceProfile};

use crate::fuse::{Facts, SearchBudget};

/// A request to compile a graph of programs for a device.
///
/// What it says is all that the result depends on, the profile included; but for
/// [`SearchBudget::time`], which can only end compiling with an error.
#[derive(Clone, Debug)]
pub struct CompileRequest {
    pub(crate) graph: Arc<ProgramGraph>,
    pub(crate) profile: DeviceProfile,
    pub(crate) options: CompileOptions,
    pub(crate) facts: Facts,
    pub(crate) budget: SearchBudget,
    pub(crate) size_limit: u64,
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
    /// A fact is about nothing in the graph.
    #[error("the fact `{name}` is about no {what} of the graph; it has: {}", if known.is_empty() { "none".to_owned() } else { known.join(", ") })]
    UnknownFact {
        /// What it is about: a dimension or parameter.
        what: &'static str,
        /// The name.
        name: String,
        /// Those that the graph has.
        known: Vec<String>,
    },
    /// A fact gives a parameter a value of another type.
    #[error("the fact about parameter `{name}` is a {got}, but the parameter is a {needs}: convert it")]
    FactType {
        /// The parameter.
        name: String,
        /// Its type.
        needs: DataType,
        /// The fact's.
        got: DataType,
    },
    /// Two facts are about one thing.
    #[error("there are two facts about `{0}`: keep one")]
    FactTwice(String),
    /// An option does not fit a program.
    #[error("the option `{option}` cannot be honoured: {why}")]
    Option {
        /// The option.
        option: &'static str,
        /// Why.
        why: &'static str,
    },
}

impl CompileRequest {
    /// The most bytes that an artifact takes unless a request says otherwise.
    pub const DEFAULT_SIZE_LIMIT: u64 = 256 << 20;

    /// A request for a device, with the default options: the graph of one program.
    pub fn new(program: &Checked<Program>, profile: &DeviceProfile) -> Self {
        Self::owned(ProgramGraph::from_program(program), profile)
    }

    /// A request for a device, with the default options.
    pub fn graph(graph: &ProgramGraph, profile: &DeviceProfile) -> Self {
        Self::owned(graph.clone(), profile)
    }

    fn owned(graph: ProgramGraph, profile: &DeviceProfile) -> Self {
        Self {
            graph: Arc::new(graph),
            profile: profile.clone(),
            options: CompileOptions::default(),
            facts: Facts::default(),
            budget: SearchBudget::default(),
            size_limit: Self::DEFAULT_SIZE_LIMIT,
        }
    }

    /// With options.
    #[must_use]
    pub fn with_options(mut self, options: CompileOptions) -> Self {
        self.options = options;
        self
    }

    /// With facts: dimensions and parameters that have these values in every run. A run that breaks one is refused.
    #[must_use]
    pub fn with_facts(mut self, facts: Facts) -> Self {
        self.facts = facts;
        self
    }

    /// With bounds on the search for what to fuse.
    #[must_use]
    pub fn with_budget(mut self, budget: SearchBudget) -> Self {
        self.budget = budget;
        self
    }

    /// With the most bytes that the artifact may take.
    #[must_use]
    pub fn with_size_limit(mut self, bytes: u64) -> Self {
        self.size_limit = bytes;
        self
    }

    /// Proves that the device can carry the request out, as far as its profile tells.
    ///
    /// # Errors
    /// The first capability, limit, option or fact that is in the way.
    pub fn validate(self) -> Result<ValidRequest, RequestError> {
        self.facts_fit()?;
        for program in self.graph.programs() {
            self.options_fit(program)?;
            Fit { request: &self, program }.check()?;
        }
        Ok(ValidRequest(self))
    }

    fn facts_fit(&self) -> Result<(), RequestError> {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let names = self
            .facts
            .dims
            .iter()
            .map(|(name, _)| name)
            .chain(self.facts.params.iter().map(|(name, _)| name));
        for name in names {
            if !seen.insert(name) {
                return Err(RequestError::FactTwice(name.clone()));
            }
        }
        let symbols = self.graph.dims().iter().filter_map(|dim| match dim {
            Dim::Symbol(name) => Some(name.as_str()),
            _ => None,
        });
        let symbols: BTreeSet<&str> = symbols.collect();
        if let Some((name, _)) = self.facts.dims.iter().find(|(name, _)| !symbols.contains(name.as_str())) {
            let (what, known) = ("dimension", symbols.into_iter().map(str::to_owned).collect());
            return Err(RequestError::UnknownFact { what, name: name.clone(), known });
        }
        let params: BTreeMap<&str, DataType> =
            self.graph.params().iter().map(|param| (param.name.as_str(), param.ty)).collect();
        for (name, value) in &self.facts.params {
            let Some(&needs) = params.get(name.as_str()) else {
                let known = params.into_keys().map(str::to_owned).collect();
                return Err(RequestError::UnknownFact { what: "parameter", name: name.clone(), known });
            };
            if needs != value.ty() {
                return Err(RequestError::FactType { name: name.clone(), needs, got: value.ty() });
            }
        }
        Ok(())
    }

    fn options_fit(&self, program: &Program) -> Result<(), RequestError> {
        let refuse = |option, why| Err(RequestError::Option { option, why });
        if self.options.fold_grid {
            return refuse("fold_grid", "the driver decides it for each launch");
        }
        if self.options.launch_contract {
            return refuse("launch_contract", "the driver decides it for each launch");
        }
        if self.options.indirect {
            return refuse("indirect", "the driver decides it for each launch");
        }
        if !self.options.windows.is_empty() {
            return refuse("windows", "the driver decides it for each launch");
        }
        match (program.launch(), self.options.workgroup_size) {
            (Launch::Workgroups { .. } | Launch::Indirect { .. }, Some(_)) => {
                refuse("workgroup_size", "a workgroup launch has the author's size")
            }
            (Launch::Domain { .. }, Some(size)) if size.contains(&0) => {
                refuse("workgroup_size", "it has no invocations")
            }
            _ => Ok(()),
        }
    }
}

/// One program of a request against its profile.
struct Fit<'r> {
    request: &'r CompileRequest,
    program: &'r Checked<Program>,
}

impl Fit<'_> {
    fn check(&self) -> Result<(), RequestError> {
        let Self { request: CompileRequest { profile, .. }, program } = self;
        self.workgroup_fits()?;
        let shared = program.shared().iter().map(|a| u64::from(a.len) * u64::from(a.element.size()));
        self.limit("the shared memory in bytes", shared.sum(), u64::from(profile.max_shared_bytes))?;
        let buffers = program.buffers().len() as u64;
        self.limit("the number of buffers", buffers, u64::from(profile.max_storage_bindings))?;
        self.subgroups_fit()
    }

    /// The workgroup's size: the author's, or that of the options.
    fn workgroup(&self) -> Option<[u32; 3]> {
        self.program.launch().workgroup_size().or(self.request.options.workgroup_size)
    }

    fn workgroup_fits(&self) -> Result<(), RequestError> {
        let Some(size) = self.workgroup() else { return Ok(()) };
        let profile = &self.request.profile;
        for (axis, (value, limit)) in Axis::ALL.iter().zip(size.into_iter().zip(profile.max_workgroup_size)) {
            let what = format!("the workgroup's {} axis", axis.name());
            self.limit(what, u64::from(value), u64::from(limit))?;
        }
        let limit = u64::from(profile.max_workgroup_invocations);
        self.limit("the invocations of a workgroup", invocations(size), limit)
    }

    fn subgroups_fit(&self) -> Result<(), RequestError> {
        if !self.program.facts().has_subgroup() {
            return Ok(());
        }
        let profile = &self.request.profile;
        let (program, device) = (self.program.name().to_owned(), profile.name.clone());
        let lanes = profile.subgroup_size;
        let Some(lanes) = lanes.filter(|_| profile.capabilities.contains(Capability::Subgroup)) else {
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
        let (program, device) = (self.program.name().to_owned(), self.request.profile.name.clone());
        Err(RequestError::Limit { program, what: what.into(), value, limit, device })
    }
}

fn invocations(size: [u32; 3]) -> u64 {
    size.into_iter().map(u64::from).fold(1, u64::saturating_mul)
}

impl ValidRequest {
    /// The graph.
    pub fn graph(&self) -> &ProgramGraph {
        &self.0.graph
    }

    /// The device's profile.
    pub fn profile(&self) -> &DeviceProfile {
        &self.0.profile
    }

    /// The options.
    pub fn options(&self) -> &CompileOptions {
        &self.0.options
    }

    /// What every run promises.
    pub fn facts(&self) -> &Facts {
        &self.0.facts
    }

    /// The bounds of the search.
    pub fn budget(&self) -> &SearchBudget {
        &self.0.budget
    }

    /// The most bytes that the artifact may take.
    pub fn size_limit(&self) -> u64 {
        self.0.size_limit
    }
}
