//! The sizes of a run: symbols from the lengths of what is bound, every dimension from those, and every length
//! checked.

mod checks;
mod error;
mod solved;
mod solver;

use std::collections::BTreeMap;

use vyre_spec::Value;

use super::{Dim, GraphParam, GraphValueId, ProgramGraph};
use crate::launch::Params;
use checks::{lengths, limits, requirements};
pub use error::SolveError;
pub use solved::Solved;
use solver::Solver;

/// What a run is given, as far as sizes depend on it.
#[derive(Clone, Debug, Default)]
pub struct Bindings {
    dims: BTreeMap<String, u64>,
    default_dims: BTreeMap<String, u64>,
    params: Params,
    bytes: BTreeMap<GraphValueId, u64>,
}

impl Bindings {
    /// Nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// With a symbol's number.
    #[must_use]
    pub fn dim(mut self, symbol: impl Into<String>, value: u64) -> Self {
        self.dims.insert(symbol.into(), value);
        self
    }

    /// With a number for a symbol that nothing else settles: a name that the graph does not have is passed over.
    #[must_use]
    pub fn default_dim(mut self, symbol: impl Into<String>, value: u64) -> Self {
        self.default_dims.insert(symbol.into(), value);
        self
    }

    /// With a parameter's value.
    #[must_use]
    pub fn param(mut self, name: impl Into<String>, value: Value) -> Self {
        self.params = self.params.with(name, value);
        self
    }

    /// With the values of these parameters.
    #[must_use]
    pub fn params(mut self, params: Params) -> Self {
        self.params = params;
        self
    }

    /// With the number of bytes that are bound to a value.
    #[must_use]
    pub fn bytes(mut self, value: GraphValueId, bytes: u64) -> Self {
        self.bytes.insert(value, bytes);
        self
    }
}

/// Settles the sizes of a run.
///
/// A symbol that `bindings` does not give follows from the length of a value whose shape is a product in which it is
/// the only unknown. Values that nothing is bound to take the length that their shape comes to.
///
/// # Errors
/// If a symbol is left over, arithmetic fails, or a length is not what it should be; the error names both numbers.
pub fn solve(graph: &ProgramGraph, bindings: &Bindings) -> Result<Solved, SolveError> {
    let params = params(graph, &bindings.params)?;
    let mut solver = Solver::new(graph, &params, bindings)?;
    solver.given(&bindings.dims)?;
    solver.follow()?;
    solver.defaults(&bindings.default_dims)?;
    let dims = solver.all()?;
    let symbols = graph.dims().iter().zip(&dims).filter_map(|(dim, &value)| match dim {
        Dim::Symbol(name) => Some((name.clone(), value)),
        _ => None,
    });
    let solved = Solved { symbols: symbols.collect(), params, dims };
    lengths(graph, &solver, &solved)?;
    requirements(graph, &solved)?;
    limits(graph, &solved)?;
    Ok(solved)
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// The graph's parameters in declaration order.
fn params(graph: &ProgramGraph, given: &Params) -> Result<Vec<Value>, SolveError> {
    let known = |name: &str| graph.params().iter().any(|param| param.name == name);
    if let Some(name) = given.names().find(|name| !known(name)) {
        let known = list(graph.params().iter().map(|param| param.name.as_str()));
        return Err(SolveError::UnknownParam { name: name.to_owned(), known });
    }
    let value = |param: &GraphParam| match given.get(&param.name) {
        None => Err(SolveError::MissingParam { name: param.name.clone(), ty: param.ty }),
        Some(value) if value.ty() != param.ty => {
            Err(SolveError::ParamType { name: param.name.clone(), needs: param.ty, got: value.ty() })
        }
        Some(value) => Ok(value),
    };
    graph.params().iter().map(value).collect()
}
