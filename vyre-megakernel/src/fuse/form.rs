//! Indices as sums of components with strides: what element an invocation means, in a form that can be compared.

use std::collections::BTreeMap;

use vyre_foundation::check::Checked;
use vyre_foundation::ir::{Expr, ExprId, Launch, Program};
use vyre_spec::ops::BinaryOp;
use vyre_spec::{Axis, BuiltIn, DataType};

use super::context::Context;
use super::quantity::Quantity;

/// What varies in a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Component {
    /// Nothing: its stride is a summand.
    One,
    /// A value of the launch.
    BuiltIn(BuiltIn),
    /// Any other expression.
    Expr(ExprId),
}

/// A `u32` as a sum of strides times components, each component once. The sum may wrap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Form(pub(crate) Vec<Term>);

/// A component and its stride.
pub(crate) type Term = (Component, Quantity);

/// Longer sums are no longer taken apart.
const TERMS: usize = 8;

impl Form {
    /// A quantity alone.
    pub(crate) fn constant(quantity: Quantity) -> Self {
        Self(if quantity.as_literal() == Some(0) { Vec::new() } else { vec![(Component::One, quantity)] })
    }

    /// A component alone.
    pub(crate) fn component(component: Component) -> Self {
        Self(vec![(component, Quantity::one())])
    }

    /// The quantity that it is, if nothing varies.
    pub(crate) fn as_constant(&self) -> Option<Quantity> {
        match self.0.as_slice() {
            [] => Some(Quantity::literal(0)),
            [(Component::One, quantity)] => Some(quantity.clone()),
            _ => None,
        }
    }

    fn plus(&self, other: &Self, cx: &mut Context) -> Option<Self> {
        let mut sum = self.clone();
        for (component, stride) in &other.0 {
            match sum.0.iter_mut().find(|(known, _)| known == component) {
                None => sum.0.push((*component, stride.clone())),
                Some((_, known)) => {
                    *known = cx.quantities.op(super::quantity::Op::Add, known.clone(), stride.clone());
                }
            }
        }
        sum.0.sort();
        (sum.0.len() <= TERMS).then_some(sum)
    }

    fn scaled(&self, by: &Quantity) -> Option<Self> {
        if by.as_literal() == Some(0) {
            return Some(Self::default());
        }
        let terms = self.0.iter().map(|(component, stride)| Some((*component, stride.times(by)?)));
        Some(Self(terms.collect::<Option<_>>()?))
    }

    /// The components with their strides from the innermost to the outermost, if the sum counts through all their values like digits of
    /// a number: each stride is the product of the bounds before it. Gives that product for all of them, too, if
    /// the last has a bound.
    pub(crate) fn digits(&self, leaves: &Leaves) -> Option<(Vec<Term>, Option<Quantity>)> {
        let is_single = |component| leaves.bound(component).is_some_and(|bound| bound.is_one());
        let mut left: Vec<_> =
            self.0.iter().filter(|(component, _)| !is_single(*component)).cloned().collect();
        let mut digits = Vec::with_capacity(left.len());
        let mut stride = Some(Quantity::one());
        while !left.is_empty() {
            let want = stride?;
            let at = left.iter().position(|(component, s)| *s == want && *component != Component::One)?;
            let digit = left.remove(at);
            stride = leaves.bound(digit.0).and_then(|bound| want.times(&bound));
            digits.push(digit);
        }
        Some((digits, stride))
    }
}

/// What is known of the leaves of a program's expressions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leaves {
    /// The quantity of each parameter, where it is one.
    pub(crate) params: Vec<Option<Quantity>>,
    /// The length of each buffer.
    pub(crate) lengths: Vec<Quantity>,
    /// Points or workgroups per axis; `None` where a buffer has the counts.
    pub(crate) extents: Option<[Quantity; 3]>,
    /// The size of workgroups; `None` of a domain.
    pub(crate) size: Option<[u32; 3]>,
    /// Expressions that are below a quantity wherever they are used.
    pub(crate) bounds: BTreeMap<ExprId, Quantity>,
}

impl Leaves {
    /// Below which quantity a component stays.
    pub(crate) fn bound(&self, component: Component) -> Option<Quantity> {
        let literal = |n: u32| Quantity::literal(u64::from(n));
        match component {
            Component::One => None,
            Component::Expr(id) => self.bounds.get(&id).cloned(),
            Component::BuiltIn(BuiltIn::Point(axis) | BuiltIn::WorkgroupId(axis)) => {
                self.extents.as_ref().and_then(|extents| extents.get(axis.index())).cloned()
            }
            Component::BuiltIn(BuiltIn::LocalId(axis)) => self.size?.get(axis.index()).copied().map(literal),
            Component::BuiltIn(BuiltIn::LocalIndex) => {
                self.size?.into_iter().map(literal).try_fold(Quantity::one(), |a, b| a.times(&b))
            }
            Component::BuiltIn(_) => None,
        }
    }

