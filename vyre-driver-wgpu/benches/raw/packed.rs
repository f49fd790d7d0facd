//! Saxpys over 8- and 16-bit elements: whole words, four to an invocation, over a multiple of 1,024 words. The
//! grid is folded in rows of 32,768 workgroups.

/// The shader whose `line` makes the words `z` of the factor `a`, and the words `p` of `x` and `q` of `y`.
fn shader(line: &str) -> String {
    format!(
        "
@group(0) @binding(0) var<storage, read> x: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<u32>>;
fn halves(a: f32, p: u32, q: u32) -> u32 {{
    return pack2x16float(a * unpack2x16float(p) + unpack2x16float(q));
}}
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {{
    let i = (group.y * 32768u + group.x) * 256u + lane;
    let p = x[i];
    let q = y[i];
    {line}
    y[i] = z;
}}"
    )
}

/// `y[i] = 3 x[i] + y[i]` of u8: the even and the odd bytes of a word are two sums of 16 bits each.
pub(crate) fn saxpy_u8() -> String {
    shader(
        "let even = vec4<u32>(0x00FF00FFu);
    let low = (p & even) * 3u + (q & even);
    let high = ((p >> vec4(8u)) & even) * 3u + ((q >> vec4(8u)) & even);
    let z = (low & even) | ((high & even) << vec4(8u));",
    )
}

/// `y[i] = 3 x[i] + y[i]` of u16.
pub(crate) fn saxpy_u16() -> String {
    shader(
        "let lower = vec4<u32>(0xFFFFu);
    let low = p * 3u + q;
    let high = (p >> vec4(16u)) * 3u + (q >> vec4(16u));
    let z = (low & lower) | (high << vec4(16u));",
    )
}

/// `y[i] = 3 x[i] + y[i]` of f16.
pub(crate) fn saxpy_f16() -> String {
    shader(
        "let z = vec4(halves(3.0, p.x, q.x), halves(3.0, p.y, q.y), halves(3.0, p.z, q.z), halves(3.0, p.w, q.w));",
    )
}
