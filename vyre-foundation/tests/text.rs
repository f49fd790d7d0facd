//! The text form: what parses to what, that printing and parsing are inverse, and what errors say.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod samples;

use samples::{EVERYTHING, REFUSED, body};
use vyre_foundation::build::Kernel;
use vyre_foundation::ir::{
    Arena, Array, Buffer, Count, Expr, ExprId, Extent, Launch, Node, NodeId, Param, Place, Program, RegionId,
    Variable,
};
use vyre_foundation::text::{TextError, parse, print, print_with_map};
use vyre_spec::ops::{AtomicOp, BinaryOp, CastOp, CollectiveOp, SubgroupOp, TernaryOp, UnaryOp};
use vyre_spec::{Access, Axis, BuiltIn, DataType, FenceScope, MemoryOrdering, Value};

fn program(text: &str) -> Program {
    match parse(text) {
        Ok((program, _)) => program,
        Err(errors) => panic!("{}", errors.iter().map(|e| e.render("test", text)).collect::<String>()),
    }
}

fn errors(text: &str) -> Vec<TextError> {
    parse(text).expect_err("the text is wrong")
}

/// Parses, prints and parses again.
fn round(p: &Program) {
    let (text, map) = print_with_map(p);
    match parse(&text) {
        Ok((again, its_map)) => {
            assert!(again == *p, "not the same program:\n{text}\n{}", print(&again));
            assert_eq!(print(&again), text);
            assert_eq!(its_map, map, "not the same places:\n{text}");
        }
        Err(errors) => {
            let shown: String = errors.iter().take(3).map(|e| e.render("printed", &text)).collect();
            panic!("{shown}\n{}", text.get(..4000).unwrap_or(&text));
        }
    }
}

#[test]
fn everything_round_trips() {
    round(&program(&body(EVERYTHING)));
}

#[test]
fn a_coherent_buffer_says_so() {
    let built = Kernel::build("mark", |k| {
        let out = k.read_write::<u32>("out").coherent();
        let done = k.write_only::<u32>("done", 1).coherent();
        k.domain([out.len()], |[i]| {
            out.store(i, i);
            done.store(0u32, 1u32);
        });
    })
    .unwrap();
    let text = "\
program mark {
    buffer out: readwrite coherent u32[];
    buffer done: writeonly coherent u32[1];

    launch domain(len(out)) {
        store out[point.x] = point.x;
        store done[0] = 1;
    }
}
";
    assert_eq!(print(&built), text);
    assert_eq!(program(text), *built);
    // An input has nobody who writes it.
    let input = program("program p { buffer x: readonly coherent u32[]; launch domain(1) {} }");
    let findings = vyre_foundation::check::check(input).unwrap_err();
    let messages: Vec<_> = findings.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(messages, ["`x` is coherent, but it is `readonly`"]);
}

#[test]
fn saxpy_prints_as_people_write_it() {
    let text = "\
program saxpy {
    param a: f32;
    buffer x: readonly f32[];
    buffer y: readwrite f32[len(x)];

    launch domain(len(y)) {
        let v0 = load x[point.x];
        let v1 = load y[point.x];
        store y[point.x] = a * v0 + v1;
    }
}
";
    let p = program(text);
    assert_eq!(print(&p), text);
    round(&p);
    let mut arena = Arena::new("saxpy");
    let a = arena.param(Param { name: "a".into(), ty: DataType::F32, specialize: false });
    let buffer = |name: &str, access, count| Buffer {
        name: name.into(),
        element: DataType::F32,
        access,
        count,
        coherent: false,
    };
    let x = arena.buffer(buffer("x", Access::ReadOnly, Count::Bytes));
    let len_x = arena.extent(Extent::Length(x));
    let y = arena.buffer(buffer("y", Access::ReadWrite, Count::Extent(len_x)));
    let (len_y, one) = (arena.extent(Extent::Length(y)), arena.extent(Extent::Literal(1)));
    arena.set_launch(Launch::Domain { extent: [len_y, one, one], axes: 1 });
    let body = RegionId::new(0);
    let i = arena.expr(Expr::BuiltIn(BuiltIn::Point(Axis::X)));
    let load_x = arena.push(body, Node::Load { place: Place::Buffer(x), index: i });
    let load_y = arena.push(body, Node::Load { place: Place::Buffer(y), index: i });
    let (a, xi, yi) =
        (arena.expr(Expr::Param(a)), arena.expr(Expr::Result(load_x)), arena.expr(Expr::Result(load_y)));
    let product = arena.expr(Expr::Binary(BinaryOp::Mul, a, xi));
    let value = arena.expr(Expr::Binary(BinaryOp::Add, product, yi));
    arena.push(body, Node::Store { place: Place::Buffer(y), index: i, value });
    assert_eq!(arena.finish().unwrap().0, p);
}

