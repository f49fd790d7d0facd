//! What a sound graph is.
//!
//! * Names are identifiers and no words of the text form. Parameters, values and symbols share one set of names;
//!   nodes and outputs have one each.
//! * A node is given as many values, parameters and outputs as its program has, each of the declared type, and only
//!   values that no node computes or an earlier one does. A dimension may stand for an integer parameter.
//! * Only workgroup launches have their counts replaced.
//! * A shape has at most [`MAX_AXES`] axes. Where numbers of elements are known they fit: those of constants, of inputs
//!   whose buffer declares a count, of what a retained value becomes. [`Requirement`](super::Requirement) has those
//!   that only a run can tell.
//! * What a retained value becomes has its type.
//! * Parameters in dimensions are integers.

use vyre_spec::DataType;

use super::assemble::Draft;
use super::derive::{Known, Need};
use super::{
    Dim, DimId, GraphDiagnostic, GraphNodeId, GraphParamId, GraphSite, GraphValueId, MAX_AXES, ParamSource,
};
use crate::check::{MAX_TABLE, Names};
use crate::diag::{Code, Diagnostic};
use crate::ir::{Launch, Program};

/// Checks the names of declarations.
pub(super) fn names(draft: &Draft, findings: &mut Vec<GraphDiagnostic>) {
    let help = "rename one of them: parameters, values and symbols share one set of names";
    let mut names = Names::new(findings, help);
    names.outer(GraphSite::Graph, &draft.name);
    for (i, dim) in (0..).zip(&draft.dims) {
        if let Dim::Symbol(name) = dim {
            names.name(GraphSite::Dim(DimId::new(i)), name);
        }
    }
    for (i, param) in (0..).zip(&draft.params) {
        names.name(GraphSite::Param(GraphParamId::new(i)), &param.name);
    }
    let sources = draft.sources.iter().map(|source| &source.name);
    let computed = draft.nodes.iter().flat_map(|node| &node.outputs);
    for (i, name) in (0..).zip(sources.chain(computed)) {
        names.name(GraphSite::Value(GraphValueId::new(i)), name);
    }
    let mut names = Names::new(findings, "rename one of the nodes");
    for (i, node) in (0..).zip(&draft.nodes) {
        names.name(GraphSite::Node(GraphNodeId::new(i)), &node.name);
    }
    let mut names = Names::new(findings, "rename one of the outputs");
    for (i, (name, _)) in (0..).zip(&draft.outputs) {
        names.name(GraphSite::Output(i), name);
    }
}

/// Checks the sizes of tables.
pub(super) fn limits(draft: &Draft, findings: &mut Vec<GraphDiagnostic>) {
    let computed: usize = draft.nodes.iter().map(|node| node.outputs.len()).sum();
    let tables = [
        ("dimensions", draft.dims.len(), MAX_TABLE),
        ("parameters", draft.params.len(), MAX_TABLE),
        // Each buffer of a program may be an input and an output.
        ("values", draft.sources.len() + computed, 2 * MAX_TABLE),
        ("nodes", draft.nodes.len(), MAX_TABLE),
        ("outputs", draft.outputs.len(), MAX_TABLE),
        // What is worked out for each node takes the time of its program's declarations.
        ("buffers and extents of its nodes", declarations(draft), MAX_TABLE),
    ];
    for (what, count, limit) in tables.into_iter().filter(|&(_, count, limit)| count > limit) {
        let message = format!("the graph has {count} {what}, above the limit of {limit}");
        findings.push(
            Diagnostic::new(Code::Limit, GraphSite::Graph, message).with_help("split it into several graphs"),
        );
    }
    for (i, source) in (0..).zip(&draft.sources) {
        if source.shape.len() > MAX_AXES {
            let message =
                format!("`{}` has {} axes, above the limit of {MAX_AXES}", source.name, source.shape.len());
            findings.push(
                Diagnostic::new(Code::Limit, GraphSite::Value(GraphValueId::new(i)), message)
                    .with_help("join axes: programs see one array of all elements"),
            );
        }
    }
}

