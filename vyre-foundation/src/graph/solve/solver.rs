//! The search for the numbers of symbols.

use std::collections::BTreeMap;

use vyre_spec::Value;

use super::solved::operate;
use super::{Bindings, SolveError, Solved, list};
use crate::graph::{Dim, DimId, GraphValueId, ProgramGraph, Source};

/// What settled a symbol.
#[derive(Clone, Copy)]
enum Origin {
    Given,
    Value(GraphValueId),
}

pub(super) struct Solver<'a> {
    graph: &'a ProgramGraph,
    values: Vec<Option<u64>>,
    origins: BTreeMap<DimId, Origin>,
    /// The dimensions that read each one, then the bound values that have it as a factor.
    readers: Vec<Vec<Reader>>,
    /// Bound values: elements, and the factors of the shape.
    pub(super) bound: Vec<Bound>,
    /// Dimensions that have become known, to be told to their readers.
    news: Vec<DimId>,
}

#[derive(Clone, Copy)]
enum Reader {
    Dim(DimId),
    Bound(u32),
}

pub(super) struct Bound {
    pub(super) value: GraphValueId,
    pub(super) elements: u64,
    /// The factors, each with its power; empty if the shape has too many to tell a symbol by.
    factors: Vec<(DimId, u32)>,
    unknown: usize,
}

/// Factors of a shape, beyond which no symbol is found from it.
const MOST_FACTORS: usize = 64;

impl<'a> Solver<'a> {
    pub(super) fn new(
        graph: &'a ProgramGraph,
        params: &[Value],
        bindings: &Bindings,
    ) -> Result<Self, SolveError> {
        let count = graph.dims().len();
        let mut solver = Self {
            graph,
            values: vec![None; count],
            origins: BTreeMap::new(),
            readers: vec![Vec::new(); count],
            bound: Vec::new(),
            news: Vec::new(),
        };
        for (i, dim) in graph.dims().iter().enumerate() {
            let id = DimId::new(i as u32);
            for operand in dim.operands().into_iter().flatten() {
                solver.readers[operand.index()].push(Reader::Dim(id));
            }
            match *dim {
                Dim::Literal(n) => solver.settle(id, n),
                Dim::Param(param) => {
                    let value = params.get(param.index()).copied().unwrap_or(Value::new(0u32));
                    if value.as_int().is_some_and(|n| n < 0) {
                        let name = graph.param(param).name.clone();
                        let operation = format!("parameter `{name}` is negative");
                        return Err(SolveError::Arithmetic { what: "a dimension".into(), operation });
                    }
                    solver.settle(id, value.bits());
                }
                _ => {}
            }
        }
        for id in graph.value_ids() {
            let value = graph.value(id);
            let bytes = match &value.source {
                Source::Constant(bytes) => Some(bytes.len() as u64),
                Source::Node { .. } => None,
                Source::Input | Source::Retained { .. } => bindings.bytes.get(&id).copied(),
            };
            let Some(got) = bytes else { continue };
            let (element, size) = (value.element, value.element.size());
            if !got.is_multiple_of(u64::from(size)) {
                return Err(SolveError::PartialElement { value: value.name.clone(), got, element, size });
            }
            let factors = factors(graph.dims(), &value.shape);
            let position = solver.bound.len() as u32;
            for &(factor, _) in &factors {
                solver.readers[factor.index()].push(Reader::Bound(position));
            }
            let (elements, unknown) = (got / u64::from(size), factors.len());
            solver.bound.push(Bound { value: id, elements, factors, unknown });
        }
        Ok(solver)
    }

    fn settle(&mut self, id: DimId, value: u64) {
        let slot = &mut self.values[id.index()];
        if slot.is_none() {
            *slot = Some(value);
            self.news.push(id);
        }
    }

    /// The symbols that are given by name.
    pub(super) fn given(&mut self, given: &BTreeMap<String, u64>) -> Result<(), SolveError> {
        let graph = self.graph;
        let mut found = 0;
        let mut names = Vec::new();
        for (i, dim) in graph.dims().iter().enumerate() {
            let Dim::Symbol(name) = dim else { continue };
            names.push(name.as_str());
            if let Some(&value) = given.get(name) {
                let id = DimId::new(i as u32);
                found += 1;
                self.settle(id, value);
                self.origins.insert(id, Origin::Given);
            }
        }
        if found < given.len() {
            let name = given.keys().find(|name| !names.contains(&name.as_str())).cloned().unwrap_or_default();
            return Err(SolveError::UnknownDim { name, known: list(names.into_iter()) });
        }
        Ok(())
    }

    /// Lets what is known settle what follows from it.
    pub(super) fn follow(&mut self) -> Result<(), SolveError> {
        for at in 0..self.bound.len() {
            if self.bound[at].unknown == 1 {
                self.only_symbol(at)?;
            }
        }
        self.spread()
    }

    /// The symbols that are still unknown and have a default, in the graph's order.
    pub(super) fn defaults(&mut self, defaults: &BTreeMap<String, u64>) -> Result<(), SolveError> {
        let graph = self.graph;
        for (i, dim) in graph.dims().iter().enumerate().filter(|_| !defaults.is_empty()) {
            let Dim::Symbol(name) = dim else { continue };
            if let (None, Some(&value)) = (self.values[i], defaults.get(name)) {
                let id = DimId::new(i as u32);
                self.settle(id, value);
                self.origins.insert(id, Origin::Given);
                self.spread()?;
            }
        }
        Ok(())
    }

