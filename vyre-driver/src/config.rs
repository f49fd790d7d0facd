//! How a dispatch is configured.

use std::time::Duration;

use vyre_foundation::check::Checked;
use vyre_foundation::ir::{Expr, Launch, Program};
use vyre_foundation::launch::Params;
use vyre_spec::{CompileOptions, Value};

use crate::{BackendError, Feature, VyreBackend};

/// The configuration of one dispatch. Every field is honoured or refused, never ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DispatchConfig {
    /// Names spans, traces and errors: those of the dispatch are [`BackendError::Labeled`].
    pub label: Option<String>,
    /// The time from submission after which the caller gets [`BackendError::Timeout`], at once; at least
    /// 1 ms. The buffers stay alive until the work ends, and the backend stays usable.
    pub timeout: Option<Duration>,
    /// The dispatch is refused before it runs, with [`BackendError::OutputTooLarge`], if its outputs would
    /// take more bytes than this.
    pub max_output_bytes: Option<u64>,
    /// Replaces the workgroup counts, x y z, of a workgroup launch. A domain launch has none:
    /// [`BackendError::Unsupported`].
    pub grid: Option<[u32; 3]>,
    /// The invocations per axis, x y z, of a workgroup. Of a domain launch, the compiler otherwise chooses;
    /// of a workgroup launch it replaces the author's, and is refused if the program reads built-in values
    /// or uses shared memory, barriers or subgroups, since it would then be another program.
    pub workgroup: Option<[u32; 3]>,
    /// The program runs this many times in one submission; what one run leaves in a `ReadWrite` buffer the
    /// next one finds there. `Some(0)` is refused; `None` is one run.
    pub fixpoint_iterations: Option<u32>,
    /// In units in the last place. 0 or absent: strict float semantics. 1 and more: contraction and faster
    /// forms whose stated bound fits.
    pub ulp_budget: Option<u32>,
    /// How a speculative dispatch chooses its path. A plain dispatch has nothing to speculate on: it takes
    /// `Disable` and `Auto`, and refuses `Force`.
    pub speculation: Option<SpeculationMode>,
    /// Asks for a kernel that stays on the device and polls for work; [`BackendError::Unsupported`] where
    /// [`VyreBackend::supports_persistent_thread_dispatch`] is false.
    pub persistent_thread: bool,
    /// Asks that grid barriers be met inside one dispatch; [`BackendError::Unsupported`] where
    /// [`VyreBackend::supports_grid_sync`] is false.
    pub cooperative: bool,
    /// The name of a [`DispatchPreset`] of the backend; what it sets is not set a second time with another
    /// value. An unknown name is refused with the known ones.
    pub profile: Option<String>,
    /// Leaves the optimiser out, for comparison.
    pub unoptimized: bool,
    /// The program's parameters.
    pub params: Params,
}

/// How a speculative dispatch chooses between its two paths; both give the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpeculationMode {
    /// Never speculates.
    Disable,
    /// By what earlier dispatches committed.
    Auto,
    /// Always speculates.
    Force,
}

/// A named set of configuration fields that a backend documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DispatchPreset {
    /// What [`DispatchConfig::profile`] calls it.
    pub name: &'static str,
    /// What it is for, in one sentence.
    pub doc: &'static str,
    /// What it sets [`DispatchConfig::ulp_budget`] to.
    pub ulp_budget: u32,
}

impl DispatchPreset {
    /// The presets that every backend has.
    pub const STANDARD: &'static [Self] = &[
        Self { name: "strict", doc: "IEEE 754 as the program is written; the default.", ulp_budget: 0 },
        Self {
            name: "fast",
            doc: "Contraction, and forms whose stated bound is 4 units in the last place.",
            ulp_budget: 4,
        },
    ];
}

