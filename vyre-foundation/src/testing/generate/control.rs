//! Statements and control flow.

use vyre_spec::{DataType, MemoryOrdering, Value};

use super::{Flow, Generator, Pool};
use crate::ir::{Expr, ExprId, Node, RegionId, Variable};

/// What leaves scope at the end of a region.
struct Scope {
    pool: Vec<(DataType, usize)>,
    uniform: Vec<(DataType, usize)>,
    vars: usize,
}

fn lengths(pool: &Pool) -> Vec<(DataType, usize)> {
    pool.iter().map(|(&ty, values)| (ty, values.len())).collect()
}

fn truncate(pool: &mut Pool, lengths: &[(DataType, usize)]) {
    for (ty, values) in pool {
        let kept = lengths.iter().find(|(other, _)| other == ty).map_or(0, |&(_, len)| len);
        values.truncate(kept);
    }
}

impl Generator<'_> {
    fn open(&self) -> Scope {
        Scope { pool: lengths(&self.pool), uniform: lengths(&self.uniform), vars: self.vars.len() }
    }

    fn close(&mut self, scope: &Scope) {
        truncate(&mut self.pool, &scope.pool);
        truncate(&mut self.uniform, &scope.uniform);
        self.vars.truncate(scope.vars);
    }

    /// Generates into a region, with what is known of its flow.
    fn inside(&mut self, region: RegionId, flow: Flow, body: impl FnOnce(&mut Self)) {
        let scope = self.open();
        let (outer_region, outer_flow) = (self.region, self.flow);
        (self.region, self.flow) = (region, flow);
        body(self);
        (self.region, self.flow) = (outer_region, outer_flow);
        self.close(&scope);
    }

    /// Some statements.
    pub(super) fn block(&mut self) {
        let most = if self.flow.depth == 0 { i64::from(self.config.nodes) } else { self.rng.i64(1..6) };
        for _ in 0..most {
            if self.left <= 0 {
                return;
            }
            self.statement();
        }
    }

    fn statement(&mut self) {
        match self.rng.u32(0..28) {
            0..4 => self.load_input(),
            4..8 => self.use_own(),
            8 | 9 => self.accumulate(),
            10..13 => self.use_moded(),
            13 => self.use_private(),
            14 => self.declare_var(),
            15..18 => self.use_var(),
            18..20 => self.branch(),
            20 => self.counted_loop(),
            21 => self.while_loop(),
            22 => self.leave_loop(),
            23 if self.chance(1, 4) => self.leave_program(),
            24 | 25 if self.may_meet() => self.some_barrier(),
            26 if self.may_meet() && self.config.subgroup_size.is_some() => self.subgroup(),
            27 if self.config.traps && self.chance(1, 40) => self.trap(),
            _ => {}
        }
    }

    fn declare_var(&mut self) {
        let ty = self.any_type();
        let init = self.expr(ty, false);
        let name = self.name("v");
        let var = self.arena.var(Variable { name, ty });
        self.push(Node::Declare { var, init });
        self.vars.push((var, ty));
    }

    fn use_var(&mut self) {
        let Some((var, ty)) = self.pick(&self.vars.clone()) else { return self.declare_var() };
        if self.rng.bool() {
            let value = self.expr(ty, false);
            self.push(Node::Set { var, value });
        } else {
            let node = self.push(Node::Get { var });
            let value = self.arena.expr(Expr::Result(node));
            self.offer(ty, value, false);
        }
    }

    /// The flow inside a construct here: `uniform` if a workgroup shares the way into it.
    fn nested(&self, uniform: bool) -> Flow {
        let uniform = uniform && self.flow.uniform;
        Flow { uniform, barriers: self.flow.barriers && uniform, depth: self.flow.depth + 1, ..self.flow }
    }

    fn too_deep(&self) -> bool {
        self.flow.depth >= 5
    }

    fn branch(&mut self) {
        if self.too_deep() {
            return;
        }
        let uniform = self.chance(1, 2);
        let condition = self.expr(DataType::Bool, uniform);
        let (then, otherwise) = (self.arena.region(), self.arena.region());
        self.push(Node::If { condition, then, otherwise });
        let flow = self.nested(uniform);
        let before = self.moded.clone();
        let made = self.barriers();
        self.inside(then, flow, Self::block);
        if self.barriers() != made {
            self.moded = before;
        }
        if self.rng.bool() {
            let flow = self.nested(uniform);
            self.inside(otherwise, flow, Self::block);
        }
        if self.barriers() != made {
            // The interval depends on the way; a barrier makes it one again.
            self.meet();
        }
    }

    /// Whether a barrier or subgroup op may stand here.
    fn may_meet(&self) -> bool {
        self.flow.barriers && !self.returned_apart
    }

    /// Barriers made so far.
    fn barriers(&self) -> usize {
        self.arena.program().nodes().iter().filter(|n| matches!(n, Node::Barrier { .. })).count()
    }

    /// A barrier for every array, if one may stand here.
    fn meet(&mut self) {
        if self.may_meet() {
            self.barrier(MemoryOrdering::WorkgroupAndStorage);
        } else {
            // After a return apart no barrier may stand, so arrays stay out of use.
            self.moded.clear();
        }
    }

    /// How the body of a loop flows; a loop with barriers begins each trip with one.
    fn loop_flow(&mut self, uniform: bool) -> Flow {
        let mut flow = self.nested(uniform);
        // A loop that is uniform but has no barriers may have divergent exits.
        let barriers = flow.barriers && !self.returned_apart && self.rng.bool();
        flow.divergent_loop = Some(!barriers);
        flow.barrier_loop |= barriers;
        flow.barriers = barriers;
        flow.uniform &= barriers;
        flow
    }

    fn loop_body(&mut self, region: RegionId, flow: Flow, trips: u32, first: impl FnOnce(&mut Self)) {
        let outer = self.trips;
        self.trips = (outer / trips.max(1)).max(1);
        self.inside(region, flow, |g| {
            first(g);
            if flow.barriers {
                g.barrier(MemoryOrdering::WorkgroupAndStorage);
            }
            g.block();
        });
        self.trips = outer;
        if flow.barriers {
            self.meet();
        }
    }

    fn counted_loop(&mut self) {
        if self.too_deep() || self.trips < 2 {
            return;
        }
        let uniform = self.chance(2, 3);
        let ty = self.int_type();
        let trips = self.rng.u32(1..=self.trips.min(8));
        let number = |g: &mut Self, below: u32| {
            let n = if g.rng.bool() { g.below(below, uniform) } else { g.literal_u32(below - 1) };
            g.convert(n, DataType::U32, ty)
        };
        let from =
            Value::from_bits(ty, self.rng.u64(0..4).wrapping_sub(if ty.is_signed_int() { 2 } else { 0 }));
        let start = self.literal(from);
        let span = number(self, trips + 1);
        let end = self.add(start, span);
        // A step of 0 makes no trip.
        let step = if self.chance(1, 4) { number(self, 4) } else { self.literal(Value::one(ty)) };
        let flow = self.loop_flow(uniform);
        let body = self.arena.region();
        let node = self.push(Node::For { start, end, step, body });
        self.loop_body(body, flow, trips, |g| {
            let var = g.arena.expr(Expr::LoopVar(node));
            g.offer(ty, var, flow.uniform);
        });
    }

    fn while_loop(&mut self) {
        if self.too_deep() || self.trips < 2 {
            return;
        }
        let uniform = self.chance(2, 3);
        let trips = self.rng.u32(1..=self.trips.min(6));
        let flow = self.loop_flow(uniform);
        let zero = self.zero(DataType::U32);
        let name = self.name("n");
        let count = self.arena.var(Variable { name, ty: DataType::U32 });
        self.push(Node::Declare { var: count, init: zero });
        let (head, body) = (self.arena.region(), self.arena.region());
        let node = self.push(Node::While { head, condition: zero, body });
        // The results of the head are in scope in the body.
        let scope = self.open();
        let outer = std::mem::replace(&mut self.region, head);
        let get = self.push(Node::Get { var: count });
        if self.rng.bool() && !uniform {
            self.load_input();
        }
        let counted = self.arena.expr(Expr::Result(get));
        let limit = self.literal_u32(trips);
        let mut condition = self.less(counted, limit);
        if self.rng.bool() {
            let also = self.expr(DataType::Bool, uniform);
            condition = self.and(condition, also);
        }
        self.region = outer;
        self.arena.replace_node(node, Node::While { head, condition, body });
        self.loop_body(body, flow, trips, |g| {
            g.offer(DataType::U32, counted, flow.uniform);
            // Before anything can continue.
            let one = g.literal_u32(1);
            let value = g.add(counted, one);
            g.push(Node::Set { var: count, value });
        });
        self.close(&scope);
    }

    /// Runs a node that leaves where a condition holds.
    fn leave(&mut self, condition: ExprId, node: Node) {
        let (then, otherwise) = (self.arena.region(), self.arena.region());
        self.push(Node::If { condition, then, otherwise });
        self.arena.push(then, node);
    }

    fn leave_loop(&mut self) {
        let Some(divergent) = self.flow.divergent_loop else { return };
        if !divergent && !self.flow.uniform {
            return;
        }
        let condition = self.expr(DataType::Bool, !divergent);
        let node = if self.rng.bool() { Node::Break } else { Node::Continue };
        self.leave(condition, node);
    }

    fn leave_program(&mut self) {
        let uniform = self.flow.uniform && self.rng.bool();
        if !uniform && self.flow.barrier_loop {
            return;
        }
        let condition = self.expr(DataType::Bool, uniform);
        self.leave(condition, Node::Return);
        if !uniform {
            self.returned_apart = true;
        }
    }
}
