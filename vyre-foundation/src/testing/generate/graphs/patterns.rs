//! The programs that graphs are made of.

use fastrand::Rng;
use vyre_spec::ops::{AtomicOp, BinaryOp};
use vyre_spec::{Access, Axis, BuiltIn, DataType, MemoryOrdering, TypeSet, Value};

use super::super::{GenConfig, Generator};
use crate::check::{Checked, check};
use crate::ir::{
    Arena, Array, Buffer, BufferId, Count, Expr, ExprId, Extent, ExtentId, Launch, Node, NodeId, Param,
    ParamId, Place, Program, RegionId, Variable,
};

/// A program, and what values it can be given.
#[derive(Clone, Debug)]
pub(super) struct Template {
    pub(super) program: Checked<Program>,
    /// The type of each input buffer, and what else is needed of its value.
    pub(super) inputs: Vec<(DataType, Need)>,
    /// For each parameter, what it has to be below, and above 0.
    pub(super) params: Vec<Option<u32>>,
}

/// What a program needs of a value beyond its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    Any,
    /// As many elements as the first input.
    AsFirst,
}

/// How a program uses its values.
#[derive(Clone, Copy, Debug)]
enum Pattern {
    /// Each point reads its own element of each input.
    Elementwise,
    /// An input is read at other places, each once.
    Permuted,
    /// Each element is read several times.
    Broadcast,
    /// Points read neighbours, also beyond the ends.
    Stencil,
    /// One value says where another is read.
    Gather,
    /// The first element of a value goes into all.
    Scalar,
    /// Elements are stored at other places.
    Scattered,
    /// Only some elements are stored.
    Partial,
    /// Some elements of a value are changed.
    Update,
    /// Workgroups combine their elements.
    Reduce,
    /// Points combine a row of elements in a loop.
    Rows,
    /// Workgroups exchange elements in shared memory.
    Exchange,
    /// Atomics count into a value.
    Histogram,
}

const PATTERNS: [Pattern; 16] = [
    Pattern::Elementwise,
    Pattern::Elementwise,
    Pattern::Elementwise,
    Pattern::Elementwise,
    Pattern::Permuted,
    Pattern::Broadcast,
    Pattern::Stencil,
    Pattern::Gather,
    Pattern::Scalar,
    Pattern::Scattered,
    Pattern::Partial,
    Pattern::Update,
    Pattern::Reduce,
    Pattern::Rows,
    Pattern::Exchange,
    Pattern::Histogram,
];

/// Draws a program.
pub(super) fn draw(number: usize, types: &[DataType], depth: u32, rng: &mut Rng) -> Option<Template> {
    let pattern = PATTERNS[rng.usize(0..PATTERNS.len())];
    let config = GenConfig { depth, types: TypeSet::of(types), ..GenConfig::default() };
    let seed = rng.u64(..);
    let name = format!("p{number}");
    let mut draft = Draft {
        generator: Generator::new(name, &config, Rng::with_seed(seed)),
        types: types.to_vec(),
        inputs: Vec::new(),
        params: Vec::new(),
    };
    draft.pattern(pattern);
    let Draft { generator, inputs, params, .. } = draft;
    let program = generator.arena.finish().ok()?.0;
    match check(program) {
        Ok(program) => Some(Template { program, inputs, params }),
        Err(findings) => {
            debug_assert!(false, "{pattern:?}, seed {seed}: {findings:?}");
            None
        }
    }
}

struct Draft<'c> {
    generator: Generator<'c>,
    types: Vec<DataType>,
    inputs: Vec<(DataType, Need)>,
    params: Vec<Option<u32>>,
}

/// Invocations of a workgroup, where a pattern has workgroups.
const GROUP: u32 = 16;

