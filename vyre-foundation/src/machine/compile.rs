//! From a checked program and a resolved launch to dense code.
//!
//! Each expression is computed right after the last node, in text order, whose result or loop variable it
//! reads: it is total, so computing it early is sound, and loop invariants leave their loops by
//! themselves. What reads neither node nor invocation is computed here, once.

use vyre_spec::ops::TernaryOp;
use vyre_spec::{BuiltIn, DataType, MemoryOrdering, Value};

use super::MachineError;
use super::code::{Addressed, Array, Code, Counted, Instr, IntType, Modify, Pc, Reg, Space, Subgroup};
use super::tile::{Held, Memory, Step, TileStep};
use crate::check::Checked;
use crate::ir::{
    BufferId, Expr, ExprId, Node, NodeId, Place, PrivateId, Program, RegionId, SharedId, TileAction, TileId,
};
use crate::launch::ResolvedLaunch;

/// Compiles a program for one launch.
pub(super) fn compile(
    program: &Checked<Program>,
    launch: &ResolvedLaunch,
    subgroup_size: u32,
    watch_subnormals: bool,
) -> Result<Code, MachineError> {
    let mut compiler = Compiler::new(program, launch);
    compiler.watch = watch_subnormals;
    compiler.code.subgroup_size = subgroup_size as usize;
    compiler.place_exprs(launch, subgroup_size)?;
    compiler.body()?;
    Ok(compiler.code)
}

struct Compiler<'p> {
    program: &'p Checked<Program>,
    code: Code,
    expr_regs: Vec<Reg>,
    node_regs: Vec<Reg>,
    var_regs: Vec<Reg>,
    /// The expressions to compute after each node: bucket 0 is the prologue, bucket n + 1 follows node n.
    buckets: Vec<Vec<ExprId>>,
    open: Vec<Open>,
    /// Instructions that end all invocations outside of branches and loops.
    returns: Vec<usize>,
    tiles: Vec<Held>,
    /// Whether float ops are watched for subnormals.
    watch: bool,
}

/// An open branch or loop.
struct Open {
    is_loop: bool,
    /// Instructions after which no lane is left here: to be pointed at where it goes on.
    leaves: Vec<usize>,
}

/// What remains to be emitted.
enum Work {
    Nodes { region: RegionId, position: usize },
    Else { site: NodeId, branch: usize, otherwise: RegionId },
    EndIf { site: NodeId, jump: usize },
    EndFor { site: NodeId, counted: u32, enter: usize },
    WhileBody { site: NodeId, condition: ExprId, head: Pc, body: RegionId },
    EndWhile { site: NodeId, head: Pc, test: usize, guard: usize },
}

impl<'p> Compiler<'p> {
    fn new(program: &'p Checked<Program>, launch: &ResolvedLaunch) -> Self {
        let mut arrays = Vec::new();
        for (i, buffer) in program.buffers().iter().enumerate() {
            let len = launch.lengths.get(i).copied().unwrap_or(0);
            let place = Place::Buffer(BufferId::new(i as u32));
            arrays.push(Array { place, element: buffer.element, len, offset: i });
        }
        let mut shared_words = 0;
        for (i, array) in program.shared().iter().enumerate() {
            let place = Place::Shared(SharedId::new(i as u32));
            let len = u64::from(array.len);
            arrays.push(Array { place, element: array.element, len, offset: shared_words });
            shared_words += array.len as usize;
        }
        let mut private_words = 0;
        for (i, array) in program.privates().iter().enumerate() {
            let place = Place::Private(PrivateId::new(i as u32));
            let len = u64::from(array.len);
            arrays.push(Array { place, element: array.element, len, offset: private_words });
            private_words += array.len as usize;
        }
        let code = Code {
            instrs: Vec::new(),
            sites: Vec::new(),
            modifies: Vec::new(),
            counted: Vec::new(),
            subgroups: Vec::new(),
            tiles: Vec::new(),
            tile_words: Held::of(program).iter().map(|tile| tile.len()).sum(),
            subgroup_size: 1,
            arrays,
            template: Vec::new(),
            built_ins: Vec::new(),
            shared_words,
            private_words,
            suspends: false,
            has_subgroup: false,
            grid_sync: false,
            subnormals: false,
            buffer_atomics: false,
        };
        let mut compiler = Self {
            program,
            code,
            expr_regs: Vec::with_capacity(program.exprs().len()),
            node_regs: Vec::new(),
            var_regs: Vec::new(),
            buckets: vec![Vec::new(); program.nodes().len() + 1],
            open: Vec::new(),
            returns: Vec::new(),
            tiles: Held::of(program),
            watch: false,
        };
        compiler.node_regs = program.nodes().iter().map(|_| compiler.reg()).collect();
        compiler.var_regs = program.vars().iter().map(|_| compiler.reg()).collect();
        compiler
    }

