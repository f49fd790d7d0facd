//! How expressions differ between the consecutive points of an invocation.

use vyre_foundation::check::Facts;
use vyre_foundation::ir::{Expr, ExprId, Node, Program};
use vyre_spec::ops::{BinaryOp, CastOp};
use vyre_spec::{Axis, BuiltIn};

/// How a value differs between the points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spread {
    /// It does not. `rest` is its remainder by the number of points, if that is known.
    Same {
        /// The remainder.
        rest: Option<u32>,
    },
    /// It grows by `step`, not 0, from each point to the next, modulo the type's range. `rest` is the remainder
    /// by the number of points of its value at the first point.
    Linear {
        /// What it grows by.
        step: i32,
        /// The remainder.
        rest: Option<u32>,
    },
    /// In some other way.
    Varying,
}

/// The widest step that is kept track of.
const MOST_STEP: i32 = 64;

impl Spread {
    /// A value with this step.
    fn with_step(step: Option<i32>, rest: Option<u32>) -> Self {
        match step {
            Some(0) => Self::Same { rest },
            Some(step) if (-MOST_STEP..=MOST_STEP).contains(&step) => Self::Linear { step, rest },
            _ => Self::Varying,
        }
    }

    /// The step and the remainder, unless it varies.
    fn parts(self) -> Option<(i32, Option<u32>)> {
        match self {
            Self::Same { rest } => Some((0, rest)),
            Self::Linear { step, rest } => Some((step, rest)),
            Self::Varying => None,
        }
    }
}

/// The spread of each expression, where all points do the same at the same time.
#[derive(Debug)]
pub(crate) struct Lanes {
    spreads: Vec<Spread>,
    points: u32,
}

impl Lanes {
    /// Looks at every expression. `points` is a power of two: the first point of an invocation is a multiple of
    /// it, and so are the ranges of all integer types.
    pub(crate) fn new(program: &Program, facts: &Facts, points: u32) -> Self {
        let mut inits = vec![None; program.vars().len()];
        for node in program.nodes() {
            if let Node::Declare { var, init } = *node {
                inits[var.index()] = Some(init);
            }
        }
        for node in program.nodes() {
            if let Node::Set { var, .. } = *node {
                inits[var.index()] = None;
            }
        }
        let mut lanes = Self { spreads: Vec::with_capacity(program.exprs().len()), points };
        for i in 0..program.exprs().len() {
            let id = ExprId::new(i as u32);
            let spread = match *program.expr(id) {
                Expr::Result(node) => match *program.node(node) {
                    // A load for all points at once gives all the same.
                    Node::Load { index, .. } if lanes.is_same(index) => Spread::Same { rest: None },
                    Node::Get { var } => inits[var.index()].map_or(Spread::Varying, |init| lanes.of(init)),
                    _ => Spread::Varying,
                },
                Expr::LoopVar(node) => lanes.loop_variable(program.node(node)),
                ref expr if facts.type_of(id).is_int() => lanes.integer(program, facts, expr),
                ref expr => lanes.plain(expr),
            };
            lanes.spreads.push(spread);
        }
        lanes
    }

    /// The spread of an expression.
    pub(crate) fn of(&self, id: ExprId) -> Spread {
        self.spreads.get(id.index()).copied().unwrap_or(Spread::Varying)
    }

    /// Whether it has one value for all points.
    pub(crate) fn is_same(&self, id: ExprId) -> bool {
        matches!(self.of(id), Spread::Same { .. })
    }

    /// The points of an invocation.
    pub(crate) fn points(&self) -> u32 {
        self.points
    }

    fn plain(&self, expr: &Expr) -> Spread {
        if expr.operands().all(|operand| self.is_same(operand)) && !is_point(expr) {
            Spread::Same { rest: None }
        } else {
            Spread::Varying
        }
    }

    fn rest(&self, id: ExprId) -> Option<u32> {
        self.of(id).parts().and_then(|(_, rest)| rest)
    }

    /// A loop that all points run together has one variable.
    fn loop_variable(&self, node: &Node) -> Spread {
        match *node {
            Node::For { start, end, step, .. } if [start, end, step].iter().all(|&e| self.is_same(e)) => {
                Spread::Same { rest: self.rest(start).filter(|_| self.rest(step) == Some(0)) }
            }
            _ => Spread::Varying,
        }
    }

    fn integer(&self, program: &Program, facts: &Facts, expr: &Expr) -> Spread {
        let mask = self.points - 1;
        let literal = |id: ExprId| match *program.expr(id) {
            Expr::Literal(value) => value.as_int(),
            _ => None,
        };
        // The product of a value and a constant.
        let scaled = |a: ExprId, factor: i128| {
            let Some((step, rest)) = self.of(a).parts() else { return Spread::Varying };
            let product = i128::from(step).checked_mul(factor).and_then(|n| i32::try_from(n).ok());
            let by = factor.rem_euclid(i128::from(self.points)) as u32;
            let rest = match (rest, by) {
                (_, 0) => Some(0),
                (rest, by) => rest.map(|rest| rest.wrapping_mul(by) & mask),
            };
            Spread::with_step(if step == 0 { Some(0) } else { product }, rest)
        };
        match *expr {
            Expr::Literal(value) => Spread::Same { rest: Some(value.bits() as u32 & mask) },
            _ if is_point(expr) => Spread::Linear { step: 1, rest: Some(0) },
            Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) => {
                let (Some((x, p)), Some((y, q))) = (self.of(a).parts(), self.of(b).parts()) else {
                    return Spread::Varying;
                };
                let (step, q) = match op {
                    BinaryOp::Add => (x.checked_add(y), q),
                    _ => (x.checked_sub(y), q.map(u32::wrapping_neg)),
                };
                Spread::with_step(step, p.zip(q).map(|(p, q)| p.wrapping_add(q) & mask))
            }
            Expr::Binary(BinaryOp::Mul, a, b) => match (literal(a), literal(b)) {
                (_, Some(factor)) => scaled(a, factor),
                (Some(factor), _) => scaled(b, factor),
                _ => match (self.of(a), self.of(b)) {
                    (Spread::Same { rest: Some(0) }, Spread::Same { .. })
                    | (Spread::Same { .. }, Spread::Same { rest: Some(0) }) => Spread::Same { rest: Some(0) },
                    (Spread::Same { rest: x }, Spread::Same { rest: y }) => {
                        Spread::Same { rest: x.zip(y).map(|(x, y)| x.wrapping_mul(y) & mask) }
                    }
                    _ => Spread::Varying,
                },
            },
            Expr::Binary(BinaryOp::Shl, a, b) => match literal(b) {
                Some(by) if (0..i128::from(8 * facts.type_of(a).size())).contains(&by) => {
                    scaled(a, 1i128 << by)
                }
                _ => self.plain(expr),
            },
            // Bits below all that the other has: a sum.
            Expr::Binary(BinaryOp::BitOr, a, b) => match (self.of(a), literal(b)) {
                (Spread::Linear { step, rest: Some(rest) }, Some(low)) if (0..8).contains(&low) => {
                    let (low, room) = (low as u32, (low as u32 + 1).next_power_of_two());
                    let fits = room <= self.points && rest % room == 0 && step % room as i32 == 0;
                    if fits { Spread::Linear { step, rest: Some(rest + low) } } else { Spread::Varying }
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
