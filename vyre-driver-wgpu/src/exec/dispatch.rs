//! Dispatches: bindings, launch arithmetic, launch data and bind groups.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use vyre_driver::{BackendError, DispatchCommand};
use vyre_foundation::launch::ResolvedLaunch;
use vyre_lower::kernel::{Grid, Role};
use vyre_spec::CompileOptions;

use super::plan::{BufferIndex, Named, Plan};
use crate::compile;
use crate::kernel::Bound;
use crate::pipeline::{Compiled, Form, FormRef, Variant, WgpuPipeline};

/// A dispatch, ready to encode.
#[derive(Debug)]
pub(super) struct Launch {
    /// What it was made from, if that has one kernel: an equal command needs no work of its own.
    pub(super) command: Option<DispatchCommand>,
    pub(super) pipeline: wgpu::ComputePipeline,
    pub(super) group: wgpu::BindGroup,
    pub(super) immediates: Vec<u32>,
    pub(super) grid: [u32; 3],
}

/// How many of the latest launches are compared with a new one. Sequences mostly repeat a few.
const REMEMBERED: usize = 4;

impl<'p> Plan<'p> {
    pub(super) fn dispatch(&mut self, command: &'p DispatchCommand) -> Result<(), BackendError> {
        let mut latest = self.launches.iter().enumerate().rev().take(REMEMBERED);
        if let Some((launch, _)) = latest.find(|(_, launch)| launch.command.as_ref() == Some(command)) {
            self.steps.dispatch(launch);
            return Ok(());
        }
        command.check()?;
        if let Some(counts) = command.own_counts() {
            return self.dispatch_indirect(command, counts);
        }
        let pipeline = self.own(command)?;
        let (buffers, windows) = self.bound(pipeline, command)?;
        let resolved = command.resolved()?;
        let (form, grid) = self.form(pipeline, &windows, resolved)?;
        if grid.is_empty() {
            return Ok(());
        }
        if let Some(schedule) = form.schedule() {
            return self.scheduled(command, &form, schedule, &buffers, &grid);
        }
        let mut compiled = form.first();
        let words = compiled.descriptor().launch.encode(resolved, &grid);
        // The first form may have been made once more, for launch data that do not change.
        let can_be_steady = compiled.descriptor().launch.immediates && std::ptr::eq(&*form, &*pipeline.plain);
        let mut data = None;
        if can_be_steady {
            match self.steady(pipeline, &words)? {
                Some((form, buffer)) => (compiled, data) = (form.first(), Some(buffer)),
                None => self.noted.push((self.launches.len(), Arc::clone(&pipeline.steady), 0)),
            }
        }
        let group = self.group(compiled, command, &buffers, &words, data)?;
        let immediates = if compiled.descriptor().launch.immediates { words } else { Vec::new() };
        let (command, pipeline) = (Some(command.clone()), compiled.kernel.pipeline.clone());
        self.launches.push(Launch { command, pipeline, group, immediates, grid: grid.dispatch });
        self.steps.dispatch(self.launches.len() - 1);
        Ok(())
    }

    /// The form of a pipeline whose launch data are in memory, if these have been its launch data for long.
    fn steady(
        &mut self,
        pipeline: &'p WgpuPipeline,
        words: &[u32],
    ) -> Result<Option<(&'p Form, BufferIndex)>, BackendError> {
        let (core, Some(options)) = (self.core, &pipeline.options) else { return Ok(None) };
        let compile = || {
            core.steady_variants.fetch_add(1, Ordering::Relaxed);
            let options = CompileOptions { launch_contract: true, windows: Vec::new(), ..options.clone() };
            compile::build_in_memory(core, &pipeline.program, &options)
        };
        let Some((form, buffer)) = pipeline.steady.get(core, words, compile)? else { return Ok(None) };
        Ok(Some((form, self.keep(buffer, 4 * words.len() as u64))))
    }

