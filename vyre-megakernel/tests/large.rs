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

/// `len` programs, each reading what the one before computed.
fn chain(program: &Checked<Program>, len: u32) -> ProgramGraph {
    let g = GraphBuilder::new("chain");
    let mut x = g.input::<u32>("x", [g.dim("n")]);
    for _ in 0..len {
        x = g.call(program, [x]).unwrap();
    }
    g.output("y", x);
    g.finish().unwrap()
}

#[test]
fn kernels_that_cannot_be_one_are_not_compared_each_with_each() {
    let plain = chain(&step(), 4000);
    assert_eq!(compiled(&plain, SearchBudget::none()).plan().kernels(), 4000);
    // Each may trap, so no two of them are one.
    let picky = Kernel::build("picky", |k| {
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| k.if_(x.load(i).eq(0u32), || k.trap(7, i)));
    });
    let chained = compiled(&chain(&picky.unwrap(), 2000), SearchBudget::default());
    assert_eq!(chained.plan().kernels(), 2000);
}

#[test]
fn long_programs_are_refused_before_much_is_done_for_each_of_their_accesses() {
    let long = Kernel::build("long", |k| {
        let x = k.read_write::<u32>("x");
        k.domain([1], |_| {
            for i in 0..100_000u32 {
                x.store(i % 64, x.load(i % 61) + i);
            }
        });
    });
    let g = GraphBuilder::new("long");
    let long = long.unwrap();
    let [x, y] = ["x", "y"].map(|name| g.input::<u32>(name, [g.dim("n")]));
    let once = g.call(&long, [x]).unwrap();
    g.output("twice", g.call(&long, [once]).unwrap());
    g.output("beside", g.call(&long, [y]).unwrap());
    assert_eq!(compiled(&g.finish().unwrap(), SearchBudget::default()).plan().kernels(), 3);
}
