//! Texts that several tests share.

/// A body in a program with some of everything declared.
pub(crate) fn body(statements: &str) -> String {
    format!(
        "program p {{
            param n: u32; param a: f32; param s: i32 specialize;
            buffer x: readonly f32[]; buffer y: readwrite f32[len(x)]; buffer h: readwrite u32[256];
            buffer z: readwrite i32[]; shared tile: f32[256]; private scratch: u32[4];
            tile left: a f32[8, 4]; tile right: b f32[4, 8]; tile sum: accumulator f32[8, 8];
            launch workgroups(ceil_div(len(x), 64)) size(64) {{ {statements} }}
        }}"
    )
}

/// Every statement once.
pub(crate) const EVERYTHING: &str = "
    // Comments are skipped.
    let i = global_id.x;
    let xi = load x[i];
    store y[i] = a * xi + xi;
    let old = atomic_add h[i % 256], 1;
    atomic_max h[old], 7;
    let was = atomic_compare_exchange h[3], old, old + 1;
    store scratch[0] = was;
    var acc: f32 = 0.0;
    set acc = acc + x[i + 1];
    let so_far = get acc;
    if xi > 1.0 && so_far <= 2.0 { store y[0] = 1.0; } else if xi < -1.0 { return; } else { trap 7, i; }
    for k in 0..n { if k == 3 { continue; } store scratch[k] = k; }
    for k in s..10i32 step 2i32 { store z[convert<u32>(k)] = -k; }
    while { let w = load scratch[1]; } w < 5 { store scratch[1] = w + 1; break; }
    while n < 4 { store scratch[2] = 0; }
    barrier workgroup;
    store tile[local_index] = fma(xi, a, so_far);
    barrier workgroup_and_storage;
    let total = subgroup_add i;
    let other = subgroup_shuffle total, subgroup_lane ^ 1;
    tile_load left, x[n], 4;
    tile_load right, y[32], n, column_major;
    tile_fill sum, a;
    tile_multiply_add sum, left, right, sum;
    tile_add sum, sum, sum;
    tile_subtract sum, sum, sum;
    tile_scale sum, sum, a;
    tile_store sum, tile[0], 8;
    tile_store sum, y[n], 8, column_major;
    store h[0] = select(other > total, other, bitcast<u32>(xi)) << 3 | len(x) & !i;
";

/// Statements of programs that the checker refuses, but that have a text and an encoding like any other.
pub(crate) const REFUSED: [&str; 6] = [
    // A result that is read before it exists, and one whose block has ended.
    "store h[0] = result(2); if n < 1 { let k = load h[1]; store h[3] = k; } store h[2] = result(2);",
    // A loop variable outside of its loop, and the result of a node that has none.
    "store h[0] = loop_var(1); for i in 0..3 { store h[i] = i; } store h[1] = result(0);",
    // A loop whose bounds read what comes later.
    "for i in result(2)..3i32 step 1i32 { } let k = load z[0]; store z[0] = k;",
    // A variable that is declared twice.
    "var u: u32 = 1; declare u = 2;",
    // Ops with too few or too many operands.
    "atomic_compare_exchange h[0], 1; atomic_add h[0], 1, 2; subgroup_shuffle n; subgroup_add n, n;",
    // Types that no op takes, statements out of place.
    "break; store x[true] = inf<f32> + 1; if 3 { continue; } return; store h[0] = !(2) < -true;",
];
