//! The text form: that printing and parsing are inverse, and that what is wrong is found where it is.

use fastrand::Rng;

use super::*;
use crate::testing::mutate;
use crate::text::{TextError, parse_graph, print_graph, print_graph_with_map};

fn read(text: &str) -> ProgramGraph {
    parse_graph(text).unwrap_or_else(|errors| panic!("{}", errors[0].render("graph", text))).0
}

/// The findings of a text: their lines, columns, codes and messages.
fn findings(text: &str) -> Vec<String> {
    let shown = |e: TextError| format!("{}:{} {} {}", e.line, e.column, e.code, e.message);
    parse_graph(text).err().into_iter().flatten().map(shown).collect()
}

const ADD: &str = "program add { param k: u32; buffer x: readonly u32[]; buffer y: writeonly u32[len(x)]; \
                   launch domain(len(x)) { store y[point.x] = x[point.x] + k; } }\n";

#[test]
fn a_graph_is_printed_as_it_should_be() {
    let text = print_graph(&everything());
    let graph = text.split_once("graph ").unwrap().1;
    let want = "\
everything {
    dim n;
    dim m;
    param a: f32;
    param k: u32;
    dim d0 = ceil_div(n, 2) - 1;
    input x: f32[n, 4];
    input rest: u8[m + k, min(max(m, 3), n)];
    constant w: f32[4] = { 1.0, nan<f32>, -0.0, 8.5 };
    retained seen: u32[d0] becomes out;
    retained fixed: bool[];
    node saxpy: y = saxpy(a, x, x);
    node split: low, high = split(y);
    node last: z = saxpy(-0.5, low, high);
    node count: out = count(dim(d0));
    node saxpy_2: y_2 = saxpy(0.0, w, w);
    output z = z;
    output x = x;
    output y = y;
    output y2 = y;
    output rest = rest;
    output fixed = fixed;
}
";
    assert_eq!(graph, want);
    assert_eq!(read(&text), everything());
}

#[test]
fn places_are_those_of_the_text() {
    let (text, printed) = print_graph_with_map(&everything());
    let (graph, map) = parse_graph(&text).unwrap();
    assert_eq!(map, printed);
    let at = |site| &text[map.span(site).range()];
    assert_eq!(at(GraphSite::Graph), "graph everything");
    assert_eq!(at(GraphSite::Dim(graph.value(GraphValueId::new(0)).shape[0])), "dim n");
    assert_eq!(at(GraphSite::Param(GraphParamId::new(1))), "param k: u32");
    assert_eq!(at(GraphSite::Value(graph.value_named("w").unwrap())), "constant w: f32[4]");
    assert_eq!(at(GraphSite::Value(graph.value_named("high").unwrap())), "high");
    assert_eq!(at(GraphSite::Node(GraphNodeId::new(1))), "node split: low, high = split(y)");
    assert_eq!(at(GraphSite::Output(3)), "output y2 = y");
    assert_eq!(&text[map.programs()[1].span(crate::diag::Site::Program).range()], "program split");
}

#[test]
fn unusual_graphs_are_read_back() {
    let trap = crate::text::parse(
        "program trap { buffer x: readonly bool[]; launch domain(len(x)) { trap 1, point.x; } }",
    );
    let trap = crate::check::check(trap.unwrap().0).unwrap();
    let tally = Kernel::build("dim", |k| {
        let (n, x) = (k.param::<u64>("n"), k.read_write::<u64>("x"));
        k.workgroups([1], [1], |_| x.store(0, n));
    });
    let other = Kernel::build("dim", |k| {
        let x = k.read_write::<u64>("x");
        k.domain([1], |_| x.store(0, k.lit(7u64)));
    });
    let (tally, other) = (tally.unwrap(), other.unwrap());
    let g = GraphBuilder::new("graph");
    let k = g.param::<u64>("node");
    let n = g.dim("d0") * g.dim("becomes");
    let shared = (n + 1) * (n + 2);
    // A bool whose word is neither 0 nor 1, a constant without elements, and a value of one.
    let odd = g.constant_of("counts", DataType::Bool, [2], vec![7, 0, 0, 0, 1, 0, 0, 0]);
    g.constant::<u16>("empty", &[]);
    let x = g.input::<u64>("dim", (shared, shared, k));
    let y = g.node(&tally).counts([n, shared, g.literal(2)]).call((shared, x)).unwrap();
    let y = g.call(&tally, (9u64, y)).unwrap();
    let y = g.call(&tally, (k, y)).unwrap();
    // A parameter of the graph as a dimension, and a number as one.
    let y = g.call(&tally, (g.literal(0) + k, y)).unwrap();
    let y = g.call(&tally, (g.literal(3), y)).unwrap();
    let y = g.call(&other, [y]).unwrap();
    g.node(&trap).call_all([odd]).unwrap();
    g.output("y", y);
    let graph = g.finish().unwrap();
    let text = print_graph(&graph);
    assert!(text.contains("dim.1("), "{text}");
    assert!(text.contains("constant counts: bool[2] = bytes { 7, 0, 0, 0, 1, 0, 0, 0 };"), "{text}");
    assert_eq!(read(&text), graph, "{text}");
}

