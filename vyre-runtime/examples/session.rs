//! A session on the reference backend: one artifact, two runs, a buffer that stays on the device between them.
use vyre_driver::{REFERENCE_BACKEND_ID, backend_registration};
use vyre_foundation::build::Kernel;
use vyre_megakernel::{BindingSet, CompileRequest};
use vyre_runtime::ArtifactSession;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let accumulate = Kernel::build("accumulate", |k| {
        let x = k.read_only::<u32>("x");
        let sum = k.read_write::<u32>("sum").with_len(x.len());
        let seen = k.write_only::<u32>("seen", x.len());
        k.domain([x.len()], |[i]| {
            let total = sum.load(i) + x.load(i);
            sum.store(i, total);
            seen.store(i, total);
        });
    })?;
    // With `use vyre_driver_wgpu as _;` and WGPU_BACKEND_ID, the same runs on a GPU.
    let registration = backend_registration(REFERENCE_BACKEND_ID)?;
    let request = CompileRequest::new(&accumulate, (registration.open)()?.profile()).validate()?;
    let session = ArtifactSession::compile(registration, &request)?;
    println!("artifact {}", session.artifact().id());

    let sum = session.backend().allocate(12)?;
    for x in [[1u32, 2, 3], [10, 20, 30]] {
        let bindings = BindingSet::new().values("x", &x).resident("sum", sum);
        let outputs = session.instance().submit(&bindings)?.wait(None)?;
        println!("{:?}", outputs.values::<u32>("seen")?);
    }
    session.backend().free(sum)?;
    Ok(())
}
