//! Execution of a team up to the next point where it waits, ends, or has used its fuel.

use vyre_spec::Value;

use super::TrapRecord;
use super::bank::Bank;
use super::code::{Code, Instr};
use super::compile::meets;
use super::group::Intervals;
use super::memory::Buffers;
use super::observe::Observer;
use super::team::{LimitPassed, Status, Team};

/// What every invocation of a launch shares.
pub(super) struct Machine<'a> {
    pub(super) code: &'a Code,
    pub(super) buffers: &'a Buffers,
    pub(super) while_limit: u64,
    pub(super) subgroup_size: usize,
}

/// What one thread of execution keeps.
pub(super) struct Thread<O> {
    pub(super) observer: O,
    /// The first trap, with the workgroup that it happened in.
    pub(super) trap: Option<(u64, TrapRecord)>,
    /// Whether a watched value was subnormal.
    pub(super) subnormals: bool,
    /// Instructions left of the budget, counted for each lane.
    pub(super) fuel: u64,
}

/// The workgroup that a team runs in.
pub(super) struct Around<'g> {
    pub(super) group: u64,
    pub(super) intervals: Intervals,
    pub(super) shared: &'g mut [u64],
    pub(super) bank: &'g mut Bank,
}

impl Machine<'_> {
    /// Runs a team until it waits, ends, or has executed `quantum` instructions.
    pub(super) fn run<O: Observer>(
        &self,
        team: &mut Team,
        around: &mut Around<'_>,
        thread: &mut Thread<O>,
        quantum: u64,
    ) {
        let mut pc = team.pc as usize;
        team.status = self.steps(team, around, thread, quantum, &mut pc);
        team.pc = pc as u32;
    }

    fn steps<O: Observer>(
        &self,
        team: &mut Team,
        around: &mut Around<'_>,
        thread: &mut Thread<O>,
        quantum: u64,
        pc: &mut usize,
    ) -> Status {
        let code = self.code;
        for _ in 0..quantum {
            let lanes = team.active.count() as u64;
            match thread.fuel.checked_sub(lanes) {
                Some(fuel) => thread.fuel = fuel,
                None => return Status::Starved,
            }
            let bank = &mut *around.bank;
            let mut next = *pc + 1;
            match code.instrs[*pc] {
                Instr::Get { dst, src } => {
                    let (dst, others) = bank.apart(dst, team.span);
                    dst.copy_from_slice(others.column(src));
                }
                Instr::Set { dst, src } => {
                    let (dst, others) = bank.apart(dst, team.span);
                    let src = others.column(src);
                    if team.whole() {
                        dst.copy_from_slice(src);
                    } else {
                        team.active.for_each(|lane| dst[lane] = src[lane]);
                    }
                }
                Instr::Unary { one, all, dst, a } => {
                    let (dst, others) = bank.apart(dst, team.span);
                    let a = others.column(a);
                    if team.sparse() {
                        team.active.for_each(|lane| dst[lane] = one(a[lane]));
                    } else {
                        all(dst, a);
                    }
                }
                Instr::Binary { one, all, dst, a, b } => {
                    let (dst, others) = bank.apart(dst, team.span);
                    let (a, b) = (others.column(a), others.column(b));
                    if team.sparse() {
                        team.active.for_each(|lane| dst[lane] = one(a[lane], b[lane]));
                    } else {
                        all(dst, a, b);
                    }
                }
                Instr::Ternary { one, all, dst, a, b, c } => {
                    let (dst, others) = bank.apart(dst, team.span);
                    let (a, b, c) = (others.column(a), others.column(b), others.column(c));
                    if team.sparse() {
                        team.active.for_each(|lane| dst[lane] = one(a[lane], b[lane], c[lane]));
                    } else {
                        all(dst, a, b, c);
                    }
                }
                Instr::Load { spot, dst } => self.load(*pc, spot, dst, team, around, thread),
                Instr::Store { spot, value } => self.store(*pc, spot, value, team, around, thread),
                Instr::Atomic { spot, dst, modify } => {
                    self.atomic(*pc, spot, dst, modify, team, around, thread);
                }
                Instr::Watch { ty, a, parts } => {
                    let a = bank.column(a, team.span);
                    let mut met = false;
                    team.active.for_each(|lane| met |= meets(Value::from_bits(ty, a[lane]), parts));
                    thread.subnormals |= met;
                }
                Instr::If { condition, otherwise } => {
                    if !team.part(bank, condition) {
                        next = otherwise as usize;
                    }
                }
                Instr::Else { end } => {
                    if !team.turn() {
                        next = end as usize;
                    }
                }
                Instr::EndIf | Instr::EndLoop => {
                    team.meet();
                    if team.gone() {
                        return Status::Done;
                    }
                }
                Instr::ForEnter { counted, end } => {
                    if !team.enter_for(bank, &code.counted[counted as usize]) {
                        next = end as usize;
                    }
                }
                Instr::ForNext { counted, body } => {
                    if team.next_for(bank, &code.counted[counted as usize]) {
                        next = body as usize;
                    }
                }
                Instr::WhileEnter => team.enter_while(),
                Instr::WhileTest { condition, end } => {
                    if !team.test_while(bank, condition) {
                        next = end as usize;
                    }
                }
                Instr::WhileGuard { end } => {
                    if let Err(passed) = team.guard_while(self.while_limit) {
                        thread.loop_limit(around.group, team, &passed);
                        next = end as usize;
                    }
                }
                Instr::WhileNext { head } => match team.next_while(self.while_limit) {
                    Ok(true) => next = head as usize,
                    Ok(false) => {}
                    Err(passed) => thread.loop_limit(around.group, team, &passed),
                },
                Instr::Break { up, to } => {
                    team.leave_loop(up);
                    next = to as usize;
                }
                Instr::Continue { up, to } => {
                    team.continue_loop(up);
                    next = to as usize;
                }
                Instr::Return { to } => {
                    team.active.clear();
                    next = to as usize;
                }
                // Lanes that have all gone elsewhere wait for nobody.
                Instr::Barrier { .. } if lanes == 0 => {}
                Instr::Barrier { .. } => return Status::AtBarrier,
                Instr::Subgroup { subgroup } => {
                    let op = &code.subgroups[subgroup as usize];
                    self.subgroup(code.site(*pc as u32), op, team, bank, thread);
                }
                Instr::Collective { op, ty, dst, value, rank } => {
                    let (dst, others) = bank.apart(dst, team.span);
                    let (values, ranks) = (others.column(value), others.column(rank));
                    team.active.for_each(|lane| {
                        let result = op.eval(ty, &[values[lane]], 0, ranks[lane] as u32);
                        dst[lane] = result.unwrap_or(0);
                    });
                }
                Instr::Tile { step } => self.tile(*pc, step, team, around, thread),
                Instr::Trap { code, address } => {
                    if let Some(lane) = team.active.first() {
                        let address = bank.column(address, team.span)[lane] as u32;
                        thread.trap(around.group, code, team.linear + lane as u64, address);
                    }
                }
                Instr::End => return Status::Done,
            }
            *pc = next;
        }
        Status::Ready
    }
}

impl<O> Thread<O> {
    pub(super) fn new(observer: O, fuel: u64) -> Self {
        Self { observer, trap: None, subnormals: false, fuel }
    }

    /// Records a trap, unless there was one.
    fn trap(&mut self, group: u64, code: u32, invocation: u64, address: u32) {
        self.trap.get_or_insert((group, TrapRecord { code, invocation, address }));
    }

    fn loop_limit(&mut self, group: u64, team: &Team, passed: &LimitPassed) {
        self.trap(group, vyre_spec::TRAP_LOOP_LIMIT, team.linear + passed.lane as u64, 0);
    }
}
