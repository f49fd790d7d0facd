//! The builder: graphs written in Rust as ordinary calls.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use vyre_spec::{DataType, Element, to_bytes};

use super::args::{Arg, IntoArgs, IntoDim, IntoShape};
use super::assemble::{Draft, DraftKind, DraftNode, DraftSource, ValueRef, assemble, param_type};
use super::derive::{Known, derive};
use super::dims::DimTable;
use super::{
    Dim, DimId, GraphDiagnostic, GraphError, GraphNodeId, GraphParam, GraphParamId, GraphSite, GraphValueId,
    ParamSource, ProgramGraph, check,
};
use crate::build::{Finding, FreeNames};
use crate::check::{Checked, is_reserved};
use crate::diag::{Code, Diagnostic};
use crate::ir::{ExtentOp, Program};

/// A line of the user's Rust.
type Caller = &'static Location<'static>;

/// A graph under construction.
///
/// Handles refer to it, so it outlives them; [`GraphBuilder::finish`] ends both. What is wrong with a call is returned
/// by it, and once more by `finish`, which says everything that is wrong.
pub struct GraphBuilder {
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    draft: Draft,
    dims: DimTable,
    /// What is known of each source and of each computed value.
    sources: Vec<Known>,
    computed: Vec<Known>,
    /// Whether nodes and their outputs have names of the caller's.
    named: Vec<(bool, bool)>,
    /// Positions of programs that were seen, by the address of their proof, which they keep alive.
    seen: HashMap<usize, (Checked<Program>, u32)>,
    by_id: HashMap<crate::digest::ProgramId, u32>,
    lines: Lines,
    findings: Vec<Finding<GraphSite>>,
}

#[derive(Default)]
struct Lines {
    symbols: HashMap<String, Caller>,
    params: Vec<Caller>,
    sources: Vec<Caller>,
    /// The node of each computed value.
    computed: Vec<u32>,
    nodes: Vec<Caller>,
    outputs: Vec<Caller>,
}

/// A value or parameter of a graph under construction.
#[derive(Clone, Copy)]
pub struct Handle<'g> {
    graph: &'g GraphBuilder,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Param(GraphParamId),
    Value(ValueRef),
}

/// A dimension of a graph under construction. Arithmetic on it is done in each run, in `u64`.
#[derive(Clone, Copy)]
pub struct DimHandle<'g> {
    graph: &'g GraphBuilder,
    id: DimId,
}

impl fmt::Debug for Handle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.what)
    }
}

impl fmt::Debug for DimHandle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.id)
    }
}

impl fmt::Debug for GraphBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("GraphBuilder");
        if let Ok(state) = self.state.try_borrow() {
            debug.field("name", &state.draft.name);
        }
        debug.finish_non_exhaustive()
    }
}

macro_rules! operators {
    ($($trait:ident $name:ident $symbol:literal;)*) => {$(
        impl<'g, D: IntoDim<'g>> std::ops::$trait<D> for DimHandle<'g> {
            type Output = Self;
            #[track_caller]
            fn $name(self, other: D) -> Self {
                self.with(ExtentOp::from_symbol($symbol), other.into_dim(), Location::caller())
            }
        }
    )*};
}

operators! {
    Add add "+";
    Sub sub "-";
    Mul mul "*";
}

impl<'g> DimHandle<'g> {
    fn with(self, op: Option<ExtentOp>, other: Arg<'g>, at: Caller) -> Self {
        let other = self.graph.dim_id(other, at);
        let mut state = self.graph.state.borrow_mut();
        let id = op.map_or(self.id, |op| state.dims.combine(op, self.id, other));
        Self { graph: self.graph, id }
    }

    /// The quotient, rounded up.
    #[must_use]
    #[track_caller]
    pub fn ceil_div(self, other: impl IntoDim<'g>) -> Self {
        self.with(ExtentOp::from_name("ceil_div"), other.into_dim(), Location::caller())
    }