impl Draft<'_> {
    fn arena(&mut self) -> &mut Arena {
        &mut self.generator.arena
    }

    fn ty(&mut self) -> DataType {
        self.types[self.generator.rng.usize(0..self.types.len())]
    }

    fn input(&mut self, ty: DataType, need: Need, access: Access) -> BufferId {
        let name = format!("x{}", self.inputs.len());
        self.inputs.push((ty, need));
        self.buffer(name, ty, access, Count::Bytes)
    }

    fn buffer(&mut self, name: String, element: DataType, access: Access, count: Count) -> BufferId {
        self.arena().buffer(Buffer { name, element, access, count, coherent: false })
    }

    fn output(&mut self, number: u32, ty: DataType, count: ExtentId) -> BufferId {
        self.buffer(format!("y{number}"), ty, Access::WriteOnly, Count::Extent(count))
    }

    fn param(&mut self, ty: DataType, below: Option<u32>) -> ParamId {
        let name = format!("p{}", self.params.len());
        self.params.push(below);
        self.arena().param(Param { name, ty, specialize: false })
    }

    fn extent(&mut self, extent: Extent) -> ExtentId {
        self.arena().extent(extent)
    }

    fn domain(&mut self, extent: ExtentId) -> ExprId {
        let one = self.extent(Extent::Literal(1));
        self.arena().set_launch(Launch::Domain { extent: [extent, one, one], axes: 1 });
        self.e(Expr::BuiltIn(BuiltIn::Point(Axis::X)))
    }

    fn e(&mut self, expr: Expr) -> ExprId {
        self.arena().expr(expr)
    }

    fn n(&mut self, value: u32) -> ExprId {
        self.e(Expr::Literal(Value::new(value)))
    }

    fn op(&mut self, op: BinaryOp, a: ExprId, b: ExprId) -> ExprId {
        self.e(Expr::Binary(op, a, b))
    }

    fn push(&mut self, node: Node) -> NodeId {
        let region = self.generator.region;
        self.arena().push(region, node)
    }

    fn load(&mut self, place: Place, index: ExprId) -> ExprId {
        let node = self.push(Node::Load { place, index });
        self.e(Expr::Result(node))
    }

    fn store(&mut self, buffer: BufferId, index: ExprId, value: ExprId) {
        self.push(Node::Store { place: Place::Buffer(buffer), index, value });
    }

    /// Loads an element, for expressions to use.
    fn offer(&mut self, buffer: BufferId, index: ExprId) -> ExprId {
        let value = self.load(Place::Buffer(buffer), index);
        let ty = self.arena().program().buffer(buffer).element;
        self.generator.offer(ty, value, false);
        value
    }

    /// An expression of a type; where possible it is made of what was offered.
    fn value(&mut self, ty: DataType) -> ExprId {
        self.generator.expr(ty, false)
    }

    fn pattern(&mut self, pattern: Pattern) {
        if self.generator.rng.u8(0..3) == 0 {
            let ty = self.ty();
            let param = self.param(ty, None);
            let value = self.e(Expr::Param(param));
            self.generator.offer(ty, value, false);
        }
        match pattern {
            Pattern::Elementwise => self.elementwise(),
            Pattern::Permuted | Pattern::Stencil | Pattern::Scattered | Pattern::Partial => {
                self.places(pattern)
            }
            Pattern::Broadcast => self.broadcast(),
            Pattern::Gather | Pattern::Scalar => self.gather(pattern),
            Pattern::Update => self.update(),
            Pattern::Reduce | Pattern::Exchange => self.groups(pattern),
            Pattern::Rows => self.rows(),
            Pattern::Histogram => self.histogram(),
        }
    }

    fn elementwise(&mut self) {
        let count = self.generator.rng.usize(1..4);
        let outputs = if self.generator.rng.u8(0..4) == 0 { 2 } else { 1 };
        let mut buffers = Vec::new();
        for i in 0..count {
            let ty = self.ty();
            let access = if self.generator.rng.u8(0..8) == 0 { Access::Uniform } else { Access::ReadOnly };
            buffers.push(self.input(ty, if i == 0 { Need::Any } else { Need::AsFirst }, access));
        }
        let length = self.extent(Extent::Length(buffers[0]));
        let i = self.domain(length);
        self.generator.offer(DataType::U32, i, false);
        for &buffer in &buffers {
            self.offer(buffer, i);
        }
        for number in 0..outputs {
            let ty = self.ty();
            let y = self.output(number, ty, length);
            let value = self.value(ty);
            self.store(y, i, value);
        }
    }

    /// Loads and stores of one input at places that depend on the point.
    fn places(&mut self, pattern: Pattern) {
        let (from, to) = (self.ty(), self.ty());
        let x = self.input(from, Need::Any, Access::ReadOnly);
        let length = self.extent(Extent::Length(x));
        let y = self.output(0, to, length);
        let i = self.domain(length);
        let len = self.e(Expr::Length(x));
        let one = self.n(1);
        let shift = self.generator.rng.u32(1..9);
        let shift = self.n(shift);
        let last = self.op(BinaryOp::Sub, len, one);
        let other = match self.generator.rng.u8(0..2) {
            0 => self.op(BinaryOp::Sub, last, i),
            _ => {
                let moved = self.op(BinaryOp::Add, i, shift);
                self.op(BinaryOp::Rem, moved, len)
            }
        };
        match pattern {
            Pattern::Permuted => {
                self.offer(x, other);
            }
            Pattern::Stencil => {
                let before = self.op(BinaryOp::Sub, i, one);
                let after = self.op(BinaryOp::Add, i, shift);
                [before, i, after].into_iter().for_each(|index| {
                    self.offer(x, index);
                });
            }
            _ => {
                self.offer(x, i);
            }
        }
        let value = self.value(to);
        match pattern {
            Pattern::Scattered => self.store(y, other, value),
            Pattern::Partial => {
                let condition = self.value(DataType::Bool);
                let (then, otherwise) = (self.arena().region(), self.arena().region());
                self.push(Node::If { condition, then, otherwise });
                let outer = std::mem::replace(&mut self.generator.region, then);
                self.store(y, i, value);
                self.generator.region = outer;
            }
            _ => self.store(y, i, value),
        }
    }

    fn broadcast(&mut self) {
        let (from, to) = (self.ty(), self.ty());
        let x = self.input(from, Need::Any, Access::ReadOnly);
        let times = self.param(DataType::U32, Some(4));
        let (length, factor) = (self.extent(Extent::Length(x)), self.extent(Extent::Param(times)));
        let points = self.extent(Extent::Mul(length, factor));
        let y = self.output(0, to, points);
        let i = self.domain(points);
        let (len, times) = (self.e(Expr::Length(x)), self.e(Expr::Param(times)));
        let index = match self.generator.rng.bool() {
            true => self.op(BinaryOp::Rem, i, len),
            false => self.op(BinaryOp::Div, i, times),
        };
        self.offer(x, index);
        let value = self.value(to);
        self.store(y, i, value);
    }

    fn gather(&mut self, pattern: Pattern) {
        let (from, to) = (self.ty(), self.ty());
        let scalar = matches!(pattern, Pattern::Scalar);
        let first = if scalar { self.ty() } else { DataType::U32 };
        let at = self.input(first, Need::Any, Access::ReadOnly);
        let x = self.input(from, Need::Any, Access::ReadOnly);
        let length = self.extent(Extent::Length(at));
        let y = self.output(0, to, length);
        let i = self.domain(length);
        let own = self.offer(at, i);
        let index = match scalar {
            true => self.n(0),
            false => {
                let len = self.e(Expr::Length(x));
                self.op(BinaryOp::Rem, own, len)
            }
        };
        self.offer(x, index);
        let value = self.value(to);
        self.store(y, i, value);
    }

    fn update(&mut self) {
        let (from, to) = (self.ty(), self.ty());
        let y = self.input(to, Need::Any, Access::ReadWrite);
        let x = self.input(from, Need::AsFirst, Access::ReadOnly);
        let length = self.extent(Extent::Length(y));
        let i = self.domain(length);
        self.offer(y, i);
        self.offer(x, i);
        let value = self.value(to);
        if self.generator.rng.bool() {
            return self.store(y, i, value);
        }
        // Every other element.
        let (one, zero) = (self.n(1), self.n(0));
        let low = self.op(BinaryOp::BitAnd, i, one);
        let condition = self.op(BinaryOp::Eq, low, zero);
        let (then, otherwise) = (self.arena().region(), self.arena().region());
        self.push(Node::If { condition, then, otherwise });
        let outer = std::mem::replace(&mut self.generator.region, then);
        self.store(y, i, value);
        self.generator.region = outer;
    }

    /// Workgroups of [`GROUP`] invocations over an input, with a shared array.
    fn groups(&mut self, pattern: Pattern) {
        let ty = self.ty();
        let x = self.input(ty, Need::Any, Access::ReadOnly);
        let (length, group) =
            (self.extent(Extent::Length(x)), self.extent(Extent::Literal(u64::from(GROUP))));
        let groups = self.extent(Extent::CeilDiv(length, group));
        let reduces = matches!(pattern, Pattern::Reduce);
        let y = self.output(0, ty, if reduces { groups } else { length });
        let one = self.extent(Extent::Literal(1));
        self.arena().set_launch(Launch::Workgroups { size: [GROUP, 1, 1], count: [groups, one, one] });
        let shared = self.arena().shared(Array { name: "tile".into(), element: ty, len: GROUP });
        let (tile, ordering) = (Place::Shared(shared), MemoryOrdering::Workgroup);
        let global = self.e(Expr::BuiltIn(BuiltIn::GlobalId(Axis::X)));
        let local = self.e(Expr::BuiltIn(BuiltIn::LocalIndex));
        self.offer(x, global);
        let value = self.value(ty);
        self.push(Node::Store { place: tile, index: local, value });
        self.push(Node::Barrier { ordering });
        if !reduces {
            let last = self.n(GROUP - 1);
            let index = self.op(BinaryOp::Sub, last, local);
            let value = self.load(tile, index);
            return self.store(y, global, value);
        }
        let ops = [BinaryOp::Add, BinaryOp::Max, BinaryOp::Min];
        let op = ops[self.generator.rng.usize(0..ops.len())];
        let mut half = GROUP / 2;
        while half > 0 {
            let (step, sum) = (self.n(half), self.generator.region);
            let condition = self.op(BinaryOp::Lt, local, step);
            let (then, otherwise) = (self.arena().region(), self.arena().region());
            self.push(Node::If { condition, then, otherwise });
            self.generator.region = then;
            let other = self.op(BinaryOp::Add, local, step);
            let (a, b) = (self.load(tile, local), self.load(tile, other));
            let value = self.op(op, a, b);
            self.push(Node::Store { place: tile, index: local, value });
            self.generator.region = sum;
            self.push(Node::Barrier { ordering });
            half /= 2;
        }
        self.first_stores(y, tile, local);
    }

    /// The first invocation of a workgroup stores the first element of its array.
    fn first_stores(&mut self, y: BufferId, tile: Place, local: ExprId) {
        let zero = self.n(0);
        let condition = self.op(BinaryOp::Eq, local, zero);
        let (then, otherwise): (RegionId, RegionId) = (self.arena().region(), self.arena().region());
        self.push(Node::If { condition, then, otherwise });
        let outer = std::mem::replace(&mut self.generator.region, then);
        let value = self.load(tile, zero);
        let group = self.e(Expr::BuiltIn(BuiltIn::WorkgroupId(Axis::X)));
        self.store(y, group, value);
        self.generator.region = outer;
    }

    fn rows(&mut self) {
        let ty = self.ty();
        let x = self.input(ty, Need::Any, Access::ReadOnly);
        let columns = self.param(DataType::U32, Some(9));
        let (length, width) = (self.extent(Extent::Length(x)), self.extent(Extent::Param(columns)));
        let rows = self.extent(Extent::CeilDiv(length, width));
        let y = self.output(0, ty, rows);
        let i = self.domain(rows);
        let columns = self.e(Expr::Param(columns));
        let zero = self.e(Expr::Literal(Value::zero(ty)));
        let var = self.arena().var(Variable { name: "sum".into(), ty });
        self.push(Node::Declare { var, init: zero });
        let (start, step) = (self.n(0), self.n(1));
        let body = self.arena().region();
        let node = self.push(Node::For { start, end: columns, step, body });
        let outer = std::mem::replace(&mut self.generator.region, body);
        let column = self.e(Expr::LoopVar(node));
        let first = self.op(BinaryOp::Mul, i, columns);
        let index = self.op(BinaryOp::Add, first, column);
        let element = self.load(Place::Buffer(x), index);
        let get = self.push(Node::Get { var });
        let before = self.e(Expr::Result(get));
        let ops = [BinaryOp::Add, BinaryOp::Max, BinaryOp::Min];
        let op = ops[self.generator.rng.usize(0..ops.len())];
        let value = self.op(op, before, element);
        self.push(Node::Set { var, value });
        self.generator.region = outer;
        let get = self.push(Node::Get { var });
        let value = self.e(Expr::Result(get));
        self.store(y, i, value);
    }

    fn histogram(&mut self) {
        let bins = self.input(DataType::U32, Need::Any, Access::ReadWrite);
        let x = self.input(DataType::U32, Need::Any, Access::ReadOnly);
        let length = self.extent(Extent::Length(x));
        let i = self.domain(length);
        let value = self.load(Place::Buffer(x), i);
        let len = self.e(Expr::Length(bins));
        let index = self.op(BinaryOp::Rem, value, len);
        let value = self.n(1);
        let place = Place::Buffer(bins);
        self.push(Node::Atomic { op: AtomicOp::Add, place, index, value, expected: None });
    }
}