/// A program that stores one expression at each index.
fn storing(make: impl FnOnce(&mut Arena) -> Vec<ExprId>) -> Program {
    let mut arena = Arena::new("p");
    let buffer = |name: &str, access| Buffer {
        name: name.into(),
        element: DataType::F32,
        access,
        count: Count::Bytes,
        coherent: false,
    };
    let out = arena.buffer(buffer("out", Access::ReadWrite));
    for (i, value) in make(&mut arena).into_iter().enumerate() {
        let index = arena.expr(Expr::Literal(Value::new(i as u32)));
        arena.push(RegionId::new(0), Node::Store { place: Place::Buffer(out), index, value });
    }
    arena.finish().unwrap().0
}

#[test]
fn constants_keep_every_bit_also_negated() {
    let floats = [
        0.1f32,
        1.0 / 3.0,
        16_777_217.0,
        1e-45,
        f32::MAX,
        f32::MIN,
        0.0,
        -0.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        -0.95,
        f32::from_bits(0x7FC0_0000),
        f32::from_bits(0xFFC0_0000),
        f32::from_bits(0x7F80_0001),
        f32::from_bits(0xFFFF_FFFF),
    ];
    let ints = [i32::MIN, -1, 0, i32::MAX];
    let values =
        || floats.map(Value::new).into_iter().chain(ints.map(Value::new)).chain([Value::new(u32::MAX)]);
    round(&storing(|arena| {
        let mut all = Vec::new();
        for value in values() {
            let literal = arena.expr(Expr::Literal(value));
            let negated = arena.expr(Expr::Unary(UnaryOp::Neg, literal));
            let twice = arena.expr(Expr::Unary(UnaryOp::Neg, negated));
            let less = arena.expr(Expr::Binary(BinaryOp::Sub, negated, literal));
            let more = arena.expr(Expr::Binary(BinaryOp::Sub, literal, twice));
            all.extend([literal, negated, twice, less, more]);
        }
        all
    }));
}

#[test]
fn every_pair_of_operators_groups_as_built() {
    round(&storing(|arena| {
        let leaf = |arena: &mut Arena, i: u32| arena.expr(Expr::Literal(Value::new(i)));
        let mut all = Vec::new();
        for &outer in BinaryOp::ALL {
            for &inner in BinaryOp::ALL {
                let (a, b, c) = (leaf(arena, 1), leaf(arena, 2), leaf(arena, 3));
                let i = arena.expr(Expr::Binary(inner, a, b));
                all.push(arena.expr(Expr::Binary(outer, i, c)));
                all.push(arena.expr(Expr::Binary(outer, c, i)));
            }
            for &unary in UnaryOp::ALL {
                let (a, b) = (leaf(arena, 4), leaf(arena, 5));
                let of_a = arena.expr(Expr::Unary(unary, a));
                all.push(arena.expr(Expr::Binary(outer, of_a, b)));
                all.push(arena.expr(Expr::Binary(outer, b, of_a)));
                let pair = arena.expr(Expr::Binary(outer, a, b));
                all.push(arena.expr(Expr::Unary(unary, pair)));
            }
        }
        for &op in TernaryOp::ALL {
            let (a, b, c) = (leaf(arena, 1), leaf(arena, 2), leaf(arena, 3));
            all.push(arena.expr(Expr::Ternary(op, a, b, c)));
        }
        for &op in CastOp::ALL {
            for ty in DataType::ALL {
                let a = leaf(arena, 1);
                all.push(arena.expr(Expr::Cast(op, ty, a)));
            }
        }
        for b in BuiltIn::ALL {
            all.push(arena.expr(Expr::BuiltIn(b)));
        }
        all
    }));
}

