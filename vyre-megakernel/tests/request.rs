//! Requests against profiles, options and facts.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here fails the test")]

use std::time::Duration;

use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::graph::{GraphBuilder, ProgramGraph};
use vyre_foundation::ir::Program;
use vyre_megakernel::{CompileError, CompileRequest, Facts, RequestError, SearchBudget, compile, samples};
use vyre_spec::{Capability, CapabilitySet, CompileOptions, DataType, DeviceProfile, Value};

fn three_buffers() -> Checked<Program> {
    Kernel::build("three", |k| {
        let x = k.read_only::<f32>("x");
        let y = k.read_write::<f32>("y").with_len(x.len());
        let z = k.write_only::<f32>("z", x.len());
        k.domain([y.len()], |[i]| {
            y.store(i, x.load(i) + y.load(i));
            z.store(i, x.load(i));
        });
    })
    .unwrap()
}

fn grouped(size: [u32; 3], shared: u32, subgroup: bool) -> Checked<Program> {
    Kernel::build("grouped", |k| {
        let out = k.read_write::<u32>("out");
        let tile = k.shared::<u32>("tile", shared);
        k.workgroups(size, [1, 1, 1], |group| {
            tile.store(group.local_index, group.local_index);
            let v = if subgroup { group.local_index.subgroup_add() } else { group.local_index };
            out.store(group.local_index, v);
        });
    })
    .unwrap()
}

fn scaled() -> ProgramGraph {
    let g = GraphBuilder::new("scaled");
    let scale = Kernel::build("scale", |k| {
        let by = k.param::<f32>("by");
        let x = k.read_write::<f32>("x");
        k.domain([x.len()], |[i]| x.store(i, x.load(i) * by));
    });
    let (n, by) = (g.dim("n"), g.param::<f32>("by"));
    let x = g.input::<f32>("x", [n]);
    let y = g.call(&scale.unwrap(), [by, x]).unwrap();
    g.output("y", y);
    g.finish().unwrap()
}

#[test]
fn requests_are_held_against_the_profile() {
    let profile = DeviceProfile {
        name: "small".into(),
        capabilities: CapabilitySet::EMPTY,
        subgroup_size: Some(32),
        max_workgroup_size: [128, 64, 8],
        max_workgroup_invocations: 256,
        max_shared_bytes: 1024,
        max_storage_bindings: 2,
        ..DeviceProfile::reference()
    };
    let refusal = |program: &Checked<Program>, profile: &DeviceProfile| {
        CompileRequest::new(program, profile).validate().unwrap_err()
    };
    let limit = |error: RequestError| match error {
        RequestError::Limit { value, limit, .. } => (value, limit),
        other => panic!("{other}"),
    };
    assert!(CompileRequest::new(&grouped([64, 4, 1], 256, false), &profile).validate().is_ok());
    assert_eq!(limit(refusal(&grouped([129, 1, 1], 4, false), &profile)), (129, 128));
    assert_eq!(limit(refusal(&grouped([64, 5, 1], 4, false), &profile)), (320, 256));
    // 257 elements of 4 bytes.
    assert_eq!(limit(refusal(&grouped([64, 1, 1], 257, false), &profile)), (1028, 1024));
    assert_eq!(limit(refusal(&three_buffers(), &profile)), (3, 2));
    let lanes = grouped([48, 1, 1], 64, true);
    assert!(matches!(
        refusal(&lanes, &profile),
        RequestError::Capability { capability: Capability::Subgroup, .. }
    ));
    let able = DeviceProfile { capabilities: CapabilitySet::EMPTY.with(Capability::Subgroup), ..profile };
    assert!(matches!(
        refusal(&lanes, &able),
        RequestError::PartialSubgroup { invocations: 48, lanes: 32, .. }
    ));
}

