//! What is bound, matched with the graph: by name or id, each once.

use std::collections::BTreeMap;

use vyre_driver::Resource;
use vyre_foundation::graph::{GraphValueId, ProgramGraph, Source};

use crate::bindings::{Bound, Key};
use crate::{BindingError, BindingSet};

/// What is bound to names and ids, and which of it was taken.
pub(super) struct Keyed<'k, Id, T> {
    bound: &'k [(Key<Id>, T)],
    names: BTreeMap<&'k str, usize>,
    ids: BTreeMap<Id, usize>,
    taken: Vec<bool>,
}

impl<'k, Id: Copy + Ord + std::fmt::Debug, T> Keyed<'k, Id, T> {
    /// Nothing of which is taken yet.
    ///
    /// # Errors
    /// If a name or id is bound twice.
    pub(super) fn new(bound: &'k [(Key<Id>, T)]) -> Result<Self, BindingError> {
        let (mut names, mut ids) = (BTreeMap::new(), BTreeMap::new());
        for (at, (key, _)) in bound.iter().enumerate() {
            let before = match key {
                Key::Name(name) => names.insert(name.as_str(), at),
                Key::Id(id) => ids.insert(*id, at),
            };
            if before.is_some() {
                return Err(BindingError::Twice(key.to_string()));
            }
        }
        Ok(Self { bound, names, ids, taken: vec![false; bound.len()] })
    }

    /// What is bound to a name.
    pub(super) fn named(&mut self, name: &str) -> Option<&'k T> {
        self.at(self.names.get(name).copied())
    }

    /// What is bound to an id.
    pub(super) fn with_id(&mut self, id: Id) -> Option<&'k T> {
        self.at(self.ids.get(&id).copied())
    }

    fn at(&mut self, at: Option<usize>) -> Option<&'k T> {
        let at = at?;
        if let Some(taken) = self.taken.get_mut(at) {
            *taken = true;
        }
        self.bound.get(at).map(|(_, bound)| bound)
    }

    /// Whether what is bound to a name was taken before.
    fn is_taken(&self, name: &str) -> bool {
        self.names.get(name).and_then(|&at| self.taken.get(at)).is_some_and(|taken| *taken)
    }

    /// What is bound to something of this name and id.
    ///
    /// # Errors
    /// If both are bound.
    pub(super) fn take(&mut self, name: &str, id: Id) -> Result<Option<&'k T>, BindingError> {
        match (self.named(name), self.with_id(id)) {
            (Some(_), Some(_)) => Err(BindingError::Twice(name.to_owned())),
            (by_name, by_id) => Ok(by_name.or(by_id)),
        }
    }

    /// The first name or id of which nothing was taken.
    pub(super) fn unknown(&self) -> Option<&'k Key<Id>> {
        let at = self.taken.iter().position(|taken| !taken)?;
        self.bound.get(at).map(|(key, _)| key)
    }
}

type Matched<'a> = (Vec<Option<&'a Bound<'a>>>, Vec<Option<Resource>>);

/// What is bound to each value, and to each output.
pub(super) fn matched<'a>(
    graph: &ProgramGraph,
    bindings: &'a BindingSet<'a>,
) -> Result<Matched<'a>, BindingError> {
    let mut given = Keyed::new(&bindings.values)?;
    let mut bound: Vec<Option<&Bound<'_>>> = vec![None; graph.values().len()];
    let is_given =
        |id: GraphValueId| matches!(graph.value(id).source, Source::Input | Source::Retained { .. });
    for (id, slot) in graph.value_ids().zip(&mut bound).filter(|(id, _)| is_given(*id)) {
        let value = graph.value(id);
        *slot = given.take(&value.name, id)?;
        match slot {
            Some(Bound::Host { element: Some(got), .. }) if *got != value.element => {
                let (name, needs, got) = (value.name.clone(), value.element, *got);
                return Err(BindingError::ElementType { name, needs, got });
            }
            _ => {}
        }
    }
    let mut residents: Vec<Option<Resource>> = vec![None; graph.outputs().len()];
    for (output, slot) in graph.outputs().iter().zip(&mut residents) {
        let is_input = given.is_taken(&output.name);
        // The id of a value that is given means that value alone, a name also an output of that name.
        let by_id = given.with_id(output.value).filter(|_| !is_given(output.value));
        let what = match (given.named(&output.name), by_id) {
            (Some(_), Some(_)) => return Err(BindingError::Twice(output.name.clone())),
            (by_name, by_id) => by_name.or(by_id),
        };
        match what {
            Some(Bound::Resident(resource)) => *slot = Some(*resource),
            Some(Bound::Host { .. }) if !is_input => {
                return Err(BindingError::OutputOnly(output.name.clone()));
            }
            Some(Bound::Host { .. }) | None => {}
        }
    }
    if let Some(key) = given.unknown() {
        let inputs = graph.value_ids().filter(|&id| is_given(id)).map(|id| graph.value(id).name.clone());
        let mut known: Vec<_> = inputs.collect();
        for output in graph.outputs() {
            if !known.contains(&output.name) {
                known.push(output.name.clone());
            }
        }
        return Err(BindingError::UnknownValue { key: key.to_string(), known });
    }
    Ok((bound, residents))
}
