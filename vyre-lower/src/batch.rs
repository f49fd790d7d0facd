//! Several trips of a loop at once: their loads come first, and so are under way together.
//!
//! An invocation that walks a buffer, such as a row, waits in each trip for what it loads, and the waits of its trips
//! add up. So as many trips as are left are taken eight at a time, then four, two and one: first all their loads, then
//! the rest of each trip, in order. Nothing is added up in another order than the program's, and nothing is loaded that a
//! trip would not load.
//!
//! Only counted loops are taken whose body has no inner regions and whose loads of buffers do not depend on what the loop
//! changes. Invocations with several points have loads under way together as it is.

use std::collections::BTreeSet;

use vyre_foundation::ir::{Expr, ExprId, Node, NodeId, Place, RegionId};
use vyre_spec::ops::BinaryOp;
use vyre_spec::{DataType, Value};

use crate::control::Counter;
use crate::error::LowerError;
use crate::kernel::{InstId, Op};
use crate::lower::Lowering;
use crate::writer::bits_of;

/// Loads that are under way together, and trips at a time, at most.
const LOADS: u32 = 8;
/// Nodes and expressions of the trips that are taken at a time, at most.
const SIZE: usize = 256;

/// How the trips of a loop are taken.
pub(crate) struct Batch {
    body: RegionId,
    /// How many at a time: a power of two above one.
    trips: u32,
    /// How many there are, if that is a constant.
    known: Option<u64>,
    /// The constant step of the loop's variable.
    step: u32,
    /// What a trip evaluates, operands before users.
    exprs: Vec<ExprId>,
    /// Of the body's nodes, the loads that come first.
    first: BTreeSet<NodeId>,
}

/// What one trip has computed.
struct Trip {
    /// The loop's variable.
    variable: InstId,
    /// Parallel to the batch's expressions.
    values: Vec<Option<InstId>>,
    /// Parallel to the body's nodes.
    results: Vec<Option<InstId>>,
}

impl Lowering<'_, '_> {
    /// How trips of a counted loop are taken together, if that is possible and of use.
    pub(crate) fn batch(&self, operands: [ExprId; 3], body: RegionId) -> Option<Batch> {
        let [start, end, step] = operands.map(|id| match *self.program.expr(id) {
            Expr::Literal(value) => value.as_int(),
            _ => None,
        });
        let is_word = matches!(self.facts.type_of(operands[0]), DataType::U32 | DataType::I32);
        if self.point.is_some() || !is_word {
            return None;
        }
        let nodes = self.program.region(body);
        let exprs: Vec<ExprId> = nodes.iter().flat_map(|&node| self.placement.before(node)).collect();
        let first = self.loads_first(nodes)?;
        let fit = SIZE / (nodes.len() + exprs.len()).max(1);
        let mut trips = LOADS.checked_div(first.len() as u32)?.min(fit as u32);
        let step = step.and_then(|step| u32::try_from(step).ok()).filter(|&step| step > 0)?;
        let distance = start.zip(end).map(|(start, end)| (end - start).max(0) as u64);
        let known = distance.map(|distance| distance.div_ceil(u64::from(step)));
        if let Some(known) = known {
            trips = trips.min(u32::try_from(known).unwrap_or(u32::MAX));
        }
        let trips = 1 << trips.checked_ilog2()?;
        // How far the last of them is ahead of the first must be a word.
        step.checked_mul(trips).filter(|_| trips > 1)?;
        Some(Batch { body, trips, known, step, exprs, first })
    }

    /// Which nodes of a body are loads that can come first; `None` if a node is no matter of its own trip alone.
    fn loads_first(&self, nodes: &[NodeId]) -> Option<BTreeSet<NodeId>> {
        let mut changed = BTreeSet::new();
        for &node in nodes {
            match *self.program.node(node) {
                Node::Store { place, .. } | Node::Atomic { place, .. } => _ = changed.insert(place),
                Node::Load { .. } | Node::Declare { .. } | Node::Get { .. } | Node::Set { .. } => {}
                _ => return None,
            }
        }
        // What depends on a node that does not come first.
        let mut late_nodes = BTreeSet::new();
        let mut late_exprs = BTreeSet::new();
        let mut first = BTreeSet::new();
        for &node in nodes {
            for id in self.placement.before(node) {
                let expr = self.program.expr(id);
                let is_late = matches!(*expr, Expr::Result(node) if late_nodes.contains(&node))
                    || expr.operands().any(|operand| late_exprs.contains(&operand));
                if is_late {
                    late_exprs.insert(id);
                }
            }
            let comes_first = match *self.program.node(node) {
                Node::Load { place: place @ Place::Buffer(buffer), index } => {
                    let is_still = !self.program.buffer(buffer).coherent && !changed.contains(&place);
                    is_still && self.read[node.index()] && !late_exprs.contains(&index)
                }
                _ => false,
            };
            if comes_first {
                first.insert(node)
            } else {
                late_nodes.insert(node)
            };
        }
        Some(first)
    }

