//! Proof that a kernel stores a whole value, each element where the index counts.
//!
//! There is one store to it. Its index is a sum of ids of workgroups and invocations, points, and variables of the loops
//! around it, and counts through digits like a number: each digit takes all its values, because an id does, a loop from 0
//! in steps of 1 or over the invocations of a workgroup does, or a condition `digit < bound` cuts a sum of ids that goes at
//! least so far.

use std::collections::BTreeMap;

use vyre_foundation::ir::{BufferId, Expr, ExprId, Node, NodeId};
use vyre_spec::ops::BinaryOp;
use vyre_spec::{Axis, BuiltIn};

use super::context::Context;
use super::form::{Component, Form, Leaves, Term};
use super::kernel::{Kernel, Role};
use super::quantity::{Atom, Op, Quantity};
use super::reject::RejectReason;

/// A digit of an index: a sum of components whose values are all numbers below the bound.
#[derive(Clone, Debug)]
pub(crate) struct Digit {
    /// The components, with their strides in the index.
    pub(crate) terms: Vec<Term>,
    pub(crate) bound: Quantity,
    /// The stride of the digit.
    pub(crate) stride: Quantity,
}

/// How a kernel stores a value whole.
#[derive(Clone, Debug)]
pub(crate) struct Cover {
    /// The digits of the index of the one store, from the innermost to the outermost.
    pub(crate) digits: Vec<Digit>,
    /// Whether the index may also lie beyond the value, where the store is dropped.
    pub(crate) beyond: bool,
}

/// How a kernel stores a value whole.
///
/// # Errors
/// If it is not proved that it does.
pub(crate) fn covered(cx: &mut Context, kernel: &Kernel, buffer: BufferId) -> Result<Cover, RejectReason> {
    let fail = RejectReason::NotWhole;
    if kernel.role(buffer) != Role::Write {
        return Err(fail);
    }
    let mut stores = kernel.accesses(buffer);
    let (Some((id, &Node::Store { index, .. })), None) = (stores.next(), stores.next()) else {
        return Err(fail);
    };
    let (forms, leaves) = kernel.forms(cx);
    let around = Around::of(kernel, id, &forms, &leaves).ok_or(fail.clone())?;
    let form = forms.get(index.index()).cloned().flatten().ok_or(fail.clone())?;
    let length = cx.value(kernel.values(buffer).output.ok_or(fail.clone())?).length.clone();
    let is_length = cx.is_length(&length);
    let exact = around.digits(cx, &form, &leaves).and_then(|digits| in_order(digits, &length));
    if let Some(digits) = exact.filter(|_| is_length) {
        return Ok(Cover { digits, beyond: false });
    }
    // All of the index is one digit, cut by the end of the value itself instead of by a condition.
    if !around.below.is_empty() {
        return Err(fail);
    }
    let whole = Around { below: vec![(form.clone(), length.clone())], ..around };
    let single = whole.digits(cx, &form, &leaves).filter(|_| whole_steps(&form)).filter(|_| is_length);
    let digits = single.and_then(|digits| in_order(digits, &length)).ok_or(fail)?;
    Ok(Cover { digits, beyond: true })
}

/// Whether no sum of this form wraps that goes to a length, rounded up to whole workgroups: those have a power of two of
/// elements each, which divides 2^32.
fn whole_steps(form: &Form) -> bool {
    form.0.iter().all(|(component, stride)| match component {
        Component::BuiltIn(BuiltIn::WorkgroupId(_)) => stride.as_literal().is_some_and(u64::is_power_of_two),
        Component::BuiltIn(BuiltIn::LocalId(_) | BuiltIn::LocalIndex) => true,
        _ => false,
    })
}

/// The digits from the innermost to the outermost, if they count up to the length.
fn in_order(mut left: Vec<Digit>, length: &Quantity) -> Option<Vec<Digit>> {
    left.retain(|digit| !digit.bound.is_one());
    let mut ordered = Vec::with_capacity(left.len());
    let mut stride = Quantity::one();
    while !left.is_empty() {
        let at = left.iter().position(|digit| digit.stride == stride)?;
        let digit = left.remove(at);
        stride = stride.times(&digit.bound)?;
        ordered.push(digit);
    }
    (stride == *length).then_some(ordered)
}

/// What stands around a store.
struct Around {
    /// Variables of loops that take all values below their bound.
    loops: Vec<Component>,
    /// Forms that are below a quantity.
    below: Vec<(Form, Quantity)>,
    /// Components that are one number.
    fixed: Vec<Component>,
    /// Whether a loop begins at the invocation, each of which then does its share.
    shares: bool,
}