#[test]
fn deep_and_shared_dimensions_are_linear() {
    let g = GraphBuilder::new("deep");
    let n = g.dim("n");
    let mut doubled = n;
    for _ in 0..60 {
        doubled = doubled * doubled + 1;
    }
    let mut long = n;
    for i in 0..20_000 {
        long = if i % 2 == 0 { (long + 1).ceil_div(3) } else { g.literal(7) - long };
    }
    g.input::<u8>("x", [doubled, long]);
    let graph = g.finish().unwrap();
    let text = print_graph(&graph);
    assert!(text.len() < 2_000_000, "{}", text.len());
    assert_eq!(read(&text), graph);
}

#[test]
fn long_graphs_are_read_in_linear_time() {
    let saxpy = saxpy();
    let g = GraphBuilder::new("long");
    let mut y = g.input::<f32>("x", [g.dim("n")]);
    for _ in 0..10_000 {
        y = g.call(&saxpy, (1.0f32, y, y)).unwrap();
    }
    g.output("y", y);
    let graph = g.finish().unwrap();
    assert_eq!(read(&print_graph(&graph)), graph);
}

#[test]
fn one_program_alone_is_its_graph() {
    let graph = read(ADD);
    assert_eq!(graph.name(), "add");
    assert_eq!(graph.type_text(graph.value_named("y").unwrap()), "u32[len_x]");
    assert_eq!(findings(""), ["1:1 V0001 the text has no graph"]);
    let two = format!("{ADD}{}", ADD.replace("program add", "program sub"));
    assert_eq!(findings(&two), ["1:1 V0001 the text has no graph"]);
}