#[test]
fn precedence_is_that_of_the_tables() {
    for (short, long) in [
        ("n + n * 3", "n + (n * 3)"),
        ("n - 1 - 2", "(n - 1) - 2"),
        ("n << 1 + 2", "n << (1 + 2)"),
        ("n & 1 | 2 ^ 3", "(n & 1) | (2 ^ 3)"),
        ("-s + s", "(-s) + s"),
        ("-3i32 - s", "(-3i32) - s"),
        ("bitcast<u32>(a) - 1", "(bitcast<u32>(a)) - 1"),
        ("select(n < 1 && n + 1 > 2 || n == 4, n, 1)", "select(((n < 1) & ((n + 1) > 2)) | (n == 4), n, 1)"),
    ] {
        let statement = |e: &str| program(&body(&format!("store h[0] = {e};")));
        assert_eq!(statement(short), statement(long), "{short}");
    }
}

#[test]
fn short_forms_stand_for_nodes_in_order() {
    let short = body("var t: u32 = h[h[0]] + h[1]; while t < h[2] { set t = t + 1; } store h[t] = t;");
    let long = body(
        "let b = load h[0]; let a = load h[b]; let c = load h[1]; var t: u32 = a + c;
         while { let d = get t; let e = load h[2]; } d < e { let f = get t; set t = f + 1; }
         let g = get t; let k = get t; store h[g] = k;",
    );
    assert_eq!(program(&short), program(&long));
}

#[test]
fn a_step_that_is_left_out_is_one_of_the_type() {
    for (short, long) in [
        ("for i in 0..n { }", "for i in 0..n step 1u32 { }"),
        ("for i in s..4i32 { }", "for i in s..4i32 step 1i32 { }"),
        (
            "let k = subgroup_add s; for i in k + 1i32..4i32 { }",
            "let k = subgroup_add s; for i in k + 1i32..4i32 step 1i32 { }",
        ),
    ] {
        let p = program(&body(short));
        assert_eq!(p, program(&body(long)));
        assert!(!print(&p).contains("step"));
        round(&p);
    }
}

#[test]
fn a_shared_expression_is_named_before_its_first_use_where_all_see_it() {
    let text = body("if n < 3 { store h[0] = n * n + 7; } else { store h[1] = (n * n + 7) * 2; }");
    let p = program(&text);
    let printed = print(&p);
    let at = |what: &str| printed.find(what).unwrap_or_else(|| panic!("{what} in {printed}"));
    assert!(at("let v0 = n * n + 7;") < at("if n < 3"));
    assert_eq!(printed.matches("n * n").count(), 1);
    round(&p);
    // One that is shared inside one block only stays there.
    let p = program(&body("if n < 3 { store h[0] = n * n; store h[1] = n * n; }"));
    let printed = print(&p);
    assert!(printed.find("let v0 = n * n;") > printed.find("if n < 3"));
    round(&p);
    // In a `while`, the head's names reach condition and body.
    round(&program(&body(
        "while { let w = load h[0]; let q = (w + 1) * (w + 1); } q < 9 { store h[1] = q; store h[0] = w + 1; }",
    )));
    // The condition alone shares it: it is named in the head.
    round(&program(&body("while (n + 1) * (n + 1) < 5 { store h[0] = 1; }")));
    round(&program(&body("if n < 1 { } else if (n + 1) * (n + 1) < 5 { store h[0] = 1; }")));
}

#[test]
fn text_is_linear_in_the_graph() {
    // e, e * e, (e * e) * (e * e), …: a tree of 2^200 leaves.
    let p = storing(|arena| {
        let mut e = arena.expr(Expr::BuiltIn(BuiltIn::Point(Axis::X)));
        for _ in 0..200 {
            e = arena.expr(Expr::Binary(BinaryOp::Mul, e, e));
        }
        vec![e]
    });
    assert!(print(&p).len() < 200 * 40);
    round(&p);
    // The same among extents.
    let mut arena = Arena::new("p");
    let mut x = arena.extent(Extent::Literal(3));
    for _ in 0..200 {
        x = arena.extent(Extent::Mul(x, x));
    }
    arena.set_launch(Launch::Domain { extent: [x; 3], axes: 3 });
    let p = arena.finish().unwrap().0;
    assert!(print(&p).len() < 200 * 40);
    round(&p);
}

