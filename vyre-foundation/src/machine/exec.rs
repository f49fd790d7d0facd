//! Execution of one invocation up to the next point where it waits, ends, or has used its fuel.

use vyre_spec::{DataType, Value};

use super::TrapRecord;
use super::code::{Array, Code, Instr, IntType, Space};
use super::group::{Intervals, Invocation, Status};
use super::memory::Buffers;
use super::observe::{Access, Kind, Observer, Spot};

/// What every invocation of a launch shares.
pub(super) struct Machine<'a> {
    pub(super) code: &'a Code,
    pub(super) buffers: &'a Buffers,
    pub(super) while_limit: u64,
}

/// What one thread of execution keeps.
pub(super) struct Thread<O> {
    pub(super) observer: O,
    /// The first trap, with the workgroup that it happened in.
    pub(super) trap: Option<(u64, TrapRecord)>,
    /// Whether a watched value was subnormal.
    pub(super) subnormals: bool,
    /// Instructions left of the budget.
    pub(super) fuel: u64,
}

/// The workgroup that an invocation runs in.
pub(super) struct Around<'g> {
    pub(super) group: u64,
    pub(super) intervals: Intervals,
    pub(super) shared: &'g mut [u64],
}

impl Machine<'_> {
    /// Runs an invocation until it waits, ends, or has executed `quantum` instructions.
    pub(super) fn run<O: Observer>(
        &self,
        invocation: &mut Invocation,
        around: &mut Around<'_>,
        thread: &mut Thread<O>,
        quantum: u64,
    ) {
        let quantum = quantum.min(thread.fuel);
        let mut left = quantum;
        let mut pc = invocation.pc as usize;
        invocation.status = self.steps(invocation, around, thread, &mut left, &mut pc);
        invocation.pc = pc as u32;
        thread.fuel -= quantum - left;
    }

    fn steps<O: Observer>(
        &self,
        invocation: &mut Invocation,
        around: &mut Around<'_>,
        thread: &mut Thread<O>,
        left: &mut u64,
        pc: &mut usize,
    ) -> Status {
        let code = self.code;
        while *left > 0 {
            *left -= 1;
            let regs = &mut invocation.regs[..];
            let mut next = *pc + 1;
            match code.instrs[*pc] {
                Instr::Copy { dst, src } => regs[dst as usize] = regs[src as usize],
                Instr::Unary { f, dst, a } => regs[dst as usize] = f(regs[a as usize]),
                Instr::Binary { f, dst, a, b } => {
                    regs[dst as usize] = f(regs[a as usize], regs[b as usize]);
                }
                Instr::Ternary { f, dst, a, b, c } => {
                    regs[dst as usize] = f(regs[a as usize], regs[b as usize], regs[c as usize]);
                }
                Instr::Load { space, int, dst, array, index } => {
                    let spot = self.spot(*pc, array, int, regs[index as usize]);
                    self.observe::<O>(&spot, Kind::Load, invocation, around, thread);
                    let value = match spot.element {
                        None => 0,
                        Some(element) => match space {
                            Space::Buffer => self.buffers.load(spot.array.offset, element),
                            Space::Shared => around.shared[spot.array.offset + element],
                            Space::Private => invocation.private[spot.array.offset + element],
                        },
                    };
                    // Any non-zero word of a buffer is `true`.
                    let truth = spot.array.element == DataType::Bool;
                    invocation.regs[dst as usize] = if truth { u64::from(value != 0) } else { value };
                }
                Instr::Store { space, int, array, index, value } => {
                    let (bits, value) = (regs[index as usize], regs[value as usize]);
                    let spot = self.spot(*pc, array, int, bits);
                    self.observe::<O>(&spot, Kind::Store, invocation, around, thread);
                    if let Some(element) = spot.element {
                        match space {
                            Space::Buffer => self.buffers.store(spot.array.offset, element, value),
                            Space::Shared => around.shared[spot.array.offset + element] = value,
                            Space::Private => invocation.private[spot.array.offset + element] = value,
                        }
                    }
                }
                Instr::Atomic { space, int, dst, array, index, modify } => {
                    let modify = code.modifies[modify as usize];
                    let value = regs[modify.value as usize];
                    let expected = modify.expected.map(|reg| regs[reg as usize]);
                    let spot = self.spot(*pc, array, int, regs[index as usize]);
                    self.observe::<O>(&spot, Kind::Atomic, invocation, around, thread);
                    let new = |old: u64| match expected {
                        Some(expected) if expected != old => old,
                        _ => (modify.f)(old, value),
                    };
                    let old = match (spot.element, space) {
                        (None, _) => 0,
                        (Some(element), Space::Buffer) => {
                            self.buffers.modify(spot.array.offset, element, new)
                        }
                        (Some(element), Space::Shared) => {
                            let word = &mut around.shared[spot.array.offset + element];
                            std::mem::replace(word, new(*word))
                        }
                        (Some(element), Space::Private) => {
                            let word = &mut invocation.private[spot.array.offset + element];
                            std::mem::replace(word, new(*word))
                        }
                    };
                    invocation.regs[dst as usize] = old;
                }
                Instr::Watch { ty, a } => {
                    thread.subnormals |= Value::from_bits(ty, regs[a as usize]).is_subnormal();
                }
                Instr::Jump { to } => next = to as usize,
                Instr::Unless { condition, to } => {
                    if regs[condition as usize] == 0 {
                        next = to as usize;
                    }
                }
                Instr::ForEnter { counted, exit } => {
                    let counted = code.counted[counted as usize];
                    let number = |reg: u32| counted.int.number(regs[reg as usize]);
                    let (start, end, step) =
                        (number(counted.start), number(counted.end), number(counted.step));
                    if step <= 0 || start >= end {
                        next = exit as usize;
                    } else {
                        // At most 2^64 − 1: the bounds are of one type of at most 64 bits.
                        regs[counted.trips as usize] = ((end - start - 1) / step + 1) as u64;
                        regs[counted.var as usize] = regs[counted.start as usize];
                    }
                }
                Instr::ForNext { counted, body } => {
                    let counted = code.counted[counted as usize];
                    let trips = &mut regs[counted.trips as usize];
                    *trips = trips.saturating_sub(1);
                    if *trips > 0 {
                        let (var, step) = (regs[counted.var as usize], regs[counted.step as usize]);
                        regs[counted.var as usize] = counted.int.wrapping_add(var, step);
                        next = body as usize;
                    }
                }
                Instr::WhileEnter { trips } => regs[trips as usize] = 0,
                Instr::WhileGuard { trips, exit } => {
                    if regs[trips as usize] >= self.while_limit {
                        thread.trap(around.group, vyre_spec::TRAP_LOOP_LIMIT, invocation.linear, 0);
                        next = exit as usize;
                    }
                }
                Instr::WhileNext { trips, head, exit } => {
                    let trips = &mut regs[trips as usize];
                    *trips += 1;
                    // Reached only by a `continue` of the head, which passes no guard.
                    if *trips > self.while_limit {
                        thread.trap(around.group, vyre_spec::TRAP_LOOP_LIMIT, invocation.linear, 0);
                        next = exit as usize;
                    } else {
                        next = head as usize;
                    }
                }
                Instr::Barrier { .. } => return Status::AtBarrier,
                Instr::Subgroup { .. } => return Status::AtSubgroup,
                Instr::Trap { code, address } => {
                    let address = regs[address as usize] as u32;
                    thread.trap(around.group, code, invocation.linear, address);
                }
                Instr::End => return Status::Done,
            }
            *pc = next;
        }
        Status::Ready
    }

    #[inline]
    fn spot(&self, pc: usize, array: u32, int: IntType, index: u64) -> Spot<'_> {
        let array: &Array = &self.code.arrays[array as usize];
        Spot { pc, array, int, index, element: int.position(index, array.len) }
    }

    #[inline]
    fn observe<O: Observer>(
        &self,
        spot: &Spot<'_>,
        kind: Kind,
        invocation: &Invocation,
        around: &Around<'_>,
        thread: &mut Thread<O>,
    ) {
        if O::ON {
            let access = Access {
                node: self.code.site(spot.pc as u32),
                kind,
                invocation: invocation.linear,
                group: around.group,
                intervals: around.intervals,
            };
            thread.observer.access(spot, access);
        }
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
}
