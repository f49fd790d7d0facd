//! A run whose bindings fit its artifact, with every dimension settled.

mod matched;

use std::collections::{BTreeMap, BTreeSet};

use vyre_driver::Resource;
use vyre_foundation::graph::{
    Bindings, DimId, GraphParamId, GraphValueId, ParamSource, Solved, Source, solve,
};
use vyre_spec::{DataType, Value};

use crate::bindings::Bound;
use crate::{Artifact, BindingError, BindingSet};
use matched::{Keyed, matched};

/// Device buffers that outlive a run, by the value that is in them: constants, and retained values. What is not here,
/// the run uploads.
pub type Held = BTreeMap<GraphValueId, Resource>;

/// A run that can be scheduled.
#[derive(Debug)]
pub struct Prepared<'a> {
    pub(crate) artifact: &'a Artifact,
    pub(crate) bindings: &'a BindingSet<'a>,
    /// What is bound to each value that a run may be given.
    pub(crate) bound: Vec<Option<&'a Bound<'a>>>,
    /// The caller's buffer for each output of the graph.
    pub(crate) residents: Vec<Option<Resource>>,
    solved: Solved,
}

impl<'a> Prepared<'a> {
    /// Matches bindings with an artifact: names and ids, types, lengths and facts. Lengths of what is `held` count as
    /// bound.
    ///
    /// # Errors
    /// The first that does not fit.
    pub fn new(
        artifact: &'a Artifact,
        bindings: &'a BindingSet<'a>,
        held: &Held,
    ) -> Result<Self, BindingError> {
        let graph = artifact.graph();
        let (bound, residents) = matched(graph, bindings)?;
        for (id, bound) in graph.value_ids().zip(&bound) {
            let value = graph.value(id);
            if bound.is_none() && value.source == Source::Input {
                return Err(BindingError::Unbound { name: value.name.clone(), element: value.element });
            }
        }
        let solved = settled(artifact, bindings, &bound, held)?;
        promised(artifact, &solved)?;
        if bindings.counts.is_some() {
            let kernels = artifact.plan().kernels();
            if kernels != 1 {
                return Err(BindingError::Counts { kernels });
            }
        }
        let prepared = Self { artifact, bindings, bound, residents, solved };
        for (output, resident) in graph.outputs().iter().zip(&prepared.residents) {
            let needs = prepared.bytes_of(output.value);
            match resident {
                Some(resource) if resource.len != needs => {
                    let (name, got) = (output.name.clone(), resource.len);
                    return Err(BindingError::ResidentLength { name, needs, got });
                }
                _ => {}
            }
        }
        Ok(prepared)
    }

    /// The bytes of a value of the artifact's graph in this run.
    pub fn bytes_of(&self, value: GraphValueId) -> u64 {
        self.solved.bytes(self.artifact.graph(), value)
    }

    /// Whether the run is given the value.
    pub fn binds(&self, value: GraphValueId) -> bool {
        self.bound.get(value.index()).is_some_and(Option::is_some)
    }

    /// The number that a dimension has.
    pub fn dim(&self, dim: DimId) -> u64 {
        self.solved.dim(dim)
    }

    /// A parameter of a program of type `ty`, named in an error as `name`.
    pub(crate) fn param(&self, source: ParamSource, ty: DataType, name: &str) -> Result<Value, BindingError> {
        match source {
            ParamSource::Dim(dim) if self.dim(dim) > largest(ty) => Err(BindingError::TooLarge {
                what: format!("parameter `{name}`, from a dimension,"),
                value: self.dim(dim),
                limit: largest(ty),
            }),
            source => Ok(self.solved.param(source, ty)),
        }
    }

    /// Workgroup counts.
    pub(crate) fn counts(&self, dims: [DimId; 3]) -> Result<[u32; 3], BindingError> {
        let mut counts = [0; 3];
        for (count, dim) in counts.iter_mut().zip(dims) {
            let value = self.dim(dim);
            *count = u32::try_from(value).map_err(|_| BindingError::TooLarge {
                what: "a number of workgroups".to_owned(),
                value,
                limit: u64::from(u32::MAX),
            })?;
        }
        Ok(counts)
    }
}

/// The largest value of an integer type.
fn largest(ty: DataType) -> u64 {
    let bits = if ty.is_signed_int() { ty.width() - 1 } else { ty.width() };
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// The sizes of the run: they follow from dimensions and parameters by name, and from the bytes of each value that are
/// there. What nothing else settles, facts do.
fn settled(
    artifact: &Artifact,
    bindings: &BindingSet<'_>,
    bound: &[Option<&Bound<'_>>],
    held: &Held,
) -> Result<Solved, BindingError> {
    let (graph, facts) = (artifact.graph(), artifact.facts());
    let mut sizes = Bindings::new();
    for (name, value) in &facts.dims {
        sizes = sizes.default_dim(name, *value);
    }
    let mut dims = BTreeSet::new();
    for (name, value) in &bindings.dims {
        if !dims.insert(name) {
            return Err(BindingError::Twice(name.clone()));
        }
        sizes = sizes.dim(name, *value);
    }
    let promised: BTreeMap<&str, Value> =
        facts.params.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let mut given = Keyed::new(&bindings.params)?;
    for (id, param) in (0..).map(GraphParamId::new).zip(graph.params()) {
        let value = given.take(&param.name, id)?.or(promised.get(param.name.as_str()));
        if let Some(value) = value {
            sizes = sizes.param(&param.name, *value);
        }
    }
    if let Some(key) = given.unknown() {
        let known = graph.params().iter().map(|param| param.name.clone()).collect();
        return Err(BindingError::UnknownParam { key: key.to_string(), known });
    }
    for (id, bound) in graph.value_ids().zip(bound) {
        let bytes = match (bound, &graph.value(id).source) {
            (Some(Bound::Host { bytes, .. }), _) => Some(bytes.len() as u64),
            (Some(Bound::Resident(resource)), _) => Some(resource.len),
            (None, Source::Retained { .. }) => held.get(&id).map(|resource| resource.len),
            (None, _) => None,
        };
        if let Some(bytes) = bytes {
            sizes = sizes.bytes(id, bytes);
        }
    }
    Ok(solve(graph, &sizes)?)
}

/// Whether the run keeps what the request promised.
fn promised(artifact: &Artifact, solved: &Solved) -> Result<(), BindingError> {
    for (name, promised) in &artifact.facts().dims {
        if let Some(got) = solved.symbol(name).filter(|got| got != promised) {
            let (name, promised, got) = (name.clone(), promised.to_string(), got.to_string());
            return Err(BindingError::Fact { name, promised, got });
        }
    }
    let declared = artifact.graph().params().iter().map(|param| param.name.as_str());
    let declared: BTreeMap<&str, Value> = declared.zip(solved.params().iter().copied()).collect();
    for (name, promised) in &artifact.facts().params {
        if let Some(got) = declared.get(name.as_str()).filter(|got| *got != promised) {
            let (name, promised, got) = (name.clone(), format!("{promised:?}"), format!("{got:?}"));
            return Err(BindingError::Fact { name, promised, got });
        }
    }
    Ok(())
}
