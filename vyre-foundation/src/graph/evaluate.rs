//! Graphs on the reference machine: what a graph means, executably.

use std::borrow::Cow;
use std::collections::BTreeMap;

use vyre_spec::Value;

use super::{Bindings, GraphValueId, Lifetime, ProgramGraph, SolveError, Solved, Source, solve};
use crate::launch::Params;
use crate::machine::{MachineError, MachineOptions, TrapRecord, run};

/// What a run of a graph is given.
#[derive(Clone, Debug, Default)]
pub struct Inputs<'a> {
    values: BTreeMap<String, &'a [u8]>,
    params: Params,
    dims: Vec<(String, u64)>,
}

impl<'a> Inputs<'a> {
    /// Nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// With the bytes of an input or retained value.
    #[must_use]
    pub fn value(mut self, name: impl Into<String>, bytes: &'a [u8]) -> Self {
        self.values.insert(name.into(), bytes);
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

    /// With a symbol's number.
    #[must_use]
    pub fn dim(mut self, symbol: impl Into<String>, value: u64) -> Self {
        self.dims.push((symbol.into(), value));
        self
    }
}

/// What a run of a graph gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluation {
    /// The bytes of each output, in declaration order.
    pub outputs: Vec<Vec<u8>>,
    /// What the next run finds: the bytes of each retained value, by name, in declaration order.
    pub retained: Vec<(String, Vec<u8>)>,
    /// With [`MachineOptions::watch_subnormals`], whether a float op took or gave a subnormal: then a device
    /// may rightly give another result.
    pub subnormals: bool,
}

/// Why a graph could not be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluateError {
    /// Sizes cannot be settled, or parameters are wrong.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// An input is bound to nothing.
    #[error("value `{name}` is bound to nothing: pass bytes of {ty}")]
    MissingValue {
        /// Its name.
        name: String,
        /// Its type.
        ty: String,
    },
    /// Bytes were passed for a value that takes none.
    #[error("the graph takes no bytes for `{name}`; it does for: {known}")]
    UnknownValue {
        /// The name.
        name: String,
        /// Inputs and retained values.
        known: String,
    },
    /// A node's program could not be run.
    #[error("node `{node}`: {source}")]
    Node {
        /// The node.
        node: String,
        /// Why.
        source: MachineError,
    },
    /// A node's program recorded a fault.
    #[error("node `{node}`: invocation {} trapped with code {} and address {}", trap.invocation, trap.code, trap.address)]
    Trap {
        /// The node.
        node: String,
        /// The fault.
        trap: TrapRecord,
    },
    /// Retained values would take too much memory.
    #[error("retained value `{value}` takes {bytes} bytes, above the limit of {limit}: raise `memory_limit`")]
    Memory {
        /// The value.
        value: String,
        /// Its bytes.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
}

