//! An artifact session on the wgpu backend, through the facade.
#![cfg(feature = "wgpu")]

use vyre::driver::backend_registration;
use vyre::megakernel::{BindingSet, CompileRequest};
use vyre::prelude::*;
use vyre::runtime::{ArtifactSession, SessionError};
use vyre::wgpu::WGPU_BACKEND_ID;

#[test]
fn a_session_runs_on_the_device_and_its_artifact_nowhere_else() {
    let scale = Kernel::build("scale", |k| {
        let by = k.param::<f32>("by");
        let x = k.read_write::<f32>("x");
        k.domain([x.len()], |[i]| x.store(i, x.load(i) * by));
    })
    .unwrap();
    let registration = backend_registration(WGPU_BACKEND_ID).unwrap();
    let gpu = vyre::backend().unwrap();
    let request = CompileRequest::new(&scale, gpu.profile()).validate().unwrap();
    let session = ArtifactSession::compile(registration, &request).unwrap();

    let x = session.backend().allocate(8).unwrap();
    let host = BindingSet::new().values("x", &[1.5f32, -2.0]).param("by", 4.0f32);
    let resident = BindingSet::new().resident("x", x).param("by", 4.0f32);
    let instance = session.instance();
    let (first, second) = (instance.submit(&host).unwrap(), instance.submit(&resident).unwrap());
    assert_eq!(first.wait(None).unwrap().values::<f32>("x").unwrap(), [6.0, -8.0]);
    assert_eq!(second.wait(None).unwrap().names().count(), 0);
    session.backend().free(x).unwrap();

    let reference = backend_registration("reference").unwrap();
    let refused = ArtifactSession::from_bytes(reference, session.artifact().bytes()).unwrap_err();
    assert!(matches!(refused, SessionError::OtherDevice { .. }));
}
