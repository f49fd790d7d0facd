//! A run whose bindings fit its artifact, with every dimension settled.

use std::collections::BTreeMap;

use vyre_driver::Resource;
use vyre_foundation::graph::{
    Bindings, DimId, GraphValueId, ParamSource, ProgramGraph, SolveError, Solved, Source, solve,
};
use vyre_spec::{DataType, Value};

use crate::bindings::{Bound, Key};
use crate::{Artifact, BindingError, BindingSet};

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
        let solved = settled(artifact, sizes(graph, bindings, &bound, held)?)?;
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

type Matched<'a> = (Vec<Option<&'a Bound<'a>>>, Vec<Option<Resource>>);

/// What is bound to each value, and to each output.
fn matched<'a>(graph: &ProgramGraph, bindings: &'a BindingSet<'a>) -> Result<Matched<'a>, BindingError> {
    let mut bound: Vec<Option<&Bound<'_>>> = vec![None; graph.values().len()];
    let mut residents: Vec<Option<Resource>> = vec![None; graph.outputs().len()];
    let given = |id: GraphValueId| matches!(graph.value(id).source, Source::Input | Source::Retained { .. });
    for (key, what) in &bindings.values {
        let input = match key {
            Key::Id(id) => Some(*id).filter(|id| id.index() < graph.values().len() && given(*id)),
            Key::Name(name) => graph.value_named(name).filter(|&id| given(id)),
        };
        let mut is_known = input.is_some();
        if let Some((id, slot)) = input.and_then(|id| Some((id, bound.get_mut(id.index())?))) {
            fits(graph, id, what)?;
            if slot.is_some() {
                return Err(BindingError::Twice(graph.value(id).name.clone()));
            }
            *slot = Some(what);
        }
        let named = graph.outputs().iter().zip(&mut residents).filter(|(output, _)| match key {
            Key::Id(id) => input.is_none() && output.value == *id,
            Key::Name(name) => output.name == *name,
        });
        for (output, slot) in named {
            is_known = true;
            match what {
                Bound::Resident(resource) => {
                    if slot.is_some() {
                        return Err(BindingError::Twice(output.name.clone()));
                    }
                    *slot = Some(*resource);
                }
                Bound::Host { .. } if input.is_none() => {
                    return Err(BindingError::OutputOnly(output.name.clone()));
                }
                Bound::Host { .. } => {}
            }
        }
        if !is_known {
            let inputs = graph.value_ids().filter(|&id| given(id)).map(|id| graph.value(id).name.clone());
            let mut known: Vec<_> = inputs.collect();
            for output in graph.outputs() {
                if !known.contains(&output.name) {
                    known.push(output.name.clone());
                }
            }
            return Err(BindingError::UnknownValue { key: key.to_string(), known });
        }
    }
    Ok((bound, residents))
}

fn fits(graph: &ProgramGraph, id: GraphValueId, bound: &Bound<'_>) -> Result<(), BindingError> {
    let value = graph.value(id);
    match bound {
        Bound::Host { element: Some(got), .. } if *got != value.element => {
            Err(BindingError::ElementType { name: value.name.clone(), needs: value.element, got: *got })
        }
        _ => Ok(()),
    }
}

/// What sizes depend on: dimensions and parameters by name, and the bytes of each value that are there.
fn sizes(
    graph: &ProgramGraph,
    bindings: &BindingSet<'_>,
    bound: &[Option<&Bound<'_>>],
    held: &Held,
) -> Result<Bindings, BindingError> {
    let mut sizes = Bindings::new();
    let mut seen = Vec::new();
    for (name, value) in &bindings.dims {
        once(&mut seen, name)?;
        sizes = sizes.dim(name, *value);
    }
    for (key, value) in &bindings.params {
        let mut declared = graph.params().iter().enumerate();
        let param = declared.find(|(position, param)| match key {
            Key::Name(name) => param.name == *name,
            Key::Id(id) => id.index() == *position,
        });
        let Some((_, param)) = param else {
            let known = graph.params().iter().map(|param| param.name.clone()).collect();
            return Err(BindingError::UnknownParam { key: key.to_string(), known });
        };
        // Names of dimensions and parameters are apart.
        once(&mut seen, &param.name)?;
        sizes = sizes.param(&param.name, *value);
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
    Ok(sizes)
}

/// The sizes of the run. What nothing else settles, facts do.
fn settled(artifact: &Artifact, mut sizes: Bindings) -> Result<Solved, BindingError> {
    let (graph, facts) = (artifact.graph(), artifact.facts());
    loop {
        sizes = match solve(graph, &sizes) {
            Ok(solved) => return Ok(solved),
            // Each of these is missing once.
            Err(SolveError::MissingDim { symbol }) => match facts.dim(&symbol) {
                Some(value) => sizes.dim(symbol, value),
                None => return Err(SolveError::MissingDim { symbol }.into()),
            },
            Err(SolveError::MissingParam { name, ty }) => match facts.param(&name) {
                Some(value) => sizes.param(name, value),
                None => return Err(SolveError::MissingParam { name, ty }.into()),
            },
            Err(error) => return Err(error.into()),
        };
    }
}

/// Whether the run keeps what the request promised.
fn promised(artifact: &Artifact, solved: &Solved) -> Result<(), BindingError> {
    for (name, promised) in &artifact.facts().dims {
        if let Some(got) = solved.symbol(name).filter(|got| got != promised) {
            let (name, promised, got) = (name.clone(), promised.to_string(), got.to_string());
            return Err(BindingError::Fact { name, promised, got });
        }
    }
    let declared = artifact.graph().params().iter().zip(solved.params());
    for (param, got) in declared {
        if let Some(promised) = artifact.facts().param(&param.name).filter(|promised| promised != got) {
            let (name, promised, got) = (param.name.clone(), format!("{promised:?}"), format!("{got:?}"));
            return Err(BindingError::Fact { name, promised, got });
        }
    }
    Ok(())
}

fn once<'n>(seen: &mut Vec<&'n str>, name: &'n str) -> Result<(), BindingError> {
    if seen.contains(&name) {
        return Err(BindingError::Twice(name.to_owned()));
    }
    seen.push(name);
    Ok(())
}
