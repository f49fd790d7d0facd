//! What planning knows of a graph: the quantities of its dimensions, and its values.

use std::collections::{BTreeMap, BTreeSet};

use vyre_foundation::graph::{Dim, DimId, GraphParamId, GraphValueId, ParamSource, ProgramGraph};
use vyre_spec::{DataType, Value};

use super::Facts;
use super::quantity::{Atom, Op, Quantities, Quantity};

/// What is known of a value.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) element: DataType,
    /// Its number of elements.
    pub(crate) length: Quantity,
    /// The same as a dimension of the graph.
    pub(crate) elements: DimId,
}

/// A graph's dimensions and values.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) quantities: Quantities,
    dims: Vec<Quantity>,
    values: Vec<Known>,
    /// The names of dimensions that are symbols, in the graph's order.
    names: Vec<Option<String>>,
    /// A dimension for each quantity that is one.
    dim_of: BTreeMap<Quantity, DimId>,
    /// The lengths of values.
    lengths: BTreeSet<Quantity>,
    /// Parameters that are promised.
    params: BTreeMap<GraphParamId, Value>,
}

impl Context {
    pub(crate) fn new(graph: &ProgramGraph, facts: &Facts) -> Self {
        let promised: BTreeMap<&str, Value> =
            facts.params.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        let params: BTreeMap<GraphParamId, Value> = (0..)
            .map(GraphParamId::new)
            .zip(graph.params())
            .filter_map(|(id, param)| Some((id, *promised.get(param.name.as_str())?)))
            .collect();
        let promised: BTreeMap<&str, u64> =
            facts.dims.iter().map(|(name, number)| (name.as_str(), *number)).collect();
        let mut quantities = Quantities::default();
        let mut dims: Vec<Quantity> = Vec::with_capacity(graph.dims().len());
        for (i, dim) in graph.dims().iter().enumerate() {
            let of = |id: DimId| dims.get(id.index()).cloned().unwrap_or_else(Quantity::one);
            let quantity = match *dim {
                Dim::Literal(n) => Quantity::literal(n),
                Dim::Symbol(ref name) => match promised.get(name.as_str()) {
                    Some(&n) => Quantity::literal(n),
                    None => quantities.atom(Atom::Symbol(DimId::new(i as u32))),
                },
                Dim::Param(id) => param(&mut quantities, &params, id),
                Dim::Mul(a, b) => quantities.product(&of(a), &of(b)),
                Dim::Add(a, b) => quantities.op(Op::Add, of(a), of(b)),
                Dim::Sub(a, b) => quantities.op(Op::Sub, of(a), of(b)),
                Dim::CeilDiv(a, b) => quantities.op(Op::CeilDiv, of(a), of(b)),
                Dim::Min(a, b) => quantities.op(Op::Min, of(a), of(b)),
                Dim::Max(a, b) => quantities.op(Op::Max, of(a), of(b)),
            };
            dims.push(quantity);
        }
        let mut dim_of = BTreeMap::new();
        for (i, quantity) in dims.iter().enumerate() {
            dim_of.entry(quantity.clone()).or_insert(DimId::new(i as u32));
        }
        let name = |dim: &Dim| match dim {
            Dim::Symbol(name) => Some(name.clone()),
            _ => None,
        };
        let names = graph.dims().iter().map(name).collect();
        let known = |id: GraphValueId| {
            let elements = graph.elements(id);
            let length = dims.get(elements.index()).cloned().unwrap_or_else(Quantity::one);
            Known { element: graph.value(id).element, length, elements }
        };
        let values: Vec<Known> = graph.value_ids().map(known).collect();
        let lengths = values.iter().map(|value| value.length.clone()).collect();
        Self { lengths, quantities, values, dims, names, dim_of, params }
    }

    /// What is known of a value of the graph.
    #[allow(clippy::indexing_slicing, reason = "the table is parallel to the graph's values")]
    pub(crate) fn value(&self, id: GraphValueId) -> &Known {
        &self.values[id.index()]
    }

    /// The quantity of a dimension of the graph.
    #[allow(clippy::indexing_slicing, reason = "the table is parallel to the graph's dimensions")]
    pub(crate) fn dim(&self, id: DimId) -> &Quantity {
        &self.dims[id.index()]
    }

    /// What a parameter that is a dimension of the graph is called.
    pub(crate) fn dim_name(&self, id: DimId) -> String {
        self.names.get(id.index()).cloned().flatten().unwrap_or_else(|| "dim".to_owned())
    }

    /// A dimension of the graph that is this quantity.
    pub(crate) fn dim_of(&self, quantity: &Quantity) -> Option<DimId> {
        self.dim_of.get(quantity).copied()
    }

    /// Whether the quantity is below 2^32 in every run: it is some value's length.
    pub(crate) fn is_length(&self, quantity: &Quantity) -> bool {
        match quantity.as_literal() {
            Some(n) => n <= u64::from(u32::MAX),
            None => self.lengths.contains(quantity),
        }
    }

    /// The constant that a parameter is, if it is one in every run.
    pub(crate) fn constant(&self, source: ParamSource, ty: DataType) -> Option<Value> {
        match source {
            ParamSource::Literal(value) => Some(value),
            ParamSource::Param(id) => self.params.get(&id).copied(),
            ParamSource::Dim(id) => {
                let n = self.dim(id).as_literal()?;
                let value = Value::from_bits(ty, n);
                (value.as_int() == Some(i128::from(n))).then_some(value)
            }
        }
    }

    /// The quantity that a parameter is; `None` if it is no natural number.
    pub(crate) fn param(&mut self, source: ParamSource, ty: DataType) -> Option<Quantity> {
        match source {
            ParamSource::Literal(value) => {
                value.as_int().and_then(|n| u64::try_from(n).ok()).map(Quantity::literal)
            }
            ParamSource::Dim(id) => Some(self.dim(id).clone()),
            // A negative one would be another number as a quantity.
            ParamSource::Param(id) if ty.is_int() && !ty.is_signed_int() => {
                Some(param(&mut self.quantities, &self.params, id))
            }
            ParamSource::Param(_) => None,
        }
    }
}

fn param(quantities: &mut Quantities, params: &BTreeMap<GraphParamId, Value>, id: GraphParamId) -> Quantity {
    let known = params.get(&id).and_then(|value| u64::try_from(value.as_int()?).ok());
    known.map_or_else(|| quantities.atom(Atom::Param(id)), Quantity::literal)
}
