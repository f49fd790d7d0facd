//! Graphs that would cost more than anybody has if planning grew with a power of their size.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here fails the test")]

use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::graph::{GraphBuilder, ProgramGraph};
use vyre_foundation::ir::Program;
use vyre_megakernel::{Artifact, CompileRequest, SearchBudget, compile};
use vyre_spec::DeviceProfile;

fn compiled(graph: &ProgramGraph, budget: SearchBudget) -> Artifact {
    let request = CompileRequest::graph(graph, &DeviceProfile::reference()).with_budget(budget);
    compile(&request.validate().unwrap()).unwrap()
}

/// `y = x + 1`.
fn step() -> Checked<Program> {
    Kernel::build("step", |k| {
        let x = k.read_only::<u32>("x");
        let y = k.write_only::<u32>("y", x.len());
        k.domain([x.len()], |[i]| y.store(i, x.load(i) + 1u32));
    })
    .unwrap()
}

#[test]
fn a_length_may_have_more_factors_than_memory_has_room_for() {
    let g = GraphBuilder::new("squares");
    let mut n = g.dim("n");
    for _ in 0..60 {
        n = n * n;
    }
    // It has 2^60 factors `n`; only a run with `n` = 0 or 1 has such a length.
    let x = g.input::<u32>("x", [n]);
    let once = g.call(&step(), [x]).unwrap();
    g.output("y", g.call(&step(), [once]).unwrap());
    let artifact = compiled(&g.finish().unwrap(), SearchBudget::default());
    assert_eq!(Artifact::from_bytes(artifact.bytes()).unwrap().id(), artifact.id());
}
