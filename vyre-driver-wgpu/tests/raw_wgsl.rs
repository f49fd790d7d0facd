//! Raw WGSL through the public interface.

use vyre_driver_wgpu::WgpuBackend;

fn words(values: impl IntoIterator<Item = u32>) -> Vec<u8> {
    values.into_iter().flat_map(u32::to_le_bytes).collect()
}

const TRIPLE: &str = "
@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> b: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x < arrayLength(&b) && id.x % 3u != 1u) { b[id.x] = a[id.x] * 3u; }
}";

#[test]
fn words_come_back_and_what_is_not_stored_is_zero() {
    let backend = WgpuBackend::acquire().unwrap();
    for n in [1_u32, 5, 64, 1000] {
        let output = backend.dispatch_wgsl(TRIPLE, &words(0..n), 4 * n as usize, 64).unwrap();
        assert_eq!(output, words((0..n).map(|i| if i % 3 == 1 { 0 } else { i * 3 })));
    }
    // Four runs of one shader compile it once.
    let stats = backend.stats();
    assert_eq!((stats.pipelines.misses, stats.pipelines.hits), (1, 3), "{stats:?}");
}

#[test]
fn odd_sizes_are_exact() {
    let backend = WgpuBackend::acquire().unwrap();
    // The input's missing bytes are zero: 0x0000_0201 × 3.
    assert_eq!(backend.dispatch_wgsl(TRIPLE, &[1, 2], 3, 64).unwrap(), [3, 6, 0]);
    assert_eq!(backend.dispatch_wgsl(TRIPLE, &[], 0, 64).unwrap(), []);
}

#[test]
fn errors_show_the_source_and_name_the_field() {
    let backend = WgpuBackend::acquire().unwrap();
    let broken = TRIPLE.replace("a[id.x]", "c[id.x]");
    let error = backend.dispatch_wgsl(&broken, &[0; 4], 4, 64).unwrap_err();
    assert!(error.contains("c[id.x]") && error.contains("no definition in scope"), "{error}");
    let error = backend.dispatch_wgsl(TRIPLE, &[0; 4], 4, 32).unwrap_err();
    assert!(error.contains("workgroup_size") && error.contains("64"), "{error}");
    let third = TRIPLE.replace("binding(1)", "binding(2)");
    assert!(backend.dispatch_wgsl(&third, &[0; 4], 4, 64).is_err());
    // The backend is unharmed.
    assert_eq!(backend.dispatch_wgsl(TRIPLE, &words([7]), 4, 64).unwrap(), words([21]));
    assert_eq!(backend.stats().uncaptured_errors, 0);
}

#[test]
fn any_declaration_of_the_input_is_taken() {
    let backend = WgpuBackend::acquire().unwrap();
    let body = "
@group(0) @binding(1) var<storage, read_write> b: array<u32>;
@compute @workgroup_size(4, 2) fn main(@builtin(local_invocation_index) i: u32) {
    if (i < arrayLength(&b)) { b[i] = a[i] + 1u; }
}";
    let input = words(10..18);
    for declared in ["storage, read", "storage, read_write"] {
        let shader = format!("@group(0) @binding(0) var<{declared}> a: array<u32>;{body}");
        assert_eq!(backend.dispatch_wgsl(&shader, &input, 32, 8).unwrap(), words(11..19), "{declared}");
    }
    // A uniform array has a stride of 16 bytes.
    let uniform = format!("@group(0) @binding(0) var<uniform> v: array<vec4<u32>, 2>;{body}")
        .replace("a[i]", "v[i / 4u][i % 4u]");
    assert_eq!(backend.dispatch_wgsl(&uniform, &input, 32, 8).unwrap(), words(11..19));
    // A shader without an input.
    let none = TRIPLE.replace("a[id.x] * 3u", "7u").replace("% 3u != 1u", "% 3u != 9u");
    let none = none.lines().filter(|line| !line.contains("binding(0)")).collect::<Vec<_>>().join("\n");
    assert_eq!(backend.dispatch_wgsl(&none, &[], 12, 64).unwrap(), words([7, 7, 7]));
}

#[test]
fn an_interface_that_does_not_fit_is_named() {
    let backend = WgpuBackend::acquire().unwrap();
    let fails = |shader: &str, size| backend.dispatch_wgsl(shader, &[0; 4], 4, size).unwrap_err();
    let cases = [
        (fails(TRIPLE, 0), "at least one invocation"),
        (fails(&TRIPLE.replace("fn main", "fn triple"), 64), "it has: triple"),
        (fails(&TRIPLE.replace("@compute @workgroup_size(64)", ""), 64), "it has: none"),
        (fails(&TRIPLE.replace("storage, read_write", "storage, read"), 64), "`b`"),
        (fails(&TRIPLE.replace("group(0) @binding(1)", "group(1) @binding(0)"), 64), "group 1, binding 0"),
        (
            fails(&TRIPLE.replace("workgroup_size(64)", "workgroup_size(65536, 65536)"), 64),
            "[65536, 65536, 1]",
        ),
        (fails(&format!("override n: u32;{}", TRIPLE.replace("size(64)", "size(n)")), 64), "override"),
        (fails("not a shader", 64), "not a shader"),
        (fails("", 64), "it has: none"),
    ];
    for (error, part) in cases {
        assert!(error.contains(part), "`{part}` is missing: {error}");
    }
    assert_eq!(backend.stats().uncaptured_errors, 0);
}

#[test]
fn the_shared_backend_is_one() {
    let (a, b) = (WgpuBackend::shared().unwrap(), WgpuBackend::shared().unwrap());
    assert!(std::sync::Arc::ptr_eq(&a, &b));
    assert_eq!(a.device_limits().max_buffer_size, a.device_queue().0.limits().max_buffer_size);
    assert_eq!(a.device_profile().name, a.adapter_info().name);
}

#[test]
fn a_missing_adapter_is_refused_with_what_there_is() {
    let error = WgpuBackend::acquire_adapter(10_000).unwrap_err();
    let known = WgpuBackend::adapters().unwrap();
    assert!(known.iter().all(|report| error.to_string().contains(&report.name)), "{error}");
    assert!(error.help().contains("VYRE_ADAPTER_INDEX"), "{}", error.help());
}
