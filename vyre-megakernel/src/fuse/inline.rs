//! Vertical fusion through registers: a consumer computes its producer's elements where it would load them.
//!
//! The producer runs over a domain and stores each element of the value once, at an index that counts through its points,
//! whatever else it does is not needed and has no effect. So an element's index says the point, and the body at that point
//! gives the element, at any place of any consumer. Beyond the value's length a load gives 0; where the index is not
//! proved to be below it, so does the copy.

use vyre_foundation::graph::GraphValueId;
use vyre_foundation::ir::{BufferId, Expr, ExprId, Node, RegionId, Variable};
use vyre_spec::ops::{BinaryOp, CastOp, TernaryOp};
use vyre_spec::{Axis, BuiltIn, DataType, Value};

use super::context::Context;
use super::form::point_digits;
use super::kernel::{Kernel, OnlyStore};
use super::quantity::Quantity;
use super::reject::RejectReason;
use super::splice::{Accesses, Splice, declare};
use super::target::Target;

/// The consumer with the producer's body in the place of its loads of what the producer computes.
///
/// # Errors
/// Why it cannot be.
pub(crate) fn inline(cx: &mut Context, producer: &Kernel, consumer: &Kernel) -> Result<Kernel, RejectReason> {
    let outputs = producer.outputs();
    let values: Vec<GraphValueId> = consumer.inputs().into_iter().filter(|v| outputs.contains(v)).collect();
    let sources =
        values.iter().map(|&value| Element::of(cx, producer, value)).collect::<Result<Vec<_>, _>>()?;
    if let Some(value) = consumer.changed(|value| values.contains(&value)) {
        return Err(RejectReason::InPlace(value));
    }
    let mut target = Target::new(cx, consumer.program.name());
    let is_inlined = |k: usize, value: GraphValueId| k == 0 && values.contains(&value);
    declare(&mut target, &[consumer, producer], is_inlined, |k, _| k == 1)?;
    target.launch(consumer)?;
    let mut splice = Splice::new(&mut target, consumer);
    let body = RegionId::new(0);
    splice.copy(&mut target, body, &mut Inline { producer, consumer, sources: &sources })?;
    target.finish(consumer.counts, consumer.extents, producer.nodes_with(consumer))
}

/// How an element of a value follows from its index.
struct Element {
    value: GraphValueId,
    buffer: BufferId,
    ty: DataType,
    length: Quantity,
    store: OnlyStore,
    /// The axes that the index counts through, the innermost first, with their points.
    digits: Vec<(Axis, Quantity)>,
    extents: [Quantity; 3],
    /// Whether the body is worth a branch where it is not needed.
    branches: bool,
}

impl Element {
    fn of(cx: &mut Context, producer: &Kernel, value: GraphValueId) -> Result<Self, RejectReason> {
        let buffer = producer.output(value).ok_or(RejectReason::NotAtPoint)?;
        if !producer.is_domain() {
            return Err(RejectReason::Tied("workgroups"));
        }
        is_pure(producer)?;
        let store = producer.only_store(buffer).ok_or(RejectReason::NotAtPoint)?;
        let (forms, leaves) = producer.forms(cx);
        let form = forms.get(store.index.index()).cloned().flatten().ok_or(RejectReason::NotAtPoint)?;
        let (axes, total) = point_digits(&form, &leaves).ok_or(RejectReason::NotAtPoint)?;
        let known = cx.value(value);
        if total != known.length || !cx.is_length(&total) {
            return Err(RejectReason::NotWhole);
        }
        let extents = producer.extent(cx).ok_or(RejectReason::Extent)?;
        let extent = |axis: Axis| extents.get(axis.index()).cloned().unwrap_or_else(Quantity::one);
        Ok(Self {
            value,
            buffer,
            ty: cx.value(value).element,
            length: total,
            store,
            digits: axes.into_iter().map(|axis| (axis, extent(axis))).collect(),
            extents,
            branches: producer.program.nodes().iter().any(|node| node.regions().next().is_some()),
        })
    }
}

/// Whether the kernel only computes and stores, so that doing some of it again changes nothing.
fn is_pure(kernel: &Kernel) -> Result<(), RejectReason> {
    let program = &kernel.program;
    for node in program.nodes() {
        let what = match node {
            Node::Atomic { .. } => "an atomic",
            Node::Trap { .. } => "a trap",
            Node::Return => "a return",
            Node::While { .. } => "a loop that may not end",
            Node::Barrier { .. } | Node::Fence { .. } => "a barrier",
            Node::Subgroup { .. } | Node::Collective { .. } => "an op of several invocations",
            Node::Tile { .. } => "tiles",
            _ => continue,
        };
        return Err(RejectReason::Effect(what));
    }
    if !program.privates().is_empty() {
        return Err(RejectReason::Effect("private arrays"));
    }
    kernel.changed(|_| true).map_or(Ok(()), |value| Err(RejectReason::InPlace(value)))
}