    fn reg(&mut self) -> Reg {
        self.code.template.push(0);
        self.code.template.len() as Reg - 1
    }

    fn expr_reg(&self, expr: ExprId) -> Reg {
        self.expr_regs[expr.index()]
    }

    fn type_of(&self, expr: ExprId) -> DataType {
        self.program.facts().type_of(expr)
    }

    /// Gives every expression its register and bucket, and computes those that the launch fixes.
    fn place_exprs(&mut self, launch: &ResolvedLaunch, subgroup_size: u32) -> Result<(), MachineError> {
        let program = self.program;
        // The bucket of each expression; `None` once computed.
        let mut anchors: Vec<Option<usize>> = Vec::with_capacity(program.exprs().len());
        for (i, expr) in program.exprs().iter().enumerate() {
            let id = ExprId::new(i as u32);
            let fixed = |value: u64| (value, None::<usize>);
            let (value, anchor) = match *expr {
                Expr::Literal(value) => fixed(value.bits()),
                Expr::Param(id) => fixed(launch.params.get(id.index()).map_or(0, |v| v.bits())),
                Expr::Length(id) => fixed(launch.lengths.get(id.index()).copied().unwrap_or(0)),
                Expr::BuiltIn(BuiltIn::Extent(axis) | BuiltIn::WorkgroupCount(axis)) => {
                    fixed(launch.extent[axis.index()])
                }
                Expr::BuiltIn(BuiltIn::SubgroupSize) => fixed(u64::from(subgroup_size)),
                Expr::BuiltIn(built_in) => {
                    let reg = self.reg();
                    self.expr_regs.push(reg);
                    self.code.built_ins.push((reg, built_in));
                    anchors.push(Some(0));
                    continue;
                }
                Expr::Result(node) | Expr::LoopVar(node) => {
                    self.expr_regs.push(self.node_regs[node.index()]);
                    anchors.push(Some(node.index() + 1));
                    continue;
                }
                _ => {
                    let anchor = expr.operands().filter_map(|e| anchors[e.index()]).max();
                    if anchor.is_none() {
                        let value = self.evaluate(id, expr)?;
                        self.code.subnormals |= self.watch && self.meets_subnormal(id, expr, value);
                        fixed(value)
                    } else {
                        (0, anchor)
                    }
                }
            };
            let reg = self.reg();
            self.code.template[reg as usize] = value;
            self.expr_regs.push(reg);
            if let Some(anchor) = anchor {
                self.buckets[anchor].push(id);
            }
            anchors.push(anchor);
        }
        Ok(())
    }

    /// The instruction that computes an op.
    fn op(&self, id: ExprId, expr: &Expr, dst: Reg) -> Result<Instr, MachineError> {
        let reg = |e: ExprId| self.expr_reg(e);
        let instr = match *expr {
            Expr::Unary(op, a) => {
                let ty = self.type_of(a);
                op.kernel(ty).zip(op.columns(ty)).map(|(one, all)| Instr::Unary { one, all, dst, a: reg(a) })
            }
            Expr::Cast(op, to, a) => {
                let ty = self.type_of(a);
                let kernels = op.kernel(ty, to).zip(op.columns(ty, to));
                kernels.map(|(one, all)| Instr::Unary { one, all, dst, a: reg(a) })
            }
            Expr::Binary(op, a, b) => {
                let ty = self.type_of(a);
                let kernels = op.kernel(ty).zip(op.columns(ty));
                kernels.map(|(one, all)| Instr::Binary { one, all, dst, a: reg(a), b: reg(b) })
            }
            Expr::Ternary(op, a, b, c) => {
                let ty = self.type_of(b);
                let kernels = op.kernel(ty).zip(op.columns(ty));
                kernels.map(|(one, all)| Instr::Ternary { one, all, dst, a: reg(a), b: reg(b), c: reg(c) })
            }
            Expr::Literal(_)
            | Expr::Param(_)
            | Expr::BuiltIn(_)
            | Expr::Length(_)
            | Expr::Result(_)
            | Expr::LoopVar(_) => None,
        };
        instr.ok_or(MachineError::Refused { expr: id })
    }