    /// The form of an expression, by the forms of its operands.
    pub(crate) fn form(
        &self,
        cx: &mut Context,
        id: ExprId,
        expr: &Expr,
        ty: DataType,
        of: impl Fn(ExprId) -> Option<Form>,
    ) -> Option<Form> {
        if ty != DataType::U32 {
            return None;
        }
        let opaque = Form::component(Component::Expr(id));
        let form = match *expr {
            Expr::Literal(value) => Some(Form::constant(Quantity::literal(value.bits()))),
            Expr::Param(param) => self.params.get(param.index()).cloned().flatten().map(Form::constant),
            Expr::Length(buffer) => self.lengths.get(buffer.index()).cloned().map(Form::constant),
            Expr::BuiltIn(built_in) => Some(self.built_in(built_in)),
            Expr::Binary(BinaryOp::Add, a, b) => of(a).zip(of(b)).and_then(|(a, b)| a.plus(&b, cx)),
            Expr::Binary(BinaryOp::Mul, a, b) => {
                of(a).zip(of(b)).and_then(|(a, b)| match (a.as_constant(), b.as_constant()) {
                    (Some(by), _) => b.scaled(&by),
                    (_, Some(by)) => a.scaled(&by),
                    _ => None,
                })
            }
            Expr::Binary(BinaryOp::Shl, a, b) => of(a).zip(of(b)).and_then(|(a, b)| {
                let bits = b.as_constant()?.as_literal()?;
                a.scaled(&Quantity::literal(1 << bits.min(31))).filter(|_| bits < 32)
            }),
            _ => None,
        };
        Some(form.unwrap_or(opaque))
    }

    fn built_in(&self, built_in: BuiltIn) -> Form {
        let extent =
            |axis: Axis| self.extents.as_ref().and_then(|extents| extents.get(axis.index())).cloned();
        let itself = Form::component(Component::BuiltIn(built_in));
        match built_in {
            BuiltIn::Extent(axis) | BuiltIn::WorkgroupCount(axis) => {
                extent(axis).map_or(itself, Form::constant)
            }
            BuiltIn::GlobalId(axis) => {
                let size = self.size.and_then(|size| size.get(axis.index()).copied()).unwrap_or(1);
                let mut terms = vec![
                    (Component::BuiltIn(BuiltIn::LocalId(axis)), Quantity::one()),
                    (Component::BuiltIn(BuiltIn::WorkgroupId(axis)), Quantity::literal(u64::from(size))),
                ];
                terms.sort();
                Form(terms)
            }
            _ => itself,
        }
    }
}

/// The forms of a finished program's expressions, and its leaves with the bounds of its loops' variables.
pub(crate) fn forms(cx: &mut Context, program: &Checked<Program>, leaves: &mut Leaves) -> Vec<Option<Form>> {
    let mut forms: Vec<Option<Form>> = Vec::with_capacity(program.exprs().len());
    for (i, expr) in program.exprs().iter().enumerate() {
        let id = ExprId::new(i as u32);
        if let Expr::LoopVar(node) = *expr {
            if let vyre_foundation::ir::Node::For { end, .. } = *program.node(node) {
                let end = forms.get(end.index()).cloned().flatten().and_then(|form| form.as_constant());
                if let Some(end) = end {
                    leaves.bounds.insert(id, end);
                }
            }
        }
        let of = |id: ExprId| forms.get(id.index()).cloned().flatten();
        let form = leaves.form(cx, id, expr, program.facts().type_of(id), of);
        forms.push(form);
    }
    forms
}

/// The strides of a domain's axes in an index that counts through its points, each once: as [`Form::digits`], with the
/// axes from the innermost to the outermost, those of one point left out.
pub(crate) fn point_digits(form: &Form, leaves: &Leaves) -> Option<(Vec<Axis>, Quantity)> {
    let (digits, total) = form.digits(leaves)?;
    let axis = |(component, _): &Term| match *component {
        Component::BuiltIn(BuiltIn::Point(axis)) => Some(axis),
        _ => None,
    };
    let axes = digits.iter().map(axis).collect::<Option<Vec<Axis>>>()?;
    // An axis that does not occur has one point, or several points mean one element.
    let all = Axis::ALL.into_iter().all(|axis| {
        let bound = leaves.bound(Component::BuiltIn(BuiltIn::Point(axis)));
        axes.contains(&axis) || bound.is_some_and(|bound| bound.is_one())
    });
    Some((axes, total?)).filter(|_| all)
}

/// Points per axis, or workgroups, and the size of workgroups, of a launch.
pub(crate) fn launch_leaves(launch: Launch, extents: Option<[Quantity; 3]>) -> Leaves {
    Leaves { extents, size: launch.workgroup_size(), ..Leaves::default() }
}