/// Runs a graph, node by node in its order.
///
/// # Errors
/// If what is given does not fit the graph, a node cannot be run, or one traps.
pub fn evaluate(
    graph: &ProgramGraph,
    inputs: &Inputs<'_>,
    options: &MachineOptions,
) -> Result<Evaluation, EvaluateError> {
    let mut values = bind(graph, inputs)?;
    let mut bindings = Bindings::new().params(inputs.params.clone());
    for (id, bytes) in graph.value_ids().zip(&values) {
        if let Some(bytes) = bytes {
            bindings = bindings.bytes(id, bytes.len() as u64);
        }
    }
    for (symbol, value) in &inputs.dims {
        bindings = bindings.dim(symbol, *value);
    }
    let solved = solve(graph, &bindings)?;
    zeros(graph, &solved, options.memory_limit, &mut values)?;
    let mut subnormals = false;
    let mut left = readers(graph);
    for (id, node) in graph.node_ids().zip(graph.nodes()) {
        let bound: Vec<&[u8]> =
            node.inputs.iter().map(|input| values[input.index()].as_deref().unwrap_or_default()).collect();
        let options = MachineOptions { counts: solved.node_counts(graph, id), ..options.clone() };
        let outcome = run(graph.program_of(id), &solved.node_params(graph, id), &bound, &options)
            .map_err(|source| EvaluateError::Node { node: node.name.clone(), source })?;
        if let Some(trap) = outcome.trap {
            return Err(EvaluateError::Trap { node: node.name.clone(), trap });
        }
        subnormals |= outcome.subnormals;
        for (output, bytes) in node.outputs.iter().zip(outcome.outputs) {
            values[output.index()] = Some(Cow::Owned(bytes));
        }
        // What nobody reads any more takes no memory.
        for input in &node.inputs {
            left[input.index()] -= 1;
        }
        for value in node.inputs.iter().chain(&node.outputs) {
            if left[value.index()] == 0 {
                values[value.index()] = None;
            }
        }
    }
    let bytes = |id: GraphValueId| values[id.index()].as_deref().unwrap_or_default().to_vec();
    let outputs = graph.outputs().iter().map(|output| bytes(output.value)).collect();
    let retained = graph.value_ids().filter_map(|id| match graph.value(id).source {
        Source::Retained { next } => Some((graph.value(id).name.clone(), bytes(next.unwrap_or(id)))),
        _ => None,
    });
    Ok(Evaluation { outputs, retained: retained.collect(), subnormals })
}

/// The bytes of each value that has some before the run.
fn bind<'a>(
    graph: &'a ProgramGraph,
    inputs: &Inputs<'a>,
) -> Result<Vec<Option<Cow<'a, [u8]>>>, EvaluateError> {
    let takes = |lifetime: Lifetime| matches!(lifetime, Lifetime::Invocation | Lifetime::Retained);
    let mut values = Vec::with_capacity(graph.values().len());
    let mut found = 0;
    for id in graph.value_ids() {
        let value = graph.value(id);
        let given = inputs.values.get(&value.name).filter(|_| takes(value.lifetime()));
        found += usize::from(given.is_some());
        values.push(match (&value.source, given) {
            (Source::Constant(bytes), _) => Some(Cow::Borrowed(&**bytes)),
            (Source::Input, None) => {
                return Err(EvaluateError::MissingValue {
                    name: value.name.clone(),
                    ty: graph.type_text(id),
                });
            }
            (_, given) => given.map(|bytes| Cow::Borrowed(*bytes)),
        });
    }
    if found < inputs.values.len() {
        let known: Vec<_> =
            graph.values().iter().filter(|value| takes(value.lifetime())).map(|v| v.name.as_str()).collect();
        let name = inputs.values.keys().find(|name| !known.contains(&name.as_str())).cloned();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        return Err(EvaluateError::UnknownValue { name: name.unwrap_or_default(), known });
    }
    Ok(values)
}

/// Gives retained values that nothing is bound to their first elements.
fn zeros(
    graph: &ProgramGraph,
    solved: &Solved,
    limit: u64,
    values: &mut [Option<Cow<'_, [u8]>>],
) -> Result<(), EvaluateError> {
    let mut taken = 0u64;
    for id in graph.value_ids() {
        let (value, slot) = (graph.value(id), &mut values[id.index()]);
        if value.lifetime() == Lifetime::Retained && slot.is_none() {
            let bytes = solved.bytes(graph, id);
            taken = taken.saturating_add(bytes);
            if taken > limit {
                return Err(EvaluateError::Memory { value: value.name.clone(), bytes, limit });
            }
            *slot = Some(Cow::Owned(vec![0; bytes as usize]));
        }
    }
    Ok(())
}

/// How often each value is read, in the run or after it.
fn readers(graph: &ProgramGraph) -> Vec<usize> {
    let mut left = vec![0; graph.values().len()];
    for value in graph.nodes().iter().flat_map(|node| &node.inputs) {
        left[value.index()] += 1;
    }
    for output in graph.outputs() {
        left[output.value.index()] += 1;
    }
    for id in graph.value_ids() {
        if let Source::Retained { next } = graph.value(id).source {
            left[next.unwrap_or(id).index()] += 1;
        }
    }
    left
}
