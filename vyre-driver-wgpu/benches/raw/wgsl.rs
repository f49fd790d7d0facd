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
