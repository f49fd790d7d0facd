//! Writes both forms of a vectorised body.

use vyre_foundation::ir::{Expr, ExprId, Node, NodeId};
use vyre_spec::DataType;
use vyre_spec::ops::BinaryOp;

use super::Vectorised;
use super::memory::Known;
use super::sharing::Sharing;
use crate::control::Step;
use crate::error::LowerError;
use crate::kernel::{InstId, LocalId, Op};
use crate::lower::Lowering;

/// What one point of an invocation has of its own.
pub(super) struct Lane {
    pub(super) point: InstId,
    pub(super) values: Vec<Option<InstId>>,
    pub(super) results: Vec<Option<InstId>>,
    locals: Vec<Option<LocalId>>,
}

impl Lowering<'_, '_> {
    /// Writes the body of an invocation with several points.
    pub(crate) fn vector_body(&mut self, form: &Vectorised) -> Result<(), LowerError> {
        let run = self.shape.run(&mut self.w);
        let (whole, partial) = (self.w.block(), self.w.block());
        self.w.effect(Op::If { condition: run.is_whole, then: whole, otherwise: partial });
        let outer = self.w.current();
        self.w.enter(Some(whole));
        self.lockstep(form, run.first)?;
        self.w.enter(Some(partial));
        self.one_by_one(run.first, run.points)?;
        self.w.enter(outer);
        Ok(())
    }

    /// Each node for all points.
    fn lockstep(&mut self, form: &Vectorised, first: InstId) -> Result<(), LowerError> {
        let mut lanes: Vec<Lane> = Vec::new();
        for lane in 0..form.points {
            lanes.push(Lane {
                point: if lane == 0 { first } else { self.w.raw_lit(BinaryOp::Add, first, lane) },
                values: self.values.clone(),
                results: self.results.clone(),
                locals: self.locals.clone(),
            });
        }
        let mut known = Known::default();
        let mut steps = vec![Step::Nodes(self.program.body(), 0)];
        while let Some(step) = steps.pop() {
            match step {
                Step::Nodes(region, position) => {
                    let Some(&node) = self.program.region(region).get(position) else { continue };
                    steps.push(Step::Nodes(region, position + 1));
                    let exprs = self.placement.before(node);
                    self.lane_exprs(form, &exprs, &mut lanes);
                    self.lane_node(form, node, &mut lanes, &mut known, &mut steps)?;
                }
                Step::Enter(block) => {
                    known.forget();
                    self.w.enter(block);
                }
                Step::Advance(counter) => self.advance(counter),
                // Parts of a program with grid barriers, and loops that points run one by one.
                Step::Part(_) | Step::Test { .. } => {}
            }
        }
        Ok(())
    }

    /// Does something as one point.
    pub(super) fn in_lane<T>(&mut self, lane: &mut Lane, write: impl FnOnce(&mut Self) -> T) -> T {
        self.swap(lane);
        self.point = Some(lane.point);
        let value = write(self);
        self.point = None;
        self.swap(lane);
        value
    }

    fn swap(&mut self, lane: &mut Lane) {
        std::mem::swap(&mut self.values, &mut lane.values);
        std::mem::swap(&mut self.results, &mut lane.results);
        std::mem::swap(&mut self.locals, &mut lane.locals);
    }

    /// Expressions of all points; those that they share once.
    fn lane_exprs(&mut self, form: &Vectorised, exprs: &[ExprId], lanes: &mut [Lane]) {
        for &id in exprs {
            let mut same = None;
            for lane in &mut *lanes {
                let known = same.filter(|_| form.lanes.is_same(id));
                let value = known.unwrap_or_else(|| self.in_lane(lane, |l| l.expr(id)));
                same = Some(value);
                lane.values[id.index()] = same;
            }
        }
    }

    /// One node of all points.
    fn lane_node(
        &mut self,
        form: &Vectorised,
        id: NodeId,
        lanes: &mut [Lane],
        known: &mut Known,
        steps: &mut Vec<Step>,
    ) -> Result<(), LowerError> {
        let access = form.sharing[id.index()];
        if let Some(Sharing::Vector(window)) = access.map(|access| access.sharing) {
            self.vector_access(id, window, lanes, known);
            return Ok(());
        }
        if access.is_some_and(|access| access.sharing == Sharing::Joined) {
            if let Some(group) = form.joined.iter().find(|group| group.last == id) {
                self.joined_store(group, lanes, known);
            }
            return Ok(());
        }
        let once = match *self.program.node(id) {
            Node::Load { .. } => access.is_some_and(|access| access.sharing == Sharing::Once),
            Node::If { .. } | Node::For { .. } | Node::Break | Node::Continue => form.flow.is_together(id),
            _ => false,
        };
        if once {
            let Some((first, rest)) = lanes.split_first_mut() else { return Ok(()) };
            if self.program.node(id).regions().next().is_some() {
                known.forget();
            }
            self.in_lane(first, |l| l.node(id, steps))?;
            for lane in rest {
                lane.results[id.index()] = first.results[id.index()];
            }
            return Ok(());
        }
        for lane in lanes {
            self.in_lane(lane, |l| {
                let mut inside = Vec::new();
                l.node(id, &mut inside)?;
                l.walk(inside)
            })?;
        }
        match self.program.node(id) {
            Node::Store { place, .. } | Node::Atomic { place, .. } => known.forget_place(*place),
            Node::Fence { .. } => known.forget(),
            node if node.regions().next().is_some() => known.forget(),
            _ => {}
        }
        Ok(())
    }

    /// Everything for one point after the other, of those that are left.
    fn one_by_one(&mut self, first: InstId, points: InstId) -> Result<(), LowerError> {
        let counter = self.w.local(DataType::U32);
        let zero = self.w.lit(0u32);
        self.w.set(counter, zero);
        let (body, continuing) = (self.w.block(), self.w.block());
        self.w.effect(Op::Loop { body, continuing });
        self.w.enter(Some(body));
        let turn = self.w.get(counter);
        let goes_on = self.w.raw(BinaryOp::Lt, turn, points);
        self.leave_unless(goes_on);
        self.point = Some(self.w.raw(BinaryOp::Add, first, turn));
        self.walk(vec![Step::Nodes(self.program.body(), 0)])?;
        self.point = None;
        self.w.enter(Some(continuing));
        let turn = self.w.get(counter);
        let next = self.w.raw_lit(BinaryOp::Add, turn, 1u32);
        self.w.set(counter, next);
        Ok(())
    }

    /// Whether an expression is the point that [`Lowering::point`] stands for.
    pub(crate) fn own_point(&self, expr: &Expr) -> Option<InstId> {
        let is_x = matches!(expr, Expr::BuiltIn(vyre_spec::BuiltIn::Point(vyre_spec::Axis::X)));
        self.point.filter(|_| is_x)
    }
}
