//! Two kernels over one domain as one: at each point the first, then the second.
//!
//! What the first computes, the second may read where it is computed, at its own point, and finds it in a register. Kernels
//! that have nothing to do with each other save a launch, and the loads that both make.

use std::collections::{BTreeMap, BTreeSet};

use vyre_foundation::graph::GraphValueId;
use vyre_foundation::ir::{BufferId, ExprId, Launch, Node, RegionId};

use super::context::Context;
use super::form::{Form, point_digits};
use super::kernel::{Kernel, Role};
use super::reject::RejectReason;
use super::splice::{Accesses, Splice, declare};
use super::target::Target;

/// Both kernels as one, which stores what is in `keep` and what the second computes.
///
/// # Errors
/// Why they cannot be.
pub(crate) fn merge(
    cx: &mut Context,
    first: &Kernel,
    second: &Kernel,
    keep: &BTreeSet<GraphValueId>,
) -> Result<Kernel, RejectReason> {
    let (Some(a), Some(b)) = (first.extent(cx), second.extent(cx)) else {
        return Err(RejectReason::Launches);
    };
    if !first.is_domain() || !second.is_domain() || a != b {
        return Err(RejectReason::Launches);
    }
    if first.program.nodes().iter().any(|node| matches!(node, Node::Return)) {
        return Err(RejectReason::Effect("a return"));
    }
    // The first trap of a run is that of the kernel that comes first.
    if first.may_trap() && second.may_trap() {
        return Err(RejectReason::Effect("a trap, as has the consumer"));
    }
    let passed = passed(cx, first, second)?;
    let mut target = Target::new(cx, second.program.name());
    let is_passed = |value: GraphValueId| passed.contains_key(&value);
    declare(
        &mut target,
        &[first, second],
        |k, value| k == 1 && is_passed(value),
        |k, value| k == 0 && !keep.contains(&value),
    )?;
    let axes = |kernel: &Kernel| match kernel.program.launch() {
        Launch::Domain { axes, .. } => axes,
        _ => 0,
    };
    let wider = if axes(first) > axes(second) { first } else { second };
    target.launch(wider)?;
    let body = RegionId::new(0);
    let mut pass = Pass { kernel: first, keep, passed, values: BTreeMap::new(), storing: true };
    Splice::new(&mut target, first).copy(&mut target, body, &mut pass)?;
    (pass.kernel, pass.storing) = (second, false);
    Splice::new(&mut target, second).copy(&mut target, body, &mut pass)?;
    target.finish(None, wider.extents, first.nodes_with(second))
}

/// The values that go from the first to the second, with where the first stores them.
fn passed(
    cx: &mut Context,
    first: &Kernel,
    second: &Kernel,
) -> Result<BTreeMap<GraphValueId, Form>, RejectReason> {
    let outputs = first.outputs();
    let mut passed = BTreeMap::new();
    for value in second.inputs().into_iter().filter(|value| outputs.contains(value)) {
        let buffer = first.output(value).ok_or(RejectReason::NotAtPoint)?;
        if !matches!(first.role(buffer), Role::Write | Role::Split) {
            return Err(RejectReason::InPlace(value));
        }
        let store = first.only_store(buffer).ok_or(RejectReason::NotAtPoint)?;
        let (forms, leaves) = first.forms(cx);
        let form = forms.get(store.index.index()).cloned().flatten().ok_or(RejectReason::NotAtPoint)?;
        let (_, total) = point_digits(&form, &leaves).ok_or(RejectReason::NotAtPoint)?;
        if total != cx.value(value).length || !cx.is_length(&total) {
            return Err(RejectReason::NotWhole);
        }
        if second.changed(|input| input == value).is_some() {
            return Err(RejectReason::InPlace(value));
        }
        passed.insert(value, form);
    }
    Ok(passed)
}

struct Pass<'k> {
    kernel: &'k Kernel,
    keep: &'k BTreeSet<GraphValueId>,
    passed: BTreeMap<GraphValueId, Form>,
    values: BTreeMap<GraphValueId, ExprId>,
    /// Whether this is the first kernel.
    storing: bool,
}

impl Accesses for Pass<'_> {
    fn load(
        &mut self,
        target: &mut Target<'_>,
        _: RegionId,
        buffer: BufferId,
        index: ExprId,
    ) -> Result<Option<ExprId>, RejectReason> {
        let Some(value) = self.kernel.values(buffer).input.filter(|_| !self.storing) else { return Ok(None) };
        let Some(form) = self.passed.get(&value) else { return Ok(None) };
        if target.form(index) != Some(form) {
            return Err(RejectReason::Elsewhere("point"));
        }
        self.values.get(&value).copied().map(Some).ok_or(RejectReason::NotAtPoint)
    }

    fn store(
        &mut self,
        _: &mut Target<'_>,
        _: RegionId,
        buffer: BufferId,
        _: ExprId,
        value: ExprId,
    ) -> Result<bool, RejectReason> {
        let Some(output) = self.kernel.values(buffer).output.filter(|_| self.storing) else {
            return Ok(false);
        };
        if self.passed.contains_key(&output) {
            self.values.insert(output, value);
        }
        // What is changed in place is memory in any case.
        let in_place = self.kernel.role(buffer) == Role::InPlace;
        Ok(!in_place && !self.keep.contains(&output))
    }
}
