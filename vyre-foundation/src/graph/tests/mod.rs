//! Graphs from the builder, their findings, and the sizes of runs.

mod evaluate;
mod text;
mod wire;

use vyre_spec::{DataType, Value};

use super::*;
use crate::build::Kernel;
use crate::check::Checked;
use crate::diag::Code;
use crate::ir::Program;

fn saxpy() -> Checked<Program> {
    Kernel::build("saxpy", |k| {
        let a = k.param::<f32>("a");
        let x = k.read_only::<f32>("x");
        let y = k.read_write::<f32>("y").with_len(x.len());
        k.domain([y.len()], |[i]| y.store(i, a * x.load(i) + y.load(i)));
    })
    .unwrap()
}

/// Writes `n` numbers.
fn count() -> Checked<Program> {
    Kernel::build("count", |k| {
        let n = k.param::<u32>("n");
        let out = k.write_only::<u32>("out", n);
        k.domain([n], |[i]| out.store(i, i));
    })
    .unwrap()
}

/// Two results from one input: halves of its length.
fn split() -> Checked<Program> {
    Kernel::build("split", |k| {
        let x = k.read_only::<f32>("x");
        let half = x.len().extent().ceil_div(2);
        let low = k.write_only::<f32>("low", half);
        let high = k.write_only::<f32>("high", half);
        k.domain([half], |[i]| {
            low.store(i, x.load(i));
            high.store(i, x.load(i + low.len()));
        });
    })
    .unwrap()
}

/// A graph with something of everything.
fn everything() -> ProgramGraph {
    let (saxpy, split, count) = (saxpy(), split(), count());
    let g = GraphBuilder::new("everything");
    let (n, m) = (g.dim("n"), g.dim("m"));
    let (a, k) = (g.param::<f32>("a"), g.param::<u32>("k"));
    let x = g.input::<f32>("x", (n, 4));
    let rest = g.input::<u8>("rest", (m + k, m.max(3).min(n)));
    let w = g.constant("w", &[1.0f32, f32::NAN, -0.0, 8.5]);
    let seen = g.retained::<u32>("seen", [n.ceil_div(2) - 1]);
    let fixed = g.retained::<bool>("fixed", ());
    let y = g.call(&saxpy, (a, x, x)).unwrap();
    let [low, high] = g.call_many(&split, [y]).unwrap();
    let z = g.node(&saxpy).named("last").giving(["z"]).call((-0.5f32, low, high)).unwrap();
    let counted = g.call(&count, (n.ceil_div(2) - 1,)).unwrap();
    g.call(&saxpy, (0.0f32, w, w)).unwrap();
    g.update(seen, counted);
    for (name, value) in [("z", z), ("x", x), ("y", y), ("y2", y), ("rest", rest), ("fixed", fixed)] {
        g.output(name, value);
    }
    g.finish().unwrap()
}

fn codes(error: &GraphError) -> Vec<Code> {
    error.diagnostics().map(|d| d.code).collect()
}

#[test]
fn calls_make_nodes_values_and_shapes() {
    let (saxpy, split) = (saxpy(), split());
    let g = GraphBuilder::new("pipeline");
    let n = g.dim("n");
    let a = g.param::<f32>("a");
    let x = g.input::<f32>("x", (n, 4));
    let y = g.constant("y", &[1.0f32, 2.0]);
    let once = g.call(&saxpy, [a, x, x]).unwrap();
    let [low, high] = g.call_many(&split, [once]).unwrap();
    let both = g.node(&saxpy).named("both").giving(["sum"]).call((2.0f32, low, high)).unwrap();
    g.output("sum", both);
    g.output("y", y);
    let graph = g.finish().unwrap();
    let names: Vec<_> = graph.values().iter().map(|value| value.name.as_str()).collect();
    // Sources first; the outputs of unnamed calls are named as their buffers, where that is free.
    assert_eq!(names, ["x", "y", "y_2", "low", "high", "sum"]);
    let nodes: Vec<_> = graph.nodes().iter().map(|node| (node.name.as_str(), node.program)).collect();
    assert_eq!(nodes, [("saxpy", 0), ("split", 1), ("both", 0)]);
    assert_eq!(graph.programs().len(), 2);
    let types: Vec<_> = graph.value_ids().map(|id| graph.type_text(id)).collect();
    let half = "f32[ceil_div(n * 4, 2)]";
    assert_eq!(types, ["f32[n, 4]", "f32[2]", "f32[n, 4]", half, half, half]);
    assert_eq!(graph.value(GraphValueId::new(1)).lifetime(), Lifetime::Constant);
    // Equal lengths are one dimension, so nothing is left to check in a run.
    assert_eq!(graph.requirements(), []);
    assert_eq!(graph.extents(GraphNodeId::new(0)).map(|[x, ..]| graph.dim_text(x)).as_deref(), Some("n * 4"));
}

