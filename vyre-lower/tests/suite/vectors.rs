//! Domain programs with several points to an invocation.

use vyre_foundation::check::{Checked, check};
use vyre_foundation::ir::Program;
use vyre_foundation::launch::Params;
use vyre_foundation::text::parse;
use vyre_lower::kernel::{Op, VerifiedKernel};
use vyre_lower::lower;
use vyre_spec::{CompileOptions, DeviceProfile, Value};

use crate::interpreter::{profile, run_with};

/// Workgroups of three invocations, which compute 12 points.
fn options() -> CompileOptions {
    CompileOptions { workgroup_size: Some([3, 1, 1]), launch_contract: true, ..CompileOptions::default() }
}

fn program(text: &str) -> Checked<Program> {
    check(parse(text).unwrap().0).unwrap()
}

fn lowered(program: &Checked<Program>) -> VerifiedKernel {
    lower(program, &profile(), &options()).unwrap()
}

/// Whole vectors that a kernel loads and stores.
fn vectors(program: &Checked<Program>) -> (usize, usize) {
    let kernel = lowered(program);
    let count = |wanted: fn(&Op) -> bool| kernel.insts.iter().filter(|inst| wanted(&inst.op)).count();
    (count(|op| matches!(op, Op::LoadVector { .. })), count(|op| matches!(op, Op::StoreVector { .. })))
}

/// Stores an expression of `x` and the point `i` for each of `n` points.
fn mapped(value: &str) -> Checked<Program> {
    program(&format!(
        "program mapped {{
            param n: u32;
            buffer x: readonly u32[80];
            buffer y: readwrite u32[];
            launch domain(n) {{
                let i = point.x;
                store y[i] = {value};
            }}
        }}"
    ))
}

/// Runs a program of [`mapped`] for every number of points up to 70 and checks each element of `y`, and that
/// those after the last point are as they were.
fn agrees(program: &Checked<Program>, want: impl Fn(&[u32], usize) -> u32) {
    let x: Vec<u32> = (0..80u32).map(|i| i.wrapping_mul(2_654_435_761) >> 7).collect();
    for n in 0..70usize {
        for more in [0, 1, 7] {
            let params = Params::new().with("n", Value::new(n as u32));
            let y = vec![77; n + more];
            let outcome = run_with(program, &params, &[x.clone(), y], &profile(), &options());
            let expected: Vec<u32> =
                (0..n).map(|i| want(&x, i)).chain(std::iter::repeat_n(77, more)).collect();
            assert_eq!(outcome.buffers[1], expected, "{n} points, {more} elements more");
        }
    }
}

#[test]
fn contiguous_accesses_are_vectors_and_tails_are_not() {
    let program = mapped("x[i] + x[i + 4] * 3");
    assert_eq!(vectors(&program), (2, 1));
    agrees(&program, |x, i| x[i].wrapping_add(x[i + 4].wrapping_mul(3)));
}

#[test]
fn neighbouring_vectors_are_loaded_once_and_gathered_elements_one_by_one() {
    let program = mapped("x[i + 1] + x[i >> 1] + x[x[i] & 63]");
    // x[i] is one vector, x[i + 1] that and the next one.
    assert_eq!(vectors(&program), (2, 1));
    agrees(&program, |x, i| x[i + 1].wrapping_add(x[i >> 1]).wrapping_add(x[x[i] as usize & 63]));
}

#[test]
fn what_all_points_share_is_loaded_once() {
    let program = mapped("x[i] ^ x[7]");
    assert_eq!(vectors(&program), (1, 1));
    let text = lowered(&program).to_string();
    // Once in each form, and one by one in the scalar form.
    assert_eq!(text.matches(" load `x`").count(), 3, "{text}");
    agrees(&program, |x, i| x[i] ^ x[7]);
}

#[test]
fn reversed_elements_are_one_vector_where_they_are_aligned() {
    // 79 - i begins a vector with the last of four points; 78 - i lies in two of them.
    let aligned = mapped("x[79 - i]");
    assert_eq!(vectors(&aligned), (1, 1));
    agrees(&aligned, |x, i| x[79 - i]);
    let unaligned = mapped("x[78 - i]");
    assert_eq!(vectors(&unaligned), (2, 1));
    agrees(&unaligned, |x, i| x[78 - i]);
}

#[test]
fn rows_are_vectors_where_their_width_is_a_multiple() {
    for (width, expected) in [(12u32, (1, 1)), (10, (1, 1)), (9, (0, 0))] {
        let program = program(&format!(
            "program rows {{
                param height: u32;
                buffer x: readonly u32[];
                buffer y: readwrite u32[len(x)];
                launch domain({width}, height) {{
                    let at = point.y * {width} + point.x;
                    store y[at] = x[at] * 2 + point.y;
                }}
            }}"
        ));
        assert_eq!(vectors(&program), expected, "rows of {width}");
        let x: Vec<u32> = (0..5 * width).collect();
        let want: Vec<u32> = x.iter().map(|n| n * 2 + n / width).collect();
        let params = Params::new().with("height", Value::new(5u32));
        let outcome = run_with(&program, &params, &[x, vec![0; 5 * width as usize]], &profile(), &options());
        assert_eq!(outcome.buffers[1], want);
    }
}