#[test]
fn extents_group_and_may_name_what_comes_later() {
    let text =
        "program p { extent twice = len(b) * 2; buffer a: readwrite u32[twice - (1 - n) - max(twice, n)];
        buffer b: readonly u32[]; param n: u32; launch domain(len(a), ceil_div(n, 4)) { } }";
    round(&program(text));
    let p = program("program p { launch domain(1, 2, 1) { } }");
    assert!(matches!(p.launch(), Launch::Domain { axes: 3, .. }));
    round(&p);
    round(&program("program p { launch workgroups(1, 1, 2) size(8, 1, 1) { } }"));
}

#[test]
fn programs_that_the_checker_refuses_round_trip_too() {
    for statements in REFUSED {
        round(&program(&body(statements)));
    }
    // Variables that are declared late or never.
    let mut arena = Arena::new("p");
    let var = |name: &str| Variable { name: name.into(), ty: DataType::F32 };
    let (u, v, w) = (arena.var(var("u")), arena.var(var("v")), arena.var(var("w")));
    let init = arena.expr(Expr::Literal(Value::new(1u32)));
    for node in [
        Node::Get { var: w },
        Node::Declare { var: v, init },
        Node::Set { var: u, value: init },
        Node::Declare { var: u, init },
    ] {
        arena.push(RegionId::new(0), node);
    }
    round(&arena.finish().unwrap().0);
    // Names that are no names, and a launch of no axes.
    let mut arena = Arena::new("two words");
    for name in ["load", "a b", "`\\", "", "é\n"] {
        arena.private(Array { name: name.into(), element: DataType::Bool, len: 0 });
    }
    let one = arena.extent(Extent::Literal(1));
    arena.set_launch(Launch::Domain { extent: [one; 3], axes: 0 });
    let place = Place::Private(vyre_foundation::ir::PrivateId::new(1));
    let index = arena.expr(Expr::Literal(Value::new(f32::NAN)));
    arena.push(RegionId::new(0), Node::Load { place, index });
    round(&arena.finish().unwrap().0);
}

#[test]
fn generated_names_avoid_declared_ones() {
    let text = "program p { param v0: u32; buffer v1: readwrite u32[v0]; extent x0 = v0 * 2; buffer x1: readonly u32[x0];
        buffer x2: readonly u32[x0]; launch domain(x0) { var k3: u32 = v0; for q in 0..4 { let k = load v1[q]; store v1[k] = v0; } } }";
    round(&program(text));
}

/// A thread with the stack of a test thread of the standard library, or less.
fn on_a_small_stack(f: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(2 << 20).spawn(f).unwrap().join().unwrap();
}

#[test]
fn any_nesting_fits_a_small_stack() {
    on_a_small_stack(|| {
        const N: usize = 100_000;
        let p = program(&body(&format!("store h[0] = {}n{};", "(".repeat(N), ")".repeat(N))));
        assert_eq!(p, program(&body("store h[0] = n;")));
        round(&program(&body(&format!("store z[0] = {}s{};", "-(".repeat(N), ")".repeat(N)))));
        round(&program(&body(&format!("store h[0] = {}1;", "n - ".repeat(N)))));
        round(&program(&body(&format!("store h[0] = {}1{};", "(n - ".repeat(N), ")".repeat(N)))));
        round(&program(&body(&format!("store h[0] = {}1{};", "h[".repeat(N), "]".repeat(N)))));
        round(&program(&body(&format!("{}{}", "if n < 3 { ".repeat(N), "}".repeat(N)))));
        round(&program(&body(&format!("{} {{ }}", "if n < 3 { store h[0] = n * n; } else ".repeat(N)))));
        round(&program(&body(&format!(
            "{}{}",
            "for i in 0..3 { ".repeat(N),
            "store h[i] = i + i;}".repeat(N)
        ))));
        round(&program(&body(&format!("{}{}", "while { ".repeat(N), "} n < 1 { } ".repeat(N)))));
        assert!(!errors(&body(&"(".repeat(N))).is_empty());
        assert!(!errors(&body(&"if n < 3 { ".repeat(N))).is_empty());
    });
}

