//! A workgroup kernel and what follows it in the same workgroups, as one kernel.
//!
//! What a workgroup of the first computes, some elements one after the other, its invocations find in shared memory, behind a
//! barrier. The second has the same workgroups, or is a domain of which each workgroup takes a row: points are unordered,
//! so any invocation may do any of them.

mod domain;

use std::collections::{BTreeMap, BTreeSet};

use vyre_foundation::graph::GraphValueId;
use vyre_foundation::ir::{BufferId, ExprId, Node, Place, RegionId};
use vyre_spec::{Axis, BuiltIn, MemoryOrdering};

use super::context::Context;
use super::form::Component;
use super::kernel::{Kernel, Role};
use super::quantity::Quantity;
use super::reject::RejectReason;
use super::splice::{Accesses, Splice, declare};
use super::target::Target;
use domain::{Rows, is_rounded};

/// Both kernels as one, which stores what is in `keep` and what the second computes.
///
/// # Errors
/// Why they cannot be.
pub(crate) fn join(
    cx: &mut Context,
    first: &Kernel,
    second: &Kernel,
    keep: &BTreeSet<GraphValueId>,
) -> Result<Kernel, RejectReason> {
    let size = first.program.launch().workgroup_size().ok_or(RejectReason::Launches)?;
    let (Some(groups), Some(extents)) = (first.extent(cx), second.extent(cx)) else {
        return Err(RejectReason::Launches);
    };
    let rows = match second.program.launch().workgroup_size() {
        Some(other) if other == size && groups == extents => None,
        Some(_) => return Err(RejectReason::Launches),
        None => Some(Rows::of(cx, &groups, &extents, size).ok_or(RejectReason::Launches)?),
    };
    is_free(first, second, rows.is_some())?;
    let outputs = first.outputs();
    let passed: BTreeSet<GraphValueId> =
        second.inputs().into_iter().filter(|value| outputs.contains(value)).collect();
    let mut parts = BTreeMap::new();
    for &value in &passed {
        let part = Part::of(cx, first, &groups, value).ok_or(RejectReason::Elsewhere("workgroup"))?;
        if first.output(value).map(|buffer| first.role(buffer)) != Some(Role::Write) {
            return Err(RejectReason::Elsewhere("workgroup"));
        }
        if second.changed(|input| input == value).is_some() {
            return Err(RejectReason::InPlace(value));
        }
        parts.insert(value, part);
    }
    let mut target = Target::new(cx, second.program.name());
    declare(
        &mut target,
        &[first, second],
        |k, value| k == 1 && passed.contains(&value),
        |k, value| k == 0 && !keep.contains(&value),
    )?;
    target.launch(first)?;
    let body = RegionId::new(0);
    for (&value, part) in &mut parts {
        let element = target.cx.value(value).element;
        part.place = Some(target.shared("passed", element, part.elements));
    }
    let mut pass = Pass { kernel: first, keep, parts, values: BTreeMap::new(), storing: true };
    Splice::new(&mut target, first).copy(&mut target, body, &mut pass)?;
    if !passed.is_empty() {
        target.arena.push(body, Node::Barrier { ordering: MemoryOrdering::Workgroup });
        let zero = target.number(0);
        // One element is loaded once.
        for (&value, part) in pass.parts.iter().filter(|(_, part)| part.elements == 1) {
            let element = target.cx.value(value).element;
            let place = part.place.ok_or(RejectReason::Extent)?;
            let loaded = target.push_result(body, Node::Load { place, index: zero }, element);
            pass.values.insert(value, loaded);
        }
    }
    (pass.kernel, pass.storing) = (second, false);
    match rows {
        None => Splice::new(&mut target, second).copy(&mut target, body, &mut pass)?,
        Some(rows) => rows.copy(&mut target, second, size, &extents, &mut pass)?,
    }
    target.finish(first.counts, first.extents, first.nodes_with(second))
}

/// Whether nothing ties the kernels to launches of their own.
fn is_free(first: &Kernel, second: &Kernel, second_in_rows: bool) -> Result<(), RejectReason> {
    let nodes = first.program.nodes().iter().chain(second.program.nodes());
    for node in nodes {
        if let Node::Barrier { ordering: MemoryOrdering::GridSync } = node {
            return Err(RejectReason::Tied("a barrier of the whole grid"));
        }
    }
    let returns = |kernel: &Kernel| kernel.program.nodes().iter().any(|node| matches!(node, Node::Return));
    if returns(first) || (second_in_rows && returns(second)) {
        return Err(RejectReason::Effect("a return"));
    }
    // The first trap of a run is that of the kernel that comes first, and names its invocation.
    if second.may_trap() && (first.may_trap() || second_in_rows) {
        return Err(RejectReason::Effect("a trap"));
    }
    if second_in_rows && !second.program.privates().is_empty() {
        return Err(RejectReason::Effect("private arrays"));
    }
    Ok(())
}

/// How many elements, at most, a workgroup passes on in shared memory.
const MOST_PASSED: u64 = 1024;

