//! A workgroup under execution: its teams, shared memory, and where they wait for one another.

use vyre_spec::MemoryOrdering;

use super::bank::{Bank, Span};
use super::code::{Code, Instr};
use super::exec::{Around, Thread};
use super::observe::Observer;
use super::rng::Rng;
use super::shape::Shape;
use super::team::{Status, Team};

/// Teams under a seeded schedule have as many lanes, or subgroups, as a power of two below this one's.
const WIDTHS: u64 = 7;

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
    shared: Vec<u64>,
    bank: Bank,
    /// Its teams; those from `in_use` on are spare.
    teams: Vec<Team>,
    in_use: usize,
    /// The teams that can go on.
    pub(super) ready: Vec<usize>,
    intervals: Intervals,
}

/// Where a workgroup stands once none of its teams can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// Some teams can go on again.
    Running,
    /// It waits for the grid.
    Grid,
    Done,
}

impl Group {
    pub(super) fn new(code: &Code, lanes: usize) -> Self {
        Self {
            linear: 0,
            shared: vec![0; code.shared_words],
            bank: Bank::new(code, lanes),
            teams: Vec::new(),
            in_use: 0,
            ready: Vec::new(),
            intervals: Intervals::default(),
        }
    }

    /// Puts all of it at the start of the program, with zeroed memory: its lanes in one team, or in teams of
    /// random size.
    pub(super) fn start(&mut self, code: &Code, shape: &Shape, group: u64, rng: Option<&mut Rng>) {
        self.enter(group);
        let lanes = shape.lanes_of(group) as usize;
        match rng {
            None => self.team(code, shape, 0, Span { first: 0, width: lanes }),
            Some(rng) => {
                // The lanes of a subgroup stay together.
                let unit = if code.has_subgroup { shape.subgroup_size as usize } else { 1 };
                let mut first = 0;
                while first < lanes {
                    let width = (unit << rng.below(WIDTHS)).min(lanes - first);
                    self.team(code, shape, first, Span { first, width });
                    first += width;
                }
            }
        }
    }

    /// Makes it another workgroup, with zeroed shared memory and no teams.
    pub(super) fn enter(&mut self, group: u64) {
        self.linear = group;
        self.shared.fill(0);
        self.intervals = Intervals::default();
        self.dismiss();
    }

    /// Puts lanes from `first` on at the start of the program.
    pub(super) fn team(&mut self, code: &Code, shape: &Shape, first: usize, span: Span) {
        if self.in_use == self.teams.len() {
            self.teams.push(Team::new());
        }
        let linear = self.linear * u64::from(shape.lanes) + first as u64;
        self.teams[self.in_use].start(span, linear);
        self.ready.push(self.in_use);
        self.in_use += 1;
        self.bank.private_mut(span).fill(0);
        if code.tile_words > 0 {
            self.bank.tiles_mut(span).fill(0);
        }
        shape.fill_ids(code, self.linear, first, span, &mut self.bank);
    }

    /// Forgets its teams, which are done.
    pub(super) fn dismiss(&mut self) {
        self.in_use = 0;
        self.ready.clear();
    }

    /// A team, and what it runs in.
    pub(super) fn split(&mut self, team: usize) -> (&mut Team, Around<'_>) {
        let around = Around {
            group: self.linear,
            intervals: self.intervals,
            shared: &mut self.shared,
            bank: &mut self.bank,
        };
        (&mut self.teams[team], around)
    }

    /// Lets teams that wait for one another go on; called when none is ready.
    pub(super) fn settle<O: Observer>(&mut self, code: &Code, thread: &mut Thread<O>) -> Settled {
        let teams = &self.teams[..self.in_use];
        let waiting = |team: &&Team| team.status == Status::AtBarrier;
        let Some(first) = teams.iter().find(waiting) else {
            return Settled::Done;
        };
        if O::ON {
            let here = teams.iter().filter(|team| waiting(team) && team.pc == first.pc);
            let arrived: usize = here.map(|team| team.active.count()).sum();
            let all: usize = teams.iter().map(|team| team.span.width).sum();
            if arrived < all {
                let invocation = first.linear + first.active.first().unwrap_or(0) as u64;
                thread.observer.divergent(code.site(first.pc), invocation, arrived, all);
            }
        }
        match code.instrs.get(first.pc as usize) {
            Some(Instr::Barrier { ordering: MemoryOrdering::GridSync }) => Settled::Grid,
            Some(&Instr::Barrier { ordering }) => {
                self.release(ordering);
                Settled::Running
            }
            _ => Settled::Done,
        }
    }

    /// Lets the teams at a barrier go on.
    pub(super) fn release(&mut self, ordering: MemoryOrdering) {
        use MemoryOrdering::{GridSync, Storage, Workgroup, WorkgroupAndStorage};
        self.intervals.shared += u32::from(matches!(ordering, Workgroup | WorkgroupAndStorage | GridSync));
        self.intervals.buffers += u32::from(matches!(ordering, Storage | WorkgroupAndStorage | GridSync));
        self.intervals.grid += u32::from(ordering == GridSync);
        for (i, team) in self.teams[..self.in_use].iter_mut().enumerate() {
            if team.status == Status::AtBarrier {
                team.status = Status::Ready;
                team.pc += 1;
                self.ready.push(i);
            }
        }
    }
}
