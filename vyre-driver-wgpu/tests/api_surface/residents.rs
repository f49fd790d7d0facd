//! Buffers that stay on the device: device buffers, residents, and sequences over them.

use vyre_driver::backend::{ResidentDispatchStep, ResidentReadRange};
use vyre_driver::{BackendError, VyreBackend};

use crate::{add, config, double, open, words};

#[test]
fn device_buffers() {
    let b = open();
    let mut x = b.allocate_device_buffer(8).unwrap();
    assert_eq!(x.byte_len(), 8);
    b.upload_device_buffer(&mut *x, &words(&[1])).unwrap();
    assert_eq!(b.download_device_buffer(&*x).unwrap(), words(&[1, 0]));
    let mut y = b.allocate_wgpu_device_buffer(8).unwrap();
    b.upload_wgpu_device_buffer(&mut *y, &words(&[10, 20])).unwrap();
    let mut z = b.allocate_device_buffer(8).unwrap();
    b.dispatch_with_device_buffers(&add(), &[&*x, &*y], &mut [&mut *z], &config()).unwrap();
    assert_eq!(b.download_wgpu_device_buffer(&*z).unwrap(), words(&[11, 20]));
    let handle = z.resource();
    b.free_device_buffer(x).unwrap();
    b.free_wgpu_device_buffer(y).unwrap();
    b.free_wgpu_device_buffer(z).unwrap();
    let freed = b.download_resident(&handle).unwrap_err();
    assert!(matches!(freed, BackendError::BadHandle { problem: "freed", .. }), "{freed}");
}

#[test]
fn resident_bytes() {
    let b = open();
    let (x, y) = (b.allocate_resident(7).unwrap(), b.allocate_resident(3).unwrap());
    b.upload_resident(&x, &[1, 2, 3]).unwrap();
    b.upload_resident_many(&[(&y, &[4, 5][..]), (&x, &[9])]).unwrap();
    b.upload_resident_at(&x, 5, &[6, 7]).unwrap();
    b.upload_resident_at_many(&[(&x, 4, &[8][..]), (&y, 2, &[3])]).unwrap();
    assert_eq!(b.download_resident(&x).unwrap(), [9, 2, 3, 0, 8, 6, 7]);
    let mut out = Vec::new();
    b.download_resident_into(&y, &mut out).unwrap();
    assert_eq!(out, [4, 5, 3]);
    assert_eq!(b.download_resident_range(&x, 1, 5).unwrap(), [2, 3, 0, 8, 6]);
    b.download_resident_range_into(&x, 6, 1, &mut out).unwrap();
    assert_eq!(out, [7]);
    let (mut first, mut second) = (Vec::new(), Vec::new());
    b.download_resident_ranges_into(&[(&x, 0, 2), (&y, 1, 1)], &mut [&mut first, &mut second]).unwrap();
    assert_eq!((first, second), (vec![9, 2], vec![5]));
    b.free_resident(x).unwrap();
    b.free_resident(y).unwrap();
    assert!(matches!(b.free_resident(x), Err(BackendError::BadHandle { problem: "freed", .. })));
}

#[test]
fn resident_sequences() {
    let b = open();
    let [x, y, z] = [0; 3].map(|_| b.allocate_resident(8).unwrap());
    b.upload_resident_many(&[(&x, &words(&[1, 2])[..]), (&y, &words(&[10, 20]))]).unwrap();
    let timed = b.dispatch_resident_timed(&add(), &[x, y, z], &config()).unwrap();
    assert!(timed.outputs.is_empty() && !timed.timing.wall.is_zero());
    assert_eq!(b.download_resident(&z).unwrap(), words(&[11, 22]));

    let (double, add, config) = (double(), add(), config());
    let doubled = [z];
    let summed = [x, y, z];
    let step = |program, resources| ResidentDispatchStep { program, resources, config: &config };
    let steps = [step(&*add, &summed[..]), step(&*double, &doubled)];
    let read = [ResidentReadRange { resource: &z, byte_offset: 4, byte_len: 4 }];
    let mut out = Vec::new();
    b.dispatch_resident_sequence_read_ranges_into(&steps, &read, &mut [&mut out]).unwrap();
    assert_eq!(out, words(&[44]));
    let timing = b.dispatch_resident_sequence_read_ranges_timed_into(&steps, &read, &mut [&mut out]).unwrap();
    assert_eq!((timing.dispatches, timing.read_bytes), (2, 4));
    assert_eq!(out, words(&[44]));
    b.dispatch_resident_repeated_sequence_read_ranges_into(
        &steps[..1],
        &steps[1..],
        3,
        &read,
        &mut [&mut out],
    )
    .unwrap();
    assert_eq!(out, words(&[22 * 8]));
}
