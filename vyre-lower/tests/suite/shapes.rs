//! Every shape of access by every element type, in domain programs with several points to an invocation: for
//! each number of points to beyond two whole vectors of bytes, with elements after the last that must stay.

use vyre_foundation::check::{Checked, check};
use vyre_foundation::ir::Program;
use vyre_foundation::launch::Params;
use vyre_foundation::text::parse;
use vyre_lower::lower_all;
use vyre_spec::{CompileOptions, DataType, Value};

use crate::interpreter::{execute_all_bytes, profile, without_wide};

/// Points to an invocation that a shape allows elements of 1, 2, 4 and 8 bytes.
type Points = [u32; 4];
const WHOLE: Points = [16, 8, 4, 2];

/// Elements of `x` and `w`.
const LEN: usize = 128;
/// Elements after the last point's.
const MORE: usize = 5;

fn program(text: &str) -> Checked<Program> {
    let parsed = parse(text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    check(parsed.0).unwrap_or_else(|findings| panic!("{findings:?}\n{text}"))
}

/// Workgroups of three invocations.
fn options() -> CompileOptions {
    CompileOptions { workgroup_size: Some([3, 1, 1]), launch_contract: true, ..CompileOptions::default() }
}

/// Bytes that are numbers in every type: truth values, and floats that are neither NaN nor subnormal.
fn elements(ty: DataType, seed: u32, count: usize) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    let mut bytes = Vec::new();
    for _ in 0..count {
        let bits = u64::from(next()) << 40 ^ u64::from(next()) << 20 ^ u64::from(next());
        let value = match ty {
            DataType::Bool => Value::new(bits & 1 == 1),
            _ if ty.is_float() => Value::from_f64(ty, f64::from(next() as i32 % 1000) / 8.0),
            _ => Value::from_bits(ty, bits & (u64::MAX >> (64 - ty.width()))),
        };
        bytes.extend_from_slice(&value.bits().to_le_bytes()[..ty.size() as usize]);
    }
    bytes
}

/// Runs `body` over `x`, `w` and `y` of a type for up to 33 points and compares each element of `y`: `want` says
/// which element of which of the two an element of `y` is, if the program stores it.
fn moves(body: &str, points: Points, want: impl Fn(usize, usize) -> Vec<(usize, char, usize)>) {
    for ty in DataType::ALL {
        let body = body.replace(": T", &format!(": {ty}"));
        let text = format!(
            "program moves {{
                param n: u32; param p: u32;
                buffer x: readonly {ty}[{LEN}]; buffer w: readonly {ty}[{LEN}];
                buffer y: readwrite {ty}[];
                launch domain(n) {{ let i = point.x; {body} }}
            }}"
        );
        let program = program(&text);
        let lowered = lower_all(&program, &profile(), &options()).unwrap();
        // The same on a device that has no 64-bit integers.
        let words = without_wide(profile());
        let in_words =
            (ty.size() == 8 && ty.is_int()).then(|| lower_all(&program, &words, &options()).unwrap());
        let run = lowered.kernels[0].grid.run;
        let size = ty.size() as usize;
        assert_eq!(run, points[size.ilog2() as usize], "{body} of {ty}:\n{:?}", lowered.kernels[0].notes);
        let (x, w) = (elements(ty, 1, LEN), elements(ty, 2, LEN));
        for n in 0..=33 {
            for p in [0, 1] {
                let y = elements(ty, 3, 96 + n + MORE);
                let mut expected = y.clone();
                for (at, from, element) in want(n, p) {
                    let source = if from == 'x' { &x } else { &w };
                    let element = &source[element * size..(element + 1) * size];
                    expected[at * size..(at + 1) * size].copy_from_slice(element);
                }
                let params = Params::new().with("n", Value::new(n as u32)).with("p", Value::new(p as u32));
                let buffers = [x.clone(), w.clone(), y];
                for lowered in std::iter::once(&lowered).chain(&in_words) {
                    let outcome = execute_all_bytes(lowered, &program, &params, &buffers, &profile());
                    assert_eq!(outcome.buffers[2], expected, "{body} of {ty}, {n} points, p = {p}");
                }
            }
        }
    }
}

/// `y[i]` is some element of `x`.
fn maps(body: &str, points: Points, from: impl Fn(usize) -> usize) {
    moves(body, points, |n, _| (0..n).map(|i| (i, 'x', from(i))).collect());
}

#[test]
fn contiguous_and_shared_elements() {
    maps("store y[i] = x[i];", WHOLE, |i| i);
    maps("store y[i] = x[77];", WHOLE, |_| 77);
    moves("store y[i] = select(i < 20, x[i], w[i & 3]);", WHOLE, |n, _| {
        (0..n).map(|i| if i < 20 { (i, 'x', i) } else { (i, 'w', i & 3) }).collect()
    });
}

#[test]
fn elements_at_an_offset() {
    for offset in [1usize, 3, 4, 16, 31] {
        maps(&format!("store y[i] = x[i + {offset}];"), WHOLE, |i| i + offset);
    }
    maps("let a = x[i + 2]; let b = x[i + 7]; store y[i] = select(i < 9, a, b);", WHOLE, |i| {
        if i < 9 { i + 2 } else { i + 7 }
    });
    maps("store y[i] = x[(i + 20) - 3];", WHOLE, |i| i + 17);
    // Whole vectors, further on.
    moves("store y[i + 16] = x[i];", WHOLE, |n, _| (0..n).map(|i| (i + 16, 'x', i)).collect());
    // Parts of vectors: one by one.
    moves("store y[i + 3] = x[i];", WHOLE, |n, _| (0..n).map(|i| (i + 3, 'x', i)).collect());
}