    /// The command's pipeline, if this backend made it in this generation.
    pub(super) fn own(&self, command: &'p DispatchCommand) -> Result<&'p WgpuPipeline, BackendError> {
        let bad = |problem| BackendError::BadHandle {
            handle: format!("of the pipeline of `{}`", command.pipeline().program().name()),
            problem,
        };
        let pipeline: &WgpuPipeline =
            command.pipeline().as_any().downcast_ref().ok_or_else(|| bad("foreign"))?;
        if pipeline.owner != self.core.lasting.owner {
            return Err(bad("foreign"));
        }
        if pipeline.generation != self.core.generation.number {
            return Err(bad("stale"));
        }
        Ok(pipeline)
    }

    /// The position of each bound buffer, by the program's buffer, and as how many windows each is bound: none if all
    /// are bound whole.
    pub(super) fn bound(
        &mut self,
        pipeline: &WgpuPipeline,
        command: &DispatchCommand,
    ) -> Result<(Vec<Named>, Vec<u32>), BackendError> {
        let profile = &self.core.profile;
        let limit = profile.max_storage_binding_bytes;
        let alignment = u64::from(self.core.generation.limits.min_storage_buffer_offset_alignment);
        // Code of the caller's, or of a payload, has no other form.
        let has_windows = pipeline.options.is_some() && profile.window_bytes() >= alignment;
        let mut windows = Vec::new();
        let mut bound = Vec::with_capacity(command.bindings().len());
        for (i, binding) in command.bindings().iter().enumerate() {
            let buffer = self.resolve(binding.buffer)?;
            let len = buffer.layout.len;
            if binding.len > len {
                let what = "a binding";
                return Err(BackendError::OutOfRange { what, offset: 0, bytes: binding.len, len });
            }
            let whole = binding.len <= limit.min(buffer.layout.left(0));
            if !whole && has_windows {
                windows.resize(command.bindings().len(), 1);
                if let Some(count) = windows.get_mut(i) {
                    let needed = binding.len.div_ceil(profile.window_bytes());
                    *count = u32::try_from(needed).unwrap_or(u32::MAX);
                }
            } else if !whole {
                let buffers = command.pipeline().program().buffers();
                let name = buffers.get(i).map_or("", |buffer| &buffer.name);
                let what = format!("the size in bytes of buffer `{name}`");
                return Err(BackendError::Limit { what, value: binding.len, limit });
            }
            bound.push(buffer);
        }
        Ok((bound, windows))
    }

    /// The form of the pipeline that can run the launch, and its grid.
    fn form(
        &self,
        pipeline: &'p WgpuPipeline,
        windows: &[u32],
        resolved: &ResolvedLaunch,
    ) -> Result<(FormRef<'p>, Grid), BackendError> {
        let core = self.core;
        let most = core.profile.max_workgroups_per_axis;
        let guarded = !pipeline.plain.holds(resolved);
        let build = |options: &CompileOptions| {
            core.guarded_variants.fetch_add(u64::from(guarded), Ordering::Relaxed);
            compile::build(core, &pipeline.program, options)
        };
        let form = pipeline.form(Variant { folded: false, guarded }, windows, build)?;
        let grid = form.first().descriptor().grid(resolved, most)?;
        if !grid.needs_folding {
            return Ok((form, grid));
        }
        let folded = pipeline.form(Variant { folded: true, guarded }, windows, build)?;
        let grid = folded.first().descriptor().grid(resolved, most)?;
        Ok((folded, grid))
    }

    /// What a kernel binds. Launch data that are no immediates are in the buffer `known`, or in a new one.
    pub(super) fn group(
        &mut self,
        compiled: &Compiled,
        command: &DispatchCommand,
        buffers: &[Named],
        words: &[u32],
        known: Option<BufferIndex>,
    ) -> Result<wgpu::BindGroup, BackendError> {
        let bindings = &compiled.descriptor().bindings;
        let (mut trap, mut data) = (None, known);
        for binding in bindings {
            match binding.role {
                // One kernel has no scratch memory.
                Role::Buffer(_) | Role::Counts | Role::Scratch => {}
                Role::Trap => trap = Some(self.trap()?),
                Role::LaunchData if known.is_some() => {}
                Role::LaunchData => data = Some(self.launch_data(words)?),
            }
        }
        let bound = bindings.iter().filter_map(|binding| {
            let (index, bytes) = match binding.role {
                Role::Buffer(id) => {
                    let (buffer, len) = (buffers.get(id.index())?, command.bindings().get(id.index())?.len);
                    if let Some(window) = binding.window {
                        let (index, offset) = buffer.locate(window.start());
                        let bytes = len.saturating_sub(window.start()).min(window.bytes);
                        return Some(Bound { buffer: self.pool_buffer(index), offset, bytes });
                    }
                    (buffer.locate(0).0, len)
                }
                Role::Trap => (trap?, self.len(trap?)),
                Role::LaunchData => (data?, self.len(data?)),
                Role::Counts => (self.counts?, self.len(self.counts?)),
                Role::Scratch => (self.scratch?, self.len(self.scratch?)),
            };
            Some(Bound { buffer: self.pool_buffer(index), offset: 0, bytes })
        });
        let bound: Vec<_> = bound.collect();
        self.core.groups.get(&self.core.generation, &compiled.kernel, &bound)
    }

    /// A buffer with the words of launch data.
    fn launch_data(&mut self, words: &[u32]) -> Result<BufferIndex, BackendError> {
        let bytes: &[u8] = bytemuck::cast_slice(words);
        let data = self.hold(bytes.len() as u64)?;
        let core = self.core;
        core.generation.scoped("writing launch data", |_| {
            // Runs before whatever is submitted next: nobody else has this buffer until then.
            core.generation.queue().write_buffer(self.buffer(data), 0, bytes);
        })?;
        Ok(data)
    }
}
