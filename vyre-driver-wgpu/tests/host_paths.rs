//! The ways to dispatch host bytes beyond the contract's own: batches, mapped outputs, streams of chunks.
#![allow(clippy::unwrap_used, reason = "a failure here fails the test")]

use std::num::NonZeroUsize;
use std::time::Duration;

use vyre_driver::{BackendError, DispatchConfig, VyreBackend};
use vyre_driver_wgpu::WgpuBackend;
use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;

fn words(values: impl IntoIterator<Item = u32>) -> Vec<u8> {
    values.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// `sum[i] = x[i] + a`, and `evens[i] = 2 i` as far as half the length.
fn program() -> Checked<Program> {
    Kernel::build("sum_and_evens", |k| {
        let a = k.param::<u32>("a");
        let x = k.read_only::<u32>("x");
        let sum = k.write_only::<u32>("sum", x.len());
        let half = x.len().extent().ceil_div(2);
        let evens = k.write_only::<u32>("evens", half);
        k.domain([x.len()], |[i]| {
            sum.store(i, x.load(i) + a);
            k.if_((i % 2_u32).eq(0_u32), || evens.store(i / 2_u32, i));
        });
    })
    .unwrap()
}

/// `x[i] + 1`, and a trap with code 7 at the first of the values above 100.
fn trapping() -> Checked<Program> {
    Kernel::build("trapping", |k| {
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| {
            k.if_(x.load(i).gt(100_u32), || k.trap(7, i));
            x.store(i, x.load(i) + 1_u32);
        });
    })
    .unwrap()
}

fn with(a: u32) -> DispatchConfig {
    DispatchConfig::default().param("a", a)
}

fn expected(x: &[u32], a: u32) -> Vec<Vec<u8>> {
    let evens = (0..x.len() as u32).step_by(2);
    vec![words(x.iter().map(|v| v + a)), words(evens)]
}

#[test]
fn jobs_of_a_batch_succeed_and_fail_alone() {
    let backend = WgpuBackend::shared().unwrap();
    let (program, trapping) = (program(), trapping());
    let first: Vec<u32> = (0..1000).collect();
    let second: Vec<u32> = (5..12).collect();
    let (bytes_1, bytes_2) = (words(first.clone()), words(second.clone()));
    let (fine, faulty) = (words([1, 2, 3]), words([1, 200, 3]));
    let (plain, five, nine) = (DispatchConfig::default(), with(5), with(9));
    let small = DispatchConfig { max_output_bytes: Some(16), ..with(1) };
    let jobs: [(&Program, &[&[u8]], &DispatchConfig); 7] = [
        (&program, &[&bytes_1], &five),
        (&program, &[], &five),
        (&trapping, &[&faulty], &plain),
        (&program, &[&bytes_2], &nine),
        (&program, &[&bytes_2], &plain),
        (&program, &[&bytes_2], &small),
        (&trapping, &[&fine], &plain),
    ];
    for round in 0..3 {
        let results = backend.dispatch_borrowed_batch(&jobs).unwrap();
        assert_eq!(results.len(), 7);
        assert_eq!(results[0].as_ref().unwrap(), &expected(&first, 5), "round {round}");
        assert!(matches!(results[1], Err(BackendError::Launch(_))), "{:?}", results[1]);
        assert!(
            matches!(results[2], Err(BackendError::Trap { code: 7, address: 1, .. })),
            "{:?}",
            results[2]
        );
        assert_eq!(results[3].as_ref().unwrap(), &expected(&second, 9));
        assert!(matches!(results[4], Err(BackendError::Launch(_))), "{:?}", results[4]);
        assert!(
            matches!(results[5], Err(BackendError::OutputTooLarge { limit: 16, .. })),
            "{:?}",
            results[5]
        );
        assert_eq!(results[6].as_ref().unwrap(), &[words([2, 3, 4])]);
    }
    assert_eq!(backend.dispatch_borrowed_batch(&[]).unwrap(), []);
    let owned = [((*program).clone(), vec![bytes_2.clone()], with(3)), ((*program).clone(), vec![], with(3))];
    let results = backend.dispatch_batch(&owned).unwrap();
    assert_eq!(results[0].as_ref().unwrap(), &expected(&second, 3));
    assert!(results[1].is_err());
}

