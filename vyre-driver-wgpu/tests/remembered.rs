//! Lists that come again: planned once, right each time, and nothing of what they name outlives it.
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
use vyre_spec::CompileOptions;

fn words(values: impl IntoIterator<Item = u32>) -> Vec<u8> {
    values.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// `target[i] = source[i] + 1`, and a fault where that is 0.
fn plus_one() -> Checked<Program> {
    Kernel::build("plus_one", |k| {
        let source = k.read_only::<u32>("source");
        let target = k.write_only::<u32>("target", source.len());
        k.domain([source.len()], |[i]| {
            let sum = source.load(i) + 1;
            k.if_(sum.eq(0_u32), || k.trap(9, i));
            target.store(i, sum);
        });
    })
    .unwrap()
}

/// Each of `n` words becomes one more.
fn counting(backend: &WgpuBackend) -> Arc<dyn CompiledPipeline> {
    let program = Kernel::build("counting", |k| {
        let all = k.read_write::<u32>("all");
        k.workgroups([32], [all.len().extent().ceil_div(32)], |group| {
            let i = group.global_id[0];
            all.store(i, all.load(i) + 1);
        });
    })
    .unwrap();
    backend.compile_checked(&program, &CompileOptions::default()).unwrap()
}

fn once(pipeline: &Arc<dyn CompiledPipeline>, all: Resource) -> CommandList<'static> {
    let bindings = vec![Binding { buffer: BufferRef::Resident(all), len: all.len }];
    let mut list = CommandList::new();
    list.push(Command::Dispatch(DispatchCommand::new(Arc::clone(pipeline), bindings)));
    list
}

fn span(resource: Resource) -> Span {
    Span { buffer: BufferRef::Resident(resource), offset: 0, len: resource.len }
}

/// Requests for buffers and bind groups, which planning makes.
fn requests(backend: &WgpuBackend) -> u64 {
    let stats = backend.stats();
    stats.buffers_created + stats.buffers_reused + stats.bind_groups.hits + stats.bind_groups.misses
}

#[test]
fn a_list_that_comes_again_is_not_planned_and_has_its_own_bytes() {
    let backend = WgpuBackend::acquire().unwrap();
    let (program, config) = (plus_one(), DispatchConfig::default());
    let mut settled = 0;
    for round in 0..20 {
        if round == 4 {
            settled = requests(&backend);
        }
        let outputs = backend.dispatch_checked(&program, &[&words(round..round + 40)], &config).unwrap();
        assert_eq!(outputs, [words(round + 1..round + 41)]);
    }
    assert_eq!(requests(&backend), settled);
    let stats = backend.stats();
    assert_eq!(stats.buffer_bytes, stats.idle_buffer_bytes, "nothing is in use");
    // Another length is another list.
    let outputs = backend.dispatch_checked(&program, &[&words(0..3)], &config).unwrap();
    assert_eq!(outputs, [words(1..4)]);
    assert!(requests(&backend) > settled);
}

#[test]
fn a_fault_is_that_of_its_own_submission() {
    let backend = WgpuBackend::acquire().unwrap();
    let (program, config) = (plus_one(), DispatchConfig::default());
    for round in 0..12 {
        let (mut input, mut want) = (vec![round; 8], vec![round + 1; 8]);
        let faulty = round % 3 == 2;
        if faulty {
            (input[5], want[5]) = (u32::MAX, 0);
        }
        match backend.dispatch_checked(&program, &[&words(input)], &config) {
            Ok(outputs) => assert_eq!((outputs, faulty), (vec![words(want)], false)),
            Err(error) => {
                assert!(matches!(error, BackendError::Trap { code: 9, address: 5, .. }), "{error}");
                assert!(faulty);
            }
        }
    }
}

