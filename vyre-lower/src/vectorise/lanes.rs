//! How expressions differ between the consecutive points of an invocation.

use vyre_foundation::check::Facts;
use vyre_foundation::ir::{Expr, ExprId, Node, Program};
use vyre_spec::ops::{BinaryOp, CastOp};
use vyre_spec::{Axis, BuiltIn};

/// How a value differs between the points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spread {
    /// It does not. `rest` is its remainder by the width, if that is known.
    Same {
        /// The remainder.
        rest: Option<u32>,
    },
    /// It grows, or falls, by one from each point to the next, modulo the type's range. `rest` is the
    /// remainder by the width of its value at the first point.
    Linear {
        /// Whether it grows.
        up: bool,
        /// The remainder.
        rest: Option<u32>,
    },
    /// In some other way.
    Varying,
}

/// The spread of each expression.
#[derive(Debug)]
pub(crate) struct Lanes {
    spreads: Vec<Spread>,
    width: u32,
}

impl Lanes {
    /// Looks at every expression; `None` if some variable is set. `width` is a power of two: the first point
    /// of an invocation is a multiple of it, and so are the ranges of all integer types.
    pub(crate) fn new(program: &Program, facts: &Facts, width: u32) -> Option<Self> {
        let mut inits = vec![None; program.vars().len()];
        for node in program.nodes() {
            match *node {
                Node::Declare { var, init } => inits[var.index()] = Some(init),
                Node::Set { .. } => return None,
                _ => {}
            }
        }
        let mut lanes = Self { spreads: Vec::with_capacity(program.exprs().len()), width };
        for i in 0..program.exprs().len() {
            let id = ExprId::new(i as u32);
            let spread = match *program.expr(id) {
                Expr::Result(node) => match *program.node(node) {
                    // A load for all points at once gives all the same.
                    Node::Load { index, .. } => match lanes.of(index) {
                        Spread::Same { .. } => Spread::Same { rest: None },
                        _ => Spread::Varying,
                    },
                    Node::Get { var } => inits[var.index()].map_or(Spread::Varying, |init| lanes.of(init)),
                    _ => Spread::Varying,
                },
                ref expr if facts.type_of(id).is_int() => lanes.integer(program, facts, expr),
                ref expr => lanes.plain(expr),
            };
            lanes.spreads.push(spread);
        }
        Some(lanes)
    }

    /// The spread of an expression.
    pub(crate) fn of(&self, id: ExprId) -> Spread {
        self.spreads.get(id.index()).copied().unwrap_or(Spread::Varying)
    }

    /// Whether it has one value for all points.
    pub(crate) fn is_same(&self, id: ExprId) -> bool {
        matches!(self.of(id), Spread::Same { .. })
    }

    fn plain(&self, expr: &Expr) -> Spread {
        if expr.operands().all(|operand| self.is_same(operand)) && !is_point(expr) {
            Spread::Same { rest: None }
        } else {
            Spread::Varying
        }
    }

    fn integer(&self, program: &Program, facts: &Facts, expr: &Expr) -> Spread {
        let mask = self.width - 1;
        let sum = |a: Option<u32>, b: Option<u32>| Some(a?.wrapping_add(b?) & mask);
        let negative = |a: Option<u32>| Some(a?.wrapping_neg() & mask);
        match *expr {
            Expr::Literal(value) => Spread::Same { rest: Some(value.bits() as u32 & mask) },
            _ if is_point(expr) => Spread::Linear { up: true, rest: Some(0) },
            Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) => {
                let right = match (op, self.of(b)) {
                    (BinaryOp::Add, spread) => spread,
                    (_, Spread::Same { rest }) => Spread::Same { rest: negative(rest) },
                    (_, Spread::Linear { up, rest }) => Spread::Linear { up: !up, rest: negative(rest) },
                    (_, Spread::Varying) => Spread::Varying,
                };
                match (self.of(a), right) {
                    (Spread::Same { rest: x }, Spread::Same { rest: y }) => Spread::Same { rest: sum(x, y) },
                    (Spread::Same { rest: x }, Spread::Linear { up, rest: y })
                    | (Spread::Linear { up, rest: x }, Spread::Same { rest: y }) => {
                        Spread::Linear { up, rest: sum(x, y) }
                    }
                    _ => Spread::Varying,
                }
            }
            Expr::Binary(BinaryOp::Mul, a, b) => match (self.of(a), self.of(b)) {
                (Spread::Same { rest: Some(0) }, Spread::Same { .. })
                | (Spread::Same { .. }, Spread::Same { rest: Some(0) }) => Spread::Same { rest: Some(0) },
                (Spread::Same { rest: x }, Spread::Same { rest: y }) => {
                    Spread::Same { rest: x.zip(y).map(|(x, y)| x.wrapping_mul(y) & mask) }
                }
                _ => Spread::Varying,
            },
            Expr::Binary(BinaryOp::Shl, a, b) => match (self.of(a), program.expr(b)) {
                (Spread::Same { .. }, Expr::Literal(value))
                    if value.bits() < u64::from(8 * facts.type_of(a).size())
                        && value.bits() >= u64::from(self.width.ilog2()) =>
                {
                    Spread::Same { rest: Some(0) }
                }
                _ => self.plain(expr),
            },
            // The same bits, where no width is lost or gained.
            Expr::Cast(CastOp::Convert | CastOp::Bitcast, to, a)
                if facts.type_of(a).is_int() && facts.type_of(a).size() == to.size() =>
            {
                self.of(a)
            }
            _ => self.plain(expr),
        }
    }
}

/// Whether this is the point on the axis along which an invocation's points lie.
fn is_point(expr: &Expr) -> bool {
    matches!(expr, Expr::BuiltIn(BuiltIn::Point(Axis::X)))
}