    /// Takes all trips of a loop. The counter's local is where it goes on.
    pub(crate) fn take_all(&mut self, id: NodeId, batch: &Batch, counter: Counter) -> Result<(), LowerError> {
        let (inner, continuing) = (self.w.block(), self.w.block());
        self.w.effect(Op::Loop { body: inner, continuing });
        let outer = self.w.current();
        self.w.enter(Some(inner));
        self.count_trip(id);
        let (variable, goes_on) = self.are_left(batch, batch.trips, counter);
        self.leave_unless(goes_on);
        self.take(id, batch, batch.trips, variable)?;
        self.w.enter(Some(continuing));
        self.pass(batch, batch.trips, counter);
        self.w.enter(outer);
        let mut trips = batch.trips / 2;
        while trips > 0 {
            if batch.known.is_none_or(|known| known & u64::from(trips) != 0) {
                let (variable, condition) = self.are_left(batch, trips, counter);
                let (then, otherwise) = (self.w.block(), self.w.block());
                self.w.effect(Op::If { condition, then, otherwise });
                let outer = self.w.current();
                self.w.enter(Some(then));
                self.take(id, batch, trips, variable)?;
                self.pass(batch, trips, counter);
                self.w.enter(outer);
            }
            trips /= 2;
        }
        Ok(())
    }

    /// The loop's variable, and whether so many trips are left.
    fn are_left(&mut self, batch: &Batch, trips: u32, counter: Counter) -> (InstId, InstId) {
        let variable = self.w.get(counter.local);
        let is_below = self.w.raw(BinaryOp::Lt, variable, counter.end);
        if trips == 1 {
            return (variable, is_below);
        }
        // Below the end, the distance to it is right as an unsigned number whatever the type.
        let left = self.w.raw(BinaryOp::Sub, counter.end, variable);
        let left = self.w.bitcast(bits_of(self.w.ty(variable)), left);
        let last = self.w.lit(batch.step * (trips - 1));
        let reaches = self.w.raw(BinaryOp::Gt, left, last);
        (variable, self.w.raw(BinaryOp::BitAnd, is_below, reaches))
    }

    /// Puts so many trips behind.
    fn pass(&mut self, batch: &Batch, trips: u32, counter: Counter) {
        let step = Value::from_bits(self.w.ty(counter.end), u64::from(batch.step * trips));
        let step = self.w.constant(step);
        self.advance(Counter { step, ..counter });
    }

    /// Takes so many trips: the loads, then the rest of each.
    fn take(&mut self, id: NodeId, batch: &Batch, trips: u32, start: InstId) -> Result<(), LowerError> {
        let nodes = self.program.region(batch.body);
        let mut taken = Vec::new();
        for trip in 0..trips {
            let variable = match trip {
                0 => start,
                _ => {
                    let ahead = Value::from_bits(self.w.ty(start), u64::from(batch.step * trip));
                    let ahead = self.w.constant(ahead);
                    self.w.raw(BinaryOp::Add, start, ahead)
                }
            };
            let (values, results) = (vec![None; batch.exprs.len()], vec![None; nodes.len()]);
            taken.push(Trip { variable, values, results });
        }
        for &load in &batch.first {
            let needed = self.needed(batch, load);
            for trip in &mut taken {
                self.exchange(id, batch, trip);
                self.place_missing(&needed);
                self.node(load, &mut Vec::new())?;
                self.exchange(id, batch, trip);
            }
        }
        for trip in &mut taken {
            self.exchange(id, batch, trip);
            for &node in nodes {
                self.place_missing(&self.placement.before(node));
                if !batch.first.contains(&node) {
                    self.node(node, &mut Vec::new())?;
                }
            }
            self.exchange(id, batch, trip);
        }
        Ok(())
    }

    /// What a load needs of what its trip evaluates.
    fn needed(&self, batch: &Batch, load: NodeId) -> Vec<ExprId> {
        let mut wanted: BTreeSet<ExprId> = self.program.node(load).operands().collect();
        let mut needed = Vec::new();
        for &expr in batch.exprs.iter().rev() {
            if wanted.contains(&expr) {
                wanted.extend(self.program.expr(expr).operands());
                needed.push(expr);
            }
        }
        needed.reverse();
        needed
    }

    /// Evaluates what the trip has not yet.
    fn place_missing(&mut self, exprs: &[ExprId]) {
        let missing = exprs.iter().copied().filter(|expr| self.values[expr.index()].is_none()).collect();
        self.place(missing);
    }

    /// Exchanges what is known of the trip that is being written and of another.
    fn exchange(&mut self, id: NodeId, batch: &Batch, trip: &mut Trip) {
        self.results[id.index()] = Some(trip.variable);
        for (value, expr) in trip.values.iter_mut().zip(&batch.exprs) {
            std::mem::swap(value, &mut self.values[expr.index()]);
        }
        for (result, node) in trip.results.iter_mut().zip(self.program.region(batch.body)) {
            std::mem::swap(result, &mut self.results[node.index()]);
        }
    }
}
