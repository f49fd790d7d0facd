//! The command that runs a pipeline.

use std::sync::{Arc, OnceLock};

use vyre_foundation::ir::Launch;
use vyre_foundation::launch::{self, Params, ResolvedLaunch};

use super::{Binding, Span, config};
use crate::{BackendError, CompiledPipeline};

/// A run of a pipeline. What it says does not change once it is made, so its launch arithmetic is done once;
/// clones share it.
#[derive(Clone, Debug)]
pub struct DispatchCommand(Arc<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    pipeline: Arc<dyn CompiledPipeline>,
    bindings: Vec<Binding>,
    params: Params,
    counts: Option<[u32; 3]>,
    resolved: OnceLock<ResolvedLaunch>,
}

impl DispatchCommand {
    /// A run with one binding for each of the program's buffers, in declaration order, without parameters
    /// and with the program's own counts.
    pub fn new(pipeline: Arc<dyn CompiledPipeline>, bindings: Vec<Binding>) -> Self {
        Self::with(pipeline, bindings, Params::new(), None)
    }

    /// The same with parameters, and workgroup counts that replace the program's own if `Some`.
    pub fn with(
        pipeline: Arc<dyn CompiledPipeline>,
        bindings: Vec<Binding>,
        params: Params,
        counts: Option<[u32; 3]>,
    ) -> Self {
        Self(Arc::new(Inner { pipeline, bindings, params, counts, resolved: OnceLock::new() }))
    }

    /// The same, with launch arithmetic that was done for these very arguments.
    pub(crate) fn with_resolved(
        pipeline: Arc<dyn CompiledPipeline>,
        bindings: Vec<Binding>,
        params: Params,
        counts: Option<[u32; 3]>,
        resolved: ResolvedLaunch,
    ) -> Self {
        let resolved = OnceLock::from(resolved);
        Self(Arc::new(Inner { pipeline, bindings, params, counts, resolved }))
    }

    /// What is run.
    pub fn pipeline(&self) -> &Arc<dyn CompiledPipeline> {
        &self.0.pipeline
    }

    /// One for each of the program's buffers, in declaration order.
    pub fn bindings(&self) -> &[Binding] {
        &self.0.bindings
    }

    /// The parameters.
    pub fn params(&self) -> &Params {
        &self.0.params
    }

    /// Workgroup counts that replace the program's own.
    pub fn counts(&self) -> Option<[u32; 3]> {
        self.0.counts
    }

    /// Where the workgroup counts are, if the program takes them from a buffer of its own.
    pub fn own_counts(&self) -> Option<Span> {
        let Launch::Indirect { counts, .. } = self.0.pipeline.program().launch() else { return None };
        let binding = self.0.bindings.get(counts.index())?;
        Some(Span { buffer: binding.buffer, offset: 0, len: 12 })
    }

    /// The launch with its host arithmetic done, which happens once.
    ///
    /// # Errors
    /// [`BackendError::Launch`] if lengths do not fit the declarations or the arithmetic fails.
    pub fn resolved(&self) -> Result<&ResolvedLaunch, BackendError> {
        if let Some(resolved) = self.0.resolved.get() {
            return Ok(resolved);
        }
        let bytes: Vec<_> = self.0.bindings.iter().map(|binding| Some(binding.len)).collect();
        let resolved = launch::resolve(self.0.pipeline.program(), &self.0.params, &bytes, self.0.counts)?;
        // Of two threads that computed it, both use the first.
        Ok(self.0.resolved.get_or_init(|| resolved))
    }

    /// Checks what does not depend on a device: one binding for each of the program's buffers, no buffer
    /// bound twice where one of the two may be written, and workgroup counts only where the program
    /// launches workgroups.
    ///
    /// # Errors
    /// [`BackendError::BindingCount`], [`BackendError::Aliasing`] or [`BackendError::Config`].
    pub fn check(&self) -> Result<(), BackendError> {
        if let (Launch::Domain { .. }, Some(_)) = (self.0.pipeline.program().launch(), self.0.counts) {
            return Err(config("counts", "a domain launch has no workgroup counts of its own".to_owned()));
        }
        if let (Launch::Indirect { .. }, Some(_)) = (self.0.pipeline.program().launch(), self.0.counts) {
            return Err(config("counts", "the program takes its workgroup counts from a buffer".to_owned()));
        }
        let declared = self.0.pipeline.program().buffers();
        let (needs, got) = (declared.len(), self.0.bindings.len());
        if needs != got {
            return Err(BackendError::BindingCount { needs, got });
        }
        let bound = || self.0.bindings.iter().zip(declared);
        for (i, (binding, buffer)) in bound().enumerate() {
            let twice = bound().take(i).find(|(earlier, first)| {
                earlier.buffer == binding.buffer && (first.access.is_output() || buffer.access.is_output())
            });
            if let Some((_, first)) = twice {
                return Err(BackendError::Aliasing {
                    first: first.name.clone(),
                    second: buffer.name.clone(),
                });
            }
        }
        Ok(())
    }

    /// The same where the counts come from `counts`, which must not be written meanwhile.
    pub(super) fn check_indirect(&self, counts: &Span) -> Result<(), BackendError> {
        self.check()?;
        let refuse = |why: String| Err(config("counts", why));
        if let Launch::Domain { .. } = self.0.pipeline.program().launch() {
            return refuse("a domain launch has no workgroup counts of its own".to_owned());
        }
        if let Launch::Indirect { .. } = self.0.pipeline.program().launch() {
            return refuse("the program takes its workgroup counts from a buffer of its own".to_owned());
        }
        if self.0.counts.is_some() {
            return refuse("an indirect dispatch takes them from a buffer".to_owned());
        }
        if counts.len != 12 || !counts.offset.is_multiple_of(4) {
            let Span { offset, len, .. } = counts;
            return refuse(format!("they are 12 bytes at a multiple of 4, not {len} bytes at {offset}"));
        }
        let mut bound = self.0.bindings.iter().zip(self.0.pipeline.program().buffers());
        match bound.find(|(binding, buffer)| binding.buffer == counts.buffer && buffer.access.is_output()) {
            None => Ok(()),
            Some((_, buffer)) => Err(BackendError::Aliasing {
                first: "the workgroup counts".to_owned(),
                second: buffer.name.clone(),
            }),
        }
    }
}

/// Two commands are equal if they come to the same launch.
impl PartialEq for DispatchCommand {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&self.0, &other.0);
        Arc::ptr_eq(a, b)
            || (Arc::ptr_eq(&a.pipeline, &b.pipeline)
                && a.bindings == b.bindings
                && a.counts == b.counts
                && a.params == b.params)
    }
}
