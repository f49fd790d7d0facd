//! Neighbouring accesses that become one.

use vyre_foundation::check::{Checked, check};
use vyre_foundation::ir::Program;
use vyre_foundation::launch::Params;
use vyre_foundation::text::parse;
use vyre_lower::kernel::{Op, Place};
use vyre_lower::lower;
use vyre_spec::{CompileOptions, Value};

use crate::interpreter::{profile, run_with};

fn options() -> CompileOptions {
    CompileOptions { launch_contract: true, ..CompileOptions::default() }
}

fn program(text: &str) -> Checked<Program> {
    check(parse(text).unwrap().0).unwrap()
}

/// Whole vectors that a kernel loads and stores, and the elements that it loads and stores one by one.
fn counts(program: &Checked<Program>) -> [usize; 4] {
    let kernel = lower(program, &profile(), &options()).unwrap();
    let placed: Vec<Op> = kernel.blocks.iter().flatten().map(|id| kernel.insts[id.index()].op).collect();
    let count = |wanted: fn(&Op) -> bool| placed.iter().filter(|op| wanted(op)).count();
    [
        count(|op| matches!(op, Op::LoadVector { .. })),
        count(|op| matches!(op, Op::StoreVector { .. })),
        count(|op| matches!(op, Op::Load { place: Place::Binding(_) | Place::Shared(_), .. })),
        count(|op| matches!(op, Op::Store { place: Place::Binding(_) | Place::Shared(_), .. })),
    ]
}

/// Two workgroups of four invocations over `x` and `y` of 128 words, with `tile` of as many.
fn workgroups(body: &str) -> Checked<Program> {
    program(&format!(
        "program merged {{
            param n: u32;
            buffer x: readonly u32[128];
            buffer y: readwrite u32[128];
            shared tile: u32[128];
            launch workgroups(2) size(4) {{
                let lane = local_index;
                let i = global_id.x & 7;
                {body}
            }}
        }}"
    ))
}

/// What `y` is afterwards; `x[i]` is `3 i + 1` and `y[i]` was `1000 + i`.
fn run(program: &Checked<Program>, n: u32) -> Vec<u32> {
    let params = Params::new().with("n", Value::new(n));
    let x: Vec<u32> = (0..128).map(|i| 3 * i + 1).collect();
    let y: Vec<u32> = (1_000..1_128).collect();
    run_with(program, &params, &[x, y], &profile(), &options()).buffers[1].clone()
}

#[test]
fn four_neighbours_of_a_buffer_are_loaded_and_stored_at_once() {
    let program = workgroups(
        "let a = x[4 * i]; let b = x[4 * i + 1]; let c = x[4 * i + 2]; let d = x[4 * i + 3];
         store y[4 * i + 3] = a; store y[4 * i + 2] = b; store y[4 * i + 1] = c; store y[4 * i] = d;",
    );
    assert_eq!(counts(&program), [1, 1, 0, 0]);
    let want: Vec<u32> = (0..32).map(|k| 3 * (k / 4 * 4 + 3 - k % 4) + 1).chain(1_032..1_128).collect();
    assert_eq!(run(&program, 0), want);
}

#[test]
fn shared_memory_is_an_array_of_vectors_where_most_of_its_accesses_are_merged() {
    let text = |more: &str| {
        format!(
            "let b = lane * 4;
             store tile[b] = i; store tile[b + 1] = i * 10; store tile[b + 2] = i * 100; store tile[b + 3] = 7;
             barrier workgroup;
             let from = (3 - lane) << 2;
             {more}
             store y[i] = tile[from] + tile[from + 1] + tile[from + 2] + tile[from + 3];"
        )
    };
    let merged = workgroups(&text(""));
    // Single ones are the zeroing of the array and the last store.
    assert_eq!(counts(&merged), [1, 1, 0, 2]);
    let sums = |i: u32| (i / 4 * 4 + 3 - i % 4) * 111 + 7;
    let want: Vec<u32> = (0..8).map(sums).chain(1_008..1_128).collect();
    assert_eq!(run(&merged, 0), want);
    let kernel = lower(&merged, &profile(), &options()).unwrap().to_string();
    assert!(kernel.lines().any(|l| l.contains("`tile`: u32 × 128, in vectors of 4")), "{kernel}");
    assert!(
        kernel.lines().any(|l| l.contains("load_vector `tile`[%") && l.contains("  // proven")),
        "{kernel}"
    );
    // Ten single accesses in a loop weigh more than eight that could be merged outside it.
    let mostly_single = workgroups(&text(
        "for j in 0..3 { if tile[(i + j) & 127] == 9 { store y[i + 8] = tile[(i + j + n) & 127]; } }",
    ));
    assert_eq!(counts(&mostly_single)[..2], [0, 0]);
    assert_eq!(run(&mostly_single, 0)[..8], want[..8]);
}

