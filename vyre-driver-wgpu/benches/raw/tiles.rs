//! The tile product by hand.

/// Rows and columns of a workgroup's block, steps of the sum in shared memory, elements that rows there are padded
/// by, and the side of a tile.
pub(crate) const BLOCK: u32 = 128;
pub(crate) const DEPTH: u32 = 32;
pub(crate) const PAD: u32 = 8;
pub(crate) const SIDE: u32 = 16;

/// `c = a b` for square row-major matrices of `n` rows: of f16, and c of f32.
pub(crate) fn tile_matmul(n: u32) -> String {
    let lines = |count: u32, line: &dyn Fn(u32) -> String| -> String { (0..count).map(line).collect() };
    let (row_a, row_b) = ((DEPTH + PAD) / 4, (BLOCK + PAD) / 4);
    let declared = lines(16, &|i| format!("var sum_{i}: coop_mat16x16<f32, C>;\n"))
        + &lines(8, &|i| format!("var next_a{i}: vec4<f16>; var next_b{i}: vec4<f16>;\n"));
    let load = |step: &str| {
        lines(8, &|i| {
            format!(
                "next_a{i} = a[source_a + {step} / 4u + {i}u * 4u * N];
                 next_b{i} = b[source_b + {step} / 4u * N + {i}u * N];\n"
            )
        })
    };
    let keep = lines(8, &|i| {
        format!(
            "part_a[to_a + {i}u * {}u] = next_a{i}; part_b[to_b + {i}u * {}u] = next_b{i};\n",
            16 * row_a,
            4 * row_b
        )
    });
    let multiply = lines(DEPTH / SIDE, &|step| {
        let loads = lines(4, &|i| {
            format!(
                "let left_{i} = coopLoadT<coop_mat16x16<f16, A>>(&part_a[lower * {row_a}u + {}u], {row_a}u);
                 let right_{i} = coopLoadT<coop_mat16x16<f16, B>>(&part_b[right / 4u + {}u], {row_b}u);\n",
                i * SIDE * row_a + step * SIDE / 4,
                step * SIDE * row_b + i * SIDE / 4
            )
        });
        let sums =
            lines(16, &|i| format!("sum_{i} = coopMultiplyAdd(left_{}, right_{}, sum_{i});\n", i / 4, i % 4));
        format!("{{ {loads} {sums} }}\n")
    });
    let stored = lines(16, &|i| {
        format!("coopStoreT(sum_{i}, &c[first + {}u * N + {}u], N);\n", i / 4 * SIDE, i % 4 * SIDE)
    });
    let (before, during) = (load("0u"), load("step"));
    format!(
        "enable f16;
enable wgpu_cooperative_matrix;
const N = {n}u;
@group(0) @binding(0) var<storage, read> a: array<vec4<f16>>;
@group(0) @binding(1) var<storage, read> b: array<vec4<f16>>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
var<workgroup> part_a: array<vec4<f16>, {size_a}>;
var<workgroup> part_b: array<vec4<f16>, {size_b}>;
@compute @workgroup_size(128)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(subgroup_id) subgroup: u32,
) {{
    let source_a = ((group.y * 128u + lane / 8u) * N) / 4u + lane % 8u;
    let source_b = (lane / 32u * N + group.x * 128u) / 4u + lane % 32u;
    let to_a = lane / 8u * {row_a}u + lane % 8u;
    let to_b = lane / 32u * {row_b}u + lane % 32u;
    let right = subgroup % 2u * 64u;
    let lower = subgroup / 2u * 64u;
    {declared}
    {before}
    {keep}
    workgroupBarrier();
    for (var step = 32u; step < N; step += 32u) {{
        {during}
        {multiply}
        workgroupBarrier();
        {keep}
        workgroupBarrier();
    }}
    {multiply}
    let first = (group.y * 128u + lower) * N + group.x * 128u + right;
    {stored}
}}",
        size_a = BLOCK * row_a,
        size_b = DEPTH * row_b,
    )
}
