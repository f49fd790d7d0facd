//! Artifacts: their bytes, what tells them apart, and that no damaged or forged byte gets another one accepted.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here fails the test")]

use vyre_driver::{ReferenceBackend, VyreBackend};
use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::graph::{GraphBuilder, ProgramGraph, wire as graph_wire};
use vyre_foundation::ir::Program;
use vyre_foundation::wire;
use vyre_megakernel::fuse::Step;
use vyre_megakernel::{
    Artifact, ArtifactError, ArtifactId, BindingSet, CompileRequest, Facts, Held, Pipelines, ProfileDigest,
    SearchBudget, compile, schedule,
};
use vyre_spec::{CompileOptions, DataType, DeviceProfile, Value};

/// `x += by`, in place.
fn add() -> Checked<Program> {
    Kernel::build("add", |k| {
        let by = k.param::<u32>("by");
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| x.store(i, x.load(i) + by));
    })
    .unwrap()
}

/// A graph with one of everything that an artifact holds: a constant, a retained value, parameters of each source, a
/// copy, slots, workgroup counts.
fn graph() -> ProgramGraph {
    let counted = Kernel::build("counted", |k| {
        let x = k.read_only::<u32>("x");
        let sum = k.write_only::<u32>("sum", 1u64);
        k.workgroups([1, 1, 1], [1, 1, 1], |group| sum.store(group.id[0], x.load(0u32) + x.load(1u32)));
    })
    .unwrap();
    let g = GraphBuilder::new("everything");
    let (n, by) = (g.dim("n"), g.param::<u32>("by"));
    let x = g.input::<u32>("x", [n]);
    let seen = g.retained::<u32>("seen", [n]);
    let w = g.constant("w", &[3u32, 4]);
    let one = g.call(&add(), (by, x)).unwrap();
    let two = g.call(&add(), (n, x)).unwrap();
    let three = g.call(&add(), (7u32, one)).unwrap();
    let next = g.call(&add(), (1u32, seen)).unwrap();
    let sum = g.call(&counted, [three]).unwrap();
    g.update(seen, next);
    g.output("two", two);
    g.output("sum", sum);
    g.output("w", g.call(&add(), (by, w)).unwrap());
    g.finish().unwrap()
}

fn compiled(graph: &ProgramGraph, budget: SearchBudget) -> Artifact {
    let request = CompileRequest::graph(graph, &DeviceProfile::reference())
        .with_budget(budget)
        .with_facts(Facts::new().with_dim("n", 2).with_param("by", Value::new(5u32)));
    compile(&request.validate().unwrap()).unwrap()
}

fn forged(content: &[u8]) -> Vec<u8> {
    [content, &blake3::derive_key("vyre artifact", content)].concat()
}

#[test]
fn bytes_are_laid_out_as_documented() {
    let options = CompileOptions {
        optimize: false,
        workgroup_size: Some([64, 2, 1]),
        ulp_budget: 3,
        ..CompileOptions::default()
    };
    let profile = DeviceProfile::reference();
    let request = CompileRequest::new(&add(), &profile)
        .with_options(options.clone())
        .with_facts(Facts::new().with_param("by", Value::new(6u32)));
    let artifact = compile(&request.validate().unwrap()).unwrap();
    let le = |n: u32| n.to_le_bytes();
    let mut want = b"VYREART\0\x02\0\0\0".to_vec();
    want.extend(ProfileDigest::of(&profile).0);
    want.extend([0, 3, 0, 0, 0, 1, 64, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0]);
    // Facts: no dimension, one parameter.
    want.extend([le(0), le(1)].concat());
    want.extend(2u64.to_le_bytes());
    want.extend(b"by");
    want.push(DataType::U32.tag());
    want.extend(6u64.to_le_bytes());
    let graph = graph_wire::encode(artifact.graph());
    want.extend((graph.len() as u64).to_le_bytes());
    want.extend(graph);
    // One program.
    want.extend(le(1));
    let program = wire::encode(&add());
    want.extend((program.len() as u64).to_le_bytes());
    want.extend(program);
    // Two steps: `x` (value 0) is copied to where value 1 lives; program 0 changes that in place, with the graph's
    // parameter 0, no counts, for node 0.
    want.extend(le(2));
    want.push(1);
    want.extend([le(0), le(1)].concat());
    want.push(0);
    want.extend([le(0), le(1), le(0), le(1), le(1)].concat());
    want.push(1);
    want.extend(le(0));
    want.push(0);
    want.extend([le(1), le(0)].concat());
    // No slots; the places of the two values: bound, and memory of its own; no groups, nothing rejected.
    want.extend([le(0), le(2)].concat());
    want.push(1);
    want.extend(le(0));
    want.push(4);
    want.extend(le(0));
    want.extend([le(0), le(0)].concat());
    let (content, digest) = artifact.bytes().split_at(artifact.bytes().len() - 32);
    assert_eq!(content, want);
    assert_eq!(digest, artifact.id().as_bytes());
    let read = Artifact::from_bytes(artifact.bytes()).unwrap();
    assert_eq!((read.options(), read.id(), read.facts()), (&options, artifact.id(), artifact.facts()));
    assert_eq!((&*read.programs()[0], read.profile()), (&*add(), ProfileDigest::of(&profile)));
    assert_eq!(read.graph(), artifact.graph());
}

