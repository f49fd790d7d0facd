//! Sessions on the reference backend.
#![allow(clippy::unwrap_used, reason = "helpers of tests; clippy exempts only the tests themselves")]

use std::sync::Arc;
use std::thread;

use vyre_driver::{
    BackendError, BackendRegistration, BufferRef, CommandList, REFERENCE_BACKEND_ID, Span,
    backend_registration,
};
use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_megakernel::{BindingError, BindingSet, CompileRequest, ValidRequest, compile};
use vyre_runtime::{ArtifactSession, SessionError};
use vyre_spec::{DataType, DeviceProfile, from_bytes, to_bytes};

fn reference() -> &'static BackendRegistration {
    backend_registration(REFERENCE_BACKEND_ID).unwrap()
}

fn request(program: &Checked<Program>) -> ValidRequest {
    CompileRequest::new(program, (reference().open)().unwrap().profile()).validate().unwrap()
}

fn session(program: &Checked<Program>) -> ArtifactSession {
    ArtifactSession::compile(reference(), &request(program)).unwrap()
}

/// Adds `x` to `y` and gives the sum's double.
fn accumulate() -> Checked<Program> {
    Kernel::build("accumulate", |k| {
        let x = k.read_only::<i32>("x");
        let y = k.read_write::<i32>("y").with_len(x.len());
        let twice = k.write_only::<i32>("twice", x.len());
        k.domain([x.len()], |[i]| {
            let sum = x.load(i) + y.load(i);
            y.store(i, sum);
            twice.store(i, sum * 2);
        });
    })
    .unwrap()
}

#[test]
fn outputs_come_back_by_name() {
    let bindings = BindingSet::new().values("y", &[10, 20]).values("x", &[1, -2]);
    let submission = session(&accumulate()).instance().submit(&bindings).unwrap();
    let outputs = submission.wait(None).unwrap();
    assert_eq!(outputs.names().collect::<Vec<_>>(), ["y", "twice"]);
    assert_eq!(outputs.values::<i32>("y").unwrap(), [11, 18]);
    assert_eq!(outputs.values::<i32>("twice").unwrap(), [22, 36]);
    assert_eq!(outputs.bytes("y").unwrap(), to_bytes(&[11, 18]));
    let unknown = outputs.values::<i32>("x").unwrap_err();
    assert!(matches!(&unknown, SessionError::UnknownOutput { known, .. } if *known == ["y", "twice"]));
    let wrong = outputs.values::<u32>("y").unwrap_err();
    assert!(matches!(wrong, SessionError::OutputType { has: DataType::I32, asked: DataType::U32, .. }));
}

#[test]
fn resident_buffers_carry_values_from_run_to_run() {
    let session = session(&accumulate());
    let backend = Arc::clone(session.backend());
    let y = backend.allocate(8).unwrap();
    for run in 1..=3 {
        let bindings = BindingSet::new().values("x", &[1, 5]).resident("y", y);
        let outputs = session.instance().submit(&bindings).unwrap().wait(None).unwrap();
        assert_eq!(outputs.names().collect::<Vec<_>>(), ["twice"]);
        assert_eq!(outputs.values::<i32>("twice").unwrap(), [2 * run, 10 * run]);
    }
    let mut list = CommandList::new();
    list.read(Span { buffer: BufferRef::Resident(y), offset: 0, len: 8 });
    let read = backend.submit(&list).unwrap().wait(None).unwrap();
    assert_eq!(from_bytes::<i32>(&read[0]).unwrap(), [3, 15]);
    backend.free(y).unwrap();
}

#[test]
fn artifacts_run_from_their_bytes() {
    let artifact = compile(&request(&accumulate())).unwrap();
    let session = ArtifactSession::from_bytes(reference(), artifact.bytes()).unwrap();
    assert_eq!(session.artifact().id(), artifact.id());
    let bindings = BindingSet::new().values("x", &[4]).values("y", &[3]);
    let outputs = session.instance().submit(&bindings).unwrap().wait(None).unwrap();
    assert_eq!(outputs.values::<i32>("twice").unwrap(), [14]);
    let cut = ArtifactSession::from_bytes(reference(), &artifact.bytes()[1..]);
    assert!(matches!(cut, Err(SessionError::Artifact(_))));
}

#[test]
fn another_devices_artifact_is_refused_before_anything_runs() {
    let elsewhere = DeviceProfile { name: "another device".into(), ..DeviceProfile::reference() };
    let request = CompileRequest::new(&accumulate(), &elsewhere).validate().unwrap();
    let refused = ArtifactSession::compile(reference(), &request).unwrap_err();
    assert!(matches!(&refused, SessionError::OtherDevice { backend, .. } if backend == REFERENCE_BACKEND_ID));
}

#[test]
fn faults_and_wrong_bindings_are_typed() {
    let picky = Kernel::build("picky", |k| {
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| {
            k.if_(x.load(i).eq(0), || k.trap(9, i));
        });
    })
    .unwrap();
    let session = session(&picky);
    let run = |values: &[u32]| {
        session.instance().submit(&BindingSet::new().values("x", values)).and_then(|run| run.wait(None))
    };
    assert!(run(&[1, 2]).is_ok());
    let fault = run(&[1, 2, 0]).unwrap_err();
    assert!(matches!(fault, SessionError::Backend(BackendError::Trap { code: 9, address: 2, .. })));
    let unbound = session.instance().submit(&BindingSet::new()).unwrap_err();
    assert!(matches!(unbound, SessionError::Binding(BindingError::Unbound { .. })));
}

#[test]
fn instances_of_one_session_run_on_many_threads() {
    let session = session(&accumulate());
    thread::scope(|scope| {
        for n in 0..8 {
            let instance = session.instance();
            scope.spawn(move || {
                let bindings = BindingSet::new().values("x", &[n]).values("y", &[100]);
                let outputs = instance.submit(&bindings).unwrap().wait(None).unwrap();
                assert_eq!(outputs.values::<i32>("y").unwrap(), [100 + n]);
            });
        }
    });
}