    /// The smaller.
    #[must_use]
    #[track_caller]
    pub fn min(self, other: impl IntoDim<'g>) -> Self {
        self.with(ExtentOp::from_name("min"), other.into_dim(), Location::caller())
    }

    /// The larger.
    #[must_use]
    #[track_caller]
    pub fn max(self, other: impl IntoDim<'g>) -> Self {
        self.with(ExtentOp::from_name("max"), other.into_dim(), Location::caller())
    }
}

impl<'g> Handle<'g> {
    /// The number of elements of a value; 1 of a parameter.
    pub fn len(self) -> DimHandle<'g> {
        let mut state = self.graph.state.borrow_mut();
        let id = match state.known(self.what) {
            Some(known) => known.elements,
            None => state.dims.literal(1),
        };
        DimHandle { graph: self.graph, id }
    }

    /// Elements per axis of a value; nothing of a parameter.
    pub fn shape(self) -> Vec<DimHandle<'g>> {
        let state = self.graph.state.borrow();
        let shape = state.known(self.what).map(|known| known.shape.clone()).unwrap_or_default();
        shape.into_iter().map(|id| DimHandle { graph: self.graph, id }).collect()
    }
}

impl GraphBuilder {
    /// An empty graph of this name.
    pub fn new(name: impl Into<String>) -> Self {
        let state = State { draft: Draft { name: name.into(), ..Draft::default() }, ..State::default() };
        Self { state: RefCell::new(state) }
    }