/// The elements of a value that are a workgroup's: as many for each, in order.
struct Part {
    elements: u32,
    /// Whether there are as many elements as the workgroups have; if not, the last ones have none.
    exact: bool,
    place: Option<Place>,
}

impl Part {
    fn of(cx: &mut Context, first: &Kernel, groups: &[Quantity; 3], value: GraphValueId) -> Option<Self> {
        let [count, y, z] = groups;
        if !y.is_one() || !z.is_one() {
            return None;
        }
        let length = cx.value(value).length.clone();
        if count.is_one() {
            // The whole value is the only workgroup's.
            let elements = length.as_literal().filter(|elements| (1..=MOST_PASSED).contains(elements))?;
            return Some(Self { elements: elements as u32, exact: true, place: None });
        }
        let (forms, _) = first.forms(cx);
        let mut stores = first.accesses(first.output(value)?).filter_map(|(_, node)| match *node {
            Node::Store { index, .. } => forms.get(index.index()).cloned().flatten(),
            _ => None,
        });
        let group = Component::BuiltIn(BuiltIn::WorkgroupId(Axis::X));
        let (_, stride) = stores.next()?.0.into_iter().find(|(component, _)| *component == group)?;
        let elements = stride.as_literal().filter(|elements| (1..=MOST_PASSED).contains(elements))?;
        let exact = count.times(&stride).as_ref() == Some(&length);
        let fits = exact || is_rounded(cx, count, &length, elements);
        fits.then_some(Self { elements: elements as u32, exact, place: None })
    }
}

struct Pass<'k> {
    kernel: &'k Kernel,
    keep: &'k BTreeSet<GraphValueId>,
    parts: BTreeMap<GraphValueId, Part>,
    /// Values that have been loaded.
    values: BTreeMap<GraphValueId, ExprId>,
    /// Whether this is the first kernel.
    storing: bool,
}

/// The position among a workgroup's own elements that an index has, if it is that of one.
fn position(target: &mut Target<'_>, index: ExprId, part: &Part) -> Result<Option<ExprId>, RejectReason> {
    let elements = Quantity::literal(u64::from(part.elements));
    let group = Component::BuiltIn(BuiltIn::WorkgroupId(Axis::X));
    let Some(mut form) = target.form(index).cloned() else { return Ok(None) };
    if target.leaves.bound(group).is_some_and(|count| count.is_one()) {
        form.0.retain(|(component, _)| *component != group);
    } else {
        let Some(at) = form.0.iter().position(|term| *term == (group, elements.clone())) else {
            return Ok(None);
        };
        form.0.remove(at);
    }
    // The greatest that the rest can be.
    let mut most = 0u64;
    for (component, stride) in &form.0 {
        let steps = match component {
            Component::One => Some(1),
            _ => target.leaves.bound(*component).and_then(|bound| bound.as_literal()?.checked_sub(1)),
        };
        let (Some(steps), Some(stride)) = (steps, stride.as_literal()) else { return Ok(None) };
        most = most.saturating_add(steps.saturating_mul(stride));
    }
    if most >= u64::from(part.elements) { Ok(None) } else { target.sum(&form).map(Some) }
}

impl Accesses for Pass<'_> {
    fn load(
        &mut self,
        target: &mut Target<'_>,
        at: RegionId,
        buffer: BufferId,
        index: ExprId,
    ) -> Result<Option<ExprId>, RejectReason> {
        let Some(value) = self.kernel.values(buffer).input.filter(|_| !self.storing) else { return Ok(None) };
        let Some(part) = self.parts.get(&value) else { return Ok(None) };
        let own = position(target, index, part)?.ok_or(RejectReason::Elsewhere("workgroup"))?;
        let element = target.cx.value(value).element;
        let loaded = match (self.values.get(&value), part.place) {
            (Some(&loaded), _) => loaded,
            (None, Some(place)) => target.push_result(at, Node::Load { place, index: own }, element),
            (None, None) => return Err(RejectReason::Extent),
        };
        if part.exact {
            return Ok(Some(loaded));
        }
        // Behind the end a load gives 0, whatever the workgroup has there.
        let length = target.length(value)?;
        Ok(Some(target.zero_beyond(loaded, index, length)))
    }

    fn store(
        &mut self,
        target: &mut Target<'_>,
        at: RegionId,
        buffer: BufferId,
        index: ExprId,
        value: ExprId,
    ) -> Result<bool, RejectReason> {
        let Some(output) = self.kernel.values(buffer).output.filter(|_| self.storing) else {
            return Ok(false);
        };
        if let Some(part) = self.parts.get(&output) {
            let own = position(target, index, part)?.ok_or(RejectReason::Elsewhere("workgroup"))?;
            let place = part.place.ok_or(RejectReason::Extent)?;
            target.arena.push(at, Node::Store { place, index: own, value });
        }
        let in_place = self.kernel.role(buffer) == Role::InPlace;
        Ok(!in_place && !self.keep.contains(&output))
    }
}
