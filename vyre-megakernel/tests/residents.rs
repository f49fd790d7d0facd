//! Random graphs whose inputs, retained values and outputs are in resident buffers, some of which are bound to several, and
//! some of whose retained values are held: what is read is what was there before the run, and each buffer gets what it was to
//! get.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here fails the test")]

use std::collections::BTreeMap;

use vyre_driver::{BufferRef, CommandList, ReferenceBackend, Resource, Span, VyreBackend};
use vyre_foundation::graph::{GraphValueId, Source};
use vyre_foundation::machine::MachineOptions;
use vyre_foundation::testing::{GeneratedGraph, GraphConfig, Rng, generate_graph};
use vyre_megakernel::{
    Artifact, BindingSet, CompileRequest, Held, Pipelines, SearchBudget, compile, schedule,
};

/// A buffer of the caller's: what is in it before the run, and what it is to get.
struct Buffer {
    resource: Resource,
    before: Vec<u8>,
    gets: Option<Vec<u8>>,
}

/// Whether the coin of one of so many sides shows the first.
fn one_of(rng: &mut Rng, sides: usize) -> bool {
    rng.usize(0..sides) == 0
}

/// Which buffer each value that is given is bound to, if to one. Values that share one get its bytes.
fn share(
    case: &mut GeneratedGraph,
    backend: &ReferenceBackend,
    rng: &mut Rng,
) -> (Vec<Buffer>, BTreeMap<GraphValueId, usize>) {
    let (mut buffers, mut bound): (Vec<Buffer>, _) = (Vec::new(), BTreeMap::new());
    for (name, bytes) in &mut case.inputs {
        if one_of(rng, 3) {
            continue;
        }
        let id = case.graph.value_named(name).unwrap();
        let known = buffers.iter().position(|buffer| buffer.before.len() == bytes.len());
        let at = known.filter(|_| !one_of(rng, 3)).unwrap_or_else(|| {
            let resource = backend.allocate(bytes.len() as u64).unwrap();
            backend.upload_resident(&resource, bytes).unwrap();
            buffers.push(Buffer { resource, before: bytes.clone(), gets: None });
            buffers.len() - 1
        });
        bytes.clone_from(&buffers[at].before);
        bound.insert(id, at);
    }
    (buffers, bound)
}

fn contents(backend: &ReferenceBackend, resource: Resource) -> Vec<u8> {
    let mut list = CommandList::new();
    list.read(Span { buffer: BufferRef::Resident(resource), offset: 0, len: resource.len });
    backend.submit(&list).unwrap().wait(None).unwrap().remove(0)
}

