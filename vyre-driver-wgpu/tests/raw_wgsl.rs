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
