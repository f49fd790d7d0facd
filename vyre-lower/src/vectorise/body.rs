//! Writes both forms of a vectorised body.

use vyre_foundation::ir::{Expr, ExprId, Node, NodeId};
use vyre_spec::DataType;
use vyre_spec::ops::BinaryOp;

use super::{Sharing, Vectorised};
use crate::error::LowerError;
use crate::kernel::{InstId, Op};
use crate::legalize::{from_memory, to_memory};
use crate::lower::Lowering;

/// The values of one point.
type Values = Vec<Option<InstId>>;

/// What there is to do for a node, in text order.
type Work = (NodeId, Vec<ExprId>);

impl Lowering<'_, '_> {
    /// Writes the body of an invocation with several points.
    pub(crate) fn vector_body(&mut self, form: &Vectorised) -> Result<(), LowerError> {
        let nodes: Vec<NodeId> = self.program.region(self.program.body()).to_vec();
        let work: Vec<Work> = nodes.into_iter().map(|node| (node, self.placement.before(node))).collect();
        let run = self.shape.run(&mut self.w);
        let (whole, partial) = (self.w.block(), self.w.block());
        self.w.effect(Op::If { condition: run.is_whole, then: whole, otherwise: partial });
        let outer = self.w.current();
        self.w.enter(Some(whole));
        self.vector_form(form, &work, run.first);
        self.w.enter(Some(partial));
        self.scalar_form(&work, run.first, run.points)?;
        self.w.enter(outer);
        Ok(())
    }

    /// Each node for all points.
    fn vector_form(&mut self, form: &Vectorised, work: &[Work], first: InstId) {
        let points: Vec<InstId> = (0..form.width)
            .map(|lane| if lane == 0 { first } else { self.w.raw_lit(BinaryOp::Add, first, lane) })
            .collect();
        let mut values: Vec<Values> = vec![self.values.clone(); points.len()];
        let mut results: Vec<Values> = vec![self.results.clone(); points.len()];
        for (node, exprs) in work {
            for &id in exprs {
                let mut same = None;
                for lane in 0..points.len() {
                    let known = same.filter(|_| form.lanes.is_same(id));
                    let value = known.unwrap_or_else(|| {
                        self.swap(&mut values[lane], &mut results[lane]);
                        self.point = Some(points[lane]);
                        let value = self.expr(id);
                        self.swap(&mut values[lane], &mut results[lane]);
                        value
                    });
                    same = Some(value);
                    values[lane][id.index()] = Some(value);
                }
            }
            match form.sharing[node.index()] {
                Sharing::Vector { reversed } => {
                    self.vector_access(*node, reversed, &mut values, &mut results)
                }
                sharing => {
                    let mut first = None;
                    for lane in 0..points.len() {
                        if sharing == Sharing::Once && lane > 0 {
                            results[lane][node.index()] = first;
                            continue;
                        }
                        self.swap(&mut values[lane], &mut results[lane]);
                        self.results[node.index()] = self.plain_node(*node);
                        self.swap(&mut values[lane], &mut results[lane]);
                        first = results[lane][node.index()];
                    }
                }
            }
        }
        self.point = None;
    }

    fn swap(&mut self, values: &mut Values, results: &mut Values) {
        std::mem::swap(&mut self.values, values);
        std::mem::swap(&mut self.results, results);
    }

    /// A load or store, or the read of a variable that is never set.
    fn plain_node(&mut self, id: NodeId) -> Option<InstId> {
        match *self.program.node(id) {
            Node::Load { place, index } => self.read[id.index()].then(|| self.load(id, place, index)),
            Node::Store { place, index, value } => {
                self.store(id, place, index, value);
                None
            }
            Node::Get { var } => self.inits[var.index()].map(|init| self.value(init)),
            _ => None,
        }
    }

    /// One access for all points: a whole vector, every element of which is in bounds.
    fn vector_access(&mut self, id: NodeId, reversed: bool, values: &mut [Values], results: &mut [Values]) {
        let width = values.len() as u32;
        let (place, index, stored) = match *self.program.node(id) {
            Node::Load { place, index } if self.read[id.index()] => (place, index, None),
            Node::Store { place, index, value } => (place, index, Some(value)),
            _ => return,
        };
        let storage = self.storage(place);
        self.bindings.widen(storage.place, width);
        let proof = self.proof(self.ranges.verdict(id));
        // The point with the vector's first element.
        let lowest = if reversed { values.len() - 1 } else { 0 };
        let of = |values: &Values, id: ExprId| values[id.index()].unwrap_or(InstId(u32::MAX));
        let start = of(&values[lowest], index);
        let start = self.w.bitcast(DataType::U32, start);
        let index = self.w.raw_lit(BinaryOp::Shr, start, width.ilog2());
        let element = |lane: usize| if reversed { values.len() - 1 - lane } else { lane };
        match stored {
            None => {
                let vector =
                    self.w.value(Op::LoadVector { place: storage.place, index, proof }, storage.element);
                for (lane, results) in results.iter_mut().enumerate() {
                    let part = Op::Part { vector, part: element(lane) as u32 };
                    let word = self.w.value(part, storage.element);
                    results[id.index()] = Some(from_memory(&mut self.w, &storage, word));
                }
            }
            Some(value) => {
                let mut parts = [InstId(u32::MAX); 4];
                for (lane, values) in values.iter().enumerate() {
                    let word = to_memory(&mut self.w, &storage, of(values, value));
                    if let Some(part) = parts.get_mut(element(lane)) {
                        *part = word;
                    }
                }
                self.w.effect(Op::StoreVector { place: storage.place, index, values: parts, proof });
            }
        }
    }

    /// Everything for one point after the other, of those that are left.
    fn scalar_form(&mut self, work: &[Work], first: InstId, points: InstId) -> Result<(), LowerError> {
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
        for (node, exprs) in work {
            self.place(exprs.clone());
            self.results[node.index()] = self.plain_node(*node);
        }
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