#[test]
fn every_program_of_a_graph_is_held_against_it() {
    let g = GraphBuilder::new("mixed");
    let out = g.input::<u32>("out", [64]);
    let small = g.call(&grouped([64, 1, 1], 64, false), [out]).unwrap();
    let large = g.call(&grouped([64, 1, 1], 4096, false), [small]).unwrap();
    g.output("out", large);
    let graph = g.finish().unwrap();
    let profile = DeviceProfile { max_shared_bytes: 4096, ..DeviceProfile::reference() };
    let refused = CompileRequest::graph(&graph, &profile).validate().unwrap_err();
    assert!(matches!(refused, RequestError::Limit { value: 16384, limit: 4096, .. }), "{refused}");
}

#[test]
fn options_that_cannot_be_honoured_are_refused() {
    let profile = DeviceProfile::reference();
    let refused = |program: &Checked<Program>, options| {
        let request = CompileRequest::new(program, &profile).with_options(options);
        matches!(request.validate(), Err(RequestError::Option { .. }))
    };
    let sized = |size| CompileOptions { workgroup_size: Some(size), ..CompileOptions::default() };
    assert!(refused(&grouped([64, 1, 1], 64, false), sized([32, 1, 1])));
    assert!(refused(&three_buffers(), sized([0, 1, 1])));
    assert!(!refused(&three_buffers(), sized([32, 1, 1])));
    assert!(refused(&three_buffers(), CompileOptions { fold_grid: true, ..CompileOptions::default() }));
    let contract = CompileOptions { launch_contract: true, ..CompileOptions::default() };
    assert!(refused(&three_buffers(), contract));
    assert!(refused(&three_buffers(), CompileOptions { windows: vec![1, 2], ..CompileOptions::default() }));
}

#[test]
fn facts_are_about_something_in_the_graph() {
    let graph = scaled();
    let with =
        |facts| CompileRequest::graph(&graph, &DeviceProfile::reference()).with_facts(facts).validate();
    assert!(with(Facts::new().with_dim("n", 8).with_param("by", Value::new(2.0f32))).is_ok());
    let unknown = with(Facts::new().with_dim("m", 8)).unwrap_err();
    assert_eq!(
        unknown,
        RequestError::UnknownFact { what: "dimension", name: "m".into(), known: vec!["n".into()] }
    );
    let unknown = with(Facts::new().with_param("n", Value::new(8u32))).unwrap_err();
    assert!(matches!(unknown, RequestError::UnknownFact { what: "parameter", .. }));
    let wrong = with(Facts::new().with_param("by", Value::new(2u32))).unwrap_err();
    assert!(matches!(wrong, RequestError::FactType { needs: DataType::F32, got: DataType::U32, .. }));
    let twice = Facts { dims: vec![("n".into(), 8), ("n".into(), 9)], params: Vec::new() };
    assert_eq!(with(twice).unwrap_err(), RequestError::FactTwice("n".into()));
}

#[test]
fn size_and_time_are_bounded() {
    let graph = samples::chain(8).unwrap();
    let request = || CompileRequest::graph(&graph, &DeviceProfile::reference());
    let size = compile(&request().validate().unwrap()).unwrap().bytes().len() as u64;
    assert!(compile(&request().with_size_limit(size).validate().unwrap()).is_ok());
    let refused = compile(&request().with_size_limit(size - 1).validate().unwrap()).unwrap_err();
    assert_eq!(refused, CompileError::SizeLimit { bytes: size, limit: size - 1 });
    let hasty = SearchBudget { time: Some(Duration::ZERO), ..SearchBudget::default() };
    let refused = compile(&request().with_budget(hasty).validate().unwrap()).unwrap_err();
    assert_eq!(refused, CompileError::BudgetExceeded { limit: Duration::ZERO });
    // Time changes nothing else.
    let patient = SearchBudget { time: Some(Duration::from_secs(3600)), ..SearchBudget::default() };
    let timed = compile(&request().with_budget(patient).validate().unwrap()).unwrap();
    assert_eq!(timed.id(), compile(&request().validate().unwrap()).unwrap().id());
}
