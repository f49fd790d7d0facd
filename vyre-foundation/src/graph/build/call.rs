//! Calls of programs.

use std::panic::Location;

use super::handle::What;
use super::state::State;
use super::{Caller, GraphBuilder, Handle};
use crate::check::Checked;
use crate::diag::{Code, Diagnostic};
use crate::graph::args::{Arg, IntoArgs, IntoDim};
use crate::graph::assemble::{DraftNode, ValueRef, param_type};
use crate::graph::derive::{Known, derive};
use crate::graph::{GraphDiagnostic, GraphError, GraphNodeId, GraphSite, ParamSource, check};
use crate::ir::Program;

/// A run of a program, before its arguments are known.
#[derive(Debug)]
pub struct Call<'g, 'p> {
    pub(super) graph: &'g GraphBuilder,
    pub(super) program: &'p Checked<Program>,
    pub(super) name: Option<String>,
    pub(super) results: Option<Vec<String>>,
    pub(super) counts: Option<[Arg<'g>; 3]>,
}

impl<'g> Call<'g, '_> {
    /// Names the node; without a name it is named as its program, with a number.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Names the values that are computed; without names they are named as their buffers, with a number.
    #[must_use]
    pub fn giving<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.results = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Replaces the workgroup counts of a workgroup launch.
    #[must_use]
    pub fn counts<D: IntoDim<'g>>(mut self, counts: [D; 3]) -> Self {
        self.counts = Some(counts.map(IntoDim::into_dim));
        self
    }

    /// Gives the one output: see [`GraphBuilder::call`].
    ///
    /// # Errors
    /// If the arguments do not fit the program, or it has not one output.
    #[track_caller]
    pub fn call(self, args: impl IntoArgs<'g>) -> Result<Handle<'g>, GraphError> {
        let [value] = self.call_many(args)?;
        Ok(value)
    }

    /// Gives `N` outputs in declaration order.
    ///
    /// # Errors
    /// If the arguments do not fit the program, or it has not `N` outputs.
    #[track_caller]
    pub fn call_many<const N: usize>(self, args: impl IntoArgs<'g>) -> Result<[Handle<'g>; N], GraphError> {
        let at = Location::caller();
        let (graph, program) = (self.graph, self.program);
        let handles = self.run(args.into_args(), at)?;
        let got = handles.len();
        handles.try_into().map_err(|_| {
            let mut state = graph.state.borrow_mut();
            let site = GraphSite::Node(GraphNodeId::new(state.draft.nodes.len() as u32 - 1));
            let message = format!("program `{}` has {got} outputs, but {N} are taken", program.name());
            let d = Diagnostic::new(Code::GraphArguments, site, message).with_help(
                "take them all: `call` gives one, `call_many` as many as there are, `call_all` a list",
            );
            state.fail(vec![d], at)
        })
    }

    /// Gives all outputs in declaration order.
    ///
    /// # Errors
    /// If the arguments do not fit the program.
    #[track_caller]
    pub fn call_all(self, args: impl IntoArgs<'g>) -> Result<Vec<Handle<'g>>, GraphError> {
        let at = Location::caller();
        self.run(args.into_args(), at)
    }

    fn run(self, args: Vec<Arg<'g>>, at: Caller) -> Result<Vec<Handle<'g>>, GraphError> {
        let Self { graph, program, name, results, counts } = self;
        let counts = counts.map(|counts| counts.map(|dim| graph.dim_id(dim, at)));
        let foreign = args.iter().any(|arg| match *arg {
            Arg::Handle(handle) => !std::ptr::eq(handle.graph, graph),
            Arg::Dim(dim) => !std::ptr::eq(dim.graph, graph),
            Arg::Literal(_) => false,
        });
        let mut state = graph.state.borrow_mut();
        let site = GraphSite::Node(GraphNodeId::new(state.draft.nodes.len() as u32));
        if foreign {
            let d = Diagnostic::new(Code::MixedBuilders, site, "an argument belongs to another graph")
                .with_help("a graph may only use what its own builder declared");
            return Err(state.fail(vec![d], at));
        }
        let (params, inputs) = match split(&state, program, site, &args) {
            Ok(split) => split,
            Err(d) => return Err(state.fail(vec![d], at)),
        };
        let known: Vec<Known<'_>> =
            inputs.iter().filter_map(|&value| state.known(What::Value(value)).cloned()).collect();
        let types: Vec<_> = params.iter().map(|param| param_type(param, &state.draft.params)).collect();
        let outputs = program.outputs().count();
        let given = results.as_ref().map_or(outputs, Vec::len);
        let mut found = Vec::new();
        check::arguments(site, program, &known, (&params, &types), given, &mut found);
        check::counts(site, program, counts.is_some(), &mut found);
        if !found.is_empty() {
            return Err(state.fail(found, at));
        }
        let derived = match derive(&mut state.dims, program, &known, &params, counts) {
            Ok(derived) => derived,
            Err(negative) => return Err(state.fail(vec![negative.finding(site)], at)),
        };
        let number = state.draft.nodes.len() as u32;
        let first = state.computed.len() as u32;
        for (id, shape) in program.outputs().zip(derived.shapes) {
            let buffer = program.buffer(id);
            let elements = state.dims.product(&shape);
            state.computed.push(Known {
                name: buffer.name.clone().into(),
                element: buffer.element,
                shape,
                elements,
            });
            state.lines.computed.push(number);
        }
        let program_at = state.program(program);
        state.lines.nodes.push(at);
        state.named.push((name.is_some(), results.is_some()));
        let wishes = || program.outputs().map(|id| program.buffer(id).name.clone()).collect();
        state.draft.nodes.push(DraftNode {
            name: name.unwrap_or_else(|| program.name().to_owned()),
            program: program_at,
            inputs,
            outputs: results.unwrap_or_else(wishes),
            params,
            counts,
        });
        let handle = |at| Handle { graph, what: What::Value(ValueRef::Computed(at)) };
        Ok((first..first + outputs as u32).map(handle).collect())
    }
}

/// Arguments as parameters and values.
type Split = (Vec<ParamSource>, Vec<ValueRef>);

fn split(
    state: &State,
    program: &Program,
    site: GraphSite,
    args: &[Arg<'_>],
) -> Result<Split, GraphDiagnostic> {
    let (mut params, mut inputs) = (Vec::new(), Vec::new());
    let count = program.params().len();
    for (i, arg) in args.iter().enumerate() {
        if i < count {
            params.push(match *arg {
                Arg::Literal(value) => ParamSource::Literal(value),
                Arg::Dim(dim) => ParamSource::Dim(dim.id),
                Arg::Handle(Handle { what: What::Param(id), .. }) => ParamSource::Param(id),
                Arg::Handle(Handle { what, .. }) => {
                    let value = state.known(what).map_or("", |known| &*known.name);
                    let param = program.params().get(i).map_or("", |param| param.name.as_str());
                    let message = format!("value `{value}` is given for parameter `{param}`");
                    return Err(
                        Diagnostic::new(Code::GraphArguments, site, message).with_help(order(program))
                    );
                }
            });
        } else {
            match *arg {
                Arg::Handle(Handle { what: What::Value(value), .. }) => inputs.push(value),
                _ => {
                    let buffer = program.inputs().nth(i - count).map(|id| program.buffer(id).name.as_str());
                    let message = match buffer {
                        Some(buffer) => format!("a number is given for buffer `{buffer}`"),
                        None => format!("program `{}` is given more than it takes", program.name()),
                    };
                    return Err(
                        Diagnostic::new(Code::GraphArguments, site, message).with_help(order(program))
                    );
                }
            }
        }
    }
    Ok((params, inputs))
}

/// The order of a program's arguments.
fn order(program: &Program) -> String {
    let params = program.params().iter().map(|param| param.name.as_str());
    let names: Vec<_> = params.chain(program.inputs().map(|id| program.buffer(id).name.as_str())).collect();
    format!("the arguments of `{}` are, in this order: {}", program.name(), names.join(", "))
}
