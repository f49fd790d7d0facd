//! From a fused program to a kernel: checked, and without what it does not need.

use vyre_foundation::check;
use vyre_foundation::graph::{DimId, GraphNodeId, GraphValueId};
use vyre_foundation::ir::{BufferId, Launch, Place, RegionId};
use vyre_foundation::opt::PASSES;

use super::Target;
use crate::fuse::context::Context;
use crate::fuse::kernel::{Bound, Kernel, Role};
use crate::fuse::reject::RejectReason;
use crate::fuse::splice::{Plain, Splice, declare};

/// Statements of a fused program, at most: more take long to compile, and spill registers.
const MOST_NODES: u64 = 1024;
const MOST_EXPRESSIONS: u64 = 4096;

impl Target<'_> {
    /// The kernel, checked, without what it does not need.
    pub(crate) fn finish(
        self,
        counts: Option<[DimId; 3]>,
        extents: Option<[DimId; 3]>,
        nodes: Vec<GraphNodeId>,
    ) -> Result<Kernel, RejectReason> {
        let refused = |why: String| RejectReason::Refused(why);
        let Self { cx, arena, uses, params, .. } = self;
        let (program, _) = arena.finish().map_err(|error| refused(error.to_string()))?;
        let sizes = [
            ("the number of statements", program.nodes().len() as u64, MOST_NODES),
            ("the number of expressions", program.exprs().len() as u64, MOST_EXPRESSIONS),
        ];
        for (what, value, limit) in sizes {
            if value > limit {
                return Err(RejectReason::Limit { what, value, limit });
            }
        }
        let mut program = check::check(program)
            .map_err(|found| refused(found.first().map_or_else(String::new, ToString::to_string)))?;
        for pass in PASSES.iter().filter(|pass| matches!(pass.name, "cse" | "dce")) {
            program = pass.run(&program);
        }
        without_unused(cx, Kernel::new(program, Bound { uses, params, extents, counts, nodes }))
    }
}

/// The kernel without the inputs that dead code would have read.
fn without_unused(cx: &mut Context, kernel: Kernel) -> Result<Kernel, RejectReason> {
    let counts = match kernel.program.launch() {
        Launch::Indirect { counts, .. } => Some(counts),
        _ => None,
    };
    let is_unused = |buffer: BufferId| {
        let is_loaded = kernel.program.facts().usage(Place::Buffer(buffer)).loaded;
        kernel.role(buffer) == Role::Read && !is_loaded && counts != Some(buffer)
    };
    let unused: Vec<GraphValueId> = kernel
        .program
        .buffer_ids()
        .filter(|&buffer| is_unused(buffer))
        .filter_map(|b| kernel.values(b).input)
        .collect();
    if unused.is_empty() {
        return Ok(kernel);
    }
    let mut target = Target::new(cx, kernel.program.name());
    declare(&mut target, &[&kernel], |_, value| unused.contains(&value), |_, _| false)?;
    target.launch(&kernel)?;
    Splice::new(&mut target, &kernel).copy(&mut target, RegionId::new(0), &mut Plain)?;
    let Target { arena, uses, params, .. } = target;
    let refused = |why: String| RejectReason::Refused(why);
    let (program, _) = arena.finish().map_err(|error| refused(error.to_string()))?;
    let program = check::check(program)
        .map_err(|found| refused(found.first().map_or_else(String::new, ToString::to_string)))?;
    let Kernel { extents, counts, nodes, .. } = kernel;
    Ok(Kernel::new(program, Bound { uses, params, extents, counts, nodes }))
}