#[test]
fn alignment_follows_loop_variables_minima_and_masks() {
    let sum = |base: &str| format!("x[{base}] + x[{base} + 1] + x[{base} + 2] + x[{base} + 3]");
    let looped = |range: &str, base: &str| {
        let body =
            format!("var s: u32 = 0; for j in {range} {{ set s = s + {}; }} store y[i] = s;", sum(base));
        workgroups(&body)
    };
    let total = |from: u32, to: u32| (from..to).map(|k| 3 * k + 1).sum::<u32>();
    let aligned = looped("0..64 step 4", "j");
    // Trips are taken two at a time.
    assert_eq!(counts(&aligned)[..3], [2, 0, 0]);
    assert_eq!(run(&aligned, 0)[0], total(0, 64));
    let shifted = looped("4..64 step 8", "min(j + 8, 60)");
    assert_eq!(counts(&shifted)[..3], [2, 0, 0]);
    let blocks = (4..64u32).step_by(8).map(|j| (j + 8).min(60));
    assert_eq!(run(&shifted, 0)[0], blocks.map(|b| total(b, b + 4)).sum::<u32>());
    for (range, base) in [("1..61 step 4", "j"), ("1..64 step 2", "j"), ("0..16", "j * 2 + 1")] {
        assert_eq!(counts(&looped(range, base))[0], 0, "{range}, {base}");
    }
    // The first trip of each two is aligned, the second is not.
    let every_other = looped("0..64 step 2", "j");
    assert_eq!(counts(&every_other)[0], 1);
    assert_eq!(run(&every_other, 0)[0], (0..64u32).step_by(2).map(|b| total(b, b + 4)).sum::<u32>());
    let masked = workgroups(&format!("let b = n & 60; store y[i] = {};", sum("b")));
    assert_eq!(counts(&masked)[..3], [1, 0, 0]);
    assert_eq!(run(&masked, 0xFF)[0], total(60, 64));
    let unknown = workgroups(&format!("let b = n & 61; store y[i] = {};", sum("b")));
    assert_eq!(counts(&unknown)[..3], [0, 0, 4]);
    assert_eq!(run(&unknown, 21)[0], total(21, 25));
}

#[test]
fn nothing_is_merged_across_what_may_change_or_see_the_memory() {
    let loads = |between: &str| {
        workgroups(&format!(
            "let b = lane * 4;
             let p = load y[b]; let q = load y[b + 1]; {between}
             let r = load y[b + 2]; let s = load y[b + 3];
             store y[i] = p + q + r + s;"
        ))
    };
    assert_eq!(counts(&loads(""))[0], 1);
    assert_eq!(counts(&loads("store tile[i] = p;"))[0], 1);
    for between in [
        "store y[n & 127] = 1;",
        "barrier workgroup;",
        "fence storage, device;",
        "if n > 1 { store tile[i] = 1; }",
    ] {
        assert_eq!(counts(&loads(between))[0], 0, "{between}");
    }
    let stores = |between: &str| {
        workgroups(&format!(
            "let b = lane * 4; let m = i * 4;
             for j in 0..2 {{
                 store tile[b] = i; store tile[b + 1] = i; {between}
                 store tile[b + 2] = 2; store tile[b + 3] = 3;
                 barrier workgroup;
                 store y[m] = tile[b]; store y[m + 1] = tile[b + 1]; store y[m + 2] = tile[b + 2];
                 store y[m + 3] = tile[b + 3];
             }}"
        ))
    };
    assert_eq!(counts(&stores(""))[1], 2);
    // Elements of other vectors with the same base are other elements.
    assert_eq!(counts(&stores("store tile[b + 64] = 5;"))[1], 2);
    for between in ["store tile[n & 127] = 1;", "barrier workgroup;", "store y[i + 64] = tile[b + 64];"] {
        assert_eq!(counts(&stores(between))[1], 1, "{between}");
    }
    // The second store to an element counts, and each vector is stored where its last element was.
    let twice = stores("store tile[b] = 9;");
    assert_eq!(run(&twice, 0)[..8], [9, 0, 2, 3, 9, 1, 2, 3]);
}

/// Random loads and stores of a region of each invocation's own, in order, against the same on the host.
#[test]
fn random_sequences_of_accesses_keep_their_meaning() {
    let mut random = fastrand::Rng::with_seed(7);
    let (mut loads, mut stores) = (0, 0);
    for _ in 0..300 {
        let mut text = String::from("let b = lane * 8; let m = i * 8; var s: u32 = 1;\n");
        // A region of each array, per invocation: x is only read.
        let mut model: Vec<[[u64; 8]; 3]> = (0..8u64)
            .map(|i| {
                let of = |f: &dyn Fn(u64) -> u64| [0, 1, 2, 3, 4, 5, 6, 7].map(|k| f(i * 8 + k));
                [of(&|k| 3 * k + 1), of(&|k| 1_000 + k), [0; 8]]
            })
            .collect();
        let mut sums = [1u64; 8];
        for _ in 0..random.usize(4..24) {
            // Runs of neighbours are what merging is about.
            let (array, first) = (random.usize(0..3), random.usize(0..8));
            let is_store = array > 0 && random.bool();
            let place = |k: usize| match array {
                0 => format!("x[m + {k}]"),
                1 => format!("y[m + {k}]"),
                _ => format!("tile[b + {k}]"),
            };
            for k in (first..8).take(random.usize(1..6)) {
                if is_store {
                    let add = random.u32(0..100);
                    text += &format!("store {} = s + {add};\n", place(k));
                    for (model, sum) in model.iter_mut().zip(&sums) {
                        model[array][k] = (sum + u64::from(add)) & 0xFFFF_FFFF;
                    }
                } else {
                    text += &format!("set s = s * 3 + {};\n", place(k));
                    for (model, sum) in model.iter().zip(&mut sums) {
                        *sum = (*sum * 3 + model[array][k]) & 0xFFFF_FFFF;
                    }
                }
            }
        }
        text += "store y[i + 64] = s;";
        let program = workgroups(&text);
        let [l, s, ..] = counts(&program);
        (loads, stores) = (loads + l, stores + s);
        let regions = model.iter().flat_map(|model| model[1]);
        let want: Vec<u32> = regions.chain(sums).map(|word| word as u32).chain(1_072..1_128).collect();
        assert_eq!(run(&program, 0), want, "{text}");
    }
    assert!(loads > 100 && stores > 50, "{loads} loads and {stores} stores of vectors");
}
