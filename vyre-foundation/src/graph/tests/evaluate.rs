//! Graphs on the reference machine.

use vyre_spec::{Value, from_bytes, to_bytes};

use super::*;
use crate::launch::Params;
use crate::machine::{MachineOptions, run};

fn floats(bytes: &[u8]) -> Vec<f32> {
    from_bytes(bytes).unwrap()
}

#[test]
fn values_stay_what_they_are_for_every_reader() {
    let saxpy = saxpy();
    let g = GraphBuilder::new("branches");
    let x = g.input::<f32>("x", [g.dim("n")]);
    let y = g.call(&saxpy, (10.0f32, x, x)).unwrap();
    // Both read x and y, although `saxpy` updates its `y`.
    let a = g.call(&saxpy, (1.0f32, x, y)).unwrap();
    let b = g.call(&saxpy, (100.0f32, x, y)).unwrap();
    for (name, value) in [("a", a), ("b", b), ("y", y), ("x", x), ("again", a)] {
        g.output(name, value);
    }
    let graph = g.finish().unwrap();
    let x = to_bytes(&[1.0f32, -2.0]);
    let done = evaluate(&graph, &Inputs::new().value("x", &x), &MachineOptions::default()).unwrap();
    let outputs: Vec<_> = done.outputs.iter().map(|bytes| floats(bytes)).collect();
    assert_eq!(outputs, [[12.0, -24.0], [111.0, -222.0], [11.0, -22.0], [1.0, -2.0], [12.0, -24.0]]);
}

#[test]
fn retained_values_go_from_run_to_run() {
    let add = Kernel::build("add", |k| {
        let x = k.read_only::<u32>("x");
        let sum = k.read_write::<u32>("sum").with_len(x.len());
        k.domain([x.len()], |[i]| sum.store(i, sum.load(i) + x.load(i)));
    })
    .unwrap();
    let g = GraphBuilder::new("totals");
    let n = g.dim("n");
    let x = g.input::<u32>("x", [n]);
    let (total, fixed) = (g.retained::<u32>("total", [n]), g.retained::<u32>("fixed", [n]));
    let next = g.call(&add, (x, total)).unwrap();
    let shown = g.call(&add, (fixed, next)).unwrap();
    g.update(total, next);
    g.output("before", total);
    g.output("shown", shown);
    let graph = g.finish().unwrap();
    let options = MachineOptions::default();
    let (x, fixed) = (to_bytes(&[1u32, 2]), to_bytes(&[100u32, 200]));
    let first = evaluate(&graph, &Inputs::new().value("x", &x).value("fixed", &fixed), &options).unwrap();
    let mut inputs = Inputs::new().value("x", &x);
    for (name, bytes) in &first.retained {
        inputs = inputs.value(name, bytes);
    }
    let second = evaluate(&graph, &inputs, &options).unwrap();
    let words = |bytes: &[u8]| from_bytes::<u32>(bytes).unwrap();
    assert_eq!(first.outputs.iter().map(|b| words(b)).collect::<Vec<_>>(), [[0, 0], [101, 202]]);
    assert_eq!(second.outputs.iter().map(|b| words(b)).collect::<Vec<_>>(), [[1, 2], [102, 204]]);
    assert_eq!(words(&second.retained[1].1), [100, 200]);
}

#[test]
fn counts_and_dimensions_reach_the_programs() {
    // Each workgroup adds its invocations to one counter.
    let tally = Kernel::build("tally", |k| {
        let n = k.param::<u32>("n");
        let out = k.read_write::<u32>("out");
        k.workgroups([4, 1, 1], [1, 1, 1], |_| {
            out.atomic_add(0, n);
        });
    })
    .unwrap();
    let g = GraphBuilder::new("tallies");
    let n = g.dim("n");
    let zero = g.constant("zero", &[0u32]);
    let seven = g.node(&tally).counts([n, g.literal(2), g.literal(1)]).call((n + 1, zero)).unwrap();
    let one = g.call(&tally, (5u32, zero)).unwrap();
    g.output("seven", seven);
    g.output("one", one);
    let graph = g.finish().unwrap();
    let done = evaluate(&graph, &Inputs::new().dim("n", 3), &MachineOptions::default()).unwrap();
    let words: Vec<_> = done.outputs.iter().map(|bytes| from_bytes::<u32>(bytes).unwrap()).collect();
    // 3 × 2 workgroups of 4 add 4 each; one of 4 adds 5.
    assert_eq!(words, [[96], [20]]);
}

#[test]
fn one_program_runs_as_it_does_alone() {
    let program = saxpy();
    let (x, y) = (to_bytes(&[1.0f32, 2.0, 3.0]), to_bytes(&[0.5f32, 0.5, 0.5]));
    let options = MachineOptions::default();
    let alone = run(&program, &Params::new().with("a", Value::new(2.0f32)), &[&x, &y], &options).unwrap();
    let inputs = Inputs::new().value("x", &x).value("y", &y).param("a", Value::new(2.0f32));
    let graph = ProgramGraph::from_program(&program);
    assert_eq!(evaluate(&graph, &inputs, &options).unwrap().outputs, alone.outputs);
    assert_eq!(floats(&alone.outputs[0]), [2.5, 4.5, 6.5]);
}

#[test]
fn what_is_missing_or_too_much_is_named() {
    let trap = Kernel::build("trap", |k| {
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| {
            k.if_(x.load(i).eq(7u32), || k.trap(3, i));
        });
    })
    .unwrap();
    let g = GraphBuilder::new("faults");
    let x = g.input::<u32>("x", [g.dim("n")]);
    let y = g.node(&trap).named("watch").call([x]).unwrap();
    g.output("y", y);
    let graph = g.finish().unwrap();
    let options = MachineOptions::default();
    let text = |inputs: &Inputs<'_>| evaluate(&graph, inputs, &options).unwrap_err().to_string();
    assert_eq!(text(&Inputs::new()), "value `x` is bound to nothing: pass bytes of u32[n]");
    let x = to_bytes(&[1u32, 7]);
    let unknown = Inputs::new().value("x", &x).value("x_2", &x);
    assert_eq!(text(&unknown), "the graph takes no bytes for `x_2`; it does for: x");
    let trapped = text(&Inputs::new().value("x", &x));
    assert_eq!(trapped, "node `watch`: invocation 1 trapped with code 3 and address 1");
    let small = MachineOptions { memory_limit: 0, ..options.clone() };
    let error = evaluate(&graph, &Inputs::new().value("x", &x), &small).unwrap_err();
    assert!(matches!(error, EvaluateError::Node { .. }), "{error}");
}