#[test]
fn equal_graphs_are_equal_however_they_are_declared() {
    let build = |early: bool| {
        let g = GraphBuilder::new("same");
        let [unused, n] = ["unused", "n"].map(|name| g.dim(name));
        let _ = unused * 2;
        let x = g.input::<f32>("x", [n * 2 * 3]);
        let z = early.then(|| g.input::<f32>("z", [n]));
        let y = g.call(&saxpy(), (1.0f32, x, x)).unwrap();
        let z = z.unwrap_or_else(|| g.input::<f32>("z", [n]));
        g.output("y", y);
        g.output("z", z);
        g.finish().unwrap()
    };
    let graph = build(true);
    assert_eq!(graph, build(false));
    // n * 2 * 3 is not folded, for it may overflow before it is multiplied: n, 2, n * 2, 3, n * 2 * 3;
    // and the 1 of a launch's other axes.
    assert_eq!(graph.dims().len(), 6);
}

#[test]
fn findings_have_their_code_and_line() {
    let (saxpy, count) = (saxpy(), count());
    let g = GraphBuilder::new("wrong");
    let other = GraphBuilder::new("other");
    let x = g.input::<f32>("x", [3]);
    let y = g.input::<f32>("y", [4]);
    let i = g.input::<u32>("i", [3]);
    let (p, declared) = (g.param::<f32>("p"), line!());
    let f = g.dim("n");
    let wrong = |result: Result<Handle<'_>, GraphError>| codes(&result.unwrap_err());
    assert_eq!(wrong(g.call(&saxpy, (1.0f32, x))), [Code::GraphArguments]);
    assert_eq!(wrong(g.call(&saxpy, (1.0f32, x, x, x))), [Code::GraphArguments]);
    assert_eq!(wrong(g.call(&saxpy, (x, p, x))), [Code::GraphArguments]);
    assert_eq!(wrong(g.call(&saxpy, (1u32, x, x))), [Code::GraphType]);
    assert_eq!(wrong(g.call(&saxpy, (f, x, x))), [Code::GraphType]);
    assert_eq!(wrong(g.call(&saxpy, (p, i, x))), [Code::GraphType]);
    assert_eq!(wrong(g.call(&saxpy, (p, other.input::<f32>("x", [3]), x))), [Code::MixedBuilders]);
    assert_eq!(wrong(g.node(&count).counts([1, 1, 1]).call((f,))), [Code::BadLaunch]);
    assert_eq!(wrong(g.node(&count).giving(["a", "b"]).call((f,))), [Code::GraphArguments]);
    assert_eq!(codes(&g.call_many::<2>(&count, (3u32,)).unwrap_err()), [Code::GraphArguments]);
    let before = line!();
    g.update(x, y);
    g.output("x", p);
    let _ = g.input::<f32>("z", [p]);
    let s = g.retained::<u32>("s", [4]);
    g.update(s, i);
    g.update(s, s);
    let v = g.call(&saxpy, (p, x, y)).unwrap();
    g.output("if", v);
    let error = g.finish().unwrap_err();
    let found: Vec<_> = error.findings().iter().skip(10).collect();
    let shown: Vec<_> = found.iter().map(|f| (f.diagnostic.code, f.line.map_or(0, |at| at.line()))).collect();
    assert_eq!(
        shown,
        [
            (Code::GraphUpdate, before + 1),
            (Code::GraphType, before + 2),
            (Code::GraphUpdate, before + 6),
            (Code::GraphType, declared),
            (Code::GraphShape, before + 4),
            (Code::GraphShape, before + 7),
            (Code::BadName, before + 8),
        ]
    );
    assert!(error.diagnostics().all(|d| d.help.is_some()));
    assert!(error.to_string().contains("`s` has 4 elements, but becomes `i`, of 3"), "{error}");
}