#[test]
fn barriers_and_subgroup_ops_have_all_their_names() {
    let mut arena = Arena::new("p");
    for ordering in MemoryOrdering::ALL {
        arena.push(RegionId::new(0), Node::Barrier { ordering });
        for scope in FenceScope::ALL {
            arena.push(RegionId::new(0), Node::Fence { ordering, scope });
        }
    }
    let value = arena.expr(Expr::Literal(Value::new(1u32)));
    let shared = arena.shared(Array { name: "t".into(), element: DataType::U32, len: 4 });
    for &op in SubgroupOp::ALL {
        let lane = op.rule().takes_lane().then_some(value);
        arena.push(RegionId::new(0), Node::Subgroup { op, value, lane });
    }
    for &op in CollectiveOp::ALL {
        let rank = op.rule().takes_rank().then_some(value);
        arena.push(RegionId::new(0), Node::Collective { op, value, rank });
    }
    for &op in AtomicOp::ALL {
        let expected = op.rule().takes_expected().then_some(value);
        arena.push(
            RegionId::new(0),
            Node::Atomic { op, place: Place::Shared(shared), index: value, value, expected },
        );
    }
    round(&arena.finish().unwrap().0);
}

#[test]
fn places_are_those_of_the_text() {
    let text = body("let i = global_id.x;\n if i < n { store h[i] = i * i; }");
    let (p, map) = parse(&text).unwrap();
    let at = |site| &text[map.span(site).range()];
    use vyre_foundation::diag::Site;
    assert_eq!(at(Site::Program), "program p");
    assert_eq!(at(Site::Buffer(vyre_foundation::ir::BufferId::new(1))), "buffer y: readwrite f32[len(x)]");
    assert_eq!(at(Site::Node(NodeId::new(0))), "if i < n");
    assert_eq!(at(Site::Node(NodeId::new(1))), "store h[i] = i * i");
    let places: Vec<_> = (0..p.exprs().len() as u32).map(|i| at(Site::Expr(ExprId::new(i)))).collect();
    assert_eq!(places, ["global_id.x", "n", "i < n", "i * i"]);
}

/// The first finding: line, column, code and whole message with its help.
fn first(text: &str) -> (u32, u32, String) {
    let errors = errors(text);
    let help = errors[0].help.as_deref().unwrap_or("");
    (errors[0].line, errors[0].column, format!("{} {} | {help}", errors[0].code, errors[0].message))
}

#[test]
fn errors_say_what_where_and_what_to_do() {
    let at = |statements: &str| {
        let text =
            format!("program p {{\nbuffer input: readwrite u32[];\nlaunch domain(1) {{\n{statements}\n}} }}");
        let (line, column, message) = first(&text);
        format!("{}:{column} {message}", line - 3)
    };
    assert_eq!(at("store inpt[0] = 1;"), "1:7 V0002 there is no array `inpt` | did you mean `input`?");
    assert_eq!(at("let a = 1;\nstore input[b] = 1;"), "2:13 V0002 there is no `b` | did you mean `a`?");
    assert_eq!(
        at("store input[0] = mim(1, 2);"),
        "1:18 V0002 there is no function `mim` | did you mean `min`?"
    );
    assert_eq!(
        at("store input[0] = f32(1);"),
        "1:18 V0002 there is no function `f32` | write `convert<f32>(…)`"
    );
    assert_eq!(at("store input[0] = min(1);"), "1:18 V0001 this takes 2 operands, but has 1 | ");
    assert_eq!(
        at("store input[0] = 1 < 2 < 3;"),
        "1:24 V0001 comparisons do not chain | put one of them in parentheses"
    );
    assert_eq!(at("/* é */ let a = 4294967296;").split(' ').next(), Some("1:1"));
    assert_eq!(at("let é = 1;").split(' ').next(), Some("1:5"));
    assert_eq!(
        at("let a = 4294967296;"),
        "1:9 V0003 4294967296 does not fit u32 | u32 holds 0 to 4294967295"
    );
    assert_eq!(
        at("let a = -1;"),
        "1:9 V0003 an integer without suffix is a u32, which cannot be negative | write `-1i32`, or `-1.0` for an f32"
    );
    assert_eq!(at("input[0] = 1;"), "1:1 V0001 `input` begins no statement | write `store input[…] = …;`");
    assert_eq!(
        at("if 1 < 2 { let t = 1; } store input[t] = 1;"),
        "1:37 V0002 `t` is out of scope here | move the `let` before the block, or carry the value in a variable"
    );
    assert_eq!(
        at("let load = 1;"),
        "1:5 V0103 `load` is a word of the language, not a name | choose another name, such as `load_`"
    );
    assert_eq!(at("let a = (1 + 2;"), "1:15 V0001 expected an operator or `)` here | ");
}

