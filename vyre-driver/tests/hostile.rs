//! What nobody should pass, on the reference backend: each is a typed error, or what its words say.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here fails the test")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use vyre_driver::backend::{ResidentDispatchStep, ResidentReadRange};
use vyre_driver::{
    BackendError, Binding, BufferRef, Command, CommandList, CompiledPipeline, DispatchCommand,
    DispatchConfig, ReferenceBackend, Resource, Span, VyreBackend,
};
use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_spec::CompileOptions;

use support::{bytes, double, whole};

fn trap() -> Checked<Program> {
    Kernel::build("trap", |k| {
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| k.trap(7, i));
    })
    .unwrap()
}

/// Adds a parameter that is substituted.
fn shift() -> Checked<Program> {
    Kernel::build("shift", |k| {
        let by = k.specialize::<u32>("by");
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| x.store(i, x.load(i) + by));
    })
    .unwrap()
}

/// Counts the invocations of a workgroup launch.
fn count() -> Checked<Program> {
    Kernel::build("count", |k| {
        let n = k.read_write::<u32>("n").with_len(1_u64);
        k.workgroups([4], [2_u64], |_| {
            n.atomic_add(0_u32, 1_u32);
        });
    })
    .unwrap()
}

fn on(pipeline: &Arc<dyn CompiledPipeline>, buffer: Resource) -> Command<'static> {
    let binding = Binding { buffer: BufferRef::Resident(buffer), len: buffer.len };
    Command::Dispatch(DispatchCommand::new(Arc::clone(pipeline), vec![binding]))
}

fn submit(backend: &ReferenceBackend, commands: Vec<Command<'_>>) -> Result<Vec<Vec<u8>>, BackendError> {
    let mut list = CommandList::new();
    commands.into_iter().for_each(|command| list.push(command));
    backend.submit(&list)?.wait(None)
}

