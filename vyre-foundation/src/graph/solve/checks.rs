//! The lengths and limits of a run whose sizes are settled.

use vyre_spec::Axis;

use super::{SolveError, Solved, Solver};
use crate::graph::{GraphValueId, ParamSource, ProgramGraph, Requirement};

/// Checks what is bound against its shapes.
pub(super) fn lengths(graph: &ProgramGraph, solver: &Solver<'_>, solved: &Solved) -> Result<(), SolveError> {
    for bound in &solver.bound {
        let needs = solved.elements(graph, bound.value);
        if needs != bound.elements {
            return Err(SolveError::Shape {
                value: graph.value(bound.value).name.clone(),
                shape: graph.shape_text(bound.value),
                needs,
                got: bound.elements,
                because: solver.because(bound.value, solved),
            });
        }
    }
    Ok(())
}

pub(super) fn requirements(graph: &ProgramGraph, solved: &Solved) -> Result<(), SolveError> {
    let name = |value: GraphValueId| graph.value(value).name.clone();
    for requirement in graph.requirements() {
        match *requirement {
            Requirement::Length { node, buffer, value, needs } => {
                let (needs, got) = (solved.dim(needs), solved.elements(graph, value));
                if needs != got {
                    let buffer = graph.program_of(node).buffer(buffer).name.clone();
                    let node = graph.node(node).name.clone();
                    return Err(SolveError::Length { node, buffer, needs, value: name(value), got });
                }
            }
            Requirement::Update { value, next } => {
                let (has, becomes) = (solved.elements(graph, value), solved.elements(graph, next));
                if has != becomes {
                    return Err(SolveError::Update { value: name(value), has, next: name(next), becomes });
                }
            }
            Requirement::Counts { node, value } => {
                let got = solved.elements(graph, value);
                if got < 3 {
                    let node = graph.node(node).name.clone();
                    return Err(SolveError::NoCounts { node, value: name(value), got });
                }
            }
            // The bytes of constants are checked with those of what is bound.
            Requirement::Constant { .. } => {}
        }
    }
    Ok(())
}

/// Checks that lengths and launches fit 32-bit ids, and dimensions the parameters that they are given for.
pub(super) fn limits(graph: &ProgramGraph, solved: &Solved) -> Result<(), SolveError> {
    let within = |what: &dyn Fn() -> String, value: u64, limit: u64| match value > limit {
        true => Err(SolveError::TooLarge { what: what(), value, limit }),
        false => Ok(()),
    };
    for id in graph.value_ids() {
        let what = || format!("the length of value `{}`", graph.value(id).name);
        within(&what, solved.elements(graph, id), u64::from(u32::MAX))?;
    }
    for id in graph.node_ids() {
        let node = graph.node(id);
        for (axis, dim) in Axis::ALL.iter().zip(graph.extents(id).into_iter().flatten()) {
            let what = || format!("the launch's {} axis of node `{}`", axis.name(), node.name);
            within(&what, solved.dim(dim), u64::from(u32::MAX))?;
        }
        for (param, source) in graph.program_of(id).params().iter().zip(&node.params) {
            if let ParamSource::Dim(dim) = *source {
                let bits = param.ty.size() * 8 - u32::from(param.ty.is_signed_int());
                let what = || format!("parameter `{}` of node `{}`", param.name, node.name);
                within(&what, solved.dim(dim), u64::MAX >> (64 - bits))?;
            }
        }
    }
    Ok(())
}
