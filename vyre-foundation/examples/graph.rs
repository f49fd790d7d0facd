//! A running mean as a graph of two programs: built by calls, printed, and run twice on the reference machine.
use std::error::Error;

use vyre_foundation::build::Kernel;
use vyre_foundation::graph::{GraphBuilder, Inputs, evaluate};
use vyre_foundation::machine::MachineOptions;
use vyre_foundation::text::{parse_graph, print_graph};
use vyre_spec::{from_bytes, to_bytes};

fn main() -> Result<(), Box<dyn Error>> {
    let add = Kernel::build("add", |k| {
        let x = k.read_only::<f32>("x");
        let total = k.read_write::<f32>("total").with_len(x.len());
        k.domain([x.len()], |[i]| total.store(i, total.load(i) + x.load(i)));
    })?;
    let mean = Kernel::build("mean", |k| {
        let runs = k.read_only::<f32>("runs");
        let total = k.read_only::<f32>("total");
        let out = k.write_only::<f32>("out", total.len());
        k.domain([total.len()], |[i]| out.store(i, total.load(i) / runs.load(0)));
    })?;

    let g = GraphBuilder::new("running_mean");
    let n = g.dim("n");
    let x = g.input::<f32>("x", [n]);
    let one = g.constant("one", &[1.0f32]);
    let (runs, total) = (g.retained::<f32>("runs", [1]), g.retained::<f32>("total", [n]));
    let next_runs = g.call(&add, [one, runs])?;
    let next_total = g.call(&add, [x, total])?;
    g.update(runs, next_runs);
    g.update(total, next_total);
    g.output("mean", g.call(&mean, [next_runs, next_total])?);
    let graph = g.finish()?;

    let text = print_graph(&graph);
    println!("{text}");
    let (again, _) = parse_graph(&text).map_err(|errors| errors[0].render("running_mean", &text))?;
    assert_eq!(again, graph);

    let options = MachineOptions::default();
    let (first, second) = (to_bytes(&[1.0f32, 2.0]), to_bytes(&[3.0f32, 6.0]));
    let once = evaluate(&graph, &Inputs::new().value("x", &first), &options)?;
    let mut inputs = Inputs::new().value("x", &second);
    for (name, bytes) in &once.retained {
        inputs = inputs.value(name, bytes);
    }
    let twice = evaluate(&graph, &inputs, &options)?;
    assert_eq!(from_bytes::<f32>(&once.outputs[0])?, [1.0, 2.0]);
    assert_eq!(from_bytes::<f32>(&twice.outputs[0])?, [2.0, 4.0]);
    println!("the means of two runs: {:?}", from_bytes::<f32>(&twice.outputs[0])?);
    Ok(())
}
