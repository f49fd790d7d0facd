//! Handles of values, parameters and dimensions.

use std::fmt;
use std::panic::Location;

use super::{Caller, GraphBuilder};
use crate::graph::args::{Arg, IntoDim};
use crate::graph::assemble::ValueRef;
use crate::graph::{Dim, DimId, GraphParamId};

/// A value or parameter of a graph under construction.
#[derive(Clone, Copy)]
pub struct Handle<'g> {
    pub(super) graph: &'g GraphBuilder,
    pub(super) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Param(GraphParamId),
    Value(ValueRef),
}

/// A dimension of a graph under construction. Arithmetic on it is done in each run, in `u64`.
#[derive(Clone, Copy)]
pub struct DimHandle<'g> {
    pub(super) graph: &'g GraphBuilder,
    pub(super) id: DimId,
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

macro_rules! operators {
    ($($trait:ident $name:ident;)*) => {$(
        impl<'g, D: IntoDim<'g>> std::ops::$trait<D> for DimHandle<'g> {
            type Output = Self;
            #[track_caller]
            fn $name(self, other: D) -> Self {
                self.with(Dim::$trait, other.into_dim(), Location::caller())
            }
        }
    )*};
}

operators! {
    Add add;
    Sub sub;
    Mul mul;
}

impl<'g> DimHandle<'g> {
    fn with(self, op: fn(DimId, DimId) -> Dim, other: Arg<'g>, at: Caller) -> Self {
        let other = self.graph.dim_id(other, at);
        let mut state = self.graph.state.borrow_mut();
        let id = state.dims.simplified(op(self.id, other));
        Self { graph: self.graph, id }
    }

    /// The quotient, rounded up.
    #[must_use]
    #[track_caller]
    pub fn ceil_div(self, other: impl IntoDim<'g>) -> Self {
        self.with(Dim::CeilDiv, other.into_dim(), Location::caller())
    }

    /// The smaller.
    #[must_use]
    #[track_caller]
    pub fn min(self, other: impl IntoDim<'g>) -> Self {
        self.with(Dim::Min, other.into_dim(), Location::caller())
    }

    /// The larger.
    #[must_use]
    #[track_caller]
    pub fn max(self, other: impl IntoDim<'g>) -> Self {
        self.with(Dim::Max, other.into_dim(), Location::caller())
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