#[test]
fn what_is_read_is_what_was_compiled() {
    for budget in [SearchBudget::none(), SearchBudget::default()] {
        let artifact = compiled(&graph(), budget);
        let read = Artifact::from_bytes(artifact.bytes()).unwrap();
        assert_eq!(read.bytes(), artifact.bytes());
        assert_eq!(read.plan().steps, artifact.plan().steps);
        assert_eq!(read.plan().slots, artifact.plan().slots);
        assert_eq!(read.plan().places, artifact.plan().places);
        assert_eq!(read.plan().groups, artifact.plan().groups);
        assert_eq!(read.rejected(), artifact.rejected());
        assert_eq!(read.constants().count(), 1);
        assert_eq!(read.retained().count(), 1);
    }
    let plain = compiled(&graph(), SearchBudget::none());
    assert!(plain.plan().steps.iter().any(|step| matches!(step, Step::Copy { .. })));
}

#[test]
fn ids_tell_requests_apart() {
    let profile = DeviceProfile::reference();
    let request = |profile: &DeviceProfile| CompileRequest::graph(&graph(), profile);
    let id = |request: CompileRequest| -> ArtifactId { compile(&request.validate().unwrap()).unwrap().id() };
    let plain = CompileOptions { optimize: false, ..CompileOptions::default() };
    let ids = [
        id(request(&profile)),
        id(request(&profile).with_options(plain)),
        id(request(&DeviceProfile { driver: "next".into(), ..profile.clone() })),
        id(request(&profile).with_facts(Facts::new().with_dim("n", 2))),
        id(request(&profile).with_facts(Facts::new().with_dim("n", 4))),
        id(CompileRequest::new(&add(), &profile)),
    ];
    for (i, a) in ids.iter().enumerate() {
        assert!(ids.iter().skip(i + 1).all(|b| a != b), "{i}");
    }
    assert_eq!(ids[0], id(request(&profile)));
}

#[test]
fn damage_is_noticed() {
    let artifact = compiled(&graph(), SearchBudget::none());
    let good = artifact.bytes();
    for at in 0..good.len() {
        let mut flipped = good.to_vec();
        flipped[at] ^= 1 << (at % 8);
        assert!(Artifact::from_bytes(&flipped).is_err(), "a flip at {at}");
        assert!(Artifact::from_bytes(&good[..at]).is_err(), "cut at {at}");
        let mut longer = good.to_vec();
        longer.insert(at, good[at]);
        assert!(Artifact::from_bytes(&longer).is_err(), "a byte more at {at}");
    }
    assert_eq!(Artifact::from_bytes(b"").unwrap_err(), ArtifactError::NotAnArtifact);
    let mut newer = good.to_vec();
    newer[8] = 3;
    assert_eq!(Artifact::from_bytes(&newer).unwrap_err(), ArtifactError::Version { got: 3, known: 2 });
}

