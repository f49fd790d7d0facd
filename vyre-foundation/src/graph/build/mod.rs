//! The builder: graphs written in Rust as ordinary calls.

mod call;
mod handle;
mod state;

use std::cell::RefCell;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use vyre_spec::{DataType, Element, to_bytes};

pub use call::Call;
pub use handle::{DimHandle, Handle};

use super::args::{Arg, IntoArgs, IntoShape};
use super::assemble::{Draft, DraftKind, DraftSource, ValueRef, assemble};
use super::derive::Known;
use super::{Dim, DimId, GraphError, GraphParam, GraphParamId, GraphSite, ProgramGraph};
use crate::build::Finding;
use crate::check::Checked;
use crate::diag::{Code, Diagnostic};
use crate::ir::Program;
use handle::What;
use state::State;

/// A line of the user's Rust.
type Caller = &'static Location<'static>;

/// A graph under construction.
///
/// Handles refer to it, so it outlives them; [`GraphBuilder::finish`] ends both. What is wrong with a call is returned
/// by it, and once more by `finish`, which says everything that is wrong.
pub struct GraphBuilder {
    state: RefCell<State>,
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
        state.sources.push(Known { name: name.clone().into(), element, shape: shape.clone(), elements });
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