#[test]
fn a_batch_fills_the_callers_vectors() {
    let backend = WgpuBackend::shared().unwrap();
    let program = program();
    let x: Vec<u32> = (0..100).collect();
    let (bytes, config) = (words(x.clone()), with(1));
    let inputs: [&[u8]; 1] = [&bytes];
    let jobs: [(&Program, &[&[u8]], &DispatchConfig); 2] = [(&program, &inputs, &config); 2];
    let mut outputs = vec![vec![Vec::with_capacity(400), Vec::with_capacity(200)], Vec::new()];
    let places: Vec<_> = outputs[0].iter().map(|output| output.as_ptr()).collect();
    let results = backend.dispatch_borrowed_batch_into(&jobs, &mut outputs).unwrap();
    assert_eq!(results, [Ok(()), Ok(())]);
    assert_eq!(outputs, [expected(&x, 1), expected(&x, 1)]);
    assert_eq!(outputs[0].iter().map(|output| output.as_ptr()).collect::<Vec<_>>(), places);
    let refused = backend.dispatch_borrowed_batch_into(&jobs, &mut outputs[..1]).unwrap_err();
    assert!(matches!(refused, BackendError::Config { field: "outputs", .. }), "{refused}");
}

#[test]
fn mapped_outputs_are_visited_in_order_and_the_visitors_error_ends_it() {
    let backend = WgpuBackend::shared().unwrap();
    let program = program();
    // 33 elements: the second output starts after one whose length is no multiple of 16.
    let x: Vec<u32> = (0..33).map(|i| i * i).collect();
    let bytes = words(x.clone());
    let mut seen = Vec::new();
    backend
        .dispatch_borrowed_for_each_mapped_output(&program, &[&bytes], &with(4), |output, bytes| {
            seen.push((output, bytes.to_vec()));
            Ok(())
        })
        .unwrap();
    assert_eq!(seen, expected(&x, 4).into_iter().enumerate().collect::<Vec<_>>());

    let stop = BackendError::Config { field: "visitor", why: "it has seen enough".to_owned() };
    let mut visits = 0;
    let result = backend.dispatch_borrowed_for_each_mapped_output(&program, &[&bytes], &with(4), |_, _| {
        visits += 1;
        Err(stop.clone())
    });
    assert_eq!((result, visits), (Err(stop), 1));

    let mut values = Vec::new();
    backend
        .dispatch_borrowed_for_each_pod_output(&program, &[&bytes], &with(4), |_, output: &[u32]| {
            values.extend_from_slice(output);
            Ok(())
        })
        .unwrap();
    let evens = (0..33).step_by(2);
    assert_eq!(values, x.iter().map(|v| v + 4).chain(evens).collect::<Vec<u32>>());
    let mut visited = Vec::new();
    let refused = backend
        .dispatch_borrowed_for_each_pod_output(&program, &[&bytes], &with(4), |output, _: &[u64]| {
            visited.push(output);
            Ok(())
        })
        .unwrap_err();
    // 33 u32 are no whole number of u64.
    assert!(matches!(refused, BackendError::OutputLayout { output: 0, bytes: 132, .. }), "{refused}");
    assert!(visited.is_empty());
    // Every output starts aligned for any scalar.
    let even = words(0..34);
    backend
        .dispatch_borrowed_for_each_pod_output(&program, &[&even], &with(0), |output, values: &[u16]| {
            assert_eq!(values.len(), [68, 34][output]);
            assert_eq!(values.as_ptr().align_offset(16), 0, "output {output}");
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_stream_gives_outputs_in_order_and_holds_a_fast_producer_back() {
    let backend = WgpuBackend::shared().unwrap();
    let chunk = |n: u32| -> Vec<u32> { (0..10 * n + 1).map(|i| i + n).collect() };
    for depth in [1, 2, 5] {
        let stream = backend.compile_streaming(&program(), with(3)).unwrap();
        assert_eq!(stream.depth(), 2);
        let mut stream = stream.with_depth(NonZeroUsize::new(depth).unwrap());
        let mut outputs = Vec::new();
        for n in 0..20 {
            outputs.extend(stream.push(&[&words(chunk(n))]).unwrap());
            assert!(stream.under_way() <= depth);
            // What was pushed is under way, handed over, or both waited for and handed over next.
            assert!(outputs.len() + depth > n as usize, "depth {depth}, chunk {n}");
        }
        outputs.extend(stream.next_outputs().unwrap());
        outputs.extend(stream.finish().unwrap());
        let want: Vec<_> = (0..20).map(|n| expected(&chunk(n), 3)).collect();
        assert_eq!(outputs, want, "depth {depth}");
    }
    let stream = backend.compile_streaming(&program(), with(3)).unwrap();
    assert_eq!(stream.finish().unwrap(), Vec::<Vec<Vec<u8>>>::new());
}

#[test]
fn errors_of_a_stream_name_the_chunk_and_leave_the_others() {
    let backend = WgpuBackend::shared().unwrap();
    let mut stream = backend.compile_streaming(&trapping(), DispatchConfig::default()).unwrap();
    let (fine, faulty) = (words([1, 2]), words([3, 101, 102]));
    assert_eq!(stream.push(&[&fine]).unwrap(), None);
    assert_eq!(stream.push(&[&faulty]).unwrap(), None);
    // Refused before it is under way: one byte is no element.
    let refused = stream.push(&[&[1]]).unwrap_err();
    let BackendError::Chunk { chunk: 2, error } = &refused else { panic!("{refused}") };
    assert!(matches!(**error, BackendError::Launch(_)), "{refused}");
    assert_eq!(stream.next_outputs().unwrap(), Some(vec![words([2, 3])]));
    let trapped = stream.push(&[&fine]).and_then(|_| stream.next_outputs()).unwrap_err();
    let BackendError::Chunk { chunk: 1, error } = &trapped else { panic!("{trapped}") };
    assert!(matches!(**error, BackendError::Trap { code: 7, .. }), "{trapped}");
    assert_eq!(stream.push(&[&fine]).unwrap(), None);
    assert_eq!(stream.finish().unwrap(), [vec![words([2, 3])], vec![words([2, 3])]]);
    // Dropped with work under way: the backend goes on.
    let mut dropped = backend.compile_streaming(&trapping(), DispatchConfig::default()).unwrap();
    dropped.push(&[&fine]).unwrap();
    dropped.push(&[&fine]).unwrap();
    drop(dropped);
    let plain = DispatchConfig { timeout: Some(Duration::from_secs(600)), ..DispatchConfig::default() };
    assert_eq!(backend.dispatch_borrowed(&trapping(), &[&fine], &plain).unwrap(), [words([2, 3])]);
    let unknown = DispatchConfig { profile: Some("no such".to_owned()), ..DispatchConfig::default() };
    assert!(backend.compile_streaming(&trapping(), unknown).is_err());
}

/// The counters of everything that a dispatch looks up or allocates.
fn lookups(backend: &WgpuBackend) -> [u64; 6] {
    let stats = backend.stats();
    let (pipelines, groups) = (stats.pipelines, stats.bind_groups);
    [
        pipelines.hits + pipelines.misses,
        pipelines.insertions,
        groups.hits + groups.misses,
        groups.insertions,
        stats.buffers_created,
        stats.buffers_reused,
    ]
}

#[test]
fn a_persistent_pipeline_looks_nothing_up_and_allocates_nothing_when_repeated() {
    // A backend of its own: no other test counts there.
    let backend = WgpuBackend::acquire().unwrap();
    let pipeline = backend.compile_persistent(&program(), &with(6)).unwrap();
    let mut outputs = vec![Vec::with_capacity(400), Vec::with_capacity(200)];
    let places: Vec<_> = outputs.iter().map(|output| output.as_ptr()).collect();
    let values = |round: u32, n: u32| -> Vec<u32> { (0..n).map(|i| i * round).collect() };
    pipeline.dispatch_into(&[&words(values(0, 100))], &mut outputs).unwrap();
    let before = lookups(&backend);
    for round in 1..50 {
        let x = values(round, 100);
        pipeline.dispatch_into(&[&words(x.clone())], &mut outputs).unwrap();
        assert_eq!(outputs, expected(&x, 6), "round {round}");
    }
    assert_eq!(lookups(&backend), before);
    assert_eq!(outputs.iter().map(|output| output.as_ptr()).collect::<Vec<_>>(), places);
    // Other lengths are prepared once, too, and both stay.
    let x = values(3, 7);
    assert_eq!(pipeline.dispatch(&[&words(x.clone())]).unwrap(), expected(&x, 6));
    let before = lookups(&backend);
    for round in 0..20 {
        let x = values(round, if round % 2 == 0 { 100 } else { 7 });
        assert_eq!(pipeline.dispatch(&[&words(x.clone())]).unwrap(), expected(&x, 6));
    }
    assert_eq!(lookups(&backend), before);
    // Empty inputs, wrong inputs, and several threads at once.
    assert_eq!(pipeline.dispatch(&[&[]]).unwrap(), [Vec::new(), Vec::new()]);
    assert!(matches!(pipeline.dispatch(&[]), Err(BackendError::Launch(_))));
    assert!(matches!(pipeline.dispatch(&[&[1, 2, 3]]), Err(BackendError::Launch(_))));
    std::thread::scope(|scope| {
        for thread in 1..5 {
            let (pipeline, values) = (&pipeline, &values);
            scope.spawn(move || {
                for round in 0..20 {
                    let x = values(thread * 100 + round, 100);
                    assert_eq!(pipeline.dispatch(&[&words(x.clone())]).unwrap(), expected(&x, 6));
                }
            });
        }
    });
}

#[test]
fn a_persistent_pipeline_outlives_faults_and_repeats_its_runs_from_cleared_outputs() {
    let backend = WgpuBackend::acquire().unwrap();
    let config = DispatchConfig { timeout: Some(Duration::from_secs(600)), ..DispatchConfig::default() };
    let pipeline = backend.compile_persistent(&trapping(), &config).unwrap();
    for round in 0..3 {
        assert_eq!(pipeline.dispatch(&[&words([1, round])]).unwrap(), [words([2, round + 1])]);
        let trapped = pipeline.dispatch(&[&words([101, 1])]);
        assert!(matches!(trapped, Err(BackendError::Trap { code: 7, address: 0, .. })), "{trapped:?}");
    }
    // Only the first elements are stored, and fewer each time: the others must come back 0.
    let some = Kernel::build("some", |k| {
        let n = k.read_only::<u32>("n").with_len(1_u64);
        let out = k.write_only::<u32>("out", 8_u64);
        k.domain([8_u64], |[i]| k.if_(i.lt(n.load(0_u32)), || out.store(i, 9_u32)));
    })
    .unwrap();
    let pipeline = backend.compile_persistent(&some, &DispatchConfig::default()).unwrap();
    for n in [8, 3, 0] {
        let want = words((0..8).map(|i| if i < n { 9 } else { 0 }));
        assert_eq!(pipeline.dispatch(&[&words([n])]).unwrap(), [want]);
    }
    backend.force_device_lost().unwrap();
    assert!(matches!(pipeline.dispatch(&[&words([1])]), Err(BackendError::DeviceLost { .. })));
    backend.try_recover().unwrap();
    let stale = pipeline.dispatch(&[&words([1])]);
    assert!(matches!(stale, Err(BackendError::BadHandle { problem: "stale", .. })), "{stale:?}");
}
