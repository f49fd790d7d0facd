//! The shaders. Sizes are constants in the source, as an expert would specialise them.

/// `out[i] = in[i] + 1` over 64 words.
pub(crate) const TINY: &str = "
@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> target_: array<u32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    target_[id.x] = source[id.x] + 1u;
}";

/// `y[i] = 2 x[i] + y[i]`, one vec4 per invocation, over a multiple of 1,024 elements; the grid is folded in
/// rows of 32,768 workgroups.
pub(crate) const SAXPY_VEC4: &str = "
@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<f32>>;
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let i = (group.y * 32768u + group.x) * 256u + lane;
    y[i] = 2.0 * x[i] + y[i];
}";

/// The same with one element per invocation.
pub(crate) const SAXPY_SCALAR: &str = "
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let i = (group.y * 32768u + group.x) * 256u + lane;
    y[i] = 2.0 * x[i] + y[i];
}";

/// One sum per workgroup of 256 over 256 u32 each: a tree in shared memory.
pub(crate) const REDUCTION: &str = "
@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> sums: array<u32>;
var<workgroup> tile: array<u32, 256>;
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    tile[lane] = source[group.x * 256u + lane];
    workgroupBarrier();
    for (var width = 128u; width > 0u; width >>= 1u) {
        if lane < width {
            tile[lane] += tile[lane + width];
        }
        workgroupBarrier();
    }
    if lane == 0u {
        sums[group.x] = tile[0];
    }
}";

/// `c = a b` for square row-major matrices of `N` rows, in 16 × 16 tiles.
pub(crate) fn matmul(n: u32) -> String {
    format!(
        "
const N = {n}u;
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
var<workgroup> tile_a: array<f32, 256>;
var<workgroup> tile_b: array<f32, 256>;
@compute @workgroup_size(16, 16)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {{
    let row = group.y * 16u + local.y;
    let column = group.x * 16u + local.x;
    let at = local.y * 16u + local.x;
    var sum = 0.0;
    for (var k = 0u; k < N; k += 16u) {{
        tile_a[at] = a[row * N + k + local.x];
        tile_b[at] = b[(k + local.y) * N + column];
        workgroupBarrier();
        for (var i = 0u; i < 16u; i += 1u) {{
            sum += tile_a[local.y * 16u + i] * tile_b[i * 16u + local.x];
        }}
        workgroupBarrier();
    }}
    c[row * N + column] = sum;
}}"
    )
}

/// `y[i]` is `x[i]` after 4,096 fused multiply-adds.
pub(crate) const FUSED_LOOP: &str = "
@group(0) @binding(0) var<storage, read> by: array<f32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let factor = by[0];
    let start = x[id.x];
    var sum = start;
    for (var j = 0u; j < 4096u; j += 1u) {
        sum = fma(sum, factor, start);
    }
    y[id.x] = sum;
}";

/// `c = a b` for square row-major matrices of `n` rows, in blocks of 128 × 128: 8 × 8 elements for each
/// invocation, all in vectors, unrolled, the next 16 steps of the sum under way while these are added up.
pub(crate) fn blocked_matmul(n: u32) -> String {
    let lines = |range: std::ops::Range<u32>, line: &dyn Fn(u32) -> String| -> String {
        range.map(|i| line(i) + "\n").collect()
    };
    let declared = lines(0..16, &|i| format!("var sum_{i} = vec4<f32>();"));
    let load = |step: &str| {
        lines(0..2, &|i| format!("next_a{i} = a[(row_a * N + {step} + step_a) / 4u + {i}u];"))
            + &lines(0..2, &|i| {
                format!("next_b{i} = b[(({step} + step_b + {i}u * 8u) * N + column_b) / 4u];")
            })
    };
    let keep = |first: &str| {
        lines(0..8, &|i| {
            let (vector, part) = (i / 4, i % 4);
            format!(
                "tile_a[({first} + (step_a + {i}u) * 128u + at_a) / 4u][at_a % 4u] = next_a{vector}[{part}];"
            )
        }) + &lines(0..2, &|i| {
            format!("tile_b[({first} + (step_b + {i}u * 8u) * 128u) / 4u + lane % 32u] = next_b{i};")
        })
    };
    let add = lines(0..16, &|step| {
        let operands = lines(0..2, &|i| {
            let at = format!("first / 4u + {step}u * 32u + {i}u * 16u");
            format!("let a{step}_{i} = tile_a[{at} + y]; let b{step}_{i} = tile_b[{at} + x];")
        });
        operands
            + &lines(0..16, &|i| {
                let (row, half) = (i / 2, i % 2);
                let (vector, part) = (row / 4, row % 4);
                format!("sum_{i} = fma(vec4<f32>(a{step}_{vector}[{part}]), b{step}_{half}, sum_{i});")
            })
    });
    let stored = lines(0..16, &|i| {
        let row = i / 8 * 64 + i / 2 % 4;
        let half = i % 2 * 64;
        format!("c[((group.y * 128u + y * 4u + {row}u) * N + group.x * 128u + {half}u) / 4u + x] = sum_{i};")
    });
    let (before, during) = (load("0u"), load("ahead"));
    let (keep_first, keep_next) = (keep("0u"), keep("(2048u - first)"));
    format!(
        "
const N = {n}u;
@group(0) @binding(0) var<storage, read> a: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> b: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> c: array<vec4<f32>>;
var<workgroup> tile_a: array<vec4<f32>, 1024>;
var<workgroup> tile_b: array<vec4<f32>, 1024>;
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {{
    let at_a = lane % 128u;
    let row_a = group.y * 128u + at_a;
    let step_a = lane / 128u * 8u;
    let step_b = lane / 32u;
    let column_b = group.x * 128u + lane % 32u * 4u;
    let x = lane % 16u;
    let y = lane / 16u;
    var next_a0: vec4<f32>; var next_a1: vec4<f32>; var next_b0: vec4<f32>; var next_b1: vec4<f32>;
    {declared}
    {before}
    {keep_first}
    workgroupBarrier();
    for (var step = 0u; step < N; step += 16u) {{
        let ahead = min(step + 16u, N - 16u);
        let first = (step & 16u) * 128u;
        {during}
        {add}
        {keep_next}
        workgroupBarrier();
    }}
    {stored}
}}"
    )
}
