//! `OptimizerDispatcher`: u64 handles, and sequences in one submission.

use vyre_driver::VyreBackend;
use vyre_driver::optimizer::{OptimizerDispatcher, ResidentDispatchStep, ResidentReadRange};
use vyre_driver_wgpu::WgpuBackend;

use crate::{add, double, open, words};

/// Three residents of two words: 1 2, 10 20 and zeros.
fn three(o: &dyn OptimizerDispatcher) -> [u64; 3] {
    let handles: [u64; 3] = o.alloc_resident_many(&[8; 3]).unwrap().try_into().unwrap();
    o.upload_resident_many(&[(handles[0], &words(&[1, 2])[..]), (handles[1], &words(&[10, 20]))]).unwrap();
    handles
}

#[test]
fn optimizer_dispatch() {
    let b = open();
    let o: &dyn OptimizerDispatcher = &b;
    assert_eq!(o.dispatch(&double(), &[words(&[4])], None).unwrap(), [words(&[8])]);
    assert!(o.supports_persistent());
    assert_eq!(o.device_feature_cache_key(), OptimizerDispatcher::device_feature_cache_key(&open()));
}

#[test]
fn optimizer_residents() {
    let b = open();
    let o: &dyn OptimizerDispatcher = &b;
    let x = o.alloc_resident(6).unwrap();
    o.upload_resident(x, &[1, 2, 3]).unwrap();
    assert_eq!(o.read_resident(x).unwrap(), [1, 2, 3, 0, 0, 0]);
    let [y, z, _] = three(o);
    assert_eq!(o.read_resident_many(&[z, x]).unwrap(), [words(&[10, 20]), vec![1, 2, 3, 0, 0, 0]]);
    let ranges = [
        ResidentReadRange { handle: x, byte_offset: 1, byte_len: 2 },
        ResidentReadRange { handle: y, byte_offset: 4, byte_len: 4 },
    ];
    let want = [vec![2, 3], words(&[2])];
    assert_eq!(o.read_resident_ranges(&ranges).unwrap(), want);
    let mut out = Vec::new();
    o.read_resident_ranges_into(&ranges, &mut out).unwrap();
    assert_eq!(out, want);
    let more = o.alloc_resident_many(&[4, 0]).unwrap();
    o.upload_resident_many(&[(more[0], &[9][..])]).unwrap();
    assert_eq!(o.read_resident_many(&more).unwrap(), [vec![9, 0, 0, 0], vec![]]);
    o.free_resident(x).unwrap();
    assert!(o.read_resident(x).is_err() && o.free_resident(x).is_err());
}

#[test]
fn optimizer_static_uploads() {
    let b = open();
    let o: &dyn OptimizerDispatcher = &b;
    let first = o.acquire_resident_static_uploads(7, &[b"abcd", b"ef"]).unwrap();
    let second = o.acquire_resident_static_uploads(7, &[b"ef"]).unwrap();
    assert_eq!(first.handles()[1], second.handles()[0], "equal content is one buffer");
    let kept = second.handles()[0];
    o.release_resident_static_uploads(first).unwrap();
    assert_eq!(o.read_resident(kept).unwrap(), b"ef");
    o.release_resident_static_uploads(second).unwrap();
    assert!(o.read_resident(kept).is_err());
}

#[test]
fn optimizer_sequences() {
    let b = open();
    let o: &dyn OptimizerDispatcher = &b;
    let [x, y, z] = three(o);
    let (add, double) = (add(), double());
    o.dispatch_resident(&add, &[x, y, z], None).unwrap();
    assert_eq!(o.read_resident(z).unwrap(), words(&[11, 22]));
    let steps = [
        ResidentDispatchStep { program: &add, handles: &[x, y, z], grid_override: None },
        ResidentDispatchStep { program: &double, handles: &[z], grid_override: None },
    ];
    o.dispatch_resident_sequence(&steps).unwrap();
    let want = [words(&[22, 44])];
    assert_eq!(o.read_resident(z).unwrap(), want[0]);
    let range = [ResidentReadRange { handle: z, byte_offset: 0, byte_len: 8 }];
    assert_eq!(o.dispatch_resident_sequence_read_many(&steps, &[z]).unwrap(), want);
    assert_eq!(o.dispatch_resident_sequence_read_ranges(&steps, &range).unwrap(), want);

    let one = words(&[5, 6]);
    let uploads = [(x, &one[..])];
    let want = [words(&[30, 52])];
    assert_eq!(o.upload_resident_many_sequence_read_many(&uploads, &steps, &[z]).unwrap(), want);
    assert_eq!(o.upload_resident_many_sequence_read_ranges(&uploads, &steps, &range).unwrap(), want);
    let mut out = Vec::new();
    o.upload_resident_many_sequence_read_many_into(&uploads, &steps, &[z], &mut out).unwrap();
    assert_eq!(out, want);
    o.upload_resident_many_sequence_read_ranges_into(&uploads, &steps, &range, &mut out).unwrap();
    assert_eq!(out, want);
    // y cleared: (5 6) doubled. Then y filled with 0x01 bytes.
    o.clear_upload_resident_many_sequence_read_many_into(&[(y, 8)], &uploads, &steps, &[z], &mut out)
        .unwrap();
    assert_eq!(out, [words(&[10, 12])]);
    let want = [words(&[2 * 0x0101_0106, 2 * 0x0101_0107])];
    let fills = [(y, 8, 1)];
    o.fill_upload_resident_many_sequence_read_many_into(&fills, &uploads, &steps, &[z], &mut out).unwrap();
    assert_eq!(out, want);
    o.fill_upload_resident_many_sequence_read_ranges_into(&fills, &uploads, &steps, &range, &mut out)
        .unwrap();
    assert_eq!(out, want);
}

#[test]
fn invalidation() {
    let b = open();
    b.dispatch_borrowed(&double(), &[&words(&[1])], &crate::config()).unwrap();
    let key = b.pipeline_cache_key(&double(), &crate::config()).unwrap();
    let entries = |b: &WgpuBackend| b.stats().pipelines.entries;
    assert_eq!(entries(&b), 1);
    // Rule 0 reaches rule 1, from which the pipeline comes; rule 2 does not.
    let adjacency = [0, 1, 0, 0, 0, 0, 0, 0, 0];
    let none = [0; 9];
    let invalidate = |mask: [u32; 3]| {
        b.invalidate_impacted_pipeline_cache(&mask, &adjacency, &none, &none, 3, 8, &[1], &[key]).unwrap();
        entries(&b)
    };
    assert_eq!(invalidate([0, 0, 1]), 1);
    assert_eq!(invalidate([1, 0, 0]), 0);
    b.dispatch_borrowed(&double(), &[&words(&[1])], &crate::config()).unwrap();
    b.invalidate_pipeline_cache_for_changed_op(9, &[4], &[key]).unwrap();
    assert_eq!(entries(&b), 1);
    b.invalidate_pipeline_cache_for_changed_op(4, &[4], &[key]).unwrap();
    assert_eq!(entries(&b), 0);
    let error =
        b.invalidate_impacted_disk_cache(&[1, 0], &[0; 4], &[0; 4], &[0; 4], 2, 1, &[0], &[]).unwrap_err();
    assert!(error.to_string().contains("cache_keys"), "{error}");
    b.invalidate_impacted_disk_cache(&[1, 0], &[0; 4], &[0; 4], &[0; 4], 2, 1, &[], &[]).unwrap();
}
