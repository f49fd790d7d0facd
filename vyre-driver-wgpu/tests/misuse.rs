//! Command lists that name what is not theirs, many of them at once, and backends that go away under them.
#![allow(clippy::unwrap_used, reason = "a failure here fails the test")]

use std::sync::Arc;

use vyre_driver::{
    BackendError, Binding, BufferRef, Command, CommandList, CompiledPipeline, DispatchCommand,
    DispatchConfig, Resource, Span, VyreBackend,
};
use vyre_driver_wgpu::WgpuBackend;
use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_foundation::launch::Params;
use vyre_spec::CompileOptions;

fn words(values: impl IntoIterator<Item = u32>) -> Vec<u8> {
    values.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// `target[i] = source[i] × factor + i`; the factor is part of the code, so that each is compiled anew.
fn scaled(factor: u32) -> Checked<Program> {
    Kernel::build("scaled", |k| {
        let source = k.read_only::<u32>("source");
        let target = k.write_only::<u32>("target", source.len());
        k.domain([source.len()], |[i]| target.store(i, source.load(i) * factor + i));
    })
    .unwrap()
}

fn compiled(backend: &WgpuBackend, factor: u32) -> Arc<dyn CompiledPipeline> {
    backend.compile_checked(&scaled(factor), &CompileOptions::default()).unwrap()
}

fn run(pipeline: &Arc<dyn CompiledPipeline>, source: Binding, target: Binding) -> DispatchCommand {
    DispatchCommand::new(Arc::clone(pipeline), vec![source, target])
}

fn whole(resource: Resource) -> Span {
    Span { buffer: BufferRef::Resident(resource), offset: 0, len: resource.len }
}

#[test]
fn a_list_names_no_buffer_but_its_own_transients() {
    let backend = WgpuBackend::shared().unwrap();
    let pipeline = compiled(&backend, 1);
    let resident = backend.allocate(16).unwrap();
    // Each command before takes buffers of its own: residents, detours, launch data and the like.
    for first in 0..8 {
        let mut list = CommandList::new();
        list.push(Command::Fill { to: Span { len: 3, ..whole(resident) }, byte: 0xAB });
        let bind = |buffer| Binding { buffer, len: 16 };
        let forged = BufferRef::Transient(first);
        list.push(Command::Dispatch(run(&pipeline, bind(forged), bind(BufferRef::Resident(resident)))));
        let error = backend.submit(&list).map(|_| ()).unwrap_err();
        assert!(matches!(error, BackendError::BadHandle { problem: "foreign", .. }), "{first}: {error}");
    }
}

#[test]
fn what_a_command_says_twice_is_equal_or_refused() {
    let backend = WgpuBackend::shared().unwrap();
    let pipeline = compiled(&backend, 1);
    let (a, b) = (backend.allocate(16).unwrap(), backend.allocate(16).unwrap());
    let bind = |resource: Resource| Binding { buffer: BufferRef::Resident(resource), len: 16 };
    let counted =
        DispatchCommand::with(Arc::clone(&pipeline), vec![bind(a), bind(b)], Params::new(), Some([1; 3]));
    let short = Span { len: 8, ..whole(b) };
    let commands = [
        Command::Copy { from: whole(a), to: short },
        Command::Upload { to: short, bytes: &[1; 12] },
        Command::Dispatch(counted),
    ];
    for command in commands {
        let mut list = CommandList::new();
        list.push(command);
        let error = backend.submit(&list).map(|_| ()).unwrap_err();
        assert!(matches!(error, BackendError::Config { .. }), "{error}");
    }
}

#[test]
fn thousands_of_transients_are_separate_buffers() {
    const COUNT: u32 = 3000;
    let backend = WgpuBackend::shared().unwrap();
    let mut list = CommandList::new();
    let payload: Vec<_> = (0..COUNT).map(|i| words([i, !i])).collect();
    let buffers: Vec<_> = payload.iter().map(|_| list.transient(8)).collect();
    for (buffer, bytes) in buffers.iter().zip(&payload) {
        list.upload(*buffer, 0, bytes);
    }
    for buffer in &buffers {
        list.read(Span { buffer: *buffer, offset: 4, len: 4 });
    }
    let reads = backend.submit(&list).unwrap().wait(None).unwrap();
    assert!(reads.iter().zip(0..COUNT).all(|(bytes, i)| *bytes == words([!i])));
    assert_eq!(reads.len(), COUNT as usize);
}

#[test]
fn sixteen_threads_compile_and_dispatch_on_several_backends() {
    let backends = [WgpuBackend::shared().unwrap(), Arc::new(WgpuBackend::acquire().unwrap())];
    std::thread::scope(|scope| {
        for thread in 0..16_u32 {
            let backend = &backends[thread as usize % 2];
            scope.spawn(move || {
                for round in 0..12 {
                    let (factor, n) = (1 + (thread / 4 + round) % 5, 1 + thread * 97 + round * 31);
                    let program = scaled(factor);
                    let inputs = [words(0..n)];
                    let outputs = backend.dispatch(&program, &inputs, &DispatchConfig::default()).unwrap();
                    assert_eq!(outputs, [words((0..n).map(|i| i * factor + i))], "{thread} {round}");
                }
            });
        }
    });
}

#[test]
fn work_outlives_the_backend_and_belongs_to_one() {
    let backend = WgpuBackend::acquire().unwrap();
    let other = WgpuBackend::acquire().unwrap();
    let pipeline = compiled(&backend, 3);
    let (source, target) = (backend.allocate(400).unwrap(), backend.allocate(400).unwrap());
    let bind = |resource: Resource| Binding { buffer: BufferRef::Resident(resource), len: resource.len };
    let input = words(0..100);
    let mut list = CommandList::new();
    list.upload(BufferRef::Resident(source), 0, &input);
    list.push(Command::Dispatch(run(&pipeline, bind(source), bind(target))));
    list.read(whole(target));
    let error = other.submit(&list).map(|_| ()).unwrap_err();
    assert!(matches!(error, BackendError::BadHandle { problem: "foreign", .. }), "{error}");
    let work = backend.submit(&list).unwrap();
    drop((list, pipeline, backend));
    assert_eq!(work.wait(None).unwrap(), [words((0..100).map(|i| i * 3 + i))]);
}