    /// A dimension that each run settles, from the lengths of what is bound or by its name.
    #[track_caller]
    pub fn dim(&self, name: impl Into<String>) -> DimHandle<'_> {
        let (at, name) = (Location::caller(), name.into());
        let mut state = self.state.borrow_mut();
        state.lines.symbols.entry(name.clone()).or_insert(at);
        let id = state.dims.intern(Dim::Symbol(name));
        DimHandle { graph: self, id }
    }

    /// A dimension that is a number.
    pub fn literal(&self, value: u64) -> DimHandle<'_> {
        DimHandle { graph: self, id: self.state.borrow_mut().dims.literal(value) }
    }

    /// A scalar that each run is given.
    #[track_caller]
    pub fn param<T: Element>(&self, name: impl Into<String>) -> Handle<'_> {
        self.param_of(name, T::TYPE)
    }

    /// A scalar of any type that each run is given.
    #[track_caller]
    pub fn param_of(&self, name: impl Into<String>, ty: DataType) -> Handle<'_> {
        let mut state = self.state.borrow_mut();
        state.lines.params.push(Location::caller());
        state.draft.params.push(GraphParam { name: name.into(), ty });
        let id = GraphParamId::new(state.draft.params.len() as u32 - 1);
        Handle { graph: self, what: What::Param(id) }
    }

    /// A value that each run is given.
    #[track_caller]
    pub fn input<'g, T: Element>(&'g self, name: impl Into<String>, shape: impl IntoShape<'g>) -> Handle<'g> {
        self.input_of(name, T::TYPE, shape)
    }

    /// A value of any element type that each run is given.
    #[track_caller]
    pub fn input_of<'g>(
        &'g self,
        name: impl Into<String>,
        element: DataType,
        shape: impl IntoShape<'g>,
    ) -> Handle<'g> {
        self.source(name.into(), element, shape.into_shape(), DraftKind::Input, Location::caller())
    }

    /// A value that is the same in every run: these elements, along one axis.
    #[track_caller]
    pub fn constant<T: Element>(&self, name: impl Into<String>, elements: &[T]) -> Handle<'_> {
        self.constant_of(name, T::TYPE, [elements.len() as u64], to_bytes(elements))
    }

    /// A value that is the same in every run, of any element type and shape.
    #[track_caller]
    pub fn constant_of<'g>(
        &'g self,
        name: impl Into<String>,
        element: DataType,
        shape: impl IntoShape<'g>,
        bytes: impl Into<Arc<[u8]>>,
    ) -> Handle<'g> {
        let kind = DraftKind::Constant(bytes.into());
        self.source(name.into(), element, shape.into_shape(), kind, Location::caller())
    }

    /// A value that stays from run to run, zeros at first; [`GraphBuilder::update`] says what it becomes.
    #[track_caller]
    pub fn retained<'g, T: Element>(
        &'g self,
        name: impl Into<String>,
        shape: impl IntoShape<'g>,
    ) -> Handle<'g> {
        self.retained_of(name, T::TYPE, shape)
    }

    /// A value of any element type that stays from run to run.
    #[track_caller]
    pub fn retained_of<'g>(
        &'g self,
        name: impl Into<String>,
        element: DataType,
        shape: impl IntoShape<'g>,
    ) -> Handle<'g> {
        let kind = DraftKind::Retained { next: None };
        self.source(name.into(), element, shape.into_shape(), kind, Location::caller())
    }

    fn source<'g>(
        &'g self,
        name: String,
        element: DataType,
        shape: Vec<Arg<'g>>,
        kind: DraftKind,
        at: Caller,
    ) -> Handle<'g> {
        let shape: Vec<_> = shape.into_iter().map(|dim| self.dim_id(dim, at)).collect();
        let mut state = self.state.borrow_mut();
        let elements = state.dims.product(&shape);
        state.sources.push(Known { name: name.clone(), element, shape: shape.clone(), elements });
        state.lines.sources.push(at);
        state.draft.sources.push(DraftSource { name, element, shape, kind });
        let position = state.draft.sources.len() as u32 - 1;
        Handle { graph: self, what: What::Value(ValueRef::Source(position)) }
    }

    /// Runs a program that has one output, and gives that.
    ///
    /// `args` are the program's parameters in declaration order, then a value for each `ReadOnly`, `Uniform` and
    /// `ReadWrite` buffer in declaration order. A parameter is a parameter or [dimension](DimHandle) of the graph or a
    /// constant.
    ///
    /// # Errors
    /// If the arguments do not fit the program, or it has not one output.
    #[track_caller]
    pub fn call<'g>(
        &'g self,
        program: &Checked<Program>,
        args: impl IntoArgs<'g>,
    ) -> Result<Handle<'g>, GraphError> {
        self.node(program).call(args)
    }

    /// Runs a program that has `N` outputs, and gives those in declaration order.
    ///
    /// # Errors
    /// If the arguments do not fit the program, or it has not `N` outputs.
    #[track_caller]
    pub fn call_many<'g, const N: usize>(
        &'g self,
        program: &Checked<Program>,
        args: impl IntoArgs<'g>,
    ) -> Result<[Handle<'g>; N], GraphError> {
        self.node(program).call_many(args)
    }

    /// A run of a program whose name, results' names or workgroup counts are chosen before the call.
    pub fn node<'g, 'p>(&'g self, program: &'p Checked<Program>) -> Call<'g, 'p> {
        Call { graph: self, program, name: None, results: None, counts: None }
    }

    /// Says what a retained value becomes: the next run finds it so.
    #[track_caller]
    pub fn update(&self, retained: Handle<'_>, next: Handle<'_>) {
        let at = Location::caller();
        let mixed = self.mixed(retained.graph, at) || self.mixed(next.graph, at);
        let mut state = self.state.borrow_mut();
        let (What::Value(value), What::Value(next)) = (retained.what, next.what) else {
            let d =
                Diagnostic::new(Code::GraphUpdate, GraphSite::Graph, "an update of a parameter, or by one");
            return state.report(d.with_help("update a retained value with a value"), at);
        };
        if mixed {
            return;
        }
        let problem = match value {
            ValueRef::Source(position) => match state.draft.sources.get_mut(position as usize) {
                Some(DraftSource { kind: DraftKind::Retained { next: slot @ None }, .. }) => {
                    *slot = Some(next);
                    return;
                }
                Some(DraftSource { kind: DraftKind::Retained { .. }, name, .. }) => {
                    format!("`{name}` is updated twice")
                }
                Some(DraftSource { name, .. }) => format!("`{name}` is updated, but not retained"),
                None => return,
            },
            ValueRef::Computed(_) => "a computed value is updated".to_owned(),
        };
        let site = state.site(value);
        let d = Diagnostic::new(Code::GraphUpdate, site, problem);
        state.report(d.with_help("declare the value with `retained`, and update it once"), at);
    }

    /// Gives a value back from each run, under a name that is unique among outputs.
    #[track_caller]
    pub fn output(&self, name: impl Into<String>, value: Handle<'_>) {
        let at = Location::caller();
        if self.mixed(value.graph, at) {
            return;
        }
        let mut state = self.state.borrow_mut();
        match value.what {
            What::Value(value) => {
                state.lines.outputs.push(at);
                state.draft.outputs.push((name.into(), value));
            }
            What::Param(id) => {
                let message = "a parameter is given back, which is no value";
                let d = Diagnostic::new(Code::GraphType, GraphSite::Param(id), message);
                state.report(d.with_help("the caller knows its value"), at);
            }
        }
    }

    /// The graph, checked.
    ///
    /// # Errors
    /// Everything that is wrong with it, each finding with the line of Rust that it is about.
    pub fn finish(self) -> Result<ProgramGraph, GraphError> {
        let mut state = self.state.into_inner();
        state.name_the_rest();
        state.draft.dims = std::mem::take(&mut state.dims).into_table();
        let dims = state.draft.dims.clone();
        let name = state.draft.name.clone();
        let sources = state.draft.sources.len();
        let lines = std::mem::take(&mut state.lines);
        match assemble(state.draft) {
            Ok(graph) if state.findings.is_empty() => Ok(graph),
            Ok(_) => Err(GraphError::new(name, state.findings)),
            Err(found) => {
                let mut findings = state.findings;
                for diagnostic in found {
                    let line = lines.line(diagnostic.site, sources, &dims);
                    let related =
                        diagnostic.related.iter().map(|(site, _)| lines.line(*site, sources, &dims));
                    findings.push(Finding { line, related: related.collect(), diagnostic });
                }
                Err(GraphError::new(name, findings))
            }
        }
    }

    /// Whether a handle is of another builder, which is reported.
    fn mixed(&self, other: &GraphBuilder, at: Caller) -> bool {
        let mixed = !std::ptr::eq(self, other);
        if mixed {
            let message = "a handle belongs to another graph";
            let d = Diagnostic::new(Code::MixedBuilders, GraphSite::Graph, message)
                .with_help("a graph may only use what its own builder declared");
            self.state.borrow_mut().report(d, at);
        }
        mixed
    }

    /// The dimension that stands for what was given for one.
    fn dim_id(&self, dim: Arg<'_>, at: Caller) -> DimId {
        let mixed = match dim {
            Arg::Dim(dim) => self.mixed(dim.graph, at),
            Arg::Handle(handle) => self.mixed(handle.graph, at),
            Arg::Literal(_) => false,
        };
        let mut state = self.state.borrow_mut();
        match dim {
            Arg::Dim(dim) if !mixed => dim.id,
            Arg::Handle(Handle { what: What::Param(id), .. }) if !mixed => state.dims.intern(Dim::Param(id)),
            Arg::Handle(Handle { what: What::Value(value), .. }) if !mixed => {
                let site = state.site(value);
                let d = Diagnostic::new(Code::GraphType, site, "a value is no dimension");
                state.report(d.with_help("use its length, `value.len()`"), at);
                state.dims.literal(1)
            }
            Arg::Literal(value) => state.dims.literal(value.bits()),
            _ => state.dims.literal(1),
        }
    }
}