/// The part of a configuration that concerns one launch and not the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchOptions {
    /// Names spans, traces and errors.
    pub label: Option<String>,
    /// The time allowed from submission.
    pub timeout: Option<Duration>,
    /// The most bytes that the outputs may take.
    pub max_output_bytes: Option<u64>,
    /// Workgroup counts that replace the program's own.
    pub counts: Option<[u32; 3]>,
    /// A workgroup size that replaces the author's, in a program that cannot tell.
    pub workgroup: Option<[u32; 3]>,
    /// How often the program runs; at least 1.
    pub iterations: u32,
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

    /// Splits the configuration into what belongs to the pipeline's cache key and what to the launch. Every
    /// field is looked at here, and only here.
    ///
    /// # Errors
    /// [`BackendError::Config`] for a value that no backend could honour for this program,
    /// [`BackendError::Unsupported`] for what this backend or this kind of launch does not have.
    pub fn split<B: VyreBackend + ?Sized>(
        &self,
        program: &Checked<Program>,
        backend: &B,
    ) -> Result<(CompileOptions, LaunchOptions), BackendError> {
        // Named one by one, so that a new field cannot be forgotten.
        let Self {
            label,
            timeout,
            max_output_bytes,
            grid,
            workgroup,
            fixpoint_iterations,
            ulp_budget,
            speculation,
            persistent_thread,
            cooperative,
            profile,
            unoptimized,
            params,
        } = self;
        if timeout.is_some_and(|t| t < Duration::from_millis(1)) {
            return Err(refuse("timeout", "it is below 1 ms"));
        }
        if workgroup.is_some_and(|size| size.contains(&0)) {
            return Err(refuse("workgroup", "an axis of a workgroup has at least one invocation"));
        }
        if *fixpoint_iterations == Some(0) {
            return Err(refuse("fixpoint_iterations", "a program runs at least once"));
        }
        if *speculation == Some(SpeculationMode::Force) {
            return Err(refuse("speculation", "a plain dispatch has no prefilter to speculate with"));
        }
        for (asked, field, feature) in [
            (*persistent_thread, "persistent_thread", Feature::PersistentThreads),
            (*cooperative, "cooperative", Feature::GridSync),
        ] {
            // Why it is missing is a text, which is made only for those who ask.
            let why = if asked { backend.missing(feature) } else { None };
            if let Some(why) = why {
                return Err(unsupported(backend, format!("the configuration field `{field}`: {why}"), field));
            }
        }
        let mut options = CompileOptions {
            optimize: !unoptimized,
            ulp_budget: budget(*ulp_budget, profile.as_deref(), backend)?,
            ..CompileOptions::default()
        };
        let mut author_size = None;
        match program.launch() {
            Launch::Indirect { .. } if grid.is_some() => {
                let why = "the program takes its workgroup counts from a buffer".to_owned();
                return Err(BackendError::Config { field: "grid", why });
            }
            Launch::Domain { .. } if grid.is_some() => {
                let what =
                    "the configuration field `grid`: a domain launch has no workgroup counts of its own";
                return Err(unsupported(backend, what.into(), "grid"));
            }
            Launch::Domain { .. } => options.workgroup_size = *workgroup,
            Launch::Workgroups { size, .. } | Launch::Indirect { size, .. } if *workgroup != Some(size) => {
                if let Some(what) = workgroup.and_then(|_| tells_workgroups_apart(program)) {
                    let why = format!(
                        "the program uses {what}, so the author's workgroup size is part of its meaning"
                    );
                    return Err(BackendError::Config { field: "workgroup", why });
                }
                author_size = *workgroup;
            }
            Launch::Workgroups { .. } | Launch::Indirect { .. } => {}
        }
        let launch = LaunchOptions {
            label: label.clone(),
            timeout: *timeout,
            max_output_bytes: *max_output_bytes,
            counts: *grid,
            workgroup: author_size,
            iterations: fixpoint_iterations.unwrap_or(1),
            params: params.clone(),
        };
        Ok((options, launch))
    }
}

fn refuse(field: &'static str, why: &str) -> BackendError {
    BackendError::Config { field, why: why.into() }
}

fn unsupported<B: VyreBackend + ?Sized>(backend: &B, what: String, field: &str) -> BackendError {
    BackendError::Unsupported {
        what,
        device: backend.profile().name.clone(),
        remedy: format!("leave `{field}` unset"),
    }
}

/// Through what a program could notice another workgroup size, if it could.
fn tells_workgroups_apart(program: &Checked<Program>) -> Option<&'static str> {
    let facts = program.facts();
    if facts.has_barrier() {
        Some("barriers")
    } else if facts.has_subgroup() {
        Some("subgroups")
    } else if !program.shared().is_empty() {
        Some("shared memory")
    } else if program.exprs().iter().any(|expr| matches!(expr, Expr::BuiltIn(_))) {
        Some("built-in values")
    } else {
        None
    }
}

/// The budget that the field and the preset together ask for.
fn budget<B: VyreBackend + ?Sized>(
    field: Option<u32>,
    preset: Option<&str>,
    backend: &B,
) -> Result<u32, BackendError> {
    let Some(name) = preset else { return Ok(field.unwrap_or(0)) };
    let presets = backend.presets();
    let Some(preset) = presets.iter().find(|preset| preset.name == name) else {
        let known: Vec<_> = presets.iter().map(|preset| preset.name).collect();
        let why = format!("no preset is called `{name}`; there are: {}", known.join(", "));
        return Err(BackendError::Config { field: "profile", why });
    };
    match field {
        Some(budget) if budget != preset.ulp_budget => {
            let why = format!("it is {budget}, but the profile `{name}` sets {}", preset.ulp_budget);
            Err(BackendError::Config { field: "ulp_budget", why })
        }
        _ => Ok(preset.ulp_budget),
    }
}
