//! Ids of invocations and workgroups, and the shape of workgroups.

use vyre_foundation::ir::{Launch, Program};
use vyre_spec::ops::BinaryOp;
use vyre_spec::{Axis, BuiltIn, CompileOptions, DataType, DeviceProfile};

use crate::error::{LowerError, within};
use crate::kernel::{GridRule, InstId, LaunchField, Op};
use crate::writer::Writer;

/// The shape of a kernel's launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Invocations per axis of a workgroup.
    pub(crate) size: [u32; 3],
    /// How a launch becomes workgroups.
    pub(crate) rule: GridRule,
    /// The axes that can have more than one workgroup.
    pub(crate) axes: usize,
}

/// The consecutive points of an invocation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// The first.
    pub(crate) first: InstId,
    /// How many lie in the domain; more than there are where all do.
    pub(crate) points: InstId,
    /// Whether all do.
    pub(crate) is_whole: InstId,
}

/// Workgroups of a domain: 256 invocations in a row, or 32 × 8 where there are more axes, so that a row is
/// at least the width of any subgroup but the widest. Powers of two, within the device's limits.
const ROW: [u32; 3] = [256, 1, 1];
const PLANE: [u32; 3] = [32, 8, 1];

impl Shape {
    /// Decides the workgroup size and checks it.
    pub(crate) fn new(
        program: &Program,
        profile: &DeviceProfile,
        options: &CompileOptions,
    ) -> Result<Self, LowerError> {
        let (size, points, axes) = match program.launch() {
            Launch::Domain { axes, .. } => {
                let size = options.workgroup_size.unwrap_or_else(|| default_size(axes, profile));
                (size, true, usize::from(axes.clamp(1, 3)))
            }
            Launch::Workgroups { size, .. } | Launch::Indirect { size, .. } => (size, false, 3),
        };
        if size.contains(&0) {
            return Err(LowerError::EmptyWorkgroup { size });
        }
        for axis in Axis::ALL {
            let what = format!("the workgroup size on the {} axis", axis.name());
            let i = axis.index();
            within(profile, &what, u64::from(size[i]), profile.max_workgroup_size[i])?;
        }
        let what = "the number of invocations in a workgroup";
        let invocations = size.iter().fold(1u64, |product, &n| product.saturating_mul(u64::from(n)));
        within(profile, what, invocations, profile.max_workgroup_invocations)?;
        // Counts in device memory are within the device's limits.
        let folded = options.fold_grid && !indirect(program, options);
        Ok(Self { size, rule: GridRule { points, run: 1, folded }, axes })
    }

    /// Invocations of a workgroup.
    pub(crate) fn invocations(&self) -> u32 {
        self.size.iter().product()
    }

    /// The workgroup's id on an axis, as the program counts.
    fn workgroup_id(&self, w: &mut Writer, axis: Axis) -> InstId {
        if axis.index() >= self.axes {
            return w.lit(0u32);
        }
        if !self.rule.folded {
            return w.hardware(Op::WorkgroupId(axis));
        }
        let linear = self.linear_workgroup(w);
        if self.axes == 1 {
            return linear;
        }
        // A dispatched launch has no count of 0, so these divide by no zero.
        let [x, y] =
            [Axis::X, Axis::Y].map(|axis| w.launch(LaunchField::WorkgroupCount(axis), DataType::U32));
        w.in_prelude(|w| match axis {
            Axis::X => w.raw(BinaryOp::Rem, linear, x),
            Axis::Y => {
                let rows = w.raw(BinaryOp::Div, linear, x);
                w.raw(BinaryOp::Rem, rows, y)
            }
            Axis::Z => {
                let rows = w.raw(BinaryOp::Div, linear, x);
                w.raw(BinaryOp::Div, rows, y)
            }
        })
    }

