//! Nodes in order, with a stack of what is left to do instead of recursion.

use vyre_foundation::ir::{ExprId, Node, NodeId, RegionId};
use vyre_spec::ops::BinaryOp;
use vyre_spec::{DataType, MemoryOrdering, Value};

use crate::access::Operands;
use crate::error::LowerError;
use crate::kernel::{BlockId, InstId, LocalId, Op};
use crate::legalize;
use crate::lower::Lowering;
use crate::trap::{self, TripCounter};
use crate::writer::bits_of;

/// Trips of a `while`, at most: one more is a trap.
const WHILE_TRIPS: u32 = u32::MAX;

/// What is left to do.
pub(crate) enum Step {
    /// The outermost nodes of the part from a position on.
    Part(usize),
    /// The nodes of a region from a position on.
    Nodes(RegionId, usize),
    /// Going on in another block.
    Enter(Option<BlockId>),
    /// The test of a `while`, after its head; then the trip is counted, where nothing else counts it.
    Test { id: NodeId, head: RegionId, condition: ExprId, trips: Option<TripCounter> },
    /// The step of a counted loop, in its continuing block.
    Advance(Counter),
}

/// A counted loop's state.
#[derive(Clone, Copy)]
pub(crate) struct Counter {
    pub(crate) local: LocalId,
    pub(crate) end: InstId,
    pub(crate) step: InstId,
}

impl Lowering<'_, '_> {
    /// Writes the whole body.
    pub(crate) fn body(&mut self) -> Result<(), LowerError> {
        if let Some(condition) = self.shape.takes_part(&mut self.w) {
            let (then, otherwise) = (self.w.block(), self.w.block());
            self.w.effect(Op::If { condition, then, otherwise });
            self.w.enter(Some(then));
        }
        self.zero_shared();
        let skip = self.begin_part();
        if let Some(counter) = self.counter {
            let zero = self.w.lit(0u32);
            self.w.set(counter.local, zero);
        }
        if let Some(form) = self.vectorised.take() {
            return self.vector_body(&form);
        }
        self.walk(vec![Step::Part(0)])?;
        if skip.is_some() {
            self.w.enter(skip);
        }
        self.store_shared();
        Ok(())
    }

    /// Does what is left to do.
    pub(crate) fn walk(&mut self, mut steps: Vec<Step>) -> Result<(), LowerError> {
        while let Some(step) = steps.pop() {
            match step {
                Step::Part(position) => match self.part.nodes.get(position) {
                    Some(&node) => {
                        steps.push(Step::Part(position + 1));
                        let exprs = self.placement.before(node);
                        self.place(exprs);
                        self.node(node, &mut steps)?;
                    }
                    None => self.end_part(),
                },
                Step::Nodes(region, position) => {
                    if let Some(&node) = self.program.region(region).get(position) {
                        steps.push(Step::Nodes(region, position + 1));
                        let exprs = self.placement.before(node);
                        self.place(exprs);
                        self.node(node, &mut steps)?;
                    }
                }
                Step::Enter(block) => self.w.enter(block),
                Step::Test { id, head, condition, trips } => {
                    let exprs = self.placement.at_end(head);
                    self.place(exprs);
                    let condition = self.value(condition);
                    self.leave_unless(condition);
                    if let Some(trips) = trips {
                        trips.count(&mut self.w, id, 1);
                    }
                }
                Step::Advance(counter) => self.advance(counter),
            }
        }
        Ok(())
    }

    /// Leaves the loop unless the condition holds.
    pub(crate) fn leave_unless(&mut self, condition: InstId) {
        let (then, otherwise) = (self.w.block(), self.w.block());
        self.w.effect(Op::If { condition, then, otherwise });
        let outer = self.w.current();
        self.w.enter(Some(otherwise));
        self.w.effect(Op::Break);
        self.w.enter(outer);
    }