#[test]
fn one_parse_gives_several_errors_and_no_echoes() {
    let text = body(
        "let a = nope; store h[a] = a;\n store h[0] = 1 +;\n if bad { store h[q] = 1; } for i in 0..w { store h[i] = zz; }\n let c = 1\n store h[c] = r;",
    );
    let found: Vec<_> = errors(&text).iter().map(|e| text[e.span.range()].to_owned()).collect();
    assert_eq!(found, ["nope", ";", "bad", "q", "w", "zz", "store", "r"]);
}

#[test]
fn a_missing_semicolon_before_the_launch_hides_nothing() {
    let text = "program p { buffer x: readonly u32[]\n launch domain(len(x)) { store y[0] = 1; } }";
    let messages = |text: &str| errors(text).iter().map(|e| e.message.clone()).collect::<Vec<_>>();
    assert_eq!(messages(text), ["expected `;`, found `launch`", "there is no array `y`"]);
    let counted = text.replace("u32[]", "u32[4 + m]");
    let expected =
        ["there is no param or extent `m`", "expected `;`, found `launch`", "there is no array `y`"];
    assert_eq!(messages(&counted), expected);
    let named = text.replace("buffer", "extent e = 2 * 3 buffer");
    let expected = ["expected `;`, found `buffer`", "expected `;`, found `launch`", "there is no array `y`"];
    assert_eq!(messages(&named), expected);
}

#[test]
fn a_strange_character_is_one_error() {
    for statement in ["let é = 1;", "let a = 1 @ 2;", "store h[0] = (1 # 2);", "let `a = 1;\n", "§§ x = 3;"]
    {
        let found = errors(&body(statement));
        assert_eq!(found.len(), 1, "{statement}: {found:?}");
    }
}

#[test]
fn an_excerpt_shows_the_line() {
    let text = "program p {\n    launch domain(n) { }\n}";
    let shown = errors(text)[0].render("kernel.vyre", text);
    assert!(shown.contains("kernel.vyre:2:19"), "{shown}");
    assert!(shown.contains("launch domain(n) { }"), "{shown}");
    assert!(shown.contains("V0002"), "{shown}");
}

#[test]
fn no_damage_to_the_text_is_fatal_or_without_a_place() {
    let text = body(&EVERYTHING.replace("    ", " ")).replace("            ", " ");
    let mut tried = 0;
    let mut still_programs = 0;
    let mut check = |damaged: &str| {
        tried += 1;
        match parse(damaged) {
            Ok((p, _)) => {
                still_programs += 1;
                round(&p);
            }
            Err(errors) => {
                assert!(!errors.is_empty() && errors.len() <= 100);
                for error in errors {
                    assert!(error.line >= 1 && error.column >= 1);
                    assert!(damaged.get(error.span.range()).is_some(), "{error}");
                }
            }
        }
    };
    let tokens: Vec<&str> = text.split_inclusive(|c: char| !c.is_alphanumeric()).collect();
    let spare = [
        "0",
        "-1",
        "4294967296",
        "u32",
        "(",
        ")",
        "{",
        "}",
        ";",
        "let ",
        "é",
        "`",
        "//",
        "..",
        "<f32>",
        "1e99",
    ];
    for at in 0..tokens.len() {
        let (before, after) = (tokens[..at].concat(), tokens[at + 1..].concat());
        check(&(before.clone() + &after));
        for new in spare {
            check(&format!("{before}{new}{after}"));
            check(&format!("{before}{new}{}{after}", tokens[at]));
        }
        let mut swapped = tokens.clone();
        swapped.swap(at, tokens.len() - 1 - at);
        check(&swapped.concat());
        if at + 1 < tokens.len() {
            swapped.swap(at, at + 1);
            check(&swapped.concat());
        }
    }
    for at in 0..text.len() {
        check(&text[..at]);
    }
    assert!(tried > 10_000, "{tried}");
    assert!(still_programs > 100, "{still_programs}");
}