    /// The workgroup's place in the folded grid. The host makes no grid in which it passes 2^32.
    fn linear_workgroup(&self, w: &mut Writer) -> InstId {
        let [x, y, z] = Axis::ALL.map(|axis| w.hardware(Op::WorkgroupId(axis)));
        let width = w.launch(LaunchField::GridCount(Axis::X), DataType::U32);
        let height = w.launch(LaunchField::GridCount(Axis::Y), DataType::U32);
        w.in_prelude(|w| {
            let plane = w.raw(BinaryOp::Mul, z, height);
            let row = w.raw(BinaryOp::Add, plane, y);
            let start = w.raw(BinaryOp::Mul, row, width);
            w.raw(BinaryOp::Add, start, x)
        })
    }

    /// A value that the launch gives.
    pub(crate) fn built_in(&self, w: &mut Writer, built_in: BuiltIn) -> InstId {
        match built_in {
            BuiltIn::Point(axis) | BuiltIn::GlobalId(axis) => {
                let group = self.workgroup_id(w, axis);
                let size = self.size[axis.index()];
                if size == 1 {
                    return group;
                }
                let local = w.hardware(Op::LocalId(axis));
                w.in_prelude(|w| {
                    let start = w.raw_lit(BinaryOp::Mul, group, size);
                    w.raw(BinaryOp::Add, start, local)
                })
            }
            BuiltIn::Extent(axis) => w.launch(LaunchField::Extent(axis), DataType::U32),
            BuiltIn::LocalId(axis) => w.hardware(Op::LocalId(axis)),
            BuiltIn::LocalIndex => w.hardware(Op::LocalIndex),
            BuiltIn::WorkgroupId(axis) => self.workgroup_id(w, axis),
            BuiltIn::WorkgroupCount(axis) => w.launch(LaunchField::WorkgroupCount(axis), DataType::U32),
            BuiltIn::SubgroupLane => w.subgroup_lane(),
            BuiltIn::SubgroupId => w.subgroup_id(),
            BuiltIn::SubgroupSize => w.hardware(Op::SubgroupSize),
        }
    }

    /// Whether the invocation takes part: its workgroup is one of the launch's, its point in the domain.
    /// `None` if every one does. The first is uniform over the workgroup, so barriers may stand under it.
    pub(crate) fn takes_part(&self, w: &mut Writer) -> Option<InstId> {
        let mut tests = Vec::new();
        if self.rule.folded {
            let linear = self.linear_workgroup(w);
            let total = self.workgroups(w);
            tests.push(w.in_prelude(|w| w.raw(BinaryOp::Lt, linear, total)));
        }
        // On an axis that the domain does not have, its extent is 1, whatever the workgroup's size there.
        for axis in Axis::ALL.into_iter().filter(|_| self.rule.points) {
            let size = self.size[axis.index()];
            if size == 1 || (axis == Axis::X && self.rule.run > 1) {
                continue;
            }
            // A workgroup of the launch begins inside the extent, so this difference does not wrap, while
            // the point itself may if the extent is near 2^32.
            let group = self.workgroup_id(w, axis);
            let extent = w.launch(LaunchField::Extent(axis), DataType::U32);
            let local = w.hardware(Op::LocalId(axis));
            let test = w.in_prelude(|w| {
                let start = w.raw_lit(BinaryOp::Mul, group, size);
                let left = w.raw(BinaryOp::Sub, extent, start);
                w.raw(BinaryOp::Lt, local, left)
            });
            tests.push(test);
        }
        tests.into_iter().reduce(|all, test| w.in_prelude(|w| w.raw(BinaryOp::BitAnd, all, test)))
    }

