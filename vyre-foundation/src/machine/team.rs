//! Invocations in lock step, and how they part and meet again.
//!
//! Control flow is structured, so the lanes that part at a branch meet at its end, and those that leave a
//! loop meet behind it. Between, an op may compute for all lanes: what it gives for one that is elsewhere
//! has no reader there, since a value is used only where its node dominates.

use super::bank::{Bank, Span};
use super::code::{Counted, Pc, Reg};
use super::mask::Mask;

/// Whether a team can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Ready,
    AtBarrier,
    Done,
    /// The budget is spent.
    Starved,
}

/// Lanes of one workgroup that execute each instruction together.
pub(super) struct Team {
    pub(super) pc: Pc,
    pub(super) status: Status,
    /// Where its columns are.
    pub(super) span: Span,
    /// The index in the launch of its first lane; the others follow.
    pub(super) linear: u64,
    /// The lanes that execute the next instruction.
    pub(super) active: Mask,
    /// One frame for each open branch or loop, the innermost last; those from `depth` on are spare.
    frames: Vec<Frame>,
    depth: usize,
}

/// An open branch or loop.
struct Frame {
    /// Of a branch, the lanes that take the other arm, then those that are through with the first one; of
    /// a loop, those that have left it.
    apart: Mask,
    /// Of a loop, the lanes that go on with its next trip.
    continued: Mask,
    /// Trips that were made: lanes that are in a loop are in the same trip.
    trip: u64,
    /// Of a counted loop, the trip after which some lane leaves.
    leave_at: u64,
}

/// Why a `while` may not go on.
pub(super) struct LimitPassed {
    /// The first lane that would have.
    pub(super) lane: usize,
}

impl Team {
    pub(super) fn new() -> Self {
        Self {
            pc: 0,
            status: Status::Done,
            span: Span::default(),
            linear: 0,
            active: Mask::default(),
            frames: Vec::new(),
            depth: 0,
        }
    }

    /// Puts all lanes at the start of the program.
    pub(super) fn start(&mut self, span: Span, linear: u64) {
        if span.width != self.span.width {
            self.frames.clear();
        }
        self.pc = 0;
        self.status = Status::Ready;
        self.span = span;
        self.linear = linear;
        self.active.fill(span.width);
        self.depth = 0;
    }

    /// Whether every lane is active.
    pub(super) fn whole(&self) -> bool {
        self.active.count() == self.span.width
    }

    /// Whether so few lanes are active that an op is better done one by one.
    #[inline]
    pub(super) fn sparse(&self) -> bool {
        8 * self.active.count() < self.span.width
    }

    /// Whether nothing is left to do, on the outermost level.
    pub(super) fn gone(&self) -> bool {
        self.depth == 0 && self.active.is_empty()
    }

    /// Opens a branch or loop.
    fn open(&mut self) -> (&mut Frame, &mut Mask) {
        if self.frames.len() == self.depth {
            let width = self.span.width;
            let (apart, continued) = (Mask::empty(width), Mask::empty(width));
            self.frames.push(Frame { apart, continued, trip: 0, leave_at: 0 });
        }
        let frame = &mut self.frames[self.depth];
        self.depth += 1;
        frame.apart.clear();
        frame.continued.clear();
        frame.trip = 0;
        (frame, &mut self.active)
    }

    /// The frame so many levels above the innermost one.
    fn frame(&mut self, up: u32) -> (&mut Frame, &mut Mask) {
        (&mut self.frames[self.depth - 1 - up as usize], &mut self.active)
    }

    /// Parts at a branch; false if no lane takes the first arm.
    pub(super) fn part(&mut self, bank: &Bank, condition: Reg) -> bool {
        let condition = bank.column(condition, self.span);
        let (frame, active) = self.open();
        active.split(&mut frame.apart, |lane| condition[lane] != 0);
        !active.is_empty()
    }

    /// Goes from the first arm to the other; false if no lane takes it.
    pub(super) fn turn(&mut self) -> bool {
        let (frame, active) = self.frame(0);
        std::mem::swap(&mut frame.apart, active);
        !active.is_empty()
    }

