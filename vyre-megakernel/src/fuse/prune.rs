//! Leaves out what nobody needs any more once its readers compute it themselves.

use std::collections::BTreeSet;

use vyre_foundation::graph::GraphValueId;
use vyre_foundation::ir::{BufferId, ExprId, RegionId};

use super::context::Context;
use super::kernel::{Kernel, Role};
use super::reject::RejectReason;
use super::splice::{Accesses, Splice, declare};
use super::target::Target;

/// The kernel without its stores to values that nobody needs, and without what only they needed.
///
/// # Errors
/// Why it stays as it is.
pub(crate) fn prune(
    cx: &mut Context,
    kernel: &Kernel,
    unneeded: &BTreeSet<GraphValueId>,
) -> Result<Kernel, RejectReason> {
    let mut target = Target::new(cx, kernel.program.name());
    declare(&mut target, &[kernel], |_, _| false, |_, value| unneeded.contains(&value))?;
    target.launch(kernel)?;
    let mut drop = Drop { kernel, unneeded };
    Splice::new(&mut target, kernel).copy(&mut target, RegionId::new(0), &mut drop)?;
    target.finish(kernel.counts, kernel.extents, kernel.nodes.clone())
}

struct Drop<'k> {
    kernel: &'k Kernel,
    unneeded: &'k BTreeSet<GraphValueId>,
}

impl Accesses for Drop<'_> {
    fn store(
        &mut self,
        _: &mut Target<'_>,
        _: RegionId,
        buffer: BufferId,
        _: ExprId,
        _: ExprId,
    ) -> Result<bool, RejectReason> {
        let is_unneeded =
            self.kernel.values(buffer).output.is_some_and(|value| self.unneeded.contains(&value));
        Ok(is_unneeded && self.kernel.role(buffer) != Role::InPlace)
    }
}
