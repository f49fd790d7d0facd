//! The sizes of a run: symbols from the lengths of what is bound, every dimension from those, and every length
//! checked.

use std::collections::BTreeMap;

use vyre_spec::{Axis, DataType, Value};

use super::{
    Dim, DimId, DimTable, GraphNodeId, GraphValueId, ParamSource, ProgramGraph, Requirement, SolveError,
    Source,
};
use crate::launch::Params;

/// What a run is given, as far as sizes depend on it.
#[derive(Clone, Debug, Default)]
pub struct Bindings {
    dims: BTreeMap<String, u64>,
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

/// The sizes and parameters of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solved {
    dims: Vec<u64>,
    params: Vec<Value>,
    symbols: BTreeMap<String, u64>,
}

impl Solved {
    /// The number that a dimension of the graph is.
    pub fn dim(&self, dim: DimId) -> u64 {
        self.dims.get(dim.index()).copied().unwrap_or(0)
    }

    /// The numbers of all dimensions of the graph.
    pub fn dims(&self) -> &[u64] {
        &self.dims
    }

    /// The number that a symbol is.
    pub fn symbol(&self, name: &str) -> Option<u64> {
        self.symbols.get(name).copied()
    }

    /// The graph's parameters, in declaration order.
    pub fn params(&self) -> &[Value] {
        &self.params
    }

    /// The elements of a value.
    pub fn elements(&self, graph: &ProgramGraph, value: GraphValueId) -> u64 {
        self.dim(graph.elements(value))
    }

    /// The bytes of a value.
    pub fn bytes(&self, graph: &ProgramGraph, value: GraphValueId) -> u64 {
        self.elements(graph, value) * u64::from(graph.value(value).element.size())
    }

    /// What a parameter of a program is, given its type there.
    pub fn param(&self, source: ParamSource, ty: DataType) -> Value {
        match source {
            ParamSource::Literal(value) => value,
            ParamSource::Param(id) => self.params.get(id.index()).copied().unwrap_or(Value::zero(ty)),
            ParamSource::Dim(dim) => Value::from_bits(ty, self.dim(dim)),
        }
    }

    /// The parameters of a node's program, by name.
    pub fn node_params(&self, graph: &ProgramGraph, node: GraphNodeId) -> Params {
        let declared = graph.program_of(node).params().iter();
        let given = declared.zip(&graph.node(node).params);
        given.map(|(param, &source)| (param.name.clone(), self.param(source, param.ty))).collect()
    }

    /// The workgroup counts that replace those of a node's program.
    pub fn node_counts(&self, graph: &ProgramGraph, node: GraphNodeId) -> Option<[u32; 3]> {
        // Solving checked that they fit.
        graph
            .node(node)
            .counts
            .map(|counts| counts.map(|dim| u32::try_from(self.dim(dim)).unwrap_or(u32::MAX)))
    }

    /// The numbers of a table's dimensions, which begins with those of the graph.
    ///
    /// # Errors
    /// If arithmetic fails, or the table has a symbol or parameter that the graph has not.
    pub fn extend(&self, table: &DimTable) -> Result<Vec<u64>, SolveError> {
        let mut dims = self.dims.clone();
        for dim in table.table().iter().skip(dims.len()) {
            let missing = || SolveError::MissingDim { symbol: format!("{dim:?}") };
            let value = match dim {
                Dim::Literal(n) => *n,
                Dim::Symbol(name) => self.symbol(name).ok_or_else(missing)?,
                Dim::Param(id) => self.params.get(id.index()).ok_or_else(missing)?.bits(),
                _ => operate(dim, &dims)
                    .map_err(|operation| SolveError::Arithmetic { what: "a dimension".into(), operation })?,
            };
            dims.push(value);
        }
        Ok(dims)
    }
}

/// The value of a dimension with operands, whose values are known.
fn operate(dim: &Dim, values: &[u64]) -> Result<u64, String> {
    let value = |id: DimId| values.get(id.index()).copied().unwrap_or(0);
    let Some((op, a, b)) = dim.op() else { return Ok(0) };
    let (a, b) = (value(a), value(b));
    (op.eval)(a, b).ok_or_else(|| format!("{a} {} {b} is outside 0 to 2^64 - 1", op.text))
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
    let value = |param: &super::GraphParam| match given.get(&param.name) {
        None => Err(SolveError::MissingParam { name: param.name.clone(), ty: param.ty }),
        Some(value) if value.ty() != param.ty => {
            Err(SolveError::ParamType { name: param.name.clone(), needs: param.ty, got: value.ty() })
        }
        Some(value) => Ok(value),
    };
    graph.params().iter().map(value).collect()
}

/// What settled a symbol.
#[derive(Clone, Copy)]
enum Origin {
    Given,
    Value(GraphValueId),
}

struct Solver<'a> {
    graph: &'a ProgramGraph,
    values: Vec<Option<u64>>,
    origins: BTreeMap<DimId, Origin>,
    /// The dimensions that read each one, then the bound values that have it as a factor.
    readers: Vec<Vec<Reader>>,
    /// Bound values: elements, and the factors of the shape.
    bound: Vec<Bound>,
    /// Dimensions that have become known, to be told to their readers.
    news: Vec<DimId>,
}

#[derive(Clone, Copy)]
enum Reader {
    Dim(DimId),
    Bound(u32),
}

struct Bound {
    value: GraphValueId,
    elements: u64,
    /// The factors, each with its power; empty if the shape has too many to tell a symbol by.
    factors: Vec<(DimId, u32)>,
    unknown: usize,
}

/// Factors of a shape, beyond which no symbol is found from it.
const MOST_FACTORS: usize = 64;

impl<'a> Solver<'a> {
    fn new(graph: &'a ProgramGraph, params: &[Value], bindings: &Bindings) -> Result<Self, SolveError> {
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
    fn given(&mut self, given: &BTreeMap<String, u64>) -> Result<(), SolveError> {
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
    fn follow(&mut self) -> Result<(), SolveError> {
        for at in 0..self.bound.len() {
            if self.bound[at].unknown == 1 {
                self.only_symbol(at)?;
            }
        }
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
    fn all(&self) -> Result<Vec<u64>, SolveError> {
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
    fn because(&self, value: GraphValueId, solved: &Solved) -> String {
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

/// Checks what is bound against its shapes.
fn lengths(graph: &ProgramGraph, solver: &Solver<'_>, solved: &Solved) -> Result<(), SolveError> {
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

fn requirements(graph: &ProgramGraph, solved: &Solved) -> Result<(), SolveError> {
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
fn limits(graph: &ProgramGraph, solved: &Solved) -> Result<(), SolveError> {
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
