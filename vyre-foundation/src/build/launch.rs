//! Launches.

use std::panic::Location;

use vyre_spec::{Axis, BuiltIn};

use super::kernel::Caller;
use super::{IntoExtent, Kernel, ReadOnly, Val};
use crate::diag::{Code, Diagnostic, Site};
use crate::ir::{ExtentId, Launch, RegionId};

mod sealed {
    pub trait Sealed {}
    impl Sealed for [(); 1] {}
    impl Sealed for [(); 2] {}
    impl Sealed for [(); 3] {}
}

/// Numbers of axes that a launch may have: `[(); N]` for N of 1, 2 and 3.
pub trait AxisCount: sealed::Sealed {}
impl<T: sealed::Sealed> AxisCount for T {}

/// What a workgroup launch tells each invocation. Ids along axes are `[x, y, z]`, x varying fastest.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Workgroup<'k> {
    /// The invocation's id over the whole launch: workgroup id × size + local id.
    pub global_id: [Val<'k, u32>; 3],
    /// The invocation's id in its workgroup.
    pub local_id: [Val<'k, u32>; 3],
    /// The invocation's linear index in its workgroup.
    pub local_index: Val<'k, u32>,
    /// The workgroup's id.
    pub id: [Val<'k, u32>; 3],
    /// The number of workgroups.
    pub count: [Val<'k, u32>; 3],
    /// The invocation's lane in its subgroup.
    pub subgroup_lane: Val<'k, u32>,
    /// The subgroup's index in its workgroup.
    pub subgroup_id: Val<'k, u32>,
    /// The number of lanes of a subgroup.
    pub subgroup_size: Val<'k, u32>,
}

/// `values`, with `fill` for the axes that are not named.
fn on_three_axes<T: Copy, const N: usize>(values: [T; N], fill: T) -> [T; 3] {
    let mut axes = [fill; 3];
    for (axis, value) in axes.iter_mut().zip(values) {
        *axis = value;
    }
    axes
}

impl Kernel {
    /// Runs the body once for each point of a domain of one to three axes, the first varying fastest.
    /// Workgroup size and grid shape are the compiler's.
    ///
    /// ```
    /// use vyre_foundation::build::Kernel;
    /// Kernel::build("transpose", |k| {
    ///     let (width, height) = (k.param::<u32>("width"), k.param::<u32>("height"));
    ///     let image = k.read_only::<f32>("image");
    ///     let out = k.write_only::<f32>("out", image.len());
    ///     k.domain([width, height], |[x, y]| {
    ///         out.store(x * height + y, image.load(y * width + x));
    ///     });
    /// })?;
    /// # Ok::<(), vyre_foundation::build::BuildError>(())
    /// ```
    #[track_caller]
    pub fn domain<'k, const N: usize, E: IntoExtent<'k>>(
        &'k self,
        extent: [E; N],
        body: impl FnOnce([Val<'k, u32>; N]),
    ) where
        [(); N]: AxisCount,
    {
        let at = Location::caller();
        let extent = self.extents(extent, at);
        let axes = N as u8;
        let mut axis = Axis::ALL.into_iter();
        let point = [(); N].map(|()| self.built_in(BuiltIn::Point(axis.next().unwrap_or(Axis::Z))));
        self.launch(Launch::Domain { extent, axes }, at, || body(point));
    }

    /// Runs the body in `count` workgroups of `size` invocations each; axes that are not named have 1.
    /// Shared arrays, barriers and subgroup ops belong to this kind of launch.
    ///
    /// ```
    /// use vyre_foundation::build::Kernel;
    /// use vyre_spec::MemoryOrdering;
    /// Kernel::build("reverse_blocks", |k| {
    ///     let x = k.read_only::<u32>("x");
    ///     let out = k.write_only::<u32>("out", x.len());
    ///     let tile = k.shared::<u32>("tile", 64);
    ///     k.workgroups([64], [x.len().extent().ceil_div(64)], |group| {
    ///         tile.store(group.local_index, x.load(group.global_id[0]));
    ///         k.barrier(MemoryOrdering::Workgroup);
    ///         out.store(group.global_id[0], tile.load(63 - group.local_index));
    ///     });
    /// })?;
    /// # Ok::<(), vyre_foundation::build::BuildError>(())
    /// ```
    #[track_caller]
    pub fn workgroups<'k, const N: usize, E: IntoExtent<'k>>(
        &'k self,
        size: [u32; N],
        count: [E; N],
        body: impl FnOnce(Workgroup<'k>),
    ) where
        [(); N]: AxisCount,
    {
        let at = Location::caller();
        let count = self.extents(count, at);
        let size = on_three_axes(size, 1);
        let group = self.group();
        self.launch(Launch::Workgroups { size, count }, at, || body(group));
    }

    /// Runs the body in workgroups of `size` invocations each, as many on the x, y and z axes as the first three
    /// elements of `counts` say when the launch begins: another program may have written them on the device. Axes
    /// of the size that are not named have 1.
    ///
    /// ```
    /// use vyre_foundation::build::Kernel;
    /// Kernel::build("count", |k| {
    ///     let counts = k.read_only::<u32>("counts");
    ///     let total = k.read_write::<u32>("total").with_len(1);
    ///     k.workgroups_from(counts, [64], |_| { total.atomic_add(0u32, 1u32); });
    /// })?;
    /// # Ok::<(), vyre_foundation::build::BuildError>(())
    /// ```
    #[track_caller]
    pub fn workgroups_from<'k, const N: usize>(
        &'k self,
        counts: ReadOnly<'k, u32>,
        size: [u32; N],
        body: impl FnOnce(Workgroup<'k>),
    ) where
        [(); N]: AxisCount,
    {
        let at = Location::caller();
        let counts = counts.id_in(self, at);
        let launch = Launch::Indirect { size: on_three_axes(size, 1), counts };
        let group = self.group();
        self.launch(launch, at, || body(group));
    }

    #[track_caller]
    fn group(&self) -> Workgroup<'_> {
        let axes = |built_in: fn(Axis) -> BuiltIn| Axis::ALL.map(|axis| self.built_in(built_in(axis)));
        Workgroup {
            global_id: axes(BuiltIn::GlobalId),
            local_id: axes(BuiltIn::LocalId),
            local_index: self.built_in(BuiltIn::LocalIndex),
            id: axes(BuiltIn::WorkgroupId),
            count: axes(BuiltIn::WorkgroupCount),
            subgroup_lane: self.built_in(BuiltIn::SubgroupLane),
            subgroup_id: self.built_in(BuiltIn::SubgroupId),
            subgroup_size: self.built_in(BuiltIn::SubgroupSize),
        }
    }

    fn extents<'k, const N: usize, E: IntoExtent<'k>>(
        &'k self,
        extents: [E; N],
        at: Caller,
    ) -> [ExtentId; 3] {
        let one = self.arena.borrow_mut().extent(crate::ir::Extent::Literal(1));
        on_three_axes(extents.map(|extent| extent.extent_id(self, at)), one)
    }

    fn launch(&self, launch: Launch, at: Caller, body: impl FnOnce()) {
        if let Some(first) = self.launched.get() {
            let d = Diagnostic::new(Code::BadLaunch, Site::Program, "the kernel has a second launch")
                .with_help(format!("a kernel has one; the first is at {first}"));
            self.report(d, at);
            return;
        }
        self.launched.set(Some(at));
        self.arena.borrow_mut().set_launch(launch);
        self.inside.set(true);
        self.in_region(RegionId::new(0), body);
        self.inside.set(false);
    }
}