#[test]
fn guarded_accesses_are_not_vectors() {
    let program = program(
        "program guarded {
            param n: u32;
            buffer x: readonly u32[];
            buffer y: readwrite u32[];
            launch domain(n) {
                store y[point.x] = x[point.x];
            }
        }",
    );
    assert_eq!(vectors(&program), (1, 1));
    let without = CompileOptions { launch_contract: false, ..options() };
    let plain = lower(&program, &profile(), &without).unwrap();
    assert_eq!(plain.grid.run, 1);
    // Five points over three and four elements.
    let params = Params::new().with("n", Value::new(5u32));
    let outcome = run_with(&program, &params, &[vec![1, 2, 3], vec![9; 4]], &profile(), &without);
    assert_eq!(outcome.buffers[1], [1, 2, 3, 0]);
}

#[test]
fn strided_stores_are_vectors_where_they_have_every_element() {
    let stores = |body: &str| {
        vectors(&program(&format!(
            "program strided {{ buffer y: readwrite u32[256]; launch domain(32) {{ let i = point.x; {body} }} }}"
        )))
        .1
    };
    // Four for the points together, and one for each of those that are left, whose stores are neighbours.
    assert_eq!(
        stores("store y[4 * i] = 1; store y[4 * i + 3] = 4; store y[4 * i + 1] = 2; store y[4 * i + 2] = 3;"),
        4 + 1
    );
    assert_eq!(stores("store y[2 * i + 1] = 1; store y[2 * i] = 4;"), 2);
    // A load of the buffer, and a pair that vectors part.
    assert_eq!(stores("store y[2 * i + 1] = 1; let v = y[i + 128]; store y[2 * i] = v;"), 0);
    assert_eq!(stores("store y[2 * i + 1] = 1; store y[2 * i + 2] = 4;"), 0);
}

/// What the kernel of a body says about points and elements that are taken one by one.
fn notes(body: &str) -> (u32, Vec<&'static str>) {
    let text = format!(
        "program body {{
            param p: u32;
            buffer y: readwrite u32[1024];
            buffer b: readwrite u8[256];
            launch domain(64) {{ let i = point.x; {body} }}
        }}"
    );
    let kernel = lowered(&program(&text));
    (kernel.grid.run, kernel.notes.iter().map(|note| note.why).collect())
}

#[test]
fn what_keeps_one_point_says_why() {
    assert_eq!(notes("store y[i] = i;"), (4, vec![]));
    assert_eq!(notes("var v: u32 = y[i]; store y[i] = v * v;"), (4, vec![]));
    assert_eq!(notes("if p > 3 { store b[i] = convert<u8>(i); }"), (16, vec![]));
    for (body, why) in [
        ("atomic_add y[i], 1;", "no two points have neighbouring elements"),
        ("store y[i * 2] = 1;", "no two points have neighbouring elements"),
        ("if i > 3 { return; } store y[i] = i;", "a `return` ends one point and not its neighbours"),
        ("var v: u32 = 9; while v > i { set v = v / 2; } store y[i] = v;", "a trap names its point"),
        (
            "var v: u32 = 9; for j in 0..i { set v = v * j; } store y[i] = v;",
            "its loops make different trips for each point, which would run one after the other",
        ),
        (
            "let v = y[i + 64]; store y[i] = y[v & 63] + y[v & 62] + y[v & 31] + y[v & 15] + y[v & 7];",
            "most of its accesses have no neighbouring elements",
        ),
    ] {
        assert_eq!(notes(body), (1, vec![why]), "{body}");
    }
}

#[test]
fn accesses_to_single_elements_say_why() {
    for (body, points, why) in [
        ("store y[i] = y[i * 5];", 4, "its elements lie too far apart"),
        ("store b[i] = b[i + p & 127];", 16, "the index of one point does not tell the next one's"),
        ("store b[i + 1] = b[i];", 16, "the points do not have whole vectors of it"),
        (
            "store b[i] = 1u8; store b[i + 64] = 2u8; let v = b[i + 128];",
            16,
            "stores of several indices share its words",
        ),
        ("let v = y[i]; if v > 3 { store y[i] = 0; }", 4, "points come to it one by one"),
        ("let v = y[i]; atomic_add y[i + 64], v; store b[i] = convert<u8>(v);", 16, "it is atomic"),
    ] {
        let (run, notes) = notes(body);
        assert_eq!(run, points, "{body}: {notes:?}");
        assert!(notes.contains(&why), "{body}: {notes:?}");
    }
    // The alignment of a row is that of its number times a width that only the launch knows.
    let rows = program(
        "program rows {
            param width: u32;
            buffer x: readonly u32[256];
            buffer y: readwrite u32[256];
            launch domain(8, 8) {
                store y[point.y * 8 + point.x] = x[(point.y * width & 7) + point.x];
            }
        }",
    );
    let text = lowered(&rows).to_string();
    assert!(text.contains("  single elements of `x`: its alignment depends on the launch\n"), "{text}");
}

#[test]
fn folded_grids_of_vectors_cover_every_point_once() {
    let program = program(
        "program line {
            buffer x: readwrite u32[];
            launch domain(len(x)) {
                store x[point.x] = x[point.x] + point.x;
            }
        }",
    );
    let few = DeviceProfile { max_workgroups_per_axis: 3, ..profile() };
    let folded = CompileOptions { fold_grid: true, ..options() };
    // 12 points to a workgroup, 3 workgroups to an axis: up to 27 of them.
    for n in (0..40).chain([107, 108, 109, 323, 324]) {
        let outcome = run_with(&program, &Params::new(), &[vec![5; n]], &few, &folded);
        assert_eq!(outcome.buffers[0], (5..5 + n as u32).collect::<Vec<_>>());
    }
}
