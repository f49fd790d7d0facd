//! Which accesses are in bounds whatever the inputs are.
//!
//! Every integer expression gets an interval, in one pass over the table, and an index is compared with the
//! smallest length that its array can have. Two symbolic cases are added: the point of a domain, and the
//! variable of a loop, whose bound is the array's length.
//!
//! Workgroup counts prove nothing: a launch may replace them.

use vyre_foundation::check::Facts;
use vyre_foundation::ir::{
    BufferId, Count, Expr, ExprId, Extent, ExtentId, Launch, Node, NodeId, Place, Program,
};
use vyre_spec::ops::{BinaryOp, CastOp, TernaryOp};
use vyre_spec::{BuiltIn, DataType};

/// The least and the greatest value.
type Interval = (i64, i64);

/// The proofs for one program.
pub(crate) struct Bounds<'a> {
    program: &'a Program,
    ranges: Vec<Interval>,
    /// The initial value of each variable that is never set.
    inits: Vec<Option<ExprId>>,
}

impl<'a> Bounds<'a> {
    /// Computes the intervals. `inits` has the initial value of each variable that is never set.
    pub(crate) fn new(program: &'a Program, facts: &Facts, inits: Vec<Option<ExprId>>) -> Self {
        let mut bounds = Self { program, ranges: Vec::with_capacity(program.exprs().len()), inits };
        for i in 0..program.exprs().len() {
            let id = ExprId::new(i as u32);
            let ty = facts.type_of(id);
            let all = of_type(ty);
            // An interval that leaves the type's range means that the value may have wrapped.
            let narrow = ty == DataType::Bool || ty.is_int() && ty.width() <= 32;
            let range = Some(id)
                .filter(|_| narrow)
                .and_then(|id| bounds.interval(program.expr(id), ty))
                .filter(|r| all.0 <= r.0 && r.1 <= all.1 && r.0 <= r.1);
            bounds.ranges.push(range.unwrap_or(all));
        }
        bounds
    }

    /// The interval of an expression.
    pub(crate) fn range(&self, id: ExprId) -> Option<Interval> {
        self.ranges.get(id.index()).copied()
    }

    fn interval(&self, expr: &Expr, ty: DataType) -> Option<Interval> {
        match *expr {
            Expr::Literal(value) => {
                let x = i64::try_from(value.as_int()?).ok()?;
                Some((x, x))
            }
            Expr::BuiltIn(built_in) => self.built_in(built_in),
            Expr::Length(buffer) => self.count(buffer).map(|n| (n, n)),
            Expr::Result(node) => match self.program.node(node) {
                Node::Get { var } => self.range(self.inits.get(var.index()).copied().flatten()?),
                _ => None,
            },
            Expr::LoopVar(node) => match *self.program.node(node) {
                Node::For { start, end, .. } => {
                    let (start, end) = (self.range(start)?, self.range(end)?);
                    // The body runs only where start ≤ variable < end.
                    Some((start.0, (end.1 - 1).max(start.0)))
                }
                _ => None,
            },
            Expr::Binary(op, a, b) if ty.is_int() => self.binary(op, a, b),
            Expr::Ternary(TernaryOp::Select, _, a, b) if ty.is_int() => {
                let (a, b) = (self.range(a)?, self.range(b)?);
                Some((a.0.min(b.0), a.1.max(b.1)))
            }
            Expr::Ternary(TernaryOp::Clamp, x, low, high) if ty.is_int() => {
                let [x, low, high] = [self.range(x)?, self.range(low)?, self.range(high)?];
                Some((x.0.max(low.0).min(high.0), x.1.max(low.1).min(high.1)))
            }
            // The value stays the same if it fits the target; the caller sees to that, and a float's never does.
            Expr::Cast(CastOp::Convert, _, a) if ty.is_int() => self.range(a),
            _ => None,
        }
    }

    fn binary(&self, op: BinaryOp, a: ExprId, b: ExprId) -> Option<Interval> {
        let (a, b) = (self.range(a)?, self.range(b)?);
        let natural = a.0 >= 0 && b.0 >= 0;
        match op {
            BinaryOp::Add => Some((a.0 + b.0, a.1 + b.1)),
            BinaryOp::Sub => Some((a.0 - b.1, a.1 - b.0)),
            // Operands are below 2^32, so products of naturals fit u64; they may not fit i64.
            BinaryOp::Mul if natural => Some((a.0.checked_mul(b.0)?, a.1.checked_mul(b.1)?)),
            BinaryOp::Div if natural && b.0 > 0 => Some((a.0 / b.1, a.1 / b.0)),
            BinaryOp::Rem if natural && b.0 > 0 => Some((0, a.1.min(b.1 - 1))),
            BinaryOp::Rem if natural => Some((0, a.1.min((b.1 - 1).max(0)))),
            BinaryOp::BitAnd if a.0 >= 0 || b.0 >= 0 => {
                let bound = |r: Interval| if r.0 >= 0 { r.1 } else { i64::MAX };
                Some((0, bound(a).min(bound(b))))
            }
            BinaryOp::BitOr | BinaryOp::BitXor if natural => {
                let bits = 64 - (a.1 | b.1).leading_zeros();
                Some((0, (1i64 << bits) - 1))
            }
            BinaryOp::Shr if natural && b.0 == b.1 => Some((a.0 >> (b.0 & 31), a.1 >> (b.0 & 31))),
            BinaryOp::Shl if natural && b.0 == b.1 => Some((a.0 << (b.0 & 31), a.1 << (b.0 & 31))),
            BinaryOp::Min => Some((a.0.min(b.0), a.1.min(b.1))),
            BinaryOp::Max => Some((a.0.max(b.0), a.1.max(b.1))),
            _ => None,
        }
    }