#[test]
fn submissions_of_one_list_are_under_way_at_the_same_time() {
    let backend = WgpuBackend::acquire().unwrap();
    let (program, config) = (plus_one(), DispatchConfig::default());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (backend, program, config) = (&backend, &program, &config);
            scope.spawn(move || {
                for round in 0..30 {
                    let first = 1000 * thread + 10 * round;
                    let pending: Vec<_> = (0..3)
                        .map(|k| {
                            let input = words(first + k..first + k + 16);
                            backend.dispatch_borrowed_async(program, &[&input], config).unwrap()
                        })
                        .collect();
                    for (k, pending) in (0..).zip(pending) {
                        // One of three is not waited for.
                        if k != 1 {
                            assert_eq!(pending.wait().unwrap(), [words(first + k + 1..first + k + 17)]);
                        }
                    }
                }
            });
        }
    });
}

#[test]
fn a_freed_buffer_is_not_kept_for_lists_that_named_it() {
    let backend = WgpuBackend::acquire().unwrap();
    let pipeline = counting(&backend);
    backend.trim();
    let before = backend.stats().buffer_bytes;
    let all = backend.allocate(1 << 20).unwrap();
    let list = once(&pipeline, all);
    for _ in 0..6 {
        backend.submit(&list).unwrap().wait(None).unwrap();
    }
    let mut read = CommandList::new();
    read.read(Span { len: 8, ..span(all) });
    assert_eq!(backend.submit(&read).unwrap().wait(None).unwrap(), [words([6, 6])]);
    backend.free(all).unwrap();
    let refused = backend.submit(&list).err();
    assert!(matches!(refused, Some(BackendError::BadHandle { problem: "freed", .. })), "{refused:?}");
    backend.trim();
    assert!(backend.stats().buffer_bytes < before + (1 << 20));
    // A buffer that takes its place starts with zeros, and is another to the same program.
    let other = backend.allocate(1 << 20).unwrap();
    let mut list = once(&pipeline, other);
    list.read(Span { len: 8, ..span(other) });
    for round in 1..6 {
        assert_eq!(backend.submit(&list).unwrap().wait(None).unwrap(), [words([round, round])]);
    }
}

#[test]
fn a_recovered_device_has_no_plan_of_the_lost_one() {
    let backend = WgpuBackend::acquire().unwrap();
    let (program, config) = (plus_one(), DispatchConfig::default());
    let run = |first: u32| backend.dispatch_checked(&program, &[&words(first..first + 4)], &config);
    for first in 0..4 {
        assert_eq!(run(first).unwrap(), [words(first + 1..first + 5)]);
    }
    backend.force_device_lost().unwrap();
    assert!(matches!(run(0), Err(BackendError::DeviceLost { .. })));
    backend.try_recover().unwrap();
    for first in 4..8 {
        assert_eq!(run(first).unwrap(), [words(first + 1..first + 5)]);
    }
}

#[test]
fn counts_in_a_buffer_are_looked_at_each_time() {
    let backend = WgpuBackend::acquire().unwrap();
    let pipeline = counting(&backend);
    let all = backend.allocate(256).unwrap();
    let counts = backend.allocate(12).unwrap();
    let mut run = CommandList::new();
    if let Some(Command::Dispatch(dispatch)) = once(&pipeline, all).commands().first() {
        run.push(Command::DispatchIndirect { dispatch: dispatch.clone(), counts: span(counts) });
    }
    run.read(span(all));
    let mut want = [0; 64];
    let limit = backend.profile().max_workgroups_per_axis;
    for (round, groups) in [1, 2, 0, 1, 2, limit + 1, 1, 0, 2].into_iter().enumerate() {
        let values = words([groups, 1, 1]);
        let mut list = CommandList::new();
        list.upload(BufferRef::Resident(counts), 0, &values);
        backend.submit(&list).unwrap().wait(None).unwrap();
        let before = requests(&backend);
        let result = backend.submit(&run).unwrap().wait(None);
        if groups > limit {
            assert!(matches!(result, Err(BackendError::IndirectCounts { .. })), "{result:?}");
            continue;
        }
        want.iter_mut().take(32 * groups as usize).for_each(|n| *n += 1);
        assert_eq!(result.unwrap(), [words(want)], "{round}");
        // The second plans, and what a fault was read back into is not used again.
        assert!(round < 2 || round == 6 || requests(&backend) == before, "{round}");
    }
}
