//! A graph of two programs in a session on the reference backend: one artifact, three runs, a total that is retained.
use vyre_driver::{REFERENCE_BACKEND_ID, backend_registration};
use vyre_foundation::build::Kernel;
use vyre_foundation::graph::GraphBuilder;
use vyre_megakernel::{BindingSet, CompileRequest};
use vyre_runtime::ArtifactSession;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let square = Kernel::build("square", |k| {
        let x = k.read_only::<u32>("x");
        let y = k.write_only::<u32>("y", x.len());
        k.domain([x.len()], |[i]| y.store(i, x.load(i) * x.load(i)));
    })?;
    let add = Kernel::build("add", |k| {
        let x = k.read_only::<u32>("x");
        let sum = k.read_write::<u32>("sum").with_len(x.len());
        k.domain([x.len()], |[i]| sum.store(i, sum.load(i) + x.load(i)));
    })?;
    let g = GraphBuilder::new("sum_of_squares");
    let n = g.dim("n");
    let x = g.input::<u32>("x", [n]);
    let total = g.retained::<u32>("total", [n]);
    let next = g.call(&add, [g.call(&square, [x])?, total])?;
    g.update(total, next);
    g.output("sum", next);
    let graph = g.finish()?;

    // With `use vyre_driver_wgpu as _;` and WGPU_BACKEND_ID, the same runs on a GPU.
    let registration = backend_registration(REFERENCE_BACKEND_ID)?;
    let profile = (registration.open)()?.profile().clone();
    let request = CompileRequest::graph(&graph, &profile).validate()?;
    let session = ArtifactSession::compile(registration, &request)?;
    println!("artifact {}", session.artifact().id());

    let instance = session.instance();
    for x in [[1u32, 2, 3], [10, 20, 30], [0, 0, 1]] {
        let outputs = instance.submit(&BindingSet::new().values("x", &x))?.wait(None)?;
        println!("{:?}", outputs.values::<u32>("sum")?);
    }
    println!("retained {:?}", instance.retained()?.values::<u32>("total")?);
    Ok(())
}