struct Inline<'k> {
    producer: &'k Kernel,
    consumer: &'k Kernel,
    sources: &'k [Element],
}

impl Accesses for Inline<'_> {
    fn load(
        &mut self,
        target: &mut Target<'_>,
        at: RegionId,
        buffer: BufferId,
        index: ExprId,
    ) -> Result<Option<ExprId>, RejectReason> {
        let value = self.consumer.values(buffer).input;
        let Some(element) = self.sources.iter().find(|element| Some(element.value) == value) else {
            return Ok(None);
        };
        if target.is_below(index, &element.length) {
            return self.compute(target, at, element, index).map(Some);
        }
        let (index, is_below) = checked(target, index, element)?;
        let zero = target.literal(Value::zero(element.ty));
        if !element.branches {
            let value = self.compute(target, at, element, index)?;
            let chosen = Expr::Ternary(TernaryOp::Select, is_below, value, zero);
            return Ok(Some(target.make(chosen, element.ty)));
        }
        let name = target.fresh("element");
        let var = target.arena.var(Variable { name, ty: element.ty });
        target.arena.push(at, Node::Declare { var, init: zero });
        let (then, otherwise) = (target.arena.region(), target.arena.region());
        target.arena.push(at, Node::If { condition: is_below, then, otherwise });
        let value = self.compute(target, then, element, index)?;
        target.arena.push(then, Node::Set { var, value });
        Ok(Some(target.push_result(at, Node::Get { var }, element.ty)))
    }
}

impl Inline<'_> {
    /// The element at an index, which is a `u32`.
    fn compute(
        &self,
        target: &mut Target<'_>,
        at: RegionId,
        element: &Element,
        index: ExprId,
    ) -> Result<ExprId, RejectReason> {
        let mut splice = Splice::new(target, self.producer);
        splice.elsewhere(&element.extents);
        for (axis, value) in point(target, index, &element.digits)? {
            splice.with(BuiltIn::Point(axis), value);
        }
        let mut capture = Capture { buffer: element.buffer, value: None };
        splice.copy(target, at, &mut capture)?;
        debug_assert_eq!(capture.value, Some(splice.expr(target, element.store.value)?));
        capture.value.ok_or(RejectReason::NotAtPoint)
    }
}

/// The point whose index this is.
pub(crate) fn point(
    target: &mut Target<'_>,
    index: ExprId,
    digits: &[(Axis, Quantity)],
) -> Result<[(Axis, ExprId); 3], RejectReason> {
    let zero = target.number(0);
    let mut values = Axis::ALL.map(|axis| (axis, zero));
    let mut stride = Quantity::one();
    for (i, (axis, extent)) in digits.iter().enumerate() {
        let high = target.quotient(index, &stride)?;
        let is_last = i + 1 == digits.len();
        let value = if is_last { high } else { target.remainder(high, extent)? };
        if let Some(slot) = values.get_mut(axis.index()) {
            slot.1 = value;
        }
        stride = stride.times(extent).ok_or(RejectReason::Extent)?;
    }
    Ok(values)
}

/// An index of any integer type as a `u32`, and whether it is that of an element.
fn checked(
    target: &mut Target<'_>,
    index: ExprId,
    element: &Element,
) -> Result<(ExprId, ExprId), RejectReason> {
    let ty = target.type_of(index);
    let length = target.length(element.value)?;
    let convert = |target: &mut Target<'_>, to: DataType, e: ExprId| {
        if target.type_of(e) == to { e } else { target.make(Expr::Cast(CastOp::Convert, to, e), to) }
    };
    let word = convert(target, DataType::U32, index);
    // What is wider is compared before it is cut.
    let (wide, limit) = match ty {
        DataType::U64 | DataType::I64 => (index, convert(target, ty, length)),
        _ => (word, length),
    };
    let below = target.binary(BinaryOp::Lt, wide, limit);
    if !ty.is_signed_int() {
        return Ok((word, below));
    }
    let zero = target.literal(Value::zero(ty));
    let natural = target.binary(BinaryOp::Ge, index, zero);
    Ok((word, target.binary(BinaryOp::BitAnd, natural, below)))
}

/// Takes what is stored to one buffer, and drops the other stores.
struct Capture {
    buffer: BufferId,
    value: Option<ExprId>,
}

impl Accesses for Capture {
    fn store(
        &mut self,
        _: &mut Target<'_>,
        _: RegionId,
        buffer: BufferId,
        _: ExprId,
        value: ExprId,
    ) -> Result<bool, RejectReason> {
        if buffer == self.buffer {
            self.value = Some(value);
        }
        Ok(true)
    }
}