/// Buffers, parameters and extents of the programs of all nodes.
fn declarations(draft: &Draft) -> usize {
    let of = |program: &Program| program.buffers().len() + program.params().len() + program.extents().len();
    let each: Vec<_> = draft.programs.iter().map(|program| of(program)).collect();
    let nodes = draft.nodes.iter().filter_map(|node| each.get(node.program as usize));
    nodes.fold(0usize, |sum, count| sum.saturating_add(*count))
}

/// Checks that parameters in dimensions are integers.
pub(super) fn integer_params(draft: &Draft, findings: &mut Vec<GraphDiagnostic>) {
    for dim in &draft.dims {
        let Dim::Param(id) = *dim else { continue };
        if let Some(param) = draft.params.get(id.index()).filter(|param| !param.ty.is_int()) {
            let message = format!("a dimension reads parameter `{}`, of type {}", param.name, param.ty);
            findings.push(
                Diagnostic::new(Code::GraphType, GraphSite::Param(id), message)
                    .with_help("dimensions are integers: make the parameter a u32"),
            );
        }
    }
}

/// Whether a node's arguments fit its program in number and type; says what does not.
pub(super) fn arguments(
    site: GraphSite,
    program: &Program,
    inputs: &[Known<'_>],
    (params, types): (&[ParamSource], &[DataType]),
    outputs: usize,
    findings: &mut Vec<GraphDiagnostic>,
) -> bool {
    let before = findings.len();
    let mut count = |what: &str, names: Vec<&str>, got: usize| {
        if names.len() != got {
            let list = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let message =
                format!("program `{}` has {} {what}, but {got} are given", program.name(), names.len());
            findings.push(
                Diagnostic::new(Code::GraphArguments, site, message).with_help(format!("its {what}: {list}")),
            );
        }
    };
    let named = |id| program.buffer(id).name.as_str();
    count("parameters", program.params().iter().map(|p| p.name.as_str()).collect(), params.len());
    count("inputs", program.inputs().map(named).collect(), inputs.len());
    count("outputs", program.outputs().map(named).collect(), outputs);
    for (id, known) in program.inputs().zip(inputs) {
        let buffer = program.buffer(id);
        if buffer.element != known.element {
            let (name, needs, got) = (&buffer.name, buffer.element, known.element);
            let message = format!("buffer `{name}` has elements of {needs}, but `{}` of {got}", known.name);
            let help = format!("give it a value of {needs}, or convert `{}` with a program", known.name);
            findings.push(Diagnostic::new(Code::GraphType, site, message).with_help(help));
        }
    }
    for (param, (source, &ty)) in program.params().iter().zip(params.iter().zip(types)) {
        let fits = match source {
            ParamSource::Dim(_) => param.ty.is_int(),
            _ => param.ty == ty,
        };
        if !fits {
            let got = if matches!(source, ParamSource::Dim(_)) {
                "a dimension".to_owned()
            } else {
                format!("a {ty}")
            };
            let message = format!("parameter `{}` is a {}, but {got} is given", param.name, param.ty);
            findings.push(
                Diagnostic::new(Code::GraphType, site, message)
                    .with_help("convert it on the host, or declare the parameter of that type"),
            );
        }
    }
    findings.len() == before
}

/// Checks that replaced counts are of a workgroup launch.
pub(super) fn counts(site: GraphSite, program: &Program, counts: bool, findings: &mut Vec<GraphDiagnostic>) {
    if counts && !matches!(program.launch(), Launch::Workgroups { .. }) {
        let message =
            format!("program `{}` does not say how many workgroups it is launched in", program.name());
        findings.push(
            Diagnostic::new(Code::BadLaunch, site, message)
                .with_help("leave the counts out: only those of a `workgroups` launch can be replaced"),
        );
    }
}

/// The finding about an input whose length is known not to be what the buffer declares.
pub(super) fn length(
    site: GraphSite,
    program: &Program,
    need: &Need,
    inputs: &[Known<'_>],
    (has, needs): (u64, u64),
) -> GraphDiagnostic {
    let buffer = &program.buffer(need.buffer).name;
    let value = inputs.get(need.input).map_or("", |known| &*known.name);
    let message = format!("buffer `{buffer}` needs {needs} elements, but `{value}` has {has}");
    Diagnostic::new(Code::GraphShape, site, message).with_help(format!(
        "program `{}` declares the count of `{buffer}`: give it a value that long",
        program.name()
    ))
}