    /// One node; what its regions hold is left to do.
    pub(crate) fn node(&mut self, id: NodeId, steps: &mut Vec<Step>) -> Result<(), LowerError> {
        let result = match *self.program.node(id) {
            Node::Load { place, index } => self.read[id.index()].then(|| self.load(id, place, index)),
            Node::Store { place, index, value } => {
                self.store(id, place, index, value);
                None
            }
            Node::Atomic { op, place, index, value, expected } => {
                Some(self.atomic(id, op, place, Operands { index, value, expected }))
            }
            Node::Declare { var, init } => {
                if self.inits[var.index()].is_none() {
                    let (local, value) = (self.local(var), self.value(init));
                    self.w.set(local, value);
                }
                None
            }
            Node::Get { var } => match self.inits[var.index()] {
                Some(init) => Some(self.value(init)),
                None => {
                    let local = self.local(var);
                    self.read[id.index()].then(|| self.w.get(local))
                }
            },
            Node::Set { var, value } => {
                let (local, value) = (self.local(var), self.value(value));
                self.w.set(local, value);
                None
            }
            Node::If { condition, then, otherwise } => {
                let condition = self.value(condition);
                let (yes, no) = (self.w.block(), self.w.block());
                self.w.effect(Op::If { condition, then: yes, otherwise: no });
                let outer = self.w.current();
                steps.push(Step::Enter(outer));
                steps.push(Step::Nodes(otherwise, 0));
                steps.push(Step::Enter(Some(no)));
                steps.push(Step::Nodes(then, 0));
                self.w.enter(Some(yes));
                None
            }
            Node::For { start, end, step, body } => {
                Some(self.counted(id, [start, end, step], body, steps)?)
            }
            Node::While { head, condition, body } => {
                let trips = self.while_trips(id);
                let (inner, continuing) = (self.w.block(), self.w.block());
                self.w.effect(Op::Loop { body: inner, continuing });
                steps.push(Step::Enter(self.w.current()));
                steps.push(Step::Nodes(body, 0));
                steps.push(Step::Test { id, head, condition, trips });
                steps.push(Step::Nodes(head, 0));
                self.w.enter(Some(inner));
                self.count_trip(id);
                None
            }
            Node::Break | Node::Continue | Node::Return => {
                if !self.leave_part(id)? {
                    let is_break = matches!(self.program.node(id), Node::Break);
                    self.w.effect(if is_break { Op::Break } else { Op::Continue });
                }
                None
            }
            Node::Barrier { ordering } => {
                // Parts end at those of the grid.
                if let Some((storage, workgroup)) = ordered(ordering) {
                    self.w.effect(Op::Barrier { storage, workgroup });
                }
                None
            }
            // Devices order buffers for the whole device, whoever asks.
            Node::Fence { ordering, scope: _ } => {
                if let Some((storage, workgroup)) = ordered(ordering) {
                    self.w.effect(Op::Fence { storage, workgroup });
                }
                None
            }
            Node::Collective { op: _, value, rank } => {
                let (value, rank) = (self.value(value), rank.map(|rank| self.value(rank)));
                Some(legalize::world_of_one(&mut self.w, value, rank))
            }
            Node::Subgroup { op, value, lane } => {
                let ty = self.facts.type_of(value);
                let (value, lane) = (self.value(value), lane.map(|lane| self.value(lane)));
                Some(legalize::subgroup(&mut self.w, op, ty, value, lane))
            }
            Node::Tile { tile, action } => {
                self.tile(id, tile, action)?;
                None
            }
            Node::Trap { code, address } => {
                let (code, address) = (self.w.lit(code), self.value(address));
                self.traps = true;
                trap::record(&mut self.w, &self.shape, code, address);
                None
            }
        };
        self.results[id.index()] = result;
        self.keep_result(id, result);
        Ok(())
    }

    /// What an iteration of a loop counts against the driver's limit, where that asks for counting.
    fn weight(&self, id: NodeId) -> Option<(TripCounter, u32)> {
        self.counter.zip(self.trip_weights.get(id.index()).copied().flatten())
    }