#[test]
fn mistakes_are_found_where_they_are() {
    let found = |body: &str| findings(&format!("{ADD}graph g {{\n{body}\n}}\n"));
    let good = "dim n; input x: u32[n]; node a: y = add(1, x); output y = y;";
    assert_eq!(found(good), [""; 0]);
    let each = [
        ("dims n;", "3:1 V0001 `dims` begins no declaration"),
        ("dim n; dim n;", "3:12 V0102 the name `n` is declared twice"),
        ("dim if;", "3:5 V0103 `if` is a word of the language, not a name"),
        ("input x: u32[n];", "3:14 V0002 there is no param or extent `n`"),
        ("input x: u33[];", "3:10 V0002 there is no type `u33`"),
        ("input x: u32[2]; output y = xs;", "3:29 V0002 there is no value `xs`"),
        ("input x: u32[2]; node a: y = ad(1, x);", "3:30 V0002 there is no program `ad`"),
        (
            "input x: u32[2]; node a: y = add.1(1, x);",
            "3:30 V0002 there are 1 programs `add`, the first is number 0",
        ),
        (
            "input x: u32[2]; node a: y = add(x, x);",
            "3:34 V0701 value `x` is given where `add` takes a parameter",
        ),
        ("input x: u32[2]; node a: y = add(1, 2);", "3:37 V0701 a number is given where `add` takes a value"),
        ("input x: u32[2]; node a: y = add(k, x);", "3:34 V0002 there is no parameter `k`"),
        ("input x: u32[2]; node a: y = add(1);", "3:18 V0701 program `add` has 1 inputs, but 0 are given"),
        ("input x: u32[2]; node a: add(1, x);", "3:18 V0701 program `add` has 1 outputs, but 0 are given"),
        (
            "input x: u32[2]; node a: y = add(1.5, x);",
            "3:18 V0702 parameter `k` is a u32, but a f32 is given",
        ),
        (
            "input x: u8[2]; node a: y = add(1, x);",
            "3:17 V0702 buffer `x` has elements of u32, but `x` of u8",
        ),
        ("node a: y = add(1, y);", "3:1 V0704 a value is used before the node that computes it"),
        ("input x: u32[2]; node a: x = add(1, x);", "3:26 V0102 the name `x` is declared twice"),
        ("constant c: u32[2] = { 1 };", "3:1 V0703 `c` has 1 elements, but its shape has 2"),
        ("constant c: u8[1] = { 1 };", "3:23 V0003 an element is a u32, but the constant is of u8"),
        ("constant c: u32[1] = { 1 + 1 };", "3:24 V0003 this is no constant"),
        ("constant c: u8[1] = bytes { 256 };", "3:29 V0003 this is no byte"),
        (
            "retained s: u32[2] becomes t; input t: u32[3];",
            "3:1 V0703 `s` has 2 elements, but becomes `t`, of 3",
        ),
        ("param p: f32; input x: u32[p];", "3:1 V0702 a dimension reads parameter `p`, of type f32"),
        (
            "input x: u32[1]; node a: y = add(1, x) counts(1, 1);",
            "3:46 V0001 a launch has three counts, but here are 2",
        ),
        (
            "input x: u32[1]; node a: y = add(1, x) counts(1, 1, 1);",
            "3:18 V0105 program `add` does not say how many workgroups it is launched in",
        ),
        ("input x: u8[1, 1, 1, 1, 1, 1, 1, 1, 1];", "3:1 V0501 `x` has 9 axes, above the limit of 8"),
        ("dim n; output y = n;", "3:19 V0702 `n` is a number, not a value"),
    ];
    for (body, finding) in each {
        assert_eq!(found(body), [finding], "{body}");
    }
    // Several at once; what is wrong in a program is found too, and nothing is echoed.
    let several = "input x: u32[; input y: u9[1];\nnode a: z = add(1, x); output z = ;";
    assert_eq!(found(several).len(), 3, "{:?}", found(several));
    let wrong = "program p { buffer x: readonly u32[]; launch domain(1) { store x[0] = 1; } }\ngraph g { node a: p(); }";
    assert_eq!(findings(wrong).len(), 1, "{:?}", findings(wrong));
    assert_eq!(findings("graph g {").len(), 1);
    assert_eq!(findings("graph g { } graph h { }"), ["1:13 V0001 a text has one graph, and here is another"]);
    assert_eq!(findings("} graph g { }"), ["1:1 V0001 expected `program` or `graph`"]);
    // Each error says what to do, but for those that name the expected word.
    let text = format!("{ADD}graph g {{ output y = xs; }}");
    assert!(
        parse_graph(&text).unwrap_err()[0].render("g", &text).contains("help: declare a value of this name")
    );
}

#[test]
fn damaged_texts_give_located_errors_or_another_graph() {
    let text = print_graph(&everything());
    let mut rng = Rng::with_seed(1);
    let mut read_back = 0;
    let mut check = |damaged: &str| match parse_graph(damaged) {
        Ok((graph, _)) => {
            read_back += 1;
            assert_eq!(parse_graph(&print_graph(&graph)).unwrap().0, graph, "{damaged}");
        }
        Err(errors) => {
            assert!(!errors.is_empty(), "{damaged}");
            for error in errors {
                assert!(error.line >= 1 && error.column >= 1 && error.span.range().end <= damaged.len());
            }
        }
    };
    for at in (0..text.len()).filter(|&at| text.is_char_boundary(at)) {
        check(&text[..at]);
        let mut damaged = text.clone().into_bytes();
        damaged[at] = b" (){}[];:=,.x1-"[rng.usize(0..15)];
        check(&String::from_utf8_lossy(&damaged));
    }
    for _ in 0..500 {
        check(&mutate::text(&text, &mut rng));
    }
    assert!(read_back > 20, "{read_back}");
}
