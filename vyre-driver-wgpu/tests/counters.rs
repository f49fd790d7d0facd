//! Statistics are exact, also while many threads are at work.
#![allow(clippy::unwrap_used, reason = "a failure here fails the test")]

use vyre_driver::{DispatchConfig, VyreBackend};
use vyre_driver_wgpu::WgpuBackend;
use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_spec::CompileOptions;

fn offset(by: u32) -> Checked<Program> {
    Kernel::build("offset", |k| {
        let out = k.write_only::<u32>("out", 16_u64);
        k.domain([16_u64], |[i]| out.store(i, i + by));
    })
    .unwrap()
}

/// All counters stand in one test, since the proofs of checked programs belong to the whole process.
#[test]
fn counters_are_exact_under_concurrency() {
    const THREADS: u32 = 8;
    const ROUNDS: u32 = 150;
    const PROGRAMS: u32 = 40;
    let backend = WgpuBackend::acquire().unwrap();
    let before = backend.stats();
    let programs: Vec<_> = (0..PROGRAMS).map(offset).collect();
    let done = std::sync::atomic::AtomicU32::new(0);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (backend, programs, done) = (&backend, &programs, &done);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let which = (thread * 7 + round * 11) % PROGRAMS;
                    let program = &programs[which as usize];
                    if round % 3 == 0 {
                        backend.compile_checked(program, &CompileOptions::default()).unwrap();
                    } else {
                        let config = DispatchConfig::default();
                        let outputs = backend.dispatch_borrowed(program, &[], &config).unwrap();
                        let expected: Vec<u8> = (which..which + 16).flat_map(u32::to_le_bytes).collect();
                        assert_eq!(outputs, [expected]);
                    }
                }
                done.fetch_add(1, std::sync::atomic::Ordering::Release);
            });
        }
        // What is seen meanwhile adds up as well.
        while done.load(std::sync::atomic::Ordering::Acquire) < THREADS {
            let stats = backend.stats();
            for cache in [stats.pipelines, stats.bind_groups] {
                assert_eq!(cache.insertions - cache.evictions, cache.entries, "{stats:?}");
                assert!(cache.insertions <= cache.misses, "{stats:?}");
            }
            let proofs = stats.validation;
            assert_eq!(proofs.insertions - proofs.evictions, proofs.entries);
            assert!(stats.idle_buffer_bytes <= stats.buffer_bytes);
            std::thread::yield_now();
        }
    });
    let after = backend.stats();
    let requests = u64::from(THREADS * ROUNDS);
    assert_eq!(after.pipelines.hits + after.pipelines.misses, requests);
    assert_eq!(after.pipelines.insertions, u64::from(PROGRAMS));
    assert_eq!(after.pipelines.entries, u64::from(PROGRAMS));
    // Two of three rounds dispatch, and a dispatch asks for one proof and one bind group.
    let dispatches = u64::from(THREADS) * u64::from(ROUNDS - ROUNDS.div_ceil(3));
    let asked = |stats: &vyre_driver::ValidationCacheSnapshot| stats.hits + stats.misses;
    assert_eq!(asked(&after.validation) - asked(&before.validation), dispatches);
    assert_eq!(after.validation.insertions - before.validation.insertions, u64::from(PROGRAMS));

    let snapshot = backend.pipeline_cache_snapshot().unwrap();
    assert_eq!((snapshot.hits, snapshot.misses), (after.pipelines.hits, after.pipelines.misses));
    assert_eq!((snapshot.entries, snapshot.evictions, snapshot.invalidations), (u64::from(PROGRAMS), 0, 0));
    assert!(snapshot.capacity >= snapshot.entries);
    let metrics = backend.backend_metric_snapshot();
    assert!(metrics.windows(2).all(|pair| pair[0].0 < pair[1].0), "sorted, each once");
    let metric = |name: &str| metrics.iter().find(|(known, _)| *known == name).unwrap().1;
    assert_eq!(metric("pipeline_hits"), snapshot.hits);
    assert_eq!(metric("pipeline_entries_now"), snapshot.entries);
    assert_eq!(metric("generation_now"), after.generation);
    assert_eq!(metric("buffer_bytes_now"), after.buffer_bytes);

    // A loss takes the pipelines, and says so; the counters go on.
    backend.force_device_lost().unwrap();
    backend.try_recover().unwrap();
    let recovered = backend.pipeline_cache_snapshot().unwrap();
    assert_eq!((recovered.hits, recovered.misses), (snapshot.hits, snapshot.misses));
    assert_eq!((recovered.entries, recovered.invalidations), (0, u64::from(PROGRAMS)));
    backend.compile_checked(&programs[0], &CompileOptions::default()).unwrap();
    assert_eq!(backend.pipeline_cache_snapshot().unwrap().misses, snapshot.misses + 1);
}
