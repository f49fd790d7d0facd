//! A workgroup under execution: its invocations, shared memory, and where they wait for one another.

use vyre_spec::{Axis, BuiltIn, MemoryOrdering};

use super::code::{Code, Instr, Pc};
use super::observe::Observer;
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

    /// The invocations of a workgroup; the last batch of a domain may be short.
    pub(super) fn lanes_of(&self, group: u64) -> u32 {
        let before = group.saturating_mul(u64::from(self.lanes));
        (self.total.saturating_sub(before)).min(u64::from(self.lanes)) as u32
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
        let axis = |i: usize| group[i].wrapping_mul(self.size[i]).wrapping_add(local[i]);
        Ids {
            global: [axis(0), axis(1), axis(2)],
            local,
            local_index: lane,
            group,
            subgroup_size: self.subgroup_size,
        }
    }
}

/// The ids of an invocation.
pub(super) struct Ids {
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

/// Whether an invocation can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Ready,
    AtBarrier,
    AtSubgroup,
    Done,
}

/// An invocation.
pub(super) struct Invocation {
    pub(super) pc: Pc,
    pub(super) status: Status,
    pub(super) regs: Vec<u64>,
    pub(super) private: Vec<u64>,
    /// Its index in the launch.
    pub(super) linear: u64,
}

impl Invocation {
    pub(super) fn new(code: &Code) -> Self {
        Self {
            pc: 0,
            status: Status::Done,
            regs: code.template.clone(),
            private: vec![0; code.private_words],
            linear: 0,
        }
    }

    /// Puts it at the start of the program.
    pub(super) fn start(&mut self, code: &Code, shape: &Shape, group: u64, lane: u32) {
        self.pc = 0;
        self.status = Status::Ready;
        self.linear = group * u64::from(shape.lanes) + u64::from(lane);
        self.private.fill(0);
        if !code.built_ins.is_empty() {
            let ids = shape.ids(group, lane);
            for &(reg, which) in &code.built_ins {
                self.regs[reg as usize] = ids.built_in(which);
            }
        }
    }
}

/// How many barriers that order each kind of memory a workgroup has passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Intervals {
    pub(super) shared: u32,
    pub(super) buffers: u32,
    /// Of the `buffers`, those of the whole grid.
    pub(super) grid: u32,
}

/// A workgroup.
pub(super) struct Group {
    /// Its index in the launch.
    pub(super) linear: u64,
    pub(super) shared: Vec<u64>,
    pub(super) lanes: Vec<Invocation>,
    /// The lanes that can go on.
    pub(super) ready: Vec<u32>,
    pub(super) intervals: Intervals,
}

/// Where a workgroup stands once none of its lanes can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// Some lanes can go on again.
    Running,
    /// It waits for the grid.
    Grid,
    Done,
}

impl Group {
    pub(super) fn new(code: &Code, shape: &Shape) -> Self {
        Self {
            linear: 0,
            shared: vec![0; code.shared_words],
            lanes: (0..shape.lanes).map(|_| Invocation::new(code)).collect(),
            ready: Vec::with_capacity(shape.lanes as usize),
            intervals: Intervals::default(),
        }
    }

    /// Puts all of it at the start of the program, with zeroed memory.
    pub(super) fn start(&mut self, code: &Code, shape: &Shape, group: u64) {
        self.linear = group;
        self.shared.fill(0);
        self.intervals = Intervals::default();
        let lanes = shape.lanes_of(group);
        self.ready.clear();
        self.ready.extend(0..lanes);
        for (lane, invocation) in (0..).zip(&mut self.lanes) {
            if lane < lanes {
                invocation.start(code, shape, group, lane);
            } else {
                invocation.status = Status::Done;
            }
        }
    }

    /// Lets lanes that wait for one another go on; called when none is ready.
    pub(super) fn settle<O: Observer>(
        &mut self,
        code: &Code,
        subgroup_size: u32,
        observer: &mut O,
    ) -> Settled {
        let size = subgroup_size.max(1) as usize;
        for first in (0..self.lanes.len()).step_by(size) {
            let end = (first + size).min(self.lanes.len());
            if self.lanes[first..end].iter().any(|l| l.status == Status::AtSubgroup) {
                self.meet_subgroup(code, first, end, observer);
            }
        }
        if !self.ready.is_empty() {
            return Settled::Running;
        }
        let waiting = |l: &&Invocation| l.status == Status::AtBarrier;
        let Some(first) = self.lanes.iter().find(waiting) else {
            return Settled::Done;
        };
        let (pc, invocation) = (first.pc, first.linear);
        if O::ON {
            let arrived = self.lanes.iter().filter(|l| waiting(l) && l.pc == pc).count();
            if arrived < self.lanes.len() {
                observer.divergent(code.site(pc), invocation, arrived, self.lanes.len());
            }
        }
        match code.instrs.get(pc as usize) {
            Some(Instr::Barrier { ordering: MemoryOrdering::GridSync }) => Settled::Grid,
            Some(Instr::Barrier { ordering }) => {
                let ordering = *ordering;
                self.release(ordering);
                Settled::Running
            }
            _ => Settled::Done,
        }
    }

    /// Lets the lanes at a barrier go on.
    pub(super) fn release(&mut self, ordering: MemoryOrdering) {
        use MemoryOrdering::{GridSync, Storage, Workgroup, WorkgroupAndStorage};
        self.intervals.shared += u32::from(matches!(ordering, Workgroup | WorkgroupAndStorage | GridSync));
        self.intervals.buffers += u32::from(matches!(ordering, Storage | WorkgroupAndStorage | GridSync));
        self.intervals.grid += u32::from(ordering == GridSync);
        for (lane, invocation) in (0..).zip(&mut self.lanes) {
            if invocation.status == Status::AtBarrier {
                invocation.status = Status::Ready;
                invocation.pc += 1;
                self.ready.push(lane);
            }
        }
    }

    /// Carries out the subgroup op that lanes `first..end` wait at. Lanes that are elsewhere, which the
    /// checker rules out, take part with zero.
    fn meet_subgroup<O: Observer>(&mut self, code: &Code, first: usize, end: usize, observer: &mut O) {
        let lanes = &mut self.lanes[first..end];
        let Some(pc) = lanes.iter().filter(|l| l.status == Status::AtSubgroup).map(|l| l.pc).min() else {
            return;
        };
        let here = |l: &Invocation| l.status == Status::AtSubgroup && l.pc == pc;
        if O::ON {
            let arrived = lanes.iter().filter(|l| here(l)).count();
            if arrived < lanes.len() {
                let invocation = lanes.iter().find(|l| here(l)).map_or(0, |l| l.linear);
                observer.divergent(code.site(pc), invocation, arrived, lanes.len());
            }
        }
        let op = match code.instrs.get(pc as usize) {
            Some(Instr::Subgroup { subgroup }) => code.subgroups[*subgroup as usize],
            _ => return,
        };
        let at = |reg: u32| lanes.iter().map(move |l| if here(l) { l.regs[reg as usize] } else { 0 });
        let values: Vec<u64> = at(op.value).collect();
        let others: Vec<u32> = op.lane.map_or(Vec::new(), |reg| at(reg).map(|l| l as u32).collect());
        let results = op.op.eval(op.ty, &values, &others).unwrap_or_default();
        for (i, invocation) in lanes.iter_mut().enumerate() {
            if here(invocation) {
                invocation.regs[op.dst as usize] = results.get(i).copied().unwrap_or(0);
                invocation.status = Status::Ready;
                invocation.pc += 1;
                self.ready.push((first + i) as u32);
            }
        }
    }
}
