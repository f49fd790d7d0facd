//! `OptimizerDispatcher`: buffers by `u64` handle, and sequences over them.

use vyre_driver::optimizer::{OptimizerDispatcher, ResidentDispatchStep, ResidentReadRange};
use vyre_driver_wgpu::WgpuBackend;

use crate::calls::Kind::{Host, Moves, Runs};
use crate::calls::Row;
use crate::kit::{BYTES, Kit, Trouble, input, must, output, words};

/// Its methods have the names of others, so they are called on the trait.
fn o(b: &WgpuBackend) -> &dyn OptimizerDispatcher {
    b
}

fn step(kit: &Kit) -> [ResidentDispatchStep<'_>; 1] {
    [ResidentDispatchStep { program: &kit.program, handles: &kit.handles, grid_override: None }]
}

/// Of the target: 9 bytes that start in the middle of a word.
fn range(kit: &Kit) -> [ResidentReadRange; 1] {
    [ResidentReadRange { handle: kit.handles[1], byte_offset: 6, byte_len: 9 }]
}

/// The words that are uploaded before a sequence.
fn other_input() -> Vec<u8> {
    words(1..101)
}

/// What the program makes of them.
fn other_output(kit: &Kit) -> Vec<u8> {
    words((0..100).map(|i| (i + 1) * kit.factor + i))
}

/// What the program makes of words that are all 0 but the first.
fn cleared_output(kit: &Kit, first: u32, others: u32) -> Vec<u8> {
    words((0..100).map(|i| if i == 0 { first * kit.factor } else { others.wrapping_mul(kit.factor) + i }))
}