    /// Tells what has become known to those that read it.
    fn spread(&mut self) -> Result<(), SolveError> {
        while let Some(id) = self.news.pop() {
            for reader in std::mem::take(&mut self.readers[id.index()]) {
                match reader {
                    Reader::Dim(user) => {
                        // What fails is reported at last, when all that can be known is.
                        let known = |x: DimId| self.values[x.index()];
                        let Some((op, a, b)) = self.graph.dim(user).op() else { continue };
                        if let (Some(a), Some(b)) = (known(a), known(b)) {
                            if let Some(value) = (op.eval)(a, b) {
                                self.settle(user, value);
                            }
                        }
                    }
                    Reader::Bound(at) => {
                        self.bound[at as usize].unknown -= 1;
                        if self.bound[at as usize].unknown == 1 {
                            self.only_symbol(at as usize)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Settles the one unknown factor of a bound value's shape, if it is a symbol.
    fn only_symbol(&mut self, at: usize) -> Result<(), SolveError> {
        let bound = &self.bound[at];
        let mut rest = Some(1u64);
        let mut unknown = None;
        for &(factor, power) in &bound.factors {
            match self.values[factor.index()] {
                None => unknown = Some((factor, power)),
                Some(value) => {
                    rest = rest.and_then(|rest| Some(rest)?.checked_mul(value.checked_pow(power)?));
                }
            }
        }
        let Some((id, power)) = unknown else { return Ok(()) };
        let Dim::Symbol(symbol) = self.graph.dim(id) else { return Ok(()) };
        let found = match rest {
            // Any number gives no elements.
            Some(0) => return Ok(()),
            Some(rest) if bound.elements.is_multiple_of(rest) => root(bound.elements / rest, power),
            _ => None,
        };
        let Some(value) = found else {
            return Err(SolveError::Indivisible {
                value: self.graph.value(bound.value).name.clone(),
                shape: self.graph.shape_text(bound.value),
                got: bound.elements,
                symbol: symbol.clone(),
            });
        };
        let origin = Origin::Value(bound.value);
        self.origins.insert(id, origin);
        self.settle(id, value);
        Ok(())
    }

    /// Every dimension's number.
    pub(super) fn all(&self) -> Result<Vec<u64>, SolveError> {
        let mut values = Vec::with_capacity(self.values.len());
        for (i, dim) in self.graph.dims().iter().enumerate() {
            values.push(match (self.values[i], dim) {
                (Some(value), _) => value,
                (None, Dim::Symbol(symbol)) => return Err(SolveError::MissingDim { symbol: symbol.clone() }),
                (None, _) => operate(dim, &values).map_err(|operation| SolveError::Arithmetic {
                    what: reader(self.graph, DimId::new(i as u32)),
                    operation,
                })?,
            });
        }
        Ok(values)
    }

    /// The symbols of a shape and what settled them, for a message.
    pub(super) fn because(&self, value: GraphValueId, solved: &Solved) -> String {
        let factors = factors(self.graph.dims(), &self.graph.value(value).shape);
        let told = factors.iter().filter_map(|(id, _)| {
            let Dim::Symbol(name) = self.graph.dim(*id) else { return None };
            let from = match self.origins.get(id)? {
                Origin::Given => "as given".to_owned(),
                Origin::Value(value) => format!("from `{}`", self.graph.value(*value).name),
            };
            Some(format!("{name} = {} {from}", solved.dim(*id)))
        });
        let told: Vec<_> = told.collect();
        if told.is_empty() { String::new() } else { format!(" ({})", told.join(", ")) }
    }
}

/// The whole number whose power is `n`.
fn root(n: u64, power: u32) -> Option<u64> {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        match middle.checked_pow(power) {
            Some(value) if value <= n => low = middle,
            _ => high = middle - 1,
        }
    }
    (low.checked_pow(power) == Some(n)).then_some(low)
}

/// The factors of a shape that are no products themselves, each with its power; none if there are too many.
fn factors(dims: &[Dim], shape: &[DimId]) -> Vec<(DimId, u32)> {
    let mut found = BTreeMap::new();
    let mut stack = shape.to_vec();
    let mut steps = 0;
    while let Some(id) = stack.pop() {
        steps += 1;
        if steps > 2 * MOST_FACTORS {
            return Vec::new();
        }
        match dims.get(id.index()) {
            Some(&Dim::Mul(a, b)) => stack.extend([a, b]),
            _ => *found.entry(id).or_insert(0) += 1,
        }
    }
    found.into_iter().collect()
}

/// What a dimension is computed for: the first value or node that it goes into.
fn reader(graph: &ProgramGraph, dim: DimId) -> String {
    let mut goes_into = vec![false; graph.dims().len()];
    for (i, other) in graph.dims().iter().enumerate() {
        // Operands come before users.
        let through = other.operands().into_iter().flatten().any(|x| goes_into[x.index()]);
        goes_into[i] = i == dim.index() || through;
    }
    let value = graph.value_ids().find(|&id| goes_into[graph.elements(id).index()]);
    if let Some(id) = value {
        return format!("the length of value `{}`", graph.value(id).name);
    }
    let node = graph
        .node_ids()
        .find(|&id| graph.extents(id).into_iter().flatten().any(|dim| goes_into[dim.index()]));
    node.map_or_else(
        || "a dimension".to_owned(),
        |id| format!("the launch of node `{}`", graph.node(id).name),
    )
}
