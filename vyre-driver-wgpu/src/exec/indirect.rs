//! Dispatches with workgroup counts that the device finds in a buffer.
//!
//! wgpu's own validation of them is off. A kernel of ours copies the counts, which nobody else writes, into a
//! buffer that the dispatch takes them from; counts above the device's limit run nothing and are recorded as the
//! list's fault.

use vyre_driver::{BackendError, DispatchCommand, Span};
use vyre_lower::kernel::Grid;

use super::dispatch::Launch;
use super::plan::Plan;
use super::steps::Step;
use crate::compile;

impl<'p> Plan<'p> {
    /// Plans a dispatch of the counts at `counts`.
    pub(super) fn dispatch_indirect(
        &mut self,
        command: &'p DispatchCommand,
        counts: Span,
    ) -> Result<(), BackendError> {
        let pipeline = self.own(command)?;
        let (buffers, windows) = self.bound(pipeline, command)?;
        let source = self.resolve_span(counts, "the workgroup counts")?;
        // Three words in two segments are brought together.
        let (source, at) = if source.layout.left(counts.offset) < 12 {
            let together = self.hold_any(12)?;
            self.copy_span((source, counts.offset), (together, 0), 12)?;
            together.locate(0)
        } else {
            source.locate(counts.offset)
        };
        let core = self.core;
        let form = pipeline.indirect(&windows, |options| compile::build(core, &pipeline.program, options))?;
        let compiled = form.first();
        let checked = self.hold(12)?;
        let known = self.trap;
        let record = self.trap()?;
        // A clear of its own takes NVIDIA's driver 20 µs. Repeated, it would forget the faults of earlier trips.
        let is_new = known.is_none() && self.repeating == 0;
        self.trap_starts_zero |= is_new;
        let step = core.builtins()?.counts(
            &core.generation,
            &core.pool,
            self.buffer(checked),
            (self.buffer(source), at),
            (self.buffer(record), is_new),
            core.profile.max_workgroups_per_axis,
        )?;
        self.steps.push(Step::Builtin(Box::new(step)));
        self.counts = Some(checked);
        // No word of launch data depends on the counts: kernels read them from the buffer.
        let grid = Grid { workgroups: [0; 3], dispatch: [0; 3], needs_folding: false };
        let words = compiled.descriptor().launch.encode(command.resolved()?, &grid);
        let group = self.group(compiled, command, &buffers, &words, None)?;
        let immediates = if compiled.descriptor().launch.immediates { words } else { Vec::new() };
        let launch = self.launches.len();
        let pipeline = compiled.kernel.pipeline.clone();
        self.launches.push(Launch { command: None, pipeline, group, immediates, grid: [0; 3] });
        self.steps.push(Step::Indirect { launch, counts: checked });
        Ok(())
    }
}
