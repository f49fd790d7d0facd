//! Steps to wgpu commands.

use super::dispatch::Launch;
use super::frame::Frame;
use super::plan::BufferIndex;
use super::steps::Step;
use crate::buffer::{Readback, Staging};
use crate::builtin;

/// Encodes everything that a frame does on the device.
pub(super) fn encode(
    frame: &Frame,
    staging: &Staging,
    readback: &Readback,
    encoder: &mut wgpu::CommandEncoder,
) {
    if let Some(trap) = frame.trap.filter(|_| !frame.trap_starts_zero) {
        encoder.clear_buffer(frame.buffer(trap), 0, Some(frame.held(trap).len));
    }
    Encode { frame, staging, readback, encoder, pass: None, current: None }.steps(frame.steps.as_slice());
}

struct Encode<'e> {
    frame: &'e Frame,
    staging: &'e Staging,
    readback: &'e Readback,
    encoder: &'e mut wgpu::CommandEncoder,
    /// The compute pass that is open, while only dispatches follow each other.
    pass: Option<wgpu::ComputePass<'static>>,
    /// The planned launch whose state the pass has.
    current: Option<usize>,
}

impl Encode<'_> {
    /// Repetitions nest as deep as the contract allows, and no deeper.
    fn steps(&mut self, mut steps: &[Step]) {
        while let Some((step, rest)) = steps.split_first() {
            steps = rest;
            match step {
                Step::Repeat { len, times } => {
                    let (body, after) = rest.split_at((*len).min(rest.len()));
                    steps = after;
                    for _ in 0..*times {
                        self.steps(body);
                    }
                }
                Step::Dispatch { launch, times } => self.dispatch(*launch, *times),
                Step::Indirect { launch, counts } => self.indirect(*launch, *counts),
                Step::Builtin(step) => self.builtin(step),
                _ => self.transfer(step),
            }
        }
    }

    /// Every transfer ends the pass: wgpu orders them by where they stand in the encoder.
    fn transfer(&mut self, step: &Step) {
        self.pass = None;
        self.current = None;
        let (frame, encoder) = (self.frame, &mut *self.encoder);
        match step {
            Step::Upload { part, to, offset } => {
                self.staging.copy(encoder, *part, frame.buffer(*to), *offset);
            }
            Step::Clear { to, offset, len } => encoder.clear_buffer(frame.buffer(*to), *offset, Some(*len)),
            Step::Copy { from, from_offset, to, offset, len } => {
                let (source, target) = (frame.buffer(*from), frame.buffer(*to));
                encoder.copy_buffer_to_buffer(source, *from_offset, target, *offset, *len);
            }
            Step::Read { part, from, offset } => {
                self.readback.copy(encoder, *part, frame.buffer(*from), *offset);
            }
            Step::Dispatch { .. } | Step::Indirect { .. } | Step::Builtin(_) | Step::Repeat { .. } => {}
        }
    }

    fn pass(&mut self) -> &mut wgpu::ComputePass<'static> {
        let encoder = &mut *self.encoder;
        self.pass.get_or_insert_with(|| encoder.begin_compute_pass(&Default::default()).forget_lifetime())
    }

    /// The pass, in the state that a launch needs: sets only what changes.
    fn ready(&mut self, launch: usize, planned: &Launch) -> &mut wgpu::ComputePass<'static> {
        let known = self.current == Some(launch);
        self.current = Some(launch);
        let pass = self.pass();
        if !known {
            pass.set_pipeline(&planned.pipeline);
            pass.set_bind_group(0, &planned.group, &[]);
            if !planned.immediates.is_empty() {
                pass.set_immediates(0, bytemuck::cast_slice(&planned.immediates));
            }
        }
        pass
    }

    fn dispatch(&mut self, launch: usize, times: u64) {
        let frame = self.frame;
        let Some(planned) = frame.launches.get(launch) else { return };
        let pass = self.ready(launch, planned);
        let [x, y, z] = planned.grid;
        for _ in 0..times {
            pass.dispatch_workgroups(x, y, z);
        }
    }

    fn indirect(&mut self, launch: usize, counts: BufferIndex) {
        let frame = self.frame;
        let Some(planned) = frame.launches.get(launch) else { return };
        self.ready(launch, planned).dispatch_workgroups_indirect(frame.buffer(counts), 0);
    }

    fn builtin(&mut self, step: &builtin::Step) {
        self.current = None;
        let pass = self.pass();
        pass.set_pipeline(&step.pipeline);
        pass.set_bind_group(0, &step.group, &[]);
        pass.dispatch_workgroups(step.workgroups, 1, 1);
    }
}