/// Runs an artifact of any origin on the reference backend, or is told why not.
fn try_run(artifact: &Artifact) {
    let backend = ReferenceBackend::new();
    let compile = |program| backend.compile_checked(program, artifact.options());
    let Ok(compiled) = artifact.programs().iter().map(compile).collect::<Result<Vec<_>, _>>() else { return };
    let pipelines = Pipelines::new(artifact, compiled).unwrap();
    let bindings = BindingSet::new().values("x", &[1u32, 2]).param("by", 5u32);
    let Ok(schedule) = schedule(artifact, &pipelines, &bindings, &Held::new()) else { return };
    if let Ok(work) = backend.submit(&schedule.list) {
        // A plan that holds gives each output, whatever is in it.
        let outputs = work.wait(None).unwrap();
        assert_eq!(outputs.len(), artifact.graph().outputs().len());
    }
}

#[test]
fn forged_bytes_are_refused_or_are_canonical() {
    // With the digest made to fit, what is accepted is in the form that compiling writes, and its plan holds.
    let artifact = compiled(&graph(), SearchBudget::none());
    let content = &artifact.bytes()[..artifact.bytes().len() - 32];
    let (mut accepted, mut refused) = (0, 0);
    let mut judge = |content: &[u8]| {
        let bytes = forged(content);
        match Artifact::from_bytes(&bytes) {
            Ok(read) => {
                accepted += 1;
                assert_eq!(read.bytes(), bytes);
                try_run(&read);
            }
            Err(error) => {
                refused += 1;
                assert!(!error.to_string().is_empty());
            }
        }
    };
    for at in 0..content.len() {
        for change in [0x01, 0x80, 0xFF] {
            let mut changed = content.to_vec();
            changed[at] ^= change;
            judge(&changed);
        }
        judge(&content[..at]);
        let mut longer = content.to_vec();
        longer.insert(at, content[at]);
        judge(&longer);
    }
    // Every change of the 32 bytes of the profile's digest, and of what options and facts may be, at least.
    assert!(accepted >= 96, "{accepted}");
    assert!(refused > 10 * accepted, "{refused}");
}

#[test]
fn counts_that_promise_more_than_there_is_allocate_nothing() {
    let artifact = compiled(&graph(), SearchBudget::none());
    let content = &artifact.bytes()[..artifact.bytes().len() - 32];
    for at in 0..content.len() - 4 {
        let mut huge = content.to_vec();
        huge[at..at + 4].copy_from_slice(&[0xFF, 0xFF, 0xFF, 0x7F]);
        // It ends, and at once.
        drop(Artifact::from_bytes(&forged(&huge)));
    }
}

#[test]
fn plans_that_would_go_wrong_are_refused() {
    let artifact = compiled(&graph(), SearchBudget::none());
    let content = &artifact.bytes()[..artifact.bytes().len() - 32];
    // Every id of the plan, made another of the same table: what stays accepted still has each value where it is read.
    let wire = graph_wire::encode(artifact.graph());
    let plan = content.windows(wire.len()).position(|window| window == wire).unwrap() + wire.len();
    let mut faults = std::collections::BTreeSet::new();
    for at in plan..content.len() {
        for id in 0..8 {
            let mut changed = content.to_vec();
            changed[at] = id;
            if let Err(ArtifactError::Plan(fault)) = Artifact::from_bytes(&forged(&changed)) {
                faults.insert(fault.what);
            }
        }
    }
    for what in [
        "it reads a value that is not in its memory then",
        "it changes a value in place that is not in that memory",
        "it computes a value for the second time",
        "it copies into a value that is bound or was computed",
        "its place is not one of its source",
        "it runs no program of the plan",
    ] {
        assert!(faults.contains(what), "{what} among {faults:?}");
    }
}

#[test]
fn files_of_version_1_are_refused_by_version() {
    let kept = include_bytes!("fixtures/artifact-v1.bin");
    assert_eq!(Artifact::from_bytes(kept).unwrap_err(), ArtifactError::Version { got: 1, known: 2 });
}

#[test]
fn files_of_this_version_are_read() {
    let artifact = compiled(&graph(), SearchBudget::none());
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/artifact-v2.bin");
    if std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1") {
        std::fs::write(path, artifact.bytes()).unwrap();
    }
    // As it was written once, whatever is compiled now.
    let kept = Artifact::from_bytes(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(*kept.graph(), graph());
    assert_eq!(kept.facts().dim("n"), Some(2));
    assert_eq!(kept.plan().kernels(), 6);
}