#[test]
fn reversed_elements() {
    for last in [127usize, 126, 121, 64] {
        maps(&format!("store y[i] = x[{last} - i];"), WHOLE, |i| last - i);
    }
    moves("store y[63 - i] = x[i];", WHOLE, |n, _| (0..n).map(|i| (63 - i, 'x', i)).collect());
    moves("store y[62 - i] = x[i];", WHOLE, |n, _| (0..n).map(|i| (62 - i, 'x', i)).collect());
}

#[test]
fn strided_elements() {
    maps("store y[i] = x[2 * i];", WHOLE, |i| 2 * i);
    maps("store y[i] = x[i * 2 + 1];", WHOLE, |i| 2 * i + 1);
    maps("store y[i] = select(i < 8, x[2 * i], x[2 * i + 1]);", WHOLE, |i| 2 * i + usize::from(i >= 8));
    maps("store y[i] = x[3 * i + 2];", WHOLE, |i| 3 * i + 2);
    maps("store y[i] = x[100 - 2 * i];", WHOLE, |i| 100 - 2 * i);
    moves("store y[2 * i] = x[i];", WHOLE, |n, _| (0..n).map(|i| (2 * i, 'x', i)).collect());
}

#[test]
fn strided_stores_that_have_every_element_together() {
    let pairs = |n: usize, _| (0..n).flat_map(|i| [(2 * i, 'x', i), (2 * i + 1, 'w', i)]).collect();
    moves("store y[2 * i] = x[i]; store y[2 * i + 1] = w[i];", WHOLE, pairs);
    moves("store y[2 * i + 1] = w[i]; let a = x[i]; store y[2 * i] = a;", WHOLE, pairs);
    moves("if p < 9 { store y[2 * i] = x[i]; store y[2 * i + 1] = w[i]; }", WHOLE, pairs);
    moves("store y[i * 2 + 33] = w[i]; store y[i * 2 + 32] = x[i];", WHOLE, |n, _| {
        (0..n).flat_map(|i| [(2 * i + 32, 'x', i), (2 * i + 33, 'w', i)]).collect()
    });
    moves("store y[94 - 2 * i] = x[i]; store y[95 - 2 * i] = w[i];", WHOLE, |n, _| {
        (0..n).flat_map(|i| [(94 - 2 * i, 'x', i), (95 - 2 * i, 'w', i)]).collect()
    });
    // Pairs that vectors part.
    moves("store y[2 * i + 1] = x[i]; store y[2 * i + 2] = w[i];", WHOLE, |n, _| {
        (0..n).flat_map(|i| [(2 * i + 1, 'x', i), (2 * i + 2, 'w', i)]).collect()
    });
}

#[test]
fn branches_and_variables() {
    let either = |n: usize, p: usize| (0..n).map(|i| (i, ['w', 'x'][p], i)).collect();
    moves("if p > 0 { store y[i] = x[i]; } else { store y[i] = w[i]; }", WHOLE, either);
    moves("var v: T = w[i]; if p > 0 { set v = x[i]; } store y[i] = v;", WHOLE, either);
    let odd = |n: usize, _| (0..n).map(|i| (i, ['w', 'x'][i & 1], i)).collect();
    moves("var v: T = w[i]; let a = x[i]; if i & 1 == 1 { set v = a; } store y[i] = v;", WHOLE, odd);
    moves("let a = x[i]; if i & 1 == 1 { store y[i] = a; }", WHOLE, |n, _| {
        (0..n).filter(|i| i & 1 == 1).map(|i| (i, 'x', i)).collect()
    });
    // Under both: the inner one only for some points, the outer one for all.
    let both = |n: usize, p: usize| (0..n).map(|i| (i, ['w', 'x'][p * usize::from(i > 5)], i)).collect();
    moves("var v: T = w[i]; if p > 0 { if i > 5 { set v = x[i]; } } store y[i] = v;", WHOLE, both);
}

#[test]
fn counted_loops() {
    let together: Points = [4, 4, 4, 2];
    let apart: Points = [4, 2, 1, 1];
    let last = |n: usize, p: usize| (0..n).map(|i| (i, ['x', 'w'][p], i + 7 * p)).collect();
    // One turn for p = 1, none for 0.
    moves("var v: T = x[i]; for j in 0..p { set v = w[i + j + 7]; } store y[i] = v;", together, last);
    moves(
        "var v: T = x[i]; for j in 0..9 { if j >= p { break; } set v = w[i + j + 7]; } store y[i] = v;",
        together,
        last,
    );
    let odd = |n: usize, _| (0..n).map(|i| (i, ['x', 'w'][i & 1], i)).collect();
    moves("var v: T = x[i]; for j in 0..(i & 1) { set v = w[i + j]; } store y[i] = v;", apart, odd);
    let text =
        "var v: T = x[i]; for j in 0..9 { if i & 1 <= j { break; } set v = w[i + j]; } store y[i] = v;";
    moves(text, apart, odd);
}