    fn evaluate(&self, id: ExprId, expr: &Expr) -> Result<u64, MachineError> {
        let at = |reg: Reg| self.code.template[reg as usize];
        Ok(match self.op(id, expr, 0)? {
            Instr::Unary { one, a, .. } => one(at(a)),
            Instr::Binary { one, a, b, .. } => one(at(a), at(b)),
            Instr::Ternary { one, a, b, c, .. } => one(at(a), at(b), at(c)),
            _ => 0,
        })
    }

    fn pc(&self) -> Pc {
        self.code.instrs.len() as Pc
    }

    fn emit(&mut self, site: NodeId, instr: Instr) -> usize {
        self.code.instrs.push(instr);
        self.code.sites.push(site);
        self.code.instrs.len() - 1
    }

    /// Computes the expressions that wait for a bucket.
    fn bucket(&mut self, bucket: usize, site: NodeId) -> Result<(), MachineError> {
        for id in std::mem::take(&mut self.buckets[bucket]) {
            let expr = self.program.expr(id);
            let instr = self.op(id, expr, self.expr_reg(id))?;
            self.emit(site, instr);
            if self.watch {
                for watched in expr.operands().chain([id]) {
                    let (ty, parts) = (self.type_of(watched), watched == id && has_parts(expr));
                    if ty.is_float() {
                        self.emit(site, Instr::Watch { ty, a: self.expr_reg(watched), parts });
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether an op that the launch fixes takes or gives a subnormal.
    fn meets_subnormal(&self, id: ExprId, expr: &Expr, bits: u64) -> bool {
        let value = |id, bits| Value::from_bits(self.type_of(id), bits);
        let operand = |e: ExprId| value(e, self.code.template[self.expr_reg(e) as usize]).is_subnormal();
        meets(value(id, bits), has_parts(expr)) || expr.operands().any(operand)
    }

    /// Points instructions at the next one.
    fn land(&mut self, jumps: &[usize]) {
        let here = self.pc();
        for &jump in jumps {
            match &mut self.code.instrs[jump] {
                Instr::If { otherwise: to, .. }
                | Instr::Else { end: to }
                | Instr::ForEnter { end: to, .. }
                | Instr::WhileTest { end: to, .. }
                | Instr::WhileGuard { end: to }
                | Instr::Break { to, .. }
                | Instr::Continue { to, .. }
                | Instr::Return { to } => *to = here,
                _ => {}
            }
        }
    }

    fn enter(&mut self, is_loop: bool) {
        self.open.push(Open { is_loop, leaves: Vec::new() });
    }

    /// Points what leaves the innermost branch or loop at the next instruction.
    fn land_leaves(&mut self) {
        if let Some(open) = self.open.last_mut() {
            let leaves = std::mem::take(&mut open.leaves);
            self.land(&leaves);
        }
    }

    /// Emits an instruction after which no lane is left here.
    fn leave(&mut self, site: NodeId, instr: Instr) {
        let at = self.emit(site, instr);
        match self.open.last_mut() {
            Some(open) => open.leaves.push(at),
            None => self.returns.push(at),
        }
    }

    fn body(&mut self) -> Result<(), MachineError> {
        self.bucket(0, NodeId::new(0))?;
        let mut work = vec![Work::Nodes { region: self.program.body(), position: 0 }];
        while let Some(item) = work.pop() {
            match item {
                Work::Nodes { region, position } => {
                    let Some(&id) = self.program.region(region).get(position) else { continue };
                    work.push(Work::Nodes { region, position: position + 1 });
                    self.node(id, &mut work)?;
                }
                Work::Else { site, branch, otherwise } => {
                    self.land_leaves();
                    self.land(&[branch]);
                    let jump = self.emit(site, Instr::Else { end: 0 });
                    work.push(Work::EndIf { site, jump });
                    work.push(Work::Nodes { region: otherwise, position: 0 });
                }
                Work::EndIf { site, jump } => {
                    self.land_leaves();
                    self.land(&[jump]);
                    self.open.pop();
                    self.emit(site, Instr::EndIf);
                }
                Work::EndFor { site, counted, enter } => {
                    self.land_leaves();
                    self.emit(site, Instr::ForNext { counted, body: enter as Pc + 1 });
                    self.land(&[enter]);
                    self.open.pop();
                    self.emit(site, Instr::EndLoop);
                }
                Work::WhileBody { site, condition, head, body } => {
                    let condition = self.expr_reg(condition);
                    let test = self.emit(site, Instr::WhileTest { condition, end: 0 });
                    let guard = self.emit(site, Instr::WhileGuard { end: 0 });
                    work.push(Work::EndWhile { site, head, test, guard });
                    work.push(Work::Nodes { region: body, position: 0 });
                }
                Work::EndWhile { site, head, test, guard } => {
                    self.land_leaves();
                    // Lanes that wait for the next trip since the head go on here too.
                    self.land(&[test, guard]);
                    self.emit(site, Instr::WhileNext { head });
                    self.open.pop();
                    self.emit(site, Instr::EndLoop);
                }
            }
        }
        let returns = std::mem::take(&mut self.returns);
        self.land(&returns);
        self.emit(NodeId::new(self.program.nodes().len().saturating_sub(1) as u32), Instr::End);
        Ok(())
    }

    fn node(&mut self, id: NodeId, work: &mut Vec<Work>) -> Result<(), MachineError> {
        let dst = self.node_regs[id.index()];
        let reg = |c: &Self, e: ExprId| c.expr_reg(e);
        match *self.program.node(id) {
            Node::Load { place, index } => {
                let spot = self.spot(place, index);
                self.emit(id, Instr::Load { spot, dst });
            }
            Node::Store { place, index, value } => {
                let (spot, value) = (self.spot(place, index), reg(self, value));
                self.emit(id, Instr::Store { spot, value });
            }
            Node::Atomic { op, place, index, value, expected } => {
                let spot = self.spot(place, index);
                self.code.buffer_atomics |= spot.space == Space::Buffer;
                let element = self.program.place(place).1;
                let f = op.kernel(element).ok_or(MachineError::Refused { expr: value })?;
                let expected = expected.map(|e| reg(self, e));
                self.code.modifies.push(Modify { f, value: reg(self, value), expected });
                let modify = self.code.modifies.len() as u32 - 1;
                self.emit(id, Instr::Atomic { spot, dst, modify });
            }
            Node::Declare { var, init: value } | Node::Set { var, value } => {
                let instr = Instr::Set { dst: self.var_regs[var.index()], src: reg(self, value) };
                self.emit(id, instr);
            }
            Node::Get { var } => {
                self.emit(id, Instr::Get { dst, src: self.var_regs[var.index()] });
            }
            Node::If { condition, then, otherwise } => {
                let branch = self.emit(id, Instr::If { condition: reg(self, condition), otherwise: 0 });
                self.enter(false);
                work.push(Work::Else { site: id, branch, otherwise });
                work.push(Work::Nodes { region: then, position: 0 });
            }
            Node::For { start, end, step, body } => {
                let trips = self.reg();
                let int = self.int(start);
                let (start, end, step) = (reg(self, start), reg(self, end), reg(self, step));
                self.code.counted.push(Counted { int, start, end, step, var: dst, trips });
                let counted = self.code.counted.len() as u32 - 1;
                let enter = self.emit(id, Instr::ForEnter { counted, end: 0 });
                self.enter(true);
                work.push(Work::EndFor { site: id, counted, enter });
                work.push(Work::Nodes { region: body, position: 0 });
            }
            Node::While { head, condition, body } => {
                self.emit(id, Instr::WhileEnter);
                self.enter(true);
                work.push(Work::WhileBody { site: id, condition, head: self.pc(), body });
                work.push(Work::Nodes { region: head, position: 0 });
            }
            // Outside a loop, which the checker refuses, they end the invocation.
            leave @ (Node::Break | Node::Continue) => {
                let up = self.open.iter().rev().position(|open| open.is_loop).map(|up| up as u32);
                let instr = match (leave, up) {
                    (_, None) => Instr::Return { to: 0 },
                    (Node::Break, Some(up)) => Instr::Break { up, to: 0 },
                    (_, Some(up)) => Instr::Continue { up, to: 0 },
                };
                self.leave(id, instr);
            }
            Node::Return => self.leave(id, Instr::Return { to: 0 }),
            Node::Barrier { ordering } => {
                self.code.suspends = true;
                self.code.grid_sync |= ordering == MemoryOrdering::GridSync;
                self.emit(id, Instr::Barrier { ordering });
            }
            Node::Subgroup { op, value, lane } => {
                self.code.has_subgroup = true;
                let (ty, lane) = (self.type_of(value), lane.map(|e| reg(self, e)));
                self.code.subgroups.push(Subgroup { op, ty, dst, value: reg(self, value), lane });
                let subgroup = self.code.subgroups.len() as u32 - 1;
                self.emit(id, Instr::Subgroup { subgroup });
            }
            // Each access is seen by all at once.
            Node::Fence { .. } => {}
            Node::Collective { op, value, rank } => {
                let (ty, value) = (self.type_of(value), reg(self, value));
                let rank = rank.map_or(value, |e| reg(self, e));
                self.emit(id, Instr::Collective { op, ty, dst, value, rank });
            }
            Node::Tile { tile, action } => {
                self.code.has_subgroup = true;
                let step = self.tile_step(tile, action);
                self.code.tiles.push(step);
                let step = self.code.tiles.len() as u32 - 1;
                self.emit(id, Instr::Tile { step });
            }
            Node::Trap { code, address } => {
                self.emit(id, Instr::Trap { code, address: reg(self, address) });
            }
        }
        self.bucket(id.index() + 1, id)
    }

    fn int(&self, expr: ExprId) -> IntType {
        IntType::of(self.type_of(expr))
    }

    fn tile_step(&self, tile: TileId, action: TileAction) -> TileStep {
        let held = |tile: TileId| self.tiles[tile.index()];
        let number = |e: ExprId| (self.int(e), self.expr_reg(e));
        let memory = |place, index, stride, layout| {
            let (space, array) = self.array(place);
            Memory { space, array, index: number(index), stride: number(stride), layout }
        };
        let step = match action {
            TileAction::Fill { value } => Step::Fill(self.expr_reg(value)),
            TileAction::Load { place, index, stride, layout } => {
                Step::Load(memory(place, index, stride, layout))
            }
            TileAction::Store { place, index, stride, layout } => {
                Step::Store(memory(place, index, stride, layout))
            }
            TileAction::MultiplyAdd { a, b, c } => Step::MultiplyAdd(held(a), held(b), held(c)),
            TileAction::Add { a, b } => Step::Add(held(a), held(b)),
            TileAction::Subtract { a, b } => Step::Subtract(held(a), held(b)),
            TileAction::Scale { a, factor } => Step::Scale(held(a), self.expr_reg(factor)),
        };
        TileStep { tile: held(tile), step }
    }

    fn spot(&self, place: Place, index: ExprId) -> Addressed {
        let (space, array) = self.array(place);
        Addressed { space, int: self.int(index), array, index: self.expr_reg(index) }
    }

    /// Where an array lives, and its position in the table of arrays: buffers, shared, private.
    fn array(&self, place: Place) -> (Space, u32) {
        let buffers = self.program.buffers().len() as u32;
        let shared = self.program.shared().len() as u32;
        match place {
            Place::Buffer(id) => (Space::Buffer, id.raw()),
            Place::Shared(id) => (Space::Shared, buffers + id.raw()),
            Place::Private(id) => (Space::Private, buffers + shared + id.raw()),
        }
    }
}

/// Whether the op rounds parts of its result, which may be flushed where they are subnormal.
fn has_parts(expr: &Expr) -> bool {
    matches!(expr, Expr::Ternary(TernaryOp::Mix, ..))
}

/// Whether a value is subnormal, or so small that a part of it may have been.
pub(super) fn meets(value: Value, parts: bool) -> bool {
    let Some(format) = value.ty().float_format() else { return false };
    // An exponent above that of the least normal by the digits of a fraction.
    let room = if parts { u64::from(format.fraction_bits) << format.fraction_bits } else { 0 };
    let magnitude = format.magnitude(value.bits());
    magnitude != 0 && magnitude < format.least_normal() + room
}