/// Runs an artifact of the case with random buffers; how many of them were bound to several values.
fn run(case: &GeneratedGraph, budget: SearchBudget, seed: u64) -> Option<usize> {
    let (mut case, mut rng) = (case.clone(), Rng::with_seed(seed));
    let backend = ReferenceBackend::new();
    let (mut buffers, bound) = share(&mut case, &backend, &mut rng);
    // Other bytes may make a program trap.
    let meant = case.evaluate(&MachineOptions::default()).ok()?;
    let graph = &case.graph;
    let mut several = bound.len() - buffers.len();

    let mut bindings = BindingSet::new();
    let mut held = Held::new();
    for (id, value) in graph.value_ids().zip(graph.values()) {
        let given = case.inputs.iter().find(|(name, _)| *name == value.name).map(|(_, bytes)| bytes);
        let next = meant.retained.iter().find(|(name, _)| *name == value.name);
        let mut is_there = false;
        if let Some((_, next)) = next.filter(|_| one_of(&mut rng, 2)) {
            // What is bound takes the place of what is held; what is not bound is there, or was never.
            is_there = !bound.contains_key(&id) && one_of(&mut rng, 2);
            let zeros = vec![0; next.len()];
            let before = given.filter(|_| is_there).unwrap_or(&zeros);
            let resource = backend.allocate(before.len() as u64).unwrap();
            backend.upload_resident(&resource, before).unwrap();
            held.insert(id, resource);
        }
        match (bound.get(&id), given) {
            (Some(&at), _) => bindings = bindings.resident(id, buffers[at].resource),
            (None, Some(bytes)) if !is_there => bindings = bindings.bytes(id, bytes),
            _ => {}
        }
    }
    // What is retained in a caller's buffer is updated there; two updates of one buffer are refused.
    for (id, value) in graph.value_ids().zip(graph.values()) {
        let at = bound.get(&id).filter(|_| !held.contains_key(&id));
        if let (Source::Retained { next: Some(_) }, Some(&at)) = (&value.source, at) {
            let next = meant.retained.iter().find(|(name, _)| *name == value.name).unwrap().1.clone();
            if buffers[at].gets.replace(next).is_some() {
                return None;
            }
        }
    }
    let mut read_back = Vec::new();
    for (output, bytes) in graph.outputs().iter().zip(&meant.outputs) {
        let is_input = graph.value_named(&output.name).is_some();
        if is_input || one_of(&mut rng, 3) {
            read_back.push((output.name.clone(), bytes.clone()));
            continue;
        }
        let fits = |buffer: &Buffer| buffer.before.len() == bytes.len() && buffer.gets.is_none();
        let known = buffers.iter().position(fits).filter(|_| !one_of(&mut rng, 4));
        several += usize::from(known.is_some());
        let at = known.unwrap_or_else(|| {
            let resource = backend.allocate(bytes.len() as u64).unwrap();
            buffers.push(Buffer { resource, before: vec![0; bytes.len()], gets: None });
            buffers.len() - 1
        });
        buffers[at].gets = Some(bytes.clone());
        bindings = bindings.resident(output.name.as_str(), buffers[at].resource);
    }
    for param in graph.params() {
        bindings = bindings.param_value(param.name.as_str(), case.params.get(&param.name).unwrap());
    }
    for (name, number) in &case.dims {
        bindings = bindings.dim(name, *number);
    }

    let request = CompileRequest::graph(graph, backend.profile()).with_budget(budget);
    let artifact: Artifact = compile(&request.validate().unwrap()).unwrap();
    let compile = |p| backend.compile_checked(p, artifact.options()).unwrap();
    let pipelines = Pipelines::new(&artifact, artifact.programs().iter().map(compile).collect()).unwrap();
    let schedule = schedule(&artifact, &pipelines, &bindings, &held).unwrap();
    let outputs = backend.submit(&schedule.list).unwrap().wait(None).unwrap();
    let names = schedule.reads.iter().map(|read| read.name.clone());
    let seed = format!("seed {}, {seed}", case.seed);
    assert!(names.zip(outputs).eq(read_back), "{seed}");
    for (at, buffer) in buffers.iter().enumerate() {
        let want = buffer.gets.as_ref().unwrap_or(&buffer.before);
        assert!(contents(&backend, buffer.resource) == *want, "{seed}: buffer {at}");
    }
    for (&id, &resource) in &held {
        let next = meant.retained.iter().find(|(name, _)| *name == graph.value(id).name);
        assert!(contents(&backend, resource) == next.unwrap().1, "{seed}: held {id:?}");
    }
    Some(several)
}

#[test]
fn buffers_of_several_values_are_read_before_and_written_once() {
    let config = GraphConfig { max_nodes: 24, max_elements: 16, ..GraphConfig::default() };
    let (mut runs, mut several) = (0, 0);
    for seed in 0..200 {
        let case = generate_graph(seed, &config);
        for budget in [SearchBudget::none(), SearchBudget::default()] {
            for draw in 0..3 {
                if let Some(found) = run(&case, budget, 1000 * seed + draw) {
                    runs += 1;
                    several += found;
                }
            }
        }
    }
    assert!(runs > 1000 && several > 1000, "{runs} runs, {several} shared buffers");
}
