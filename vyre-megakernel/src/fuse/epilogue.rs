//! Epilogues: a consumer runs where its producer stores.
//!
//! The producer, of any launch, stores the whole value, each element at an index of known digits. The consumer runs over a
//! domain and loads the value at its own point only. So its body at the point that an index says, with the stored value in
//! the place of its load, stands where the producer would store: behind the sum of a matrix product, or in the loop over a
//! row.

use std::collections::BTreeSet;

use vyre_foundation::graph::GraphValueId;
use vyre_foundation::ir::{BufferId, ExprId, Node, RegionId};
use vyre_spec::{Axis, BuiltIn, MemoryOrdering};

use super::context::Context;
use super::cover::{Cover, covered};
use super::form::{Form, point_digits};
use super::inline::point;
use super::kernel::Kernel;
use super::quantity::Quantity;
use super::reject::RejectReason;
use super::splice::{Accesses, Splice, declare};
use super::target::Target;

/// The producer with the consumer's body where it stores what the consumer loads.
///
/// # Errors
/// Why it cannot be.
pub(crate) fn append(
    cx: &mut Context,
    producer: &Kernel,
    consumer: &Kernel,
    keep: &BTreeSet<GraphValueId>,
) -> Result<Kernel, RejectReason> {
    let outputs = producer.outputs();
    let values: Vec<GraphValueId> = consumer.inputs().into_iter().filter(|v| outputs.contains(v)).collect();
    let &[value] = values.as_slice() else { return Err(RejectReason::Elsewhere("invocation")) };
    is_repeatable(producer, consumer)?;
    let stored = producer.output(value).ok_or(RejectReason::NotWhole)?;
    let cover = covered(cx, producer, stored)?;
    let (form, axes) = own_point(cx, consumer, value)?;
    let extents = consumer.extent(cx).ok_or(RejectReason::Launches)?;
    let extent = |axis: Axis| extents.get(axis.index()).cloned().unwrap_or_else(Quantity::one);
    let axes = axes.into_iter().map(|axis| (axis, extent(axis))).collect();
    let mut target = Target::new(cx, consumer.program.name());
    declare(
        &mut target,
        &[producer, consumer],
        |k, input| k == 1 && input == value,
        |k, output| k == 0 && output == value && !keep.contains(&value),
    )?;
    target.launch(producer)?;
    let mut append =
        Append { consumer, stored, value, keep: keep.contains(&value), form, cover, axes, extents };
    Splice::new(&mut target, producer).copy(&mut target, RegionId::new(0), &mut append)?;
    target.finish(producer.counts, producer.extents, producer.nodes_with(consumer))
}

/// Whether the consumer may run in the producer's flow, and for a point again.
fn is_repeatable(producer: &Kernel, consumer: &Kernel) -> Result<(), RejectReason> {
    if !consumer.is_domain() {
        return Err(RejectReason::Launches);
    }
    for node in producer.program.nodes() {
        if let Node::Barrier { ordering: MemoryOrdering::GridSync } = node {
            return Err(RejectReason::Tied("a barrier of the whole grid"));
        }
    }
    for node in consumer.program.nodes() {
        let what = match node {
            Node::Return => "a return",
            Node::Atomic { .. } => "an atomic",
            Node::Trap { .. } => "a trap",
            Node::While { .. } => "a loop that may not end",
            _ => continue,
        };
        return Err(RejectReason::Effect(what));
    }
    if !consumer.program.privates().is_empty() {
        return Err(RejectReason::Effect("private arrays"));
    }
    consumer.changed(|_| true).map_or(Ok(()), |value| Err(RejectReason::InPlace(value)))
}

/// The index at which a kernel loads a value, if it is that of its point, with the axes from the innermost to the outermost.
fn own_point(
    cx: &mut Context,
    kernel: &Kernel,
    value: GraphValueId,
) -> Result<(Form, Vec<Axis>), RejectReason> {
    let elsewhere = RejectReason::Elsewhere("invocation");
    let (forms, leaves) = kernel.forms(cx);
    let mut found: Option<Form> = None;
    for buffer in kernel.program.buffer_ids().filter(|&buffer| kernel.values(buffer).input == Some(value)) {
        for (_, node) in kernel.accesses(buffer) {
            let Node::Load { index, .. } = *node else { continue };
            let form = forms.get(index.index()).cloned().flatten().ok_or(elsewhere.clone())?;
            if found.as_ref().is_some_and(|known| *known != form) {
                return Err(elsewhere);
            }
            found = Some(form);
        }
    }
    let form = found.ok_or(elsewhere.clone())?;
    let (axes, total) = point_digits(&form, &leaves).ok_or(elsewhere.clone())?;
    if total != cx.value(value).length { Err(elsewhere) } else { Ok((form, axes)) }
}

struct Append<'k> {
    consumer: &'k Kernel,
    stored: BufferId,
    value: GraphValueId,
    keep: bool,
    /// The index of the consumer's loads, among the forms of the consumer.
    form: Form,
    cover: Cover,
    axes: Vec<(Axis, Quantity)>,
    extents: [Quantity; 3],
}

impl Append<'_> {
    /// The point whose index this is: digit by digit where the consumer's axes are the index's digits.
    fn point(&self, target: &mut Target<'_>, index: ExprId) -> Result<[(Axis, ExprId); 3], RejectReason> {
        let bounds = self.cover.digits.iter().map(|digit| &digit.bound);
        if !bounds.eq(self.axes.iter().map(|(_, extent)| extent)) {
            return point(target, index, &self.axes);
        }
        let zero = target.number(0);
        let mut values = Axis::ALL.map(|axis| (axis, zero));
        for (digit, (axis, _)) in self.cover.digits.iter().zip(&self.axes) {
            let Some(value) = target.digit(index, &digit.terms, &digit.stride)? else {
                return point(target, index, &self.axes);
            };
            if let Some(slot) = values.get_mut(axis.index()) {
                slot.1 = value;
            }
        }
        Ok(values)
    }
}

impl Accesses for Append<'_> {
    fn store(
        &mut self,
        target: &mut Target<'_>,
        at: RegionId,
        buffer: BufferId,
        index: ExprId,
        value: ExprId,
    ) -> Result<bool, RejectReason> {
        if buffer != self.stored {
            return Ok(false);
        }
        debug_assert!(!self.form.0.is_empty() || self.axes.is_empty());
        let mut into = at;
        if self.cover.beyond {
            let length = target.length(self.value)?;
            into = target.where_below(at, index, length);
        }
        let mut splice = Splice::new(target, self.consumer);
        splice.elsewhere(&self.extents);
        for (axis, coordinate) in self.point(target, index)? {
            splice.with(BuiltIn::Point(axis), coordinate);
        }
        let mut given = Given { kernel: self.consumer, value: self.value, stored: value };
        splice.copy(target, into, &mut given)?;
        Ok(!self.keep)
    }
}

/// Gives loads of one value what was about to be stored.
struct Given<'k> {
    kernel: &'k Kernel,
    value: GraphValueId,
    stored: ExprId,
}

impl Accesses for Given<'_> {
    fn load(
        &mut self,
        _: &mut Target<'_>,
        _: RegionId,
        buffer: BufferId,
        _: ExprId,
    ) -> Result<Option<ExprId>, RejectReason> {
        Ok((self.kernel.values(buffer).input == Some(self.value)).then_some(self.stored))
    }
}