pub(crate) const CALLS: &[Row] = &[
    ("OptimizerDispatcher::dispatch", Runs, |b, kit, _| {
        must(kit, &o(b).dispatch(&kit.program, &[input()], None)?[0]);
        Ok(())
    }),
    ("OptimizerDispatcher::alloc_resident", Moves, |b, _, _| {
        let handle = o(b).alloc_resident(BYTES)?;
        empty(b, &[handle])
    }),
    ("OptimizerDispatcher::alloc_resident_many", Moves, |b, _, _| {
        let handles = o(b).alloc_resident_many(&[BYTES, BYTES, BYTES])?;
        assert_eq!(handles.len(), 3);
        empty(b, &handles)
    }),
    ("OptimizerDispatcher::upload_resident", Moves, |b, kit, _| {
        o(b).upload_resident(kit.handles[0], &[9; 5])?;
        assert_eq!(o(b).read_resident(kit.handles[0])?[..6], [9, 9, 9, 9, 9, 0]);
        Ok(())
    }),
    ("OptimizerDispatcher::upload_resident_many", Moves, |b, kit, _| {
        let [x, y] = kit.handles;
        o(b).upload_resident_many(&[(x, &[1; 3]), (y, &[2; 2])])?;
        let read = o(b).read_resident_many(&[x, y])?;
        assert_eq!((&read[0][..4], &read[1][..4]), (&[1, 1, 1, 0][..], &[2, 2, 0, 0][..]));
        Ok(())
    }),
    ("OptimizerDispatcher::acquire_resident_static_uploads", Moves, |b, _, _| {
        let payloads: [&[u8]; 3] = [&[4; 30], &input(), &[4; 30]];
        let set = o(b).acquire_resident_static_uploads(1, &payloads)?;
        let read = o(b).read_resident_many(set.handles());
        o(b).release_resident_static_uploads(set)?;
        assert_eq!(read?, payloads);
        Ok(())
    }),
    ("OptimizerDispatcher::release_resident_static_uploads", Host, |b, kit, _| {
        o(b).release_resident_static_uploads(kit.statics.take().unwrap())?;
        Ok(())
    }),
    ("OptimizerDispatcher::read_resident", Moves, |b, kit, _| {
        assert_eq!(o(b).read_resident(kit.handles[0])?, input());
        Ok(())
    }),
    ("OptimizerDispatcher::read_resident_many", Moves, |b, kit, _| {
        let handles = [kit.handles[1], kit.statics.as_ref().unwrap().handles()[0]];
        assert_eq!(o(b).read_resident_many(&handles)?, [vec![0; BYTES], input()]);
        Ok(())
    }),
    ("OptimizerDispatcher::read_resident_ranges", Moves, |b, kit, _| {
        let ranges = [ResidentReadRange { handle: kit.handles[0], ..range(kit)[0] }, range(kit)[0]];
        assert_eq!(o(b).read_resident_ranges(&ranges)?, [input()[6..15].to_vec(), vec![0; 9]]);
        Ok(())
    }),
    ("OptimizerDispatcher::read_resident_ranges_into", Moves, |b, kit, _| {
        let mut read = vec![vec![1; 3]; 4];
        o(b).read_resident_ranges_into(&range(kit), &mut read)?;
        assert_eq!(read, [[0; 9]]);
        Ok(())
    }),
    ("OptimizerDispatcher::free_resident", Host, |b, kit, _| {
        o(b).free_resident(kit.handles[0])?;
        let error = o(b).free_resident(kit.handles[0]).unwrap_err();
        assert_eq!(error.code(), "D001", "{error}");
        Ok(())
    }),
    ("OptimizerDispatcher::dispatch_resident", Runs, |b, kit, _| {
        o(b).dispatch_resident(&kit.program, &kit.handles, None)?;
        must(kit, &o(b).read_resident(kit.handles[1])?);
        Ok(())
    }),
    ("OptimizerDispatcher::dispatch_resident_sequence", Runs, |b, kit, _| {
        o(b).dispatch_resident_sequence(&[step(kit)[0]; 3])?;
        must(kit, &o(b).read_resident(kit.handles[1])?);
        Ok(())
    }),
    ("OptimizerDispatcher::dispatch_resident_sequence_read_many", Runs, |b, kit, _| {
        let read = o(b).dispatch_resident_sequence_read_many(&step(kit), &kit.handles)?;
        assert_eq!(read, [input(), output(kit.factor)]);
        Ok(())
    }),
    ("OptimizerDispatcher::dispatch_resident_sequence_read_ranges", Runs, |b, kit, _| {
        let read = o(b).dispatch_resident_sequence_read_ranges(&step(kit), &range(kit))?;
        assert_eq!(read, [&output(kit.factor)[6..15]]);
        Ok(())
    }),
    ("OptimizerDispatcher::upload_resident_many_sequence_read_many", Runs, |b, kit, _| {
        let (uploads, read) = ([(kit.handles[0], &other_input()[..])], [kit.handles[1]]);
        let read = o(b).upload_resident_many_sequence_read_many(&uploads, &step(kit), &read)?;
        assert_eq!(read, [other_output(kit)]);
        Ok(())
    }),
    ("OptimizerDispatcher::upload_resident_many_sequence_read_ranges", Runs, |b, kit, _| {
        let uploads = [(kit.handles[0], &other_input()[..])];
        let read = o(b).upload_resident_many_sequence_read_ranges(&uploads, &step(kit), &range(kit))?;
        assert_eq!(read, [&other_output(kit)[6..15]]);
        Ok(())
    }),
    ("OptimizerDispatcher::upload_resident_many_sequence_read_many_into", Runs, |b, kit, _| {
        let (uploads, reads) = ([(kit.handles[0], &other_input()[..])], [kit.handles[1]]);
        let mut out = Vec::new();
        o(b).upload_resident_many_sequence_read_many_into(&uploads, &step(kit), &reads, &mut out)?;
        assert_eq!(out, [other_output(kit)]);
        Ok(())
    }),
    ("OptimizerDispatcher::upload_resident_many_sequence_read_ranges_into", Runs, |b, kit, _| {
        let uploads = [(kit.handles[0], &other_input()[..])];
        let mut out = Vec::new();
        o(b).upload_resident_many_sequence_read_ranges_into(&uploads, &step(kit), &range(kit), &mut out)?;
        assert_eq!(out, [&other_output(kit)[6..15]]);
        Ok(())
    }),
    ("OptimizerDispatcher::clear_upload_resident_many_sequence_read_many_into", Runs, |b, kit, _| {
        let [x, y] = kit.handles;
        let one = words([6]);
        let (uploads, mut out) = ([(x, &one[..])], Vec::new());
        o(b).clear_upload_resident_many_sequence_read_many_into(
            &[(x, BYTES)],
            &uploads,
            &step(kit),
            &[y],
            &mut out,
        )?;
        assert_eq!(out, [cleared_output(kit, 6, 0)]);
        Ok(())
    }),
    ("OptimizerDispatcher::fill_upload_resident_many_sequence_read_many_into", Runs, |b, kit, _| {
        let [x, y] = kit.handles;
        let one = words([6]);
        let (uploads, mut out) = ([(x, &one[..])], Vec::new());
        o(b).fill_upload_resident_many_sequence_read_many_into(
            &[(x, BYTES, 1)],
            &uploads,
            &step(kit),
            &[y],
            &mut out,
        )?;
        assert_eq!(out, [cleared_output(kit, 6, 0x0101_0101)]);
        Ok(())
    }),
    ("OptimizerDispatcher::fill_upload_resident_many_sequence_read_ranges_into", Runs, |b, kit, _| {
        let one = words([6]);
        let (uploads, mut out) = ([(kit.handles[0], &one[..])], Vec::new());
        o(b).fill_upload_resident_many_sequence_read_ranges_into(
            &[(kit.handles[0], BYTES, 1)],
            &uploads,
            &step(kit),
            &range(kit),
            &mut out,
        )?;
        assert_eq!(out, [&cleared_output(kit, 6, 0x0101_0101)[6..15]]);
        Ok(())
    }),
];

/// New buffers are all zeros. They are freed, whatever happens.
fn empty(b: &WgpuBackend, handles: &[u64]) -> Result<(), Trouble> {
    let read = o(b).read_resident_many(handles);
    handles.iter().for_each(|&handle| drop(o(b).free_resident(handle)));
    assert!(read?.iter().all(|bytes| *bytes == [0; BYTES]));
    Ok(())
}
