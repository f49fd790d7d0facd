//! Workgroup counts in a buffer: a launch of workgroups becomes one that finds its counts there.

use vyre_spec::{Access, DataType};

use crate::check::{Checked, check};
use crate::diag::Diagnostic;
use crate::ir::{Arena, Buffer, Count, Launch, Program, RegionId};
use crate::launch::{Params, bind_inputs, resolve};

/// The program with its counts in a further input, whose bytes are added; the same program if it launches no
/// workgroups.
///
/// # Errors
/// If the checker refuses it, which is a fault of this module.
pub(super) fn with_counts(
    program: Checked<Program>,
    params: &Params,
    inputs: &mut Vec<Vec<u8>>,
) -> Result<Checked<Program>, Vec<Diagnostic>> {
    let Launch::Workgroups { size, .. } = program.launch() else { return Ok(program) };
    let bytes: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
    let resolved = bind_inputs(&program, &bytes).and_then(|bound| resolve(&program, params, &bound, None));
    let Ok(resolved) = resolved else { return Ok(program) };
    let mut arena = Arena::with_declarations_of(&program);
    let counts = arena.buffer(Buffer {
        name: "counts".to_owned(),
        element: DataType::U32,
        access: Access::ReadOnly,
        count: Count::Bytes,
        coherent: false,
    });
    // Everything in its old order, so that the ids stay what they are.
    for &expr in program.exprs() {
        arena.expr(expr);
    }
    for &node in program.nodes() {
        arena.node(node);
    }
    for _ in 1..program.regions().len() {
        arena.region();
    }
    for (i, nodes) in (0..).zip(program.regions()) {
        nodes.iter().for_each(|&node| arena.place_node(RegionId::new(i), node));
    }
    arena.set_launch(Launch::Indirect { size, counts });
    let (found, _) = arena.finish().map_err(|e| {
        vec![Diagnostic::new(crate::diag::Code::Structure, crate::diag::Site::Program, e.to_string())]
    })?;
    inputs.push(resolved.extent.iter().flat_map(|&n| (n as u32).to_le_bytes()).collect());
    check(found)
}
