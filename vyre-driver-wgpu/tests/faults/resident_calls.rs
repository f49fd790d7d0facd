//! Residents of `VyreBackend`, and sequences over them.

use vyre_driver::backend::{ResidentDispatchStep, ResidentReadRange};
use vyre_driver::{BackendError, VyreBackend};
use vyre_driver_wgpu::WgpuBackend;

use crate::calls::Kind::{Host, Moves, Runs};
use crate::calls::Row;
use crate::kit::{BYTES, Kit, Trouble, input, must};

pub(crate) const CALLS: &[Row] = &[
    ("VyreBackend::allocate", Moves, |b, _, _| {
        let resource = b.allocate(BYTES as u64)?;
        empty(b, resource)
    }),
    ("VyreBackend::allocate_retained", Moves, |b, _, _| {
        let resource = b.allocate_retained(BYTES as u64)?;
        empty(b, resource)
    }),
    ("VyreBackend::allocate_resident", Moves, |b, _, _| {
        let resource = b.allocate_resident(BYTES)?;
        empty(b, resource)
    }),
    ("VyreBackend::free", Host, |b, kit, _| {
        b.free(kit.pair[0])?;
        gone(b, kit)
    }),
    ("VyreBackend::free_resident", Host, |b, kit, _| {
        b.free_resident(kit.pair[0])?;
        gone(b, kit)
    }),
    ("VyreBackend::upload_resident", Moves, |b, kit, _| {
        b.upload_resident(&kit.pair[0], &[1; 7])?;
        starts(b, kit, [&[1; 7], &[0; 7]])
    }),
    ("VyreBackend::upload_resident_many", Moves, |b, kit, _| {
        b.upload_resident_many(&[(&kit.pair[0], &[1; 4]), (&kit.pair[1], &[2; 5])])?;
        starts(b, kit, [&[1; 4], &[2, 2, 2, 2, 2, 0]])
    }),
    ("VyreBackend::upload_resident_at", Moves, |b, kit, _| {
        b.upload_resident_at(&kit.pair[1], 3, &[3; 2])?;
        starts(b, kit, [&[5, 0, 0], &[0, 0, 0, 3, 3, 0]])
    }),
    ("VyreBackend::upload_resident_at_many", Moves, |b, kit, _| {
        b.upload_resident_at_many(&[(&kit.pair[0], 1, &[4]), (&kit.pair[1], 2, &[5])])?;
        starts(b, kit, [&[5, 4, 0], &[0, 0, 5, 0]])
    }),
    ("VyreBackend::download_resident", Moves, |b, kit, _| {
        assert_eq!(b.download_resident(&kit.pair[0])?, input());
        Ok(())
    }),
    ("VyreBackend::download_resident_into", Moves, |b, kit, _| {
        let mut bytes = vec![9; 1000];
        b.download_resident_into(&kit.pair[0], &mut bytes)?;
        assert_eq!(bytes, input());
        Ok(())
    }),
    ("VyreBackend::download_resident_range", Moves, |b, kit, _| {
        assert_eq!(b.download_resident_range(&kit.pair[0], 5, 9)?, input()[5..14]);
        Ok(())
    }),
    ("VyreBackend::download_resident_range_into", Moves, |b, kit, _| {
        let mut bytes = Vec::new();
        b.download_resident_range_into(&kit.pair[0], 1, 2, &mut bytes)?;
        assert_eq!(bytes, input()[1..3]);
        Ok(())
    }),
    ("VyreBackend::download_resident_ranges_into", Moves, |b, kit, _| {
        let (mut first, mut second) = (Vec::new(), vec![1]);
        let ranges = [(&kit.pair[0], 4, 5), (&kit.pair[1], 0, 3)];
        b.download_resident_ranges_into(&ranges, &mut [&mut first, &mut second])?;
        assert_eq!((first, second), (input()[4..9].to_vec(), vec![0; 3]));
        Ok(())
    }),
    ("VyreBackend::dispatch_resident_timed", Runs, |b, kit, config| {
        let timed = b.dispatch_resident_timed(&kit.program, &kit.pair, config)?;
        assert!(timed.outputs.is_empty());
        must(kit, &b.download_resident(&kit.pair[1])?);
        Ok(())
    }),
    ("VyreBackend::dispatch_resident_sequence_read_ranges_into", Runs, |b, kit, config| {
        let step = ResidentDispatchStep { program: &kit.program, resources: &kit.pair, config };
        let mut bytes = Vec::new();
        b.dispatch_resident_sequence_read_ranges_into(&[step; 2], &[whole(kit)], &mut [&mut bytes])?;
        must(kit, &bytes);
        Ok(())
    }),
    ("VyreBackend::dispatch_resident_sequence_read_ranges_timed_into", Runs, |b, kit, config| {
        let step = ResidentDispatchStep { program: &kit.program, resources: &kit.pair, config };
        let mut bytes = Vec::new();
        b.dispatch_resident_sequence_read_ranges_timed_into(&[step], &[whole(kit)], &mut [&mut bytes])?;
        must(kit, &bytes);
        Ok(())
    }),
    ("VyreBackend::dispatch_resident_repeated_sequence_read_ranges_into", Runs, |b, kit, config| {
        let step = [ResidentDispatchStep { program: &kit.program, resources: &kit.pair, config }];
        let (mut bytes, range) = (Vec::new(), [whole(kit)]);
        b.dispatch_resident_repeated_sequence_read_ranges_into(&step, &step, 3, &range, &mut [&mut bytes])?;
        must(kit, &bytes);
        Ok(())
    }),
];

fn whole(kit: &Kit) -> ResidentReadRange<'_> {
    ResidentReadRange { resource: &kit.pair[1], byte_offset: 0, byte_len: BYTES }
}

/// A new buffer is all zeros. It is freed, whatever happens.
fn empty(b: &WgpuBackend, resource: vyre_driver::Resource) -> Result<(), Trouble> {
    let bytes = b.download_resident(&resource);
    drop(b.free(resource));
    assert_eq!(bytes?, [0; BYTES]);
    Ok(())
}

/// The first of the pair has been freed.
fn gone(b: &WgpuBackend, kit: &Kit) -> Result<(), Trouble> {
    match b.download_resident(&kit.pair[0]) {
        Err(BackendError::BadHandle { problem: "freed", .. }) => Ok(()),
        Err(other) => Err(other.into()),
        Ok(bytes) => panic!("{bytes:?}"),
    }
}

/// What both of the pair start with.
fn starts(b: &WgpuBackend, kit: &Kit, want: [&[u8]; 2]) -> Result<(), Trouble> {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    let ranges = [(&kit.pair[0], 0, want[0].len()), (&kit.pair[1], 0, want[1].len())];
    b.download_resident_ranges_into(&ranges, &mut [&mut first, &mut second])?;
    assert_eq!([&first[..], &second[..]], want);
    Ok(())
}