#[test]
fn what_is_wrong_is_refused_wherever_it_stands() {
    let backend = ReferenceBackend::new();
    let (x, gone) = (backend.allocate(8).unwrap(), backend.allocate(8).unwrap());
    backend.free(gone).unwrap();
    let compile = |program| backend.compile_checked(program, &CompileOptions::default()).unwrap();
    let (double, trap) = (compile(&double()), compile(&trap()));
    let other =
        ReferenceBackend::new().compile_checked(double.program(), &CompileOptions::default()).unwrap();
    let beyond = |offset, len| Span { offset, len, ..whole(x) };
    let long = Binding { buffer: BufferRef::Resident(x), len: 12 };
    let odd = Binding { len: 7, ..long };
    let binding = |binding| Command::Dispatch(DispatchCommand::new(Arc::clone(&double), vec![binding]));
    type Right = fn(&BackendError) -> bool;
    let out: Right = |error| matches!(error, BackendError::OutOfRange { .. });
    let bad: [(Command<'_>, Right); 11] = [
        (Command::Read { from: beyond(u64::MAX, 1) }, out),
        (Command::Fill { to: beyond(1, u64::MAX), byte: 1 }, out),
        (Command::Fill { to: beyond(9, 0), byte: 1 }, out),
        (Command::Upload { to: beyond(7, 2), bytes: &[1, 2] }, out),
        (Command::Copy { from: beyond(0, 4), to: beyond(u64::MAX - 3, 4) }, out),
        (Command::Copy { from: beyond(5, 4), to: beyond(0, 4) }, out),
        (binding(long), out),
        (binding(odd), |error| matches!(error, BackendError::Launch(_))),
        (on(&other, x), |error| matches!(error, BackendError::BadHandle { problem: "foreign", .. })),
        (on(&double, gone), |error| matches!(error, BackendError::BadHandle { problem: "freed", .. })),
        (Command::Read { from: whole(gone) }, |error| {
            matches!(error, BackendError::BadHandle { problem: "freed", .. })
        }),
    ];
    for (command, right) in bad {
        let first = || vec![Command::Fill { to: whole(x), byte: 1 }, on(&trap, x)];
        // Behind a program that traps, which must not hide it.
        let mut behind = first();
        behind.push(command.clone());
        let error = submit(&backend, behind).unwrap_err();
        assert!(right(&error), "{command:?}: {error}");
        // In repetitions, even in one that runs nothing.
        if !matches!(command, Command::Read { .. }) {
            for count in [0, 1, u32::MAX] {
                let mut inside = first();
                inside.push(Command::repeat(vec![Command::repeat(vec![command.clone()], count)], count));
                let error = submit(&backend, inside).unwrap_err();
                assert!(right(&error), "{command:?}, {count} times: {error}");
            }
        }
        assert_eq!(backend.download_resident(&x).unwrap(), [0; 8], "{command:?}");
    }
}

#[test]
fn nothing_is_done_at_once_however_often() {
    let backend = ReferenceBackend::new();
    let x = backend.allocate(4).unwrap();
    let fill = Command::Fill { to: whole(x), byte: 1 };
    let mut idle = Command::repeat(vec![Command::repeat(vec![fill], 0)], u32::MAX);
    for _ in 0..2 {
        idle = Command::repeat(vec![idle.clone(), idle], u32::MAX);
    }
    assert_eq!(submit(&backend, vec![idle, Command::Read { from: whole(x) }]).unwrap(), [[0; 4]]);
    let mut out = Vec::new();
    let read = ResidentReadRange { resource: &x, byte_offset: 4, byte_len: 0 };
    backend
        .dispatch_resident_repeated_sequence_read_ranges_into(&[], &[], u32::MAX, &[read], &mut [&mut out])
        .unwrap();
    assert_eq!(submit(&backend, vec![]).unwrap(), Vec::<Vec<u8>>::new());
}

#[test]
fn a_copy_onto_itself_moves_what_was_there() {
    let backend = ReferenceBackend::new();
    let x = backend.allocate(12).unwrap();
    let start: Vec<u8> = (1..=12).collect();
    for (from, to, len) in [(0, 4, 8), (4, 0, 8), (1, 2, 9), (2, 1, 9), (0, 0, 12), (3, 3, 0)] {
        backend.upload_resident(&x, &start).unwrap();
        let span = |offset| Span { offset: offset as u64, len: len as u64, ..whole(x) };
        let copy = Command::Copy { from: span(from), to: span(to) };
        let read = submit(&backend, vec![copy, Command::Read { from: whole(x) }]).unwrap();
        let mut want = start.clone();
        want.copy_within(from..from + len, to);
        assert_eq!(read, [want], "{len} bytes from {from} to {to}");
    }
}

#[test]
fn a_buffer_larger_than_any_is_refused_and_not_tried() {
    let backend = ReferenceBackend::new();
    let limit = backend.profile().max_buffer_bytes;
    for len in [limit + 1, u64::MAX / 2, u64::MAX] {
        let error = backend.allocate(len).unwrap_err();
        assert!(matches!(error, BackendError::Limit { value, limit: l, .. } if (value, l) == (len, limit)));
        let mut list = CommandList::new();
        list.transient(len);
        let error = backend.submit(&list).unwrap_err();
        assert!(matches!(error, BackendError::Limit { value, .. } if value == len), "{error}");
    }
    assert!(matches!(backend.allocate_resident(usize::MAX), Err(BackendError::Limit { .. })));
}

#[test]
fn pipelines_are_not_forgotten_however_many_there_are() {
    let (backend, shift) = (ReferenceBackend::new(), shift());
    let config = |by: u32| DispatchConfig::default().param("by", by);
    let pipelines: Vec<_> =
        (0..100).map(|by| backend.compile_native(&shift, &config(by)).unwrap().unwrap()).collect();
    let mut outputs = Vec::new();
    for (by, pipeline) in (0..).zip(&pipelines) {
        backend.dispatch_pipeline_into(pipeline, &[&bytes(&[1000])], &config(by), &mut outputs).unwrap();
        assert_eq!(outputs, [bytes(&[1000 + by])]);
        let other = backend.dispatch_pipeline_into(pipeline, &[&bytes(&[1])], &config(by + 1), &mut outputs);
        assert!(matches!(other, Err(BackendError::Config { field: "params", .. })), "{other:?}");
    }
}

#[test]
fn counts_and_sizes_beyond_all_limits_are_refused() {
    let (backend, zero) = (ReferenceBackend::new(), bytes(&[0]));
    let most = u32::MAX;
    for size in [[most; 3], [1 << 31, 2, 1], [2048, 1, 1], [64, 64, 1], [1, 1, 65]] {
        let config = DispatchConfig { workgroup: Some(size), ..DispatchConfig::default() };
        for program in [double(), count()] {
            let error = backend.dispatch_borrowed(&program, &[&zero], &config).unwrap_err();
            let refused = match error {
                // More than 32 bits count in any program.
                BackendError::Config { field, .. } => field == "workgroup" && size[0] >= 1 << 31,
                ref error => matches!(error, BackendError::Limit { .. }),
            };
            assert!(refused, "{size:?} of {}: {error}", program.name());
        }
    }
    for grid in [[most; 3], [most, most, 1], [0, most, most]] {
        let config = DispatchConfig { grid: Some(grid), ..DispatchConfig::default() };
        let result = backend.dispatch_borrowed(&count(), &[&zero], &config);
        if grid[0] == 0 {
            assert_eq!(result.unwrap(), std::slice::from_ref(&zero));
        } else {
            assert!(
                matches!(result, Err(BackendError::Launch(_) | BackendError::Unsupported { .. })),
                "{result:?}"
            );
        }
    }
}

#[test]
fn vectors_and_ranges_must_be_as_many() {
    let backend = ReferenceBackend::new();
    let x = backend.allocate(8).unwrap();
    let (mut a, mut b) = (vec![1, 2, 3], vec![4]);
    let outputs = |result: Result<(), BackendError>| {
        assert!(matches!(result, Err(BackendError::Config { field: "outputs", .. })), "{result:?}");
    };
    outputs(backend.download_resident_ranges_into(&[(&x, 0, 4)], &mut [&mut a, &mut b]));
    outputs(backend.download_resident_ranges_into(&[(&x, 0, 4), (&x, 4, 4)], &mut [&mut a]));
    outputs(backend.download_resident_ranges_into(&[], &mut [&mut a]));
    assert_eq!((a.as_slice(), b.as_slice()), (&[1, 2, 3][..], &[4][..]));
    backend.download_resident_ranges_into(&[], &mut []).unwrap();
    let far = backend.download_resident_range(&x, usize::MAX, usize::MAX);
    assert!(matches!(far, Err(BackendError::OutOfRange { .. })), "{far:?}");
    let config = DispatchConfig::default();
    let double = double();
    let step = |resources| ResidentDispatchStep { program: &double, resources, config: &config };
    for resources in [&[][..], &[x, x]] {
        let run = backend.dispatch_resident_sequence_read_ranges_into(&[step(resources)], &[], &mut []);
        assert!(matches!(run, Err(BackendError::BindingCount { needs: 1, .. })), "{run:?}");
    }
}

#[test]
fn the_longest_timeout_is_one() {
    let config = DispatchConfig { timeout: Some(Duration::MAX), ..DispatchConfig::default() };
    let backend = ReferenceBackend::new();
    let pending = backend.dispatch_borrowed_async(&double(), &[&bytes(&[4])], &config).unwrap();
    assert_eq!(pending.wait().unwrap(), [bytes(&[8])]);
}