    /// Counts an iteration, where the driver's limit asks for it.
    pub(crate) fn count_trip(&mut self, id: NodeId) {
        if let Some((counter, weight)) = self.weight(id) {
            counter.count(&mut self.w, id, weight);
        }
    }

    /// A count of the trips of a `while`, unless its iterations are counted anyway. A loop without end would be
    /// undefined on the device: its compiler may take what follows from that for unreachable, guards included.
    fn while_trips(&mut self, id: NodeId) -> Option<TripCounter> {
        if self.weight(id).is_some() {
            return None;
        }
        let local = self.w.local(DataType::U32);
        let zero = self.w.lit(0u32);
        self.w.set(local, zero);
        self.traps = true;
        Some(TripCounter { local, share: WHILE_TRIPS, shape: self.shape })
    }

    /// Opens a counted loop; gives its variable.
    fn counted(
        &mut self,
        id: NodeId,
        operands: [ExprId; 3],
        body: RegionId,
        steps: &mut Vec<Step>,
    ) -> Result<InstId, LowerError> {
        let batch = self.batch(operands, body);
        let [start, end, step] = operands.map(|e| self.value(e));
        let ty = self.w.ty(start);
        // A step of zero or less means no trip: the loop then starts at its end.
        let first = match self.w.as_constant(step) {
            Some(value) if value.as_int().is_some_and(|n| n > 0) => start,
            _ => {
                let zero = self.w.constant(Value::zero(ty));
                let forward = self.w.raw(BinaryOp::Gt, step, zero);
                self.w.select(forward, start, end)
            }
        };
        let end = self.w.loop_end(end);
        let local = self.w.local(ty);
        self.w.set(local, first);
        if let Some(batch) = batch {
            self.take_all(id, &batch, Counter { local, end, step })?;
            return Ok(first);
        }
        let (inner, continuing) = (self.w.block(), self.w.block());
        self.w.effect(Op::Loop { body: inner, continuing });
        steps.push(Step::Enter(self.w.current()));
        steps.push(Step::Advance(Counter { local, end, step }));
        steps.push(Step::Enter(Some(continuing)));
        steps.push(Step::Nodes(body, 0));
        self.w.enter(Some(inner));
        self.count_trip(id);
        let variable = self.w.get(local);
        let goes_on = self.w.raw(BinaryOp::Lt, variable, end);
        self.leave_unless(goes_on);
        Ok(variable)
    }

    /// Adds the step to the counter, or takes it to the end where the sum would pass it: so nothing wraps.
    /// The counter is below the end, so their difference is right as an unsigned number whatever their type.
    pub(crate) fn advance(&mut self, counter: Counter) {
        let Counter { local, end, step } = counter;
        let variable = self.w.get(local);
        let next = self.w.raw(BinaryOp::Add, variable, step);
        let is_one = self.w.as_constant(step).is_some_and(|value| value.bits() == 1);
        if is_one {
            self.w.set(local, next);
            return;
        }
        let left = self.w.raw(BinaryOp::Sub, end, variable);
        let unsigned = bits_of(self.w.ty(variable));
        let left = self.w.bitcast(unsigned, left);
        let stride = self.w.bitcast(unsigned, step);
        let passes = self.w.raw(BinaryOp::Le, left, stride);
        let next = self.w.select(passes, end, next);
        self.w.set(local, next);
    }
}

/// Whether buffers and shared memory are ordered; `None` where the grid meets.
fn ordered(ordering: MemoryOrdering) -> Option<(bool, bool)> {
    match ordering {
        MemoryOrdering::Workgroup => Some((false, true)),
        MemoryOrdering::Storage => Some((true, false)),
        MemoryOrdering::WorkgroupAndStorage => Some((true, true)),
        MemoryOrdering::GridSync => None,
    }
}
