//! Fences on the device, in flow that the invocations of a workgroup do not share.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here fails the test")]

use vyre_driver::{BackendError, DispatchConfig, VyreBackend};
use vyre_driver_wgpu::WgpuBackend;
use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_spec::{FenceScope, MemoryOrdering};

/// Each invocation makes its own number of trips, each with a fence, and stores the sum of what it saw.
fn trips(size: u32) -> Checked<Program> {
    Kernel::build("trips", |k| {
        let out = k.write_only::<u32>("out", 128);
        let last = k.read_write::<u32>("last").with_len(128).coherent();
        k.workgroups([size], [128 / u64::from(size)], |group| {
            let i = group.global_id[0];
            let sum = k.var("sum", 0u32);
            k.for_(0u32, i / 16u32 + 1u32, |n| {
                last.store(i, n * 3u32);
                k.fence(MemoryOrdering::Storage, FenceScope::Device);
                sum.set(sum.get() + last.load(i) + 1u32);
            });
            out.store(i, sum.get());
        });
    })
    .unwrap()
}

fn expected() -> Vec<u8> {
    let sum = |i: u32| (0..i / 16 + 1).map(|n| n * 3 + 1).sum::<u32>();
    (0..128).flat_map(|i| sum(i).to_le_bytes()).collect()
}

#[test]
fn a_fence_in_a_loop_of_each_ones_own_length_changes_nothing_or_is_refused() {
    let backend = WgpuBackend::acquire().unwrap();
    let lanes = backend.profile().subgroup_size.unwrap_or(1).min(64);
    let zeros = vec![0u8; 512];
    let run = |size: u32| backend.dispatch_checked(&trips(size), &[&zeros], &DispatchConfig::default());
    // One subgroup for each workgroup is fine everywhere.
    assert_eq!(run(lanes.min(128)).unwrap()[0], expected());
    match run(128) {
        Ok(outputs) => assert_eq!(outputs[0], expected()),
        Err(error) => {
            // Mesa's lavapipe takes a fence for a barrier.
            assert!(backend.profile().driver.contains("llvmpipe"), "{error}");
            assert!(matches!(error, BackendError::Unsupported { .. }), "{error}");
        }
    }
}
