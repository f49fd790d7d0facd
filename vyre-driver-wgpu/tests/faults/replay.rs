//! Lists that are submitted again.

use vyre_driver::{
    BackendError, Binding, BufferRef, Command, CommandList, DispatchCommand, Resource, Span, VyreBackend,
};
use vyre_driver_wgpu::WgpuBackend;
use vyre_spec::CompileOptions;

use crate::kit::{BYTES, Kit, scaled, words};

/// Two commands of a list that was built once: it sees changed contents, and refuses a buffer that was freed,
/// also where another has taken its memory.
#[test]
fn a_replayed_list_sees_new_contents_and_refuses_freed_buffers() {
    let backend = WgpuBackend::acquire().unwrap();
    let pipeline = backend.compile_checked(&scaled(3), &CompileOptions::default()).unwrap();
    let kit = Kit::new(&backend, 3, 3);
    let pair = kit.pair;
    let bind = |resource: Resource| Binding { buffer: BufferRef::Resident(resource), len: BYTES as u64 };
    let mut list = CommandList::new();
    list.push(Command::Dispatch(DispatchCommand::new(pipeline, pair.map(bind).to_vec())));
    list.read(Span { buffer: bind(pair[1]).buffer, offset: 0, len: BYTES as u64 });
    for start in [0, 1000, 5] {
        backend.upload_resident(&pair[0], &words(start..start + 100)).unwrap();
        let reads = backend.submit(&list).unwrap().wait(None).unwrap();
        assert_eq!(reads, [words((0..100).map(|i| (i + start) * 3 + i))]);
    }
    backend.free(pair[0]).unwrap();
    let successor = backend.allocate(BYTES as u64).unwrap();
    let error = backend.submit(&list).map(|_| ()).unwrap_err();
    assert!(matches!(error, BackendError::BadHandle { problem: "freed", .. }), "{error}");
    assert_eq!(backend.download_resident(&successor).unwrap(), [0; BYTES]);
}
