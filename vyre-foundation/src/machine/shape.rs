//! How a launch divides into workgroups, and the ids of their invocations.

use vyre_spec::{Axis, BuiltIn};

use super::bank::{Bank, Span};
use super::code::Code;
use crate::launch::ResolvedLaunch;

/// Points of a domain that the machine runs as one batch; no program can tell.
const DOMAIN_BATCH: u64 = 256;

/// How a launch divides into workgroups and invocations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Workgroups, or batches of domain points.
    pub(super) groups: u64,
    /// Invocations of a workgroup.
    pub(super) lanes: u32,
    /// Invocations of the launch.
    pub(super) total: u64,
    /// Whether this is a domain; then each point is on its own.
    pub(super) domain: bool,
    size: [u32; 3],
    extent: [u32; 3],
    pub(super) subgroup_size: u32,
}

impl Shape {
    /// The shape of a launch with workgroups of this size, or of a domain; `None` if it has 2^64
    /// invocations or more.
    pub(super) fn new(launch: &ResolvedLaunch, size: Option<[u32; 3]>, subgroup_size: u32) -> Option<Self> {
        // Each axis is below 2^32: `resolve` checks.
        let extent = launch.extent.map(|n| n as u32);
        let product = |factors: [u32; 3]| {
            factors.into_iter().try_fold(1u64, |product, factor| product.checked_mul(u64::from(factor)))
        };
        let domain = size.is_none();
        let (groups, lanes, total) = match size {
            // An extent of zero empties the launch however large the other two are.
            _ if extent.contains(&0) => (0, 1, 0),
            None => {
                let points = product(extent)?;
                (points.div_ceil(DOMAIN_BATCH), DOMAIN_BATCH as u32, points)
            }
            Some(size) => {
                let lanes = product(size)?;
                let groups = product(extent)?;
                (groups, u32::try_from(lanes).ok()?, groups.checked_mul(lanes)?)
            }
        };
        let size = size.unwrap_or([1; 3]);
        Some(Self { groups, lanes, total, domain, size, extent, subgroup_size: subgroup_size.max(1) })
    }

    /// The most invocations that any workgroup has.
    pub(super) fn most_lanes(&self) -> usize {
        u64::from(self.lanes).min(self.total) as usize
    }

    /// The invocations of a workgroup; the last batch of a domain may be short.
    pub(super) fn lanes_of(&self, group: u64) -> u32 {
        let before = group.saturating_mul(u64::from(self.lanes));
        (self.total.saturating_sub(before)).min(u64::from(self.lanes)) as u32
    }

    /// Sets the built-in values of lanes from `first` on.
    pub(super) fn fill_ids(&self, code: &Code, group: u64, first: usize, span: Span, bank: &mut Bank) {
        if code.built_ins.is_empty() {
            return;
        }
        for &(reg, which) in &code.built_ins {
            let mut ids = self.ids(group, first as u32);
            for value in bank.column_mut(reg, span) {
                *value = ids.built_in(which);
                self.advance(&mut ids);
            }
        }
    }

    /// Makes them the ids of the next invocation of the workgroup.
    fn advance(&self, ids: &mut Ids) {
        let step = |at: &mut [u32; 3], [x, y, _]: [u32; 3]| {
            at[0] = at[0].wrapping_add(1);
            if at[0] == x {
                at[0] = 0;
                at[1] = at[1].wrapping_add(1);
                if at[1] == y {
                    at[1] = 0;
                    at[2] = at[2].wrapping_add(1);
                }
            }
        };
        if self.domain {
            step(&mut ids.global, self.extent);
        } else {
            step(&mut ids.local, self.size);
            ids.local_index = ids.local_index.wrapping_add(1);
            ids.global = self.global(ids.group, ids.local);
        }
    }

    fn global(&self, group: [u32; 3], local: [u32; 3]) -> [u32; 3] {
        std::array::from_fn(|i| group[i].wrapping_mul(self.size[i]).wrapping_add(local[i]))
    }

    fn ids(&self, group: u64, lane: u32) -> Ids {
        let split = |index: u64, [x, y, _]: [u32; 3]| {
            let (x, y) = (u64::from(x), u64::from(y));
            [(index % x) as u32, (index / x % y) as u32, (index / x / y) as u32]
        };
        if self.domain {
            let point = split(group * u64::from(self.lanes) + u64::from(lane), self.extent);
            return Ids { global: point, local: [0; 3], local_index: 0, group: point, subgroup_size: 1 };
        }
        let (group, local) = (split(group, self.extent), split(u64::from(lane), self.size));
        Ids {
            global: self.global(group, local),
            local,
            local_index: lane,
            group,
            subgroup_size: self.subgroup_size,
        }
    }
}

/// The ids of an invocation.
struct Ids {
    global: [u32; 3],
    local: [u32; 3],
    local_index: u32,
    group: [u32; 3],
    subgroup_size: u32,
}

impl Ids {
    /// The value that the launch gives the invocation.
    fn built_in(&self, built_in: BuiltIn) -> u64 {
        let at = |values: [u32; 3], axis: Axis| u64::from(values[axis.index()]);
        match built_in {
            BuiltIn::Point(axis) | BuiltIn::GlobalId(axis) => at(self.global, axis),
            BuiltIn::LocalId(axis) => at(self.local, axis),
            BuiltIn::LocalIndex => u64::from(self.local_index),
            BuiltIn::WorkgroupId(axis) => at(self.group, axis),
            BuiltIn::SubgroupLane => u64::from(self.local_index % self.subgroup_size),
            BuiltIn::SubgroupId => u64::from(self.local_index / self.subgroup_size),
            // Fixed by the launch: computed at compile time.
            BuiltIn::Extent(_) | BuiltIn::WorkgroupCount(_) | BuiltIn::SubgroupSize => 0,
        }
    }
}
