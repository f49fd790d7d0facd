//! `VyreBackend` and `Executable` on host bytes, compiled programs, and the life of a backend.

use std::sync::Arc;

use vyre_driver::{BackendError, Executable, Memory, MemoryRef, OpId, TryWait, VyreBackend};
use vyre_spec::ops::BinaryOp;

use crate::{add, config, double, open, words};

#[test]
fn identity() {
    let b = open();
    assert_eq!(b.id(), "wgpu");
    assert_eq!(b.version(), env!("CARGO_PKG_VERSION"));
    assert!(b.supported_ops().contains(&OpId::Binary(BinaryOp::Add)));
}

#[test]
fn host_dispatch() {
    let b = open();
    let inputs = [words(&[1, 2]), words(&[10, 20])];
    let borrowed: [&[u8]; 2] = [&inputs[0], &inputs[1]];
    let want = [words(&[11, 22])];
    assert_eq!(VyreBackend::dispatch(&b, &add(), &inputs, &config()).unwrap(), want);
    assert_eq!(b.dispatch_borrowed(&add(), &borrowed, &config()).unwrap(), want);
    let mut outputs = vec![Vec::with_capacity(64)];
    let kept = outputs[0].as_ptr();
    b.dispatch_borrowed_into(&add(), &borrowed, &config(), &mut outputs).unwrap();
    assert_eq!((outputs.as_slice(), outputs[0].as_ptr()), (&want[..], kept));
    let timed = b.dispatch_borrowed_timed(&add(), &borrowed, &config()).unwrap();
    assert_eq!(timed.outputs, want);
    assert!(timed.timing.wall >= timed.timing.submit && !timed.timing.wall.is_zero());
}

#[test]
fn pending_dispatch() {
    let b = open();
    let inputs = [words(&[1, 2]), words(&[10, 20])];
    let pending = b.dispatch_async(&add(), &inputs, &config()).unwrap();
    assert_eq!(pending.wait().unwrap(), [words(&[11, 22])]);
    let mut pending = b.dispatch_borrowed_async(&double(), &[&words(&[4])], &config()).unwrap();
    let outputs = loop {
        match pending.try_wait().unwrap() {
            TryWait::Ready(outputs) => break outputs,
            TryWait::Pending(again) => pending = again,
        }
    };
    assert_eq!(outputs, [words(&[8])]);
}

#[test]
fn executable() {
    let b = open();
    let x = words(&[3]);
    let host = Executable::dispatch(&b, &double(), &[MemoryRef::Host(&x)], &config()).unwrap();
    assert_eq!(host, [Memory::Host(words(&[6]))]);
    let resident = b.allocate_resident(4).unwrap();
    b.upload_resident(&resident, &x).unwrap();
    let device = Executable::dispatch(&b, &double(), &[MemoryRef::Device(resident)], &config()).unwrap();
    assert_eq!(device, [Memory::Device(resident)]);
    assert_eq!(b.download_resident(&resident).unwrap(), words(&[6]));
}

#[test]
fn native_compilation() {
    let b = open();
    let mut outputs = Vec::new();
    let shared: Arc<vyre_foundation::ir::Program> = Arc::new((*double()).clone());
    let first = b.compile_native(&double(), &config()).unwrap().unwrap();
    let second = b.compile_native_shared(shared, &config()).unwrap().unwrap();
    for pipeline in [first, second] {
        b.dispatch_pipeline_into(&pipeline, &[&words(&[5])], &config(), &mut outputs).unwrap();
        assert_eq!(outputs, [words(&[10])]);
    }
    // Both are one entry of the cache.
    let cache = b.pipeline_cache_snapshot().unwrap();
    assert_eq!((cache.entries, cache.misses), (1, 1), "{cache:?}");
    assert!(cache.hits >= 1, "{cache:?}");
    let metrics = b.backend_metric_snapshot();
    assert!(metrics.is_sorted_by_key(|(name, _)| *name), "{metrics:?}");
    assert!(!metrics.is_empty());
}

#[test]
fn life() {
    let b = open();
    b.prepare().unwrap();
    let resident = b.allocate_resident(8).unwrap();
    b.upload_resident(&resident, &[7; 8]).unwrap();
    b.flush().unwrap();
    assert!(!b.device_lost());
    b.force_device_lost().unwrap();
    assert!(b.device_lost());
    let error = b.dispatch_borrowed(&double(), &[&words(&[1])], &config()).unwrap_err();
    assert!(matches!(error, BackendError::DeviceLost { .. }), "{error}");
    b.try_recover().unwrap();
    assert!(!b.device_lost());
    assert_eq!(b.dispatch_borrowed(&double(), &[&words(&[1])], &config()).unwrap(), [words(&[2])]);
    let stale = b.download_resident(&resident).unwrap_err();
    assert!(matches!(stale, BackendError::BadHandle { problem: "stale", .. }), "{stale}");
    b.shutdown().unwrap();
    let error = b.dispatch_borrowed(&double(), &[&words(&[1])], &config()).unwrap_err();
    assert!(matches!(error, BackendError::ShutDown { .. }), "{error}");
}

#[test]
fn handles_of_one_backend() {
    let b = open();
    let mut other = b.clone();
    assert_eq!(other.instance(), b.instance());
    let third = open();
    assert_ne!(third.instance(), b.instance());
    other.clone_from(&third);
    assert_eq!(other.instance(), third.instance());
    assert!(format!("{b:?}").starts_with("WgpuBackend"), "{b:?}");
}