#[test]
fn symbols_follow_from_lengths() {
    let saxpy = saxpy();
    let g = GraphBuilder::new("sizes");
    let (n, m) = (g.dim("n"), g.dim("m"));
    let square = g.input::<f32>("square", (n, n, 2));
    let rows = g.input::<u8>("rows", (m, n + 1));
    let seen = g.retained::<u32>("seen", [m.max(n)]);
    let y = g.call(&saxpy, (1.0f32, square, square)).unwrap();
    g.output("y", y);
    g.output("rows", rows);
    g.output("seen", seen);
    let graph = g.finish().unwrap();
    let [square, rows, seen, y] = [0, 1, 2, 3].map(GraphValueId::new);
    let bindings =
        |square_bytes, rows_bytes| Bindings::new().bytes(square, square_bytes).bytes(rows, rows_bytes);
    // 50 elements are 5 × 5 × 2; 42 bytes are 7 rows of 5 + 1.
    let solved = solve(&graph, &bindings(200, 42)).unwrap();
    assert_eq!((solved.symbol("n"), solved.symbol("m")), (Some(5), Some(7)));
    assert_eq!([seen, y].map(|id| solved.bytes(&graph, id)), [28, 200]);
    // Defaults settle what nothing else does: `n` from one, then `m` from the bytes of the rows.
    let defaults = |bindings: Bindings| bindings.default_dim("n", 6).default_dim("k", 1);
    let solved = solve(&graph, &defaults(bindings(200, 42))).unwrap();
    assert_eq!((solved.symbol("n"), solved.symbol("m")), (Some(5), Some(7)));
    let solved = solve(&graph, &defaults(Bindings::new().bytes(rows, 42))).unwrap();
    assert_eq!((solved.symbol("n"), solved.symbol("m")), (Some(6), Some(6)));
    let solved = solve(&graph, &defaults(Bindings::new().bytes(rows, 42).dim("n", 2))).unwrap();
    assert_eq!((solved.symbol("n"), solved.symbol("m")), (Some(2), Some(14)));
    let text = |bindings| solve(&graph, &bindings).unwrap_err().to_string();
    assert_eq!(
        text(bindings(198, 42)),
        "value `square` got 198 bytes, which is no whole number of f32 elements of 4 bytes"
    );
    assert_eq!(
        text(bindings(196, 42)),
        "value `square` of shape [n, n, 2] got 49 elements, which no `n` gives"
    );
    assert_eq!(
        text(bindings(200, 41)),
        "value `rows` of shape [m, n + 1] got 41 elements, which no `m` gives"
    );
    assert_eq!(
        text(bindings(200, 42).dim("m", 8)),
        "value `rows` of shape [m, n + 1] needs 48 elements (m = 8 as given), but got 42"
    );
    assert_eq!(text(bindings(200, 42).dim("k", 8)), "the graph has no symbol `k`; it has: n, m");
    assert_eq!(
        text(Bindings::new().bytes(rows, 42)),
        "`n` follows from no value's length: pass its number, by its name"
    );
    assert_eq!(
        text(Bindings::new().dim("m", u64::MAX).dim("n", 3)),
        "the length of value `rows` cannot be computed: 18446744073709551615 * 4 is outside 0 to 2^64 - 1"
    );
    assert_eq!(
        text(Bindings::new().dim("m", 1 << 32).dim("n", 3)),
        "the length of value `rows` is 17179869184, above the limit of 4294967295: split the work into several runs"
    );
}

