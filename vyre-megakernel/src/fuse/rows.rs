//! A workgroup kernel and what follows it in the same workgroups, as one kernel.
//!
//! What each workgroup of the first computes, one element, its invocations find in shared memory, behind a barrier. The
//! second has the same workgroups, or is a domain of which each workgroup takes a row: points are unordered, so any
//! invocation may do any of them.

use std::collections::{BTreeMap, BTreeSet};

use vyre_foundation::graph::GraphValueId;
use vyre_foundation::ir::{BufferId, ExprId, Node, Place, RegionId};
use vyre_spec::ops::BinaryOp;
use vyre_spec::{Axis, BuiltIn, MemoryOrdering};

use super::context::Context;
use super::form::{Component, Form};
use super::kernel::{Kernel, Role};
use super::quantity::Quantity;
use super::reject::RejectReason;
use super::splice::{Accesses, Splice, declare};
use super::target::Target;

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
        None => Some(Rows::of(&groups, &extents).ok_or(RejectReason::Launches)?),
    };
    is_free(first, second, rows.is_some())?;
    let outputs = first.outputs();
    let passed: BTreeSet<GraphValueId> =
        second.inputs().into_iter().filter(|value| outputs.contains(value)).collect();
    for &value in &passed {
        let is_one = cx.value(value).length == groups[0] && groups[1].is_one() && groups[2].is_one();
        if !is_one || first.output(value).map(|buffer| first.role(buffer)) != Some(Role::Write) {
            return Err(RejectReason::Elsewhere("workgroup"));
        }
        let changes =
            |buffer| second.role(buffer) == Role::InPlace && second.values(buffer).input == Some(value);
        if second.program.buffer_ids().any(changes) {
            return Err(RejectReason::InPlace(value));
        }
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
    let mut arrays = BTreeMap::new();
    for &value in &passed {
        let element = target.cx.value(value).element;
        arrays.insert(value, target.shared("passed", element, 1));
    }
    let mut pass = Pass { kernel: first, keep, arrays, values: BTreeMap::new(), storing: true };
    Splice::new(&mut target, first).copy(&mut target, body, &mut pass)?;
    if !passed.is_empty() {
        target.arena.push(body, Node::Barrier { ordering: MemoryOrdering::Workgroup });
        let zero = target.number(0);
        for (&value, &place) in &pass.arrays {
            let element = target.cx.value(value).element;
            let loaded = target.push_result(body, Node::Load { place, index: zero }, element);
            pass.values.insert(value, loaded);
        }
    }
    (pass.kernel, pass.storing) = (second, false);
    match rows {
        None => Splice::new(&mut target, second).copy(&mut target, body, &mut pass)?,
        Some(rows) => rows.copy(&mut target, second, size, &extents, &mut pass)?,
    }
    let mut nodes = [first.nodes.as_slice(), second.nodes.as_slice()].concat();
    nodes.sort_unstable();
    nodes.dedup();
    target.finish(first.counts, first.extents, nodes)
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

/// How a domain is rows of workgroups.
struct Rows {
    /// The axis of which each workgroup has one point, or as many in a row as the quantity says.
    axis: Axis,
    /// Points of a row.
    points: Quantity,
    /// Whether the row lies along the axis itself.
    along: bool,
}

impl Rows {
    fn of(groups: &[Quantity; 3], extents: &[Quantity; 3]) -> Option<Self> {
        let [count, y, z] = groups;
        if !y.is_one() || !z.is_one() {
            return None;
        }
        let outermost = Axis::ALL.into_iter().zip(extents).rev().find(|(_, extent)| !extent.is_one());
        let (axis, extent) = outermost?;
        let inner = extents.get(..axis.index())?.iter().try_fold(Quantity::one(), |a, b| a.times(b))?;
        if extent == count {
            return Some(Self { axis, points: inner, along: false });
        }
        let points = extent.divided_by(count).filter(|_| axis == Axis::X)?;
        Some(Self { axis, points, along: true })
    }

    fn copy(
        &self,
        target: &mut Target<'_>,
        kernel: &Kernel,
        size: [u32; 3],
        extents: &[Quantity; 3],
        pass: &mut Pass<'_>,
    ) -> Result<(), RejectReason> {
        let body = RegionId::new(0);
        let invocation = target.built_in(BuiltIn::LocalIndex);
        let group = target.built_in(BuiltIn::WorkgroupId(Axis::X));
        let zero = target.number(0);
        let into = target.arena.region();
        let column = if self.points.is_one() {
            let condition = target.binary(BinaryOp::Eq, invocation, zero);
            let otherwise = target.arena.region();
            target.arena.push(body, Node::If { condition, then: into, otherwise });
            zero
        } else {
            let end = target.quantity(&self.points)?;
            let step = target.number(size.into_iter().fold(1, u32::saturating_mul));
            let node = target.arena.push(body, Node::For { start: invocation, end, step, body: into });
            target.bound_loop(node, end)
        };
        let mut splice = Splice::new(target, kernel);
        splice.elsewhere(extents);
        for (axis, extent) in Axis::ALL.into_iter().zip(extents) {
            let value = if axis > self.axis {
                zero
            } else if axis == self.axis {
                if self.along { self.along(target, group, column)? } else { group }
            } else {
                let inner = extents.get(..axis.index()).unwrap_or_default();
                let stride = inner.iter().try_fold(Quantity::one(), |a, b| a.times(b));
                let high = target.quotient(column, &stride.ok_or(RejectReason::Extent)?)?;
                let is_last = axis.index() + 1 == self.axis.index();
                if is_last { high } else { target.remainder(high, extent)? }
            };
            splice.with(BuiltIn::Point(axis), value);
        }
        splice.copy(target, into, pass)
    }

    fn along(&self, target: &mut Target<'_>, group: ExprId, column: ExprId) -> Result<ExprId, RejectReason> {
        let points = target.quantity(&self.points)?;
        let start = target.binary(BinaryOp::Mul, group, points);
        Ok(target.binary(BinaryOp::Add, start, column))
    }
}

struct Pass<'k> {
    kernel: &'k Kernel,
    keep: &'k BTreeSet<GraphValueId>,
    arrays: BTreeMap<GraphValueId, Place>,
    values: BTreeMap<GraphValueId, ExprId>,
    /// Whether this is the first kernel.
    storing: bool,
}

/// Whether an index is the workgroup's own.
fn is_own(target: &Target<'_>, index: ExprId) -> bool {
    let own = Form::component(Component::BuiltIn(BuiltIn::WorkgroupId(Axis::X)));
    target.form(index) == Some(&own)
}

impl Accesses for Pass<'_> {
    fn load(
        &mut self,
        target: &mut Target<'_>,
        _: RegionId,
        buffer: BufferId,
        index: ExprId,
    ) -> Result<Option<ExprId>, RejectReason> {
        let value = self.kernel.values(buffer).input.filter(|value| self.values.contains_key(value));
        let Some(value) = value.filter(|_| !self.storing) else { return Ok(None) };
        if !is_own(target, index) {
            return Err(RejectReason::Elsewhere("workgroup"));
        }
        Ok(self.values.get(&value).copied())
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
        if let Some(&place) = self.arrays.get(&output) {
            if !is_own(target, index) {
                return Err(RejectReason::Elsewhere("workgroup"));
            }
            let zero = target.number(0);
            target.arena.push(at, Node::Store { place, index: zero, value });
        }
        let in_place = self.kernel.role(buffer) == Role::InPlace;
        Ok(!in_place && !self.keep.contains(&output))
    }
}