    /// Meets at the end of a branch, or behind a loop.
    pub(super) fn meet(&mut self) {
        let (frame, active) = self.frame(0);
        active.take(&mut frame.apart);
        self.depth -= 1;
    }

    /// Leaves the loop that is open so many levels above.
    pub(super) fn leave_loop(&mut self, up: u32) {
        let (frame, active) = self.frame(up);
        frame.apart.take(active);
    }

    /// Waits for the next trip of the loop that is open so many levels above.
    pub(super) fn continue_loop(&mut self, up: u32) {
        let (frame, active) = self.frame(up);
        frame.continued.take(active);
    }

    /// Enters a counted loop; false if no lane makes a trip.
    pub(super) fn enter_for(&mut self, bank: &mut Bank, counted: &Counted) -> bool {
        let span = self.span;
        let (frame, active) = self.open();
        let (trips, others) = bank.apart(counted.trips, span);
        let (start, end) = (others.column(counted.start), others.column(counted.end));
        let step = others.column(counted.step);
        let mut leave_at = u64::MAX;
        active.for_each(|lane| {
            trips[lane] = counted.int.trips(start[lane], end[lane], step[lane]);
            if trips[lane] != 0 {
                leave_at = leave_at.min(trips[lane]);
            }
        });
        frame.leave_at = leave_at;
        active.split(&mut frame.apart, |lane| trips[lane] != 0);
        let any = !active.is_empty();
        let (var, others) = bank.apart(counted.var, span);
        var.copy_from_slice(others.column(counted.start));
        any
    }

    /// Goes to the next trip of a counted loop; false if no lane makes one.
    pub(super) fn next_for(&mut self, bank: &mut Bank, counted: &Counted) -> bool {
        let span = self.span;
        let (frame, active) = self.frame(0);
        active.take(&mut frame.continued);
        frame.trip = frame.trip.saturating_add(1);
        if frame.trip >= frame.leave_at {
            let (trip, trips) = (frame.trip, bank.column(counted.trips, span));
            active.split(&mut frame.apart, |lane| trips[lane] > trip);
            let mut leave_at = u64::MAX;
            active.for_each(|lane| leave_at = leave_at.min(trips[lane]));
            frame.leave_at = leave_at;
        }
        if self.active.is_empty() {
            return false;
        }
        let sparse = self.sparse();
        let (var, others) = bank.apart(counted.var, span);
        let step = others.column(counted.step);
        if sparse {
            self.active.for_each(|lane| var[lane] = counted.int.wrapping_add(var[lane], step[lane]));
        } else {
            for (var, &step) in var.iter_mut().zip(step) {
                *var = counted.int.wrapping_add(*var, step);
            }
        }
        true
    }

    /// Enters a `while`.
    pub(super) fn enter_while(&mut self) {
        self.open();
    }

    /// Lets those lanes leave whose condition does not hold; false if none stays.
    pub(super) fn test_while(&mut self, bank: &Bank, condition: Reg) -> bool {
        let condition = bank.column(condition, self.span);
        let (frame, active) = self.frame(0);
        active.split(&mut frame.apart, |lane| condition[lane] != 0);
        !active.is_empty()
    }

    /// Before a trip: all lanes leave if it would pass the limit.
    pub(super) fn guard_while(&mut self, limit: u64) -> Result<(), LimitPassed> {
        let (frame, active) = self.frame(0);
        let passed = frame.trip >= limit;
        Self::stop(frame, active, passed)
    }

    /// After a trip: counts it; false if no lane goes to the head again.
    ///
    /// # Errors
    /// If the trip was one too many, which only a `continue` of the head brings about: it passes no guard.
    pub(super) fn next_while(&mut self, limit: u64) -> Result<bool, LimitPassed> {
        let (frame, active) = self.frame(0);
        active.take(&mut frame.continued);
        frame.trip += 1;
        let passed = frame.trip > limit;
        Self::stop(frame, active, passed)?;
        Ok(!active.is_empty())
    }

    fn stop(frame: &mut Frame, active: &mut Mask, passed: bool) -> Result<(), LimitPassed> {
        match active.first().filter(|_| passed) {
            Some(lane) => {
                frame.apart.take(active);
                Err(LimitPassed { lane })
            }
            None => Ok(()),
        }
    }
}