    /// The points of an invocation that computes several on the x axis.
    pub(crate) fn run(&self, w: &mut Writer) -> Run {
        let (size, width) = (self.size[0], self.rule.run);
        // As above, of points: the workgroup begins inside the extent, so only an invocation's own first
        // point may wrap.
        let group = self.workgroup_id(w, Axis::X);
        let extent = w.launch(LaunchField::Extent(Axis::X), DataType::U32);
        let local = w.hardware(Op::LocalId(Axis::X));
        w.in_prelude(|w| {
            let start = w.raw_lit(BinaryOp::Mul, group, size.saturating_mul(width));
            let left = w.raw(BinaryOp::Sub, extent, start);
            let offset = w.raw_lit(BinaryOp::Mul, local, width);
            let end = w.raw_lit(BinaryOp::Add, offset, width);
            let is_whole = w.raw(BinaryOp::Ge, left, end);
            let is_inside = w.raw(BinaryOp::Lt, offset, left);
            let rest = w.raw(BinaryOp::Sub, left, offset);
            let zero = w.lit(0u32);
            let points = w.select(is_inside, rest, zero);
            Run { first: w.raw(BinaryOp::Add, start, offset), points, is_whole }
        })
    }

    /// How many workgroups the launch has, modulo 2^32.
    pub(crate) fn workgroups(&self, w: &mut Writer) -> InstId {
        let counts = Axis::ALL.map(|axis| w.launch(LaunchField::WorkgroupCount(axis), DataType::U32));
        w.in_prelude(|w| {
            let plane = w.raw(BinaryOp::Mul, counts[0], counts[1]);
            w.raw(BinaryOp::Mul, plane, counts[2])
        })
    }

    /// The workgroup's linear id over a launch of workgroups, modulo 2^32.
    pub(crate) fn linear_group(&self, w: &mut Writer) -> InstId {
        let id = Axis::ALL.map(|axis| self.built_in(w, BuiltIn::WorkgroupId(axis)));
        let [width, height] =
            [Axis::X, Axis::Y].map(|axis| w.launch(LaunchField::WorkgroupCount(axis), DataType::U32));
        linear(w, id, width, height)
    }

    /// The invocation's linear id over the launch, modulo 2^32: of the point in a domain, of the workgroup
    /// and the invocation in it otherwise.
    pub(crate) fn linear_invocation(&self, w: &mut Writer) -> InstId {
        if self.rule.points {
            let [x, y, z] = Axis::ALL.map(|axis| self.built_in(w, BuiltIn::Point(axis)));
            let [width, height] =
                [Axis::X, Axis::Y].map(|axis| w.launch(LaunchField::Extent(axis), DataType::U32));
            return linear(w, [x, y, z], width, height);
        }
        let group = self.linear_group(w);
        let local = w.hardware(Op::LocalIndex);
        let invocations = self.invocations();
        w.in_prelude(|w| {
            let start = w.raw_lit(BinaryOp::Mul, group, invocations);
            w.raw(BinaryOp::Add, start, local)
        })
    }
}

/// The linear position of an id in a grid, in the prelude.
fn linear(w: &mut Writer, [x, y, z]: [InstId; 3], width: InstId, height: InstId) -> InstId {
    w.in_prelude(|w| {
        let plane = w.raw(BinaryOp::Mul, z, height);
        let row = w.raw(BinaryOp::Add, plane, y);
        let start = w.raw(BinaryOp::Mul, row, width);
        w.raw(BinaryOp::Add, start, x)
    })
}

/// Whether the workgroup counts are in device memory.
pub(crate) fn indirect(program: &Program, options: &CompileOptions) -> bool {
    options.indirect || matches!(program.launch(), Launch::Indirect { .. })
}

fn default_size(axes: u8, profile: &DeviceProfile) -> [u32; 3] {
    let mut size = if axes <= 1 { ROW } else { PLANE };
    let mut left = profile.max_workgroup_invocations.max(1);
    for (n, &max) in size.iter_mut().zip(&profile.max_workgroup_size) {
        let most = (*n).min(max).min(left).max(1);
        // The greatest power of two that is at most `most`.
        *n = 1 << most.ilog2();
        left /= *n;
    }
    size
}
