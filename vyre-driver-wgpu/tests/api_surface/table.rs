//! The list of methods, and the check that each has a test which calls it.

use std::fs;
use std::path::Path;

/// Every documented method, by the type or trait that has it.
const METHODS: &[(&str, &[&str])] = &[
    (
        "WgpuBackend",
        &[
            "adapter_info",
            "device_limits",
            "acquire",
            "acquire_adapter",
            "device_queue",
            "force_device_lost",
            "invalidate_impacted_pipeline_cache",
            "invalidate_pipeline_cache_for_changed_op",
            "invalidate_impacted_disk_cache",
            "new",
            "shared",
            "dispatch_borrowed_for_each_mapped_output",
            "dispatch_borrowed_for_each_pod_output",
            "dispatch_speculative_prefilter_confirm",
            "dispatch_borrowed_batch",
            "dispatch_borrowed_batch_into",
            "dispatch_batch",
            "compile_streaming",
            "compile_persistent",
            "allocate_wgpu_device_buffer",
            "upload_wgpu_device_buffer",
            "download_wgpu_device_buffer",
            "free_wgpu_device_buffer",
            "lower_to_backend_ir",
            "lower_to_target",
            "compile",
            "dispatch_compiled",
            "dispatch_wgsl",
            "probe_op",
            "probe_op_many",
            "adapter_caps",
            "device_profile",
            "stats",
        ],
    ),
    (
        "BackendValidationCapabilities",
        &[
            "backend_name",
            "supports_cast_target",
            "supports_subgroup_ops",
            "supports_indirect_dispatch",
            "supports_specialization_constants",
            "supports_distributed_collectives",
            "backend_capabilities",
        ],
    ),
    ("Clone", &["clone", "clone_from"]),
    ("Debug", &["fmt"]),
    ("Executable", &["dispatch"]),
    (
        "OptimizerDispatcher",
        &[
            "dispatch",
            "supports_persistent",
            "device_feature_cache_key",
            "alloc_resident",
            "alloc_resident_many",
            "upload_resident",
            "upload_resident_many",
            "acquire_resident_static_uploads",
            "release_resident_static_uploads",
            "read_resident",
            "read_resident_many",
            "read_resident_ranges",
            "read_resident_ranges_into",
            "free_resident",
            "dispatch_resident",
            "dispatch_resident_sequence",
            "dispatch_resident_sequence_read_many",
            "dispatch_resident_sequence_read_ranges",
            "upload_resident_many_sequence_read_many",
            "upload_resident_many_sequence_read_ranges",
            "upload_resident_many_sequence_read_many_into",
            "clear_upload_resident_many_sequence_read_many_into",
            "fill_upload_resident_many_sequence_read_many_into",
            "fill_upload_resident_many_sequence_read_ranges_into",
            "upload_resident_many_sequence_read_ranges_into",
        ],
    ),
    (
        "VyreBackend",
        &[
            "id",
            "version",
            "supported_ops",
            "dispatch",
            "dispatch_borrowed",
            "dispatch_borrowed_into",
            "dispatch_borrowed_timed",
            "dispatch_async",
            "dispatch_borrowed_async",
            "compile_native",
            "allocate_device_buffer",
            "upload_device_buffer",
            "download_device_buffer",
            "free_device_buffer",
            "allocate_resident",
            "upload_resident",
            "upload_resident_many",
            "upload_resident_at",
            "upload_resident_at_many",
            "download_resident",
            "download_resident_into",
            "download_resident_range",
            "download_resident_range_into",
            "download_resident_ranges_into",
            "free_resident",
            "dispatch_resident_timed",
            "dispatch_with_device_buffers",
            "pipeline_cache_snapshot",
            "supports_subgroup_ops",
            "supports_f16",
            "supports_bf16",
            "supports_tensor_cores",
            "supports_async_compute",
            "supports_indirect_dispatch",
            "supports_speculation",
            "supports_persistent_thread_dispatch",
            "is_distributed",
            "max_workgroup_size",
            "max_compute_workgroups_per_dimension",
            "max_compute_invocations_per_workgroup",
            "subgroup_size",
            "max_storage_buffer_bytes",
            "device_profile",
            "flush",
            "device_lost",
            "try_recover",
            "dispatch_resident_sequence_read_ranges_into",
            "dispatch_resident_sequence_read_ranges_timed_into",
            "dispatch_resident_repeated_sequence_read_ranges_into",
            "compile_native_shared",
            "backend_metric_snapshot",
            "supports_grid_sync",
            "cooperative_grid_sync_fits",
            "allows_host_grid_sync_split",
            "supports_resident_dispatch",
            "supports_distributed_collectives",
            "prepare",
            "shutdown",
        ],
    ),
];

/// The files whose tests the table names.
const FILES: [&str; 5] = ["backend", "inherent", "optimizer", "residents", "views"];

/// The text of a test function, up to the next one.
fn test_body<'a>(sources: &'a str, name: &str) -> Option<&'a str> {
    let from = sources.find(&format!("#[test]\nfn {name}() {{"))?;
    let rest = &sources[from + 1..];
    Some(&rest[..rest.find("\n#[test]").unwrap_or(rest.len())])
}

#[test]
fn the_documents_table_names_a_test_that_calls_each_method() {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let document = fs::read_to_string(crate_dir.join("../docs/testing/vyre-driver-wgpu.md")).unwrap();
    let read =
        |file: &str| fs::read_to_string(crate_dir.join(format!("tests/api_surface/{file}.rs"))).unwrap();
    let sources: String = FILES.map(read).join("\n");
    let rows: Vec<(&str, &str)> = document
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.strip_suffix("` |")?.split_once("` | `"))
        .filter(|(method, _)| method.contains("::"))
        .collect();
    let mut listed = 0;
    for (owner, methods) in METHODS {
        for method in *methods {
            let name = format!("{owner}::{method}");
            let row = rows.iter().find(|(row, _)| *row == name);
            let (_, test) = row.unwrap_or_else(|| panic!("the table lacks `{name}`"));
            let body = test_body(&sources, test).unwrap_or_else(|| panic!("there is no test `{test}`"));
            let called = body.contains(&format!(".{method}(")) || body.contains(&format!("::{method}("));
            let formatted = *owner == "Debug" && body.contains("{b:?}");
            assert!(called || formatted, "`{test}` does not call `{name}`");
            listed += 1;
        }
    }
    assert_eq!(rows.len(), listed, "the table has rows for methods that are not listed");
}