impl Around {
    fn of(kernel: &Kernel, store: NodeId, forms: &[Option<Form>], leaves: &Leaves) -> Option<Self> {
        let program = &kernel.program;
        let form = |id: ExprId| forms.get(id.index()).cloned().flatten();
        let constant = |id: ExprId| form(id)?.as_constant();
        let mut around = Self { loops: Vec::new(), below: Vec::new(), fixed: Vec::new(), shares: false };
        let jumps = program.nodes().iter().any(|node| matches!(node, Node::Break | Node::Continue));
        if program.nodes().iter().any(|node| matches!(node, Node::Return)) {
            return None;
        }
        let variables = (0..).map(ExprId::new).zip(program.exprs()).filter_map(|(id, expr)| match *expr {
            Expr::LoopVar(node) => Some((node, id)),
            _ => None,
        });
        let variables: BTreeMap<NodeId, ExprId> = variables.collect();
        let mut region = program.facts().region_of(store);
        while let Some((holder, _)) = program.facts().parent(region) {
            match *program.node(holder) {
                Node::If { condition, then, .. } if then == region => {
                    let mut stack = vec![condition];
                    while let Some(id) = stack.pop() {
                        match *program.expr(id) {
                            Expr::Binary(BinaryOp::BitAnd, a, b) => stack.extend([a, b]),
                            Expr::Binary(BinaryOp::Lt, a, b) | Expr::Binary(BinaryOp::Gt, b, a) => {
                                around.below.push((form(a)?, constant(b)?));
                            }
                            Expr::Binary(BinaryOp::Eq, a, b) => around.fix(&form(a)?, &form(b)?, leaves)?,
                            _ => return None,
                        }
                    }
                }
                Node::For { start, step, .. } if !jumps => {
                    let component = Component::Expr(*variables.get(&holder)?);
                    let step = constant(step)?;
                    let start = form(start)?;
                    if start != Form::default() || !step.is_one() {
                        let invocation = Component::BuiltIn(BuiltIn::LocalIndex);
                        let row = Component::BuiltIn(BuiltIn::LocalId(Axis::X));
                        let size = leaves.size?;
                        let is_line = size[1] == 1 && size[2] == 1;
                        let from = |component| start == Form::component(component);
                        let is_shared = from(invocation) || (from(row) && is_line);
                        if !is_shared || leaves.bound(invocation)? != step || around.shares {
                            return None;
                        }
                        around.shares = true;
                    }
                    around.loops.push(component);
                }
                _ => return None,
            }
            region = program.facts().region_of(holder);
        }
        Some(around)
    }

    /// Takes note that a component is a number, which it can be.
    fn fix(&mut self, a: &Form, b: &Form, leaves: &Leaves) -> Option<()> {
        let (form, number) = if b.as_constant().is_some() { (a, b) } else { (b, a) };
        let [(component, stride)] = form.0.as_slice() else { return None };
        let number = number.as_constant()?.as_literal()?;
        let bound = leaves.bound(*component)?.as_literal()?;
        if !stride.is_one() || number >= bound {
            return None;
        }
        self.fixed.push(*component);
        Some(())
    }

    /// The digits of an index, in no order.
    fn digits(&self, cx: &Context, index: &Form, leaves: &Leaves) -> Option<Vec<Digit>> {
        let mut left: Vec<Term> = index.0.clone();
        let mut digits = Vec::new();
        for (form, bound) in &self.below {
            let scale = form.0.iter().find_map(|(component, stride)| {
                let (_, in_index) = left.iter().find(|(known, _)| known == component)?;
                in_index.divided_by(stride)
            })?;
            let mut terms = Vec::with_capacity(form.0.len());
            for (component, stride) in &form.0 {
                let want = stride.times(&scale)?;
                let at = left.iter().position(|term| *term == (*component, want.clone()))?;
                terms.push(left.remove(at));
            }
            let (_, total) = form.digits(leaves)?;
            if !goes_to(cx, &total?, bound) {
                return None;
            }
            digits.push(Digit { terms, bound: bound.clone(), stride: scale });
        }
        for (component, stride) in left {
            let bound = leaves.bound(component)?;
            digits.push(Digit { terms: vec![(component, stride.clone())], bound, stride });
        }
        let used: Vec<Component> =
            digits.iter().flat_map(|digit| digit.terms.iter().map(|(component, _)| *component)).collect();
        // Each trip of a loop stores elements of its own, and the ids vary freely.
        let is_local = |component: &Component| {
            matches!(component, Component::BuiltIn(BuiltIn::LocalId(_) | BuiltIn::LocalIndex))
        };
        let is_linear = |component: &Component| *component == Component::BuiltIn(BuiltIn::LocalIndex);
        let locals = used.iter().filter(|component| is_local(component)).count();
        let is_free = self.loops.iter().all(|component| used.contains(component))
            && used.iter().all(|component| match component {
                Component::Expr(_) => self.loops.contains(component),
                Component::BuiltIn(
                    BuiltIn::Point(_) | BuiltIn::WorkgroupId(_) | BuiltIn::LocalId(_) | BuiltIn::LocalIndex,
                ) => true,
                _ => false,
            })
            && (locals <= 1 || !used.iter().any(is_linear))
            && (locals == 0 || (!self.shares && self.fixed.is_empty()))
            && (self.fixed.is_empty() || !self.shares)
            && self.fixed.len() <= 1
            && self.fixed.iter().all(is_local);
        is_free.then_some(digits)
    }
}

/// Whether a sum of ids below `total` takes all values below the bound.
fn goes_to(cx: &Context, total: &Quantity, bound: &Quantity) -> bool {
    if total == bound {
        return true;
    }
    if let (Some(total), Some(bound)) = (total.as_literal(), bound.as_literal()) {
        return total >= bound;
    }
    // As many workgroups as it takes: the quotient, rounded up, times what it was divided by.
    total.atoms().iter().any(|&position| {
        let Some(Atom::Op(Op::CeilDiv, whole, part)) = cx.quantities.get(position) else { return false };
        let rounded = cx.quantities.at(position).times(part);
        whole == bound && rounded.as_ref() == Some(total)
    })
}