#[test]
fn lengths_that_only_a_run_tells_are_checked_in_it() {
    let (saxpy, count) = (saxpy(), count());
    let g = GraphBuilder::new("late");
    let (n, m) = (g.dim("n"), g.dim("m"));
    let k = g.param::<i32>("k");
    let x = g.input::<f32>("x", [n]);
    let y = g.input::<f32>("y", [m]);
    let s = g.retained::<u32>("s", [k]);
    let sum = g.call(&saxpy, (1.0f32, x, y)).unwrap();
    let counted = g.node(&count).call((n * 2,)).unwrap();
    g.update(s, counted);
    g.output("sum", sum);
    let graph = g.finish().unwrap();
    assert_eq!(graph.requirements().len(), 2);
    assert_eq!(graph.type_text(GraphValueId::new(4)), "u32[n * 2]");
    let [x, y] = [0, 1].map(GraphValueId::new);
    let solved = |n: u64, m: u64, k: i32| {
        let bindings = Bindings::new().bytes(x, 4 * n).bytes(y, 4 * m).param("k", Value::new(k));
        solve(&graph, &bindings).map_err(|error| error.to_string())
    };
    let node = GraphNodeId::new(1);
    assert_eq!(solved(3, 3, 6).unwrap().node_params(&graph, node).get("n"), Some(Value::new(6u32)));
    assert_eq!(
        solved(3, 4, 6).unwrap_err(),
        "node `saxpy`: buffer `y` needs 3 elements, but value `y` has 4"
    );
    assert_eq!(solved(3, 3, 7).unwrap_err(), "retained value `s` has 7 elements, but becomes `out`, of 6");
    assert_eq!(solved(3, 3, -6).unwrap_err(), "a dimension cannot be computed: parameter `k` is negative");
    let missing = solve(&graph, &Bindings::new()).unwrap_err();
    assert_eq!(missing, SolveError::MissingParam { name: "k".into(), ty: DataType::I32 });
    let wrong = solve(&graph, &Bindings::new().param("k", Value::new(1u32))).unwrap_err();
    assert!(matches!(wrong, SolveError::ParamType { .. }));
    let unknown = solve(&graph, &Bindings::new().param("q", Value::new(1u32))).unwrap_err();
    assert_eq!(unknown, SolveError::UnknownParam { name: "q".into(), known: "k".into() });
}

#[test]
fn one_program_is_a_graph() {
    let graph = ProgramGraph::from_program(&saxpy());
    let types: Vec<_> =
        graph.value_ids().map(|id| graph.value(id).name.clone() + ": " + &graph.type_text(id)).collect();
    assert_eq!(types, ["x: f32[len_x]", "y: f32[len_x]", "y_2: f32[len_x]"]);
    assert_eq!(graph.outputs(), [GraphOutput { name: "y".into(), value: GraphValueId::new(2) }]);
    let graph = ProgramGraph::from_program(&count());
    assert_eq!(graph.type_text(GraphValueId::new(0)), "u32[n]");
    assert_eq!(graph.params(), [GraphParam { name: "n".into(), ty: DataType::U32 }]);
}

#[test]
fn long_graphs_are_built_in_linear_time() {
    let saxpy = saxpy();
    let g = GraphBuilder::new("long");
    let x = g.input::<f32>("x", [g.dim("n")]);
    let mut y = x;
    for _ in 0..10_000 {
        y = g.call(&saxpy, (1.0f32, x, y)).unwrap();
    }
    g.output("y", y);
    let graph = g.finish().unwrap();
    assert_eq!((graph.nodes().len(), graph.values().len(), graph.programs().len()), (10_000, 10_001, 1));
    let solved = solve(&graph, &Bindings::new().bytes(GraphValueId::new(0), 40)).unwrap();
    assert_eq!(solved.elements(&graph, GraphValueId::new(10_000)), 10);
}
