//! The one executor of command lists: one encoder, one submission, one readback.
//!
//! [`submit`] works in two phases. [`plan`](plan::Plan::new) checks the whole list and resolves it to steps
//! over wgpu objects, without an effect on any buffer; then everything is staged, encoded and submitted.

mod dispatch;
mod plan;
mod transfer;
mod work;

use std::sync::Arc;

use vyre_driver::{BackendError, CommandList};

use crate::buffer::{Readback, Staging};
use crate::completion::{Ended, InFlight};
use crate::core::Core;

use plan::{Plan, Step};
pub(crate) use work::Work;

/// Submits `list`. Host bytes have been taken when this returns.
pub(crate) fn submit(core: &Arc<Core>, list: &CommandList<'_>) -> Result<Work, BackendError> {
    let generation = &core.generation;
    generation.check()?;
    let plan = Plan::new(core, list)?;
    let staging = Staging::new(generation, &core.pool, &plan.uploads)?;
    let readback = Readback::new(generation, &core.pool, plan.reads.iter().copied())?;
    let ended = Ended::default();
    let submission = generation.submit(list.label(), |encoder| {
        encode(&plan, &staging, &readback, encoder);
        staging.recycle(encoder);
        readback.map(encoder);
        ended.after(encoder);
    })?;
    let reads = list.reads();
    let work = Work::new(InFlight::new(Arc::clone(generation), submission, ended, readback), reads);
    // The plan's buffers go back to the pool here, after the submission that uses them.
    drop(plan);
    core.sweep();
    Ok(work)
}

fn encode(plan: &Plan<'_>, staging: &Staging, readback: &Readback, encoder: &mut wgpu::CommandEncoder) {
    let mut steps = plan.steps.iter().peekable();
    while let Some(step) = steps.next() {
        match step {
            Step::Upload { piece, to, offset } => staging.copy(encoder, *piece, plan.buffer(*to), *offset),
            Step::Clear { to, offset, len } => encoder.clear_buffer(plan.buffer(*to), *offset, Some(*len)),
            Step::Copy { from, from_offset, to, offset, len } => {
                let (source, target) = (plan.buffer(*from), plan.buffer(*to));
                encoder.copy_buffer_to_buffer(source, *from_offset, target, *offset, *len);
            }
            Step::Read { piece, from, offset } => readback.copy(encoder, *piece, plan.buffer(*from), *offset),
            Step::Dispatch { .. } | Step::Builtin(_) => {
                let mut pass = Pass::new(encoder);
                pass.run(plan, step);
                while let Some(step) =
                    steps.next_if(|step| matches!(step, Step::Dispatch { .. } | Step::Builtin(_)))
                {
                    pass.run(plan, step);
                }
            }
        }
    }
}

/// A compute pass that sets only what changes.
struct Pass<'e> {
    pass: wgpu::ComputePass<'e>,
    /// The dispatch plan whose state is set.
    current: Option<usize>,
}

impl<'e> Pass<'e> {
    fn new(encoder: &'e mut wgpu::CommandEncoder) -> Self {
        let descriptor = wgpu::ComputePassDescriptor { label: None, timestamp_writes: None };
        Self { pass: encoder.begin_compute_pass(&descriptor), current: None }
    }

    fn run(&mut self, plan: &Plan<'_>, step: &Step<'_>) {
        match step {
            Step::Dispatch { launch } => {
                let Some(planned) = plan.launches.get(*launch) else { return };
                if self.current != Some(*launch) {
                    self.pass.set_pipeline(&planned.compiled.kernel.pipeline);
                    self.pass.set_bind_group(0, &planned.group, &[]);
                    if !planned.immediates.is_empty() {
                        self.pass.set_immediates(0, bytemuck::cast_slice(&planned.immediates));
                    }
                    self.current = Some(*launch);
                }
                let [x, y, z] = planned.grid;
                self.pass.dispatch_workgroups(x, y, z);
            }
            Step::Builtin(step) => {
                self.pass.set_pipeline(&step.kernel.pipeline);
                self.pass.set_bind_group(0, &step.group, &[]);
                self.pass.dispatch_workgroups(step.workgroups, 1, 1);
                self.current = None;
            }
            _ => {}
        }
    }
}
