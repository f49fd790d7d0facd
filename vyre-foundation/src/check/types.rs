//! Types.
//!
//! * The operands of an op have types that its row's rule allows; a node's result has the type of what it
//!   reads.
//! * Indices are integers, conditions are bools.
//! * A value that is stored, or combined atomically, has the array's element type; a variable's values have
//!   its type.
//! * Start, end and step of a counted loop have one integer type.
//! * An atomic works on the element type, and has an expected value just if the op takes one; a subgroup op
//!   has a lane just if it takes one, a `u32`. A trap's address is a `u32`.

use std::fmt;

use vyre_spec::ops::AtomicOp;
use vyre_spec::{DataType, MemoryOrdering, TypeSet};

use crate::diag::{Code, Diagnostic, Site};
use crate::ir::{Expr, ExprId, Node, NodeId, Place, Program};

use super::tree::ids;

/// The type of each expression; `None` where it or an operand is wrong.
pub(crate) fn check(program: &Program, findings: &mut Vec<Diagnostic>) -> Vec<Option<DataType>> {
    let mut types = Types { program, types: vec![None; program.exprs().len()], findings };
    for id in evaluation_order(program) {
        let ty = types.expr(id);
        types.types[id.index()] = ty;
    }
    for (id, node) in ids(program) {
        types.node(id, node);
    }
    types.types
}

/// What the type of an expression follows from. A subgroup op's result has the type of its operand, which
/// may be numbered later (the condition of a `while` comes before its head).
fn inputs(program: &Program, id: ExprId) -> impl Iterator<Item = ExprId> + use<> {
    let expr = program.expr(id);
    let through = match *expr {
        Expr::Result(node) => match *program.node(node) {
            Node::Subgroup { value, .. } | Node::Collective { value, .. } => Some(value),
            _ => None,
        },
        _ => None,
    };
    expr.operands().chain(through)
}

/// The expressions, each after its inputs. There are no cycles but in programs whose dominance is wrong,
/// which another check reports; they are cut.
fn evaluation_order(program: &Program) -> Vec<ExprId> {
    let count = program.exprs().len();
    let mut order = Vec::with_capacity(count);
    let (mut opened, mut done) = (vec![false; count], vec![false; count]);
    for start in (0..count as u32).map(ExprId::new) {
        let mut stack = vec![start];
        while let Some(&id) = stack.last() {
            if !opened[id.index()] {
                opened[id.index()] = true;
                stack.extend(inputs(program, id).filter(|input| !opened[input.index()]));
            } else {
                stack.pop();
                if !std::mem::replace(&mut done[id.index()], true) {
                    order.push(id);
                }
            }
        }
    }
    order
}

/// A type's name with its article.
struct A(DataType);

impl fmt::Display for A {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.0.name();
        let article = if name.starts_with(['i', 'f']) { "an" } else { "a" };
        write!(f, "{article} {name}")
    }
}

pub(super) struct Types<'a> {
    pub(super) program: &'a Program,
    types: Vec<Option<DataType>>,
    findings: &'a mut Vec<Diagnostic>,
}

/// Why a type was refused.
enum Refusal {
    /// The op does not take it.
    NotTaken(DataType, TypeSet),
    /// Two operands differ.
    Differ(DataType, DataType),
}

