//! From a launch to the workgroups that are dispatched, and the words that go with them.

use vyre_foundation::launch::{LaunchError, ResolvedLaunch};
use vyre_spec::{Axis, Value};

use super::{KernelDescriptor, LaunchData, LaunchField};

/// How a launch's extent becomes a grid of workgroups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GridRule {
    /// Whether the extent counts points, to be covered by workgroups; otherwise it counts workgroups.
    pub points: bool,
    /// Consecutive points of the x axis that an invocation computes.
    pub run: u32,
    /// Whether workgroup ids come from a folded grid: any shape with at least as many workgroups.
    pub folded: bool,
}

/// The workgroups of one launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Workgroups per axis, as the program counts them.
    pub workgroups: [u32; 3],
    /// Workgroups per axis to dispatch. All 0 if there is nothing to do.
    pub dispatch: [u32; 3],
    /// Whether `dispatch` passes the limit because the kernel is not folded: compile it again with
    /// [`vyre_spec::CompileOptions::fold_grid`].
    pub needs_folding: bool,
}

impl Grid {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.dispatch.contains(&0)
    }
}

impl KernelDescriptor {
    /// The workgroups of a launch, on a device with at most `max_per_axis` workgroups per axis.
    ///
    /// # Errors
    /// If a folded grid has more than 2^32 − 1 workgroups or they do not fit the device's three axes.
    pub fn grid(&self, launch: &ResolvedLaunch, max_per_axis: u32) -> Result<Grid, LaunchError> {
        let too_large = |what: &str, value: u64, limit: u64| LaunchError::TooLarge {
            what: format!("{what} of kernel `{}`", self.name),
            value,
            limit,
        };
        let mut workgroups = [0; 3];
        for axis in Axis::ALL {
            let i = axis.index();
            let extent = launch.extent[i];
            let run = if axis == Axis::X { self.grid.run.max(1) } else { 1 };
            let size = u64::from(self.workgroup_size[i].max(1)) * u64::from(run);
            let count = if self.grid.points { extent.div_ceil(size) } else { extent };
            workgroups[i] = u32::try_from(count).map_err(|_| {
                too_large(
                    &format!("the number of workgroups on the {} axis", axis.name()),
                    count,
                    u64::from(u32::MAX),
                )
            })?;
        }
        if workgroups.contains(&0) {
            return Ok(Grid { workgroups, dispatch: [0; 3], needs_folding: false });
        }
        if !self.grid.folded {
            let needs_folding = workgroups.iter().any(|&n| n > max_per_axis);
            return Ok(Grid { workgroups, dispatch: workgroups, needs_folding });
        }
        // Linear ids are u32, so no workgroup of the folded grid may lie beyond 2^32.
        let max = u64::from(max_per_axis.max(1));
        let total = workgroups.iter().fold(1u64, |product, &n| product.saturating_mul(u64::from(n)));
        let limit = u64::from(u32::MAX).min(max.saturating_mul(max).saturating_mul(max));
        if total > limit {
            return Err(too_large("the number of workgroups", total, limit));
        }
        let z = total.div_ceil(max.saturating_mul(max)).max(1);
        let y = total.div_ceil(max * z).max(1);
        let x = total.div_ceil(y * z);
        if x * y * z > 1 << 32 {
            return Err(too_large("the number of workgroups in a folded grid", x * y * z, 1 << 32));
        }
        Ok(Grid { workgroups, dispatch: [x as u32, y as u32, z as u32], needs_folding: false })
    }
}

impl LaunchData {
    /// The words of a launch, in the layout's order.
    pub fn encode(&self, launch: &ResolvedLaunch, grid: &Grid) -> Vec<u32> {
        self.encode_trip(launch, grid, &[])
    }

    /// As [`Self::encode`], of a kernel in loops that the host unrolls, with their variables by number.
    pub fn encode_trip(&self, launch: &ResolvedLaunch, grid: &Grid, vars: &[Value]) -> Vec<u32> {
        // Lengths and extents are below 2^32: resolving the launch sees to it.
        let word = |field: &LaunchField| match *field {
            LaunchField::Param(id) => launch.params.get(id.index()).map_or(0, |value| value.bits() as u32),
            LaunchField::ParamHigh(id) => {
                launch.params.get(id.index()).map_or(0, |value| (value.bits() >> 32) as u32)
            }
            LaunchField::Length(id) => launch.lengths.get(id.index()).copied().unwrap_or(0) as u32,
            LaunchField::Extent(axis) => launch.extent[axis.index()] as u32,
            LaunchField::WorkgroupCount(axis) => grid.workgroups[axis.index()],
            LaunchField::GridCount(axis) => grid.dispatch[axis.index()],
            LaunchField::LoopVar(number) => vars.get(number as usize).map_or(0, |value| value.bits() as u32),
            LaunchField::LoopVarHigh(number) => {
                vars.get(number as usize).map_or(0, |value| (value.bits() >> 32) as u32)
            }
            LaunchField::Zero => 0,
        };
        self.fields.iter().map(word).collect()
    }
}
