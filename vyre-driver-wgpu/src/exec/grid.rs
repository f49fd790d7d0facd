//! Dispatches of programs with grid barriers: several kernels, in the order that their schedule gives.

use std::collections::BTreeMap;

use vyre_driver::{BackendError, DispatchCommand};
use vyre_lower::grid_sync::{MAX_SCHEDULE_STEPS, Schedule, ScheduleTooLong};
use vyre_lower::kernel::Grid;
use vyre_spec::Value;

use super::dispatch::Launch;
use super::plan::{Named, Plan};
use super::steps::Step;
use crate::pipeline::Form;

/// The launches of one dispatch, by kernel and launch data: trips that differ in nothing share one.
type Made = BTreeMap<(usize, Vec<u32>), usize>;

/// Why a schedule was left.
enum Stop {
    TooLong,
    Failed(BackendError),
}

impl From<ScheduleTooLong> for Stop {
    fn from(_: ScheduleTooLong) -> Self {
        Self::TooLong
    }
}

impl<'p> Plan<'p> {
    /// Plans every kernel that a dispatch runs. Each is a dispatch of its own on the device, which orders it after
    /// those before it.
    pub(super) fn scheduled(
        &mut self,
        command: &'p DispatchCommand,
        form: &Form,
        schedule: &Schedule,
        buffers: &[Named],
        grid: &Grid,
    ) -> Result<(), BackendError> {
        let name = command.pipeline().program().name();
        self.make_scratch(name, form, schedule, grid)?;
        let launch = command.resolved()?;
        let mut made = Made::new();
        let run = |kernel: usize, vars: &[Value]| {
            self.part(command, form, buffers, grid, (kernel, vars), &mut made).map_err(Stop::Failed)
        };
        schedule.run(launch, grid.workgroups, run).map_err(|stop| match stop {
            Stop::Failed(error) => error,
            Stop::TooLong => BackendError::Limit {
                what: format!(
                    "the number of kernels that `{name}` runs between grid barriers, in one launch"
                ),
                value: MAX_SCHEDULE_STEPS + 1,
                limit: MAX_SCHEDULE_STEPS,
            },
        })
    }

    fn part(
        &mut self,
        command: &'p DispatchCommand,
        form: &Form,
        buffers: &[Named],
        grid: &Grid,
        (kernel, vars): (usize, &[Value]),
        made: &mut Made,
    ) -> Result<(), BackendError> {
        let Some(compiled) = form.kernel(kernel) else { return Ok(()) };
        let data = &compiled.descriptor().launch;
        let words = data.encode_trip(command.resolved()?, grid, vars);
        if let Some(&launch) = made.get(&(kernel, words.clone())) {
            self.steps.dispatch(launch);
            return Ok(());
        }
        let group = self.group(compiled, command, buffers, &words, None)?;
        let immediates = if data.immediates { words.clone() } else { Vec::new() };
        let launch = self.launches.len();
        let pipeline = compiled.kernel.pipeline.clone();
        self.launches.push(Launch { command: None, pipeline, group, immediates, grid: grid.dispatch });
        self.steps.dispatch(launch);
        made.insert((kernel, words), launch);
        Ok(())
    }

    /// Makes the scratch memory of a dispatch.
    fn make_scratch(
        &mut self,
        name: &str,
        form: &Form,
        schedule: &Schedule,
        grid: &Grid,
    ) -> Result<(), BackendError> {
        let scratch = schedule.scratch();
        let bytes = 4 * scratch.words(grid.workgroups, form.first().descriptor().workgroup_size);
        let limit = self.core.profile.max_storage_binding_bytes.min(4 * u64::from(u32::MAX));
        if bytes > limit {
            let what = format!("the bytes that live across the grid barriers of `{name}`");
            return Err(BackendError::Limit { what, value: bytes, limit });
        }
        if bytes == 0 {
            return Ok(());
        }
        let to = match self.scratch.filter(|&held| self.len(held) >= bytes) {
            Some(held) => held,
            None => self.hold(bytes)?,
        };
        self.scratch = Some(to);
        if scratch.zero {
            self.steps.push(Step::Clear { to, offset: 0, len: bytes });
        }
        Ok(())
    }
}