impl Types<'_> {
    pub(super) fn of(&self, id: ExprId) -> Option<DataType> {
        self.types[id.index()]
    }

    pub(super) fn report(&mut self, code: Code, site: Site, message: String, help: impl Into<String>) {
        self.findings.push(Diagnostic::new(code, site, message).with_help(help));
    }

    fn refuse(&mut self, site: Site, op: &str, refusal: Refusal) {
        match refusal {
            Refusal::NotTaken(ty, set) => self.report(
                Code::OperandType,
                site,
                format!("`{op}` does not take {}", A(ty)),
                format!("it takes {set}; use `convert` to change the type"),
            ),
            Refusal::Differ(needs, got) => self.report(
                Code::OperandType,
                site,
                format!("`{op}` needs {} here, but the operand is {}", A(needs), A(got)),
                format!("use `convert<{needs}>(…)`"),
            ),
        }
    }

    fn expr(&mut self, id: ExprId) -> Option<DataType> {
        let site = Site::Expr(id);
        match *self.program.expr(id) {
            Expr::Literal(value) => Some(value.ty()),
            Expr::Param(param) => Some(self.program.param(param).ty),
            Expr::BuiltIn(_) | Expr::Length(_) => Some(DataType::U32),
            Expr::Result(node) => self.result(node),
            Expr::LoopVar(node) => match *self.program.node(node) {
                // The start may be numbered after the variable only where dominance is wrong.
                Node::For { start, .. } => self.of(start),
                _ => None,
            },
            Expr::Unary(op, a) => {
                let a = self.of(a)?;
                let result = op.rule().result(a);
                if result.is_none() {
                    self.refuse(site, op.name(), Refusal::NotTaken(a, op.rule().operands()));
                }
                result
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.of(a)?, self.of(b)?);
                let rule = op.rule();
                let result = rule.result(a, b);
                if !rule.operands().contains(a) {
                    self.refuse(site, op.name(), Refusal::NotTaken(a, rule.operands()));
                } else if result.is_none() {
                    self.refuse(site, op.name(), Refusal::Differ(rule.second(a), b));
                }
                result
            }
            Expr::Ternary(op, a, b, c) => {
                let (a, b, c) = (self.of(a)?, self.of(b)?, self.of(c)?);
                let rule = op.rule();
                let result = rule.result(a, b, c);
                if !rule.operands().contains(b) {
                    self.refuse(site, op.name(), Refusal::NotTaken(b, rule.operands()));
                } else if b != c {
                    self.refuse(site, op.name(), Refusal::Differ(b, c));
                } else if result.is_none() {
                    self.refuse(site, op.name(), Refusal::Differ(rule.first(b), a));
                }
                result
            }
            Expr::Cast(op, to, a) => {
                let from = self.of(a)?;
                let allowed = op.allows(from, to);
                if !allowed {
                    let message = format!("`{}` does not take {} to {}", op.name(), A(from), A(to));
                    self.report(Code::OperandType, site, message, "use `convert`, or `select` on a bool");
                }
                allowed.then_some(to)
            }
        }
    }

    fn result(&self, node: NodeId) -> Option<DataType> {
        match *self.program.node(node) {
            Node::Load { place, .. } | Node::Atomic { place, .. } => Some(self.program.place(place).1),
            Node::Get { var } => Some(self.program.var(var).ty),
            Node::Subgroup { value, .. } | Node::Collective { value, .. } => self.of(value),
            _ => None,
        }
    }

    fn node(&mut self, id: NodeId, node: &Node) {
        let site = Site::Node(id);
        match *node {
            Node::Load { place, index } => self.index(site, place, index),
            Node::Store { place, index, value } => {
                self.index(site, place, index);
                self.element(site, place, value, "the stored value");
            }
            Node::Atomic { op, place, index, value, expected } => {
                self.index(site, place, index);
                self.atomic(site, op, place, value, expected);
            }
            Node::Declare { var, init: value } | Node::Set { var, value } => {
                let variable = self.program.var(var);
                let what = format!("variable `{}` is {}", variable.name, A(variable.ty));
                self.expect(site, value, variable.ty, &what);
            }
            Node::If { condition, .. } | Node::While { condition, .. } => match self.of(condition) {
                Some(ty) if ty != DataType::Bool => self.report(
                    Code::ConditionType,
                    site,
                    format!("the condition is {}", A(ty)),
                    "conditions are bools: compare the value, such as `x != 0`",
                ),
                _ => {}
            },
            Node::For { start, end, step, .. } => self.bounds(site, start, end, step),
            Node::Subgroup { op, value, lane } => {
                let rule = op.rule();
                self.values(site, op.name(), rule.operands(), value);
                self.second(site, op.name(), "lane", rule.takes_lane(), lane);
            }
            Node::Collective { op, value, rank } => {
                let rule = op.rule();
                self.values(site, op.name(), rule.operands(), value);
                self.second(site, op.name(), "rank", rule.takes_rank(), rank);
            }
            Node::Fence { ordering: MemoryOrdering::GridSync, .. } => self.report(
                Code::Structure,
                site,
                "a fence waits for nobody, so it cannot make the grid meet".to_owned(),
                "fence `storage` among the `device`, or use a barrier",
            ),
            Node::Trap { address, .. } => {
                self.expect(site, address, DataType::U32, "a trap's address is a u32");
            }
            Node::Tile { tile, action } => super::tiles::node(self, site, tile, action),
            Node::Get { .. }
            | Node::Break
            | Node::Continue
            | Node::Return
            | Node::Barrier { .. }
            | Node::Fence { .. } => {}
        }
    }

    /// Demands a type; `what` says of what and which.
    pub(super) fn expect(&mut self, site: Site, value: ExprId, needs: DataType, what: &str) {
        if let Some(got) = self.of(value).filter(|&got| got != needs) {
            let message = format!("{what}, but the value is {}", A(got));
            self.report(Code::OperandType, site, message, format!("use `convert<{needs}>(…)`"));
        }
    }

    pub(super) fn index(&mut self, site: Site, place: Place, index: ExprId) {
        if let Some(ty) = self.of(index).filter(|ty| !ty.is_int()) {
            let message = format!("the index of `{}` is {}", self.program.place(place).0, A(ty));
            self.report(Code::IndexType, site, message, "indices are integers: use `convert<u32>(…)`");
        }
    }

    fn element(&mut self, site: Site, place: Place, value: ExprId, role: &str) {
        let (name, element) = self.program.place(place);
        if let Some(got) = self.of(value).filter(|&got| got != element) {
            let message = format!("`{name}` has {element} elements, but {role} is {}", A(got));
            self.report(Code::OperandType, site, message, format!("use `convert<{element}>(…)`"));
        }
    }

    fn atomic(&mut self, site: Site, op: AtomicOp, place: Place, value: ExprId, expected: Option<ExprId>) {
        let (rule, (_, element)) = (op.rule(), self.program.place(place));
        if !rule.elements().contains(element) {
            self.refuse(site, op.name(), Refusal::NotTaken(element, rule.elements()));
            return;
        }
        self.element(site, place, value, "the operand");
        match expected {
            Some(expected) if rule.takes_expected() => {
                self.element(site, place, expected, "the expected value");
            }
            None if !rule.takes_expected() => {}
            Some(_) => self.report(
                Code::Structure,
                site,
                format!("`{}` takes no expected value", op.name()),
                "leave it out, or use the compare-exchange",
            ),
            None => self.report(
                Code::Structure,
                site,
                format!("`{}` needs an expected value", op.name()),
                "give the value that the element must have for the exchange",
            ),
        }
    }

    fn bounds(&mut self, site: Site, start: ExprId, end: ExprId, step: ExprId) {
        let Some(ty) = self.of(start) else { return };
        if !ty.is_int() {
            let message = format!("a loop counts in {ty}");
            self.report(Code::OperandType, site, message, "loops count in integers: use `convert<u32>(…)`");
            return;
        }
        self.expect(site, end, ty, &format!("the loop counts in {ty}"));
        self.expect(site, step, ty, &format!("the loop counts in {ty}"));
    }

    /// Demands an operand of one of some types.
    fn values(&mut self, site: Site, op: &'static str, allowed: TypeSet, value: ExprId) {
        if let Some(ty) = self.of(value).filter(|&ty| !allowed.contains(ty)) {
            self.refuse(site, op, Refusal::NotTaken(ty, allowed));
        }
    }

    /// Demands a second operand, or that there is none.
    fn second(&mut self, site: Site, op: &'static str, what: &str, takes: bool, second: Option<ExprId>) {
        match second {
            Some(second) if takes => {
                self.expect(site, second, DataType::U32, &format!("the {what} of `{op}` is a u32"));
            }
            None if !takes => {}
            Some(_) => self.report(Code::Structure, site, format!("`{op}` takes no {what}"), "leave it out"),
            None => self.report(
                Code::Structure,
                site,
                format!("`{op}` needs a {what}"),
                "give it as a u32 after a comma",
            ),
        }
    }
}