/// A run of a program, before its arguments are known.
#[derive(Debug)]
pub struct Call<'g, 'p> {
    graph: &'g GraphBuilder,
    program: &'p Checked<Program>,
    name: Option<String>,
    results: Option<Vec<String>>,
    counts: Option<[Arg<'g>; 3]>,
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
        let known: Vec<Known> =
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
                name: buffer.name.clone(),
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
                    let value = state.known(what).map_or("", |known| known.name.as_str());
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

impl State {
    fn known(&self, what: What) -> Option<&Known> {
        match what {
            What::Param(_) => None,
            What::Value(ValueRef::Source(at)) => self.sources.get(at as usize),
            What::Value(ValueRef::Computed(at)) => self.computed.get(at as usize),
        }
    }

    /// A place that has the line of a value, whatever its number will be.
    fn site(&self, value: ValueRef) -> GraphSite {
        match value {
            ValueRef::Source(at) => GraphSite::Value(GraphValueId::new(at)),
            ValueRef::Computed(at) => {
                let node = self.lines.computed.get(at as usize).copied().unwrap_or(0);
                GraphSite::Node(GraphNodeId::new(node))
            }
        }
    }

    fn report(&mut self, diagnostic: GraphDiagnostic, at: Caller) {
        let related = vec![None; diagnostic.related.len()];
        self.findings.push(Finding { diagnostic, line: Some(at), related });
    }

    /// Records findings and gives them back.
    fn fail(&mut self, diagnostics: Vec<GraphDiagnostic>, at: Caller) -> GraphError {
        let first = self.findings.len();
        for diagnostic in diagnostics {
            self.report(diagnostic, at);
        }
        GraphError::new(self.draft.name.clone(), self.findings.get(first..).unwrap_or_default().to_vec())
    }

    /// The position of a program; equal ones are one.
    fn program(&mut self, program: &Checked<Program>) -> u32 {
        let next = self.draft.programs.len() as u32;
        if let Some(&(_, at)) = self.seen.get(&program.address()) {
            return at;
        }
        let at = *self.by_id.entry(program.id()).or_insert(next);
        if at == next {
            self.draft.programs.push(program.clone());
        }
        self.seen.insert(program.address(), (program.clone(), at));
        at
    }

    /// Names nodes and computed values that the caller did not name, by names that nothing has.
    fn name_the_rest(&mut self) {
        let (mut values, mut nodes) = (FreeNames::default(), FreeNames::default());
        let sources = self.draft.sources.iter().map(|source| &source.name);
        let params = self.draft.params.iter().map(|param| &param.name);
        sources.chain(params).chain(self.lines.symbols.keys()).for_each(|name| values.take(name));
        for (node, &(named, results)) in self.draft.nodes.iter().zip(&self.named) {
            if named {
                nodes.take(&node.name);
            }
            if results {
                node.outputs.iter().for_each(|name| values.take(name));
            }
        }
        for (node, &(named, results)) in self.draft.nodes.iter_mut().zip(&self.named) {
            if !named {
                let wish = std::mem::take(&mut node.name);
                // A program may be named by a word of the language.
                node.name = nodes.free(if is_reserved(&wish) { wish + "_" } else { wish });
            }
            if !results {
                for name in &mut node.outputs {
                    *name = values.free(std::mem::take(name));
                }
            }
        }
    }
}

impl Lines {
    fn line(&self, site: GraphSite, sources: usize, dims: &[Dim]) -> Option<Caller> {
        let node = |id: u32| self.nodes.get(id as usize).copied();
        match site {
            GraphSite::Graph => None,
            GraphSite::Dim(id) => match dims.get(id.index()) {
                Some(Dim::Symbol(name)) => self.symbols.get(name).copied(),
                _ => None,
            },
            GraphSite::Param(id) => self.params.get(id.index()).copied(),
            GraphSite::Value(id) => match id.index().checked_sub(sources) {
                None => self.sources.get(id.index()).copied(),
                Some(computed) => self.computed.get(computed).and_then(|&at| node(at)),
            },
            GraphSite::Node(id) => node(id.raw()),
            GraphSite::Output(at) => self.outputs.get(at as usize).copied(),
        }
    }
}