    fn built_in(&self, built_in: BuiltIn) -> Option<Interval> {
        let below = |n: u32| Some((0, i64::from(n.max(1)) - 1));
        match (built_in, self.program.launch()) {
            (BuiltIn::LocalId(axis), Launch::Workgroups { size, .. }) => below(size[axis.index()]),
            (BuiltIn::LocalIndex, Launch::Workgroups { size, .. }) => {
                below(size.iter().fold(1, |product, &n| product.saturating_mul(n)))
            }
            (BuiltIn::Point(axis), Launch::Domain { extent, .. }) => {
                let n = self.literal(extent[axis.index()])?;
                Some((0, (n - 1).max(0)))
            }
            (BuiltIn::Extent(axis), Launch::Domain { extent, .. }) => {
                self.literal(extent[axis.index()]).map(|n| (n, n))
            }
            _ => None,
        }
    }

    /// The extent with lengths replaced by the extents that define them.
    fn canonical(&self, mut extent: ExtentId) -> ExtentId {
        // Counts have no cycle, so each buffer is passed at most once.
        for _ in self.program.buffers() {
            let Extent::Length(buffer) = *self.program.extent(extent) else { break };
            let Count::Extent(count) = self.program.buffer(buffer).count else { break };
            extent = count;
        }
        extent
    }

    fn literal(&self, extent: ExtentId) -> Option<i64> {
        match *self.program.extent(self.canonical(extent)) {
            Extent::Literal(n) => i64::try_from(n).ok().filter(|&n| n <= i64::from(u32::MAX)),
            _ => None,
        }
    }

    /// A buffer's number of elements, if it is a constant.
    pub(crate) fn count(&self, buffer: BufferId) -> Option<i64> {
        match self.program.buffer(buffer).count {
            Count::Extent(x) => self.literal(x),
            Count::Bytes => None,
        }
    }

    /// Whether an extent is at most a buffer's number of elements, at every launch.
    fn fits(&self, extent: ExtentId, buffer: BufferId) -> bool {
        let extent = self.canonical(extent);
        let same = |x: ExtentId| {
            let x = self.canonical(x);
            match (*self.program.extent(x), self.program.buffer(buffer).count) {
                (Extent::Length(other), Count::Bytes) => other == buffer,
                (_, Count::Extent(count)) => x == self.canonical(count),
                _ => false,
            }
        };
        same(extent)
            || match *self.program.extent(extent) {
                Extent::Min(a, b) => same(a) || same(b),
                _ => false,
            }
    }

    /// Why every index that the expression can give lies inside the array; `None` if it may not.
    pub(crate) fn proof(&self, place: Place, index: ExprId) -> Option<&'static str> {
        let length = match place {
            Place::Buffer(id) => self.count(id),
            Place::Shared(id) => Some(i64::from(self.program.shared_array(id).len)),
            Place::Private(id) => Some(i64::from(self.program.private_array(id).len)),
        };
        if let (Some(n), Some((low, high))) = (length, self.range(index)) {
            if low >= 0 && high < n {
                return Some(if low == high { "constant index" } else { "index range" });
            }
        }
        let Place::Buffer(buffer) = place else { return None };
        match (*self.program.expr(index), self.program.launch()) {
            (Expr::BuiltIn(BuiltIn::Point(axis)), Launch::Domain { extent, .. }) => self
                .fits(extent[axis.index()], buffer)
                .then_some("the point of a domain as long as the buffer"),
            (Expr::LoopVar(node), _) => self.loop_proof(node, buffer),
            _ => None,
        }
    }

    fn loop_proof(&self, node: NodeId, buffer: BufferId) -> Option<&'static str> {
        let Node::For { start, end, .. } = *self.program.node(node) else { return None };
        let natural = self.range(start)?.0 >= 0;
        let fits = match (*self.program.expr(end), self.program.launch()) {
            (Expr::Length(other), _) => other == buffer || self.same_count(other, buffer),
            (Expr::BuiltIn(BuiltIn::Extent(axis)), Launch::Domain { extent, .. }) => {
                self.fits(extent[axis.index()], buffer)
            }
            _ => false,
        };
        (natural && fits).then_some("a loop over the buffer's length")
    }

    /// Whether two buffers always have the same number of elements.
    fn same_count(&self, a: BufferId, b: BufferId) -> bool {
        match (self.program.buffer(a).count, self.program.buffer(b).count) {
            (Count::Extent(x), _) => self.fits(x, b),
            (Count::Bytes, Count::Extent(y)) => {
                matches!(*self.program.extent(self.canonical(y)), Extent::Length(other) if other == a)
            }
            (Count::Bytes, Count::Bytes) => a == b,
        }
    }
}

fn of_type(ty: DataType) -> Interval {
    match ty {
        DataType::Bool => (0, 1),
        DataType::U32 => (0, i64::from(u32::MAX)),
        DataType::I32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        DataType::U8 => (0, i64::from(u8::MAX)),
        DataType::I8 => (i64::from(i8::MIN), i64::from(i8::MAX)),
        DataType::U16 => (0, i64::from(u16::MAX)),
        DataType::I16 => (i64::from(i16::MIN), i64::from(i16::MAX)),
        // Wider than the intervals; the others are never an index.
        _ => (i64::MIN, i64::MAX),
    }
}
