//! The optimizer interface and impact invalidation on the opened device.
#![allow(clippy::unwrap_used, reason = "a failure here fails the test")]

use vyre_driver::conformance::{self, Report};
use vyre_driver::optimizer::{DispatchError, OptimizerDispatcher};
use vyre_driver::{BackendError, DispatchConfig, ReferenceBackend, VyreBackend};
use vyre_driver_wgpu::WgpuBackend;
use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;

fn show(report: &Report) {
    for failure in report.failures.iter().take(20) {
        println!("{failure}");
    }
    assert!(report.failures.is_empty(), "{} of {}", report.failures.len(), report.programs);
}

#[test]
fn the_device_is_an_optimizer_dispatcher() {
    let (backend, other) = (WgpuBackend::acquire().unwrap(), ReferenceBackend::new());
    show(&conformance::optimizer(&backend, &other));
    assert!(backend.supports_persistent());
    // A key of the device, not of the handle or of the moment.
    assert_eq!(backend.device_feature_cache_key(), backend.clone().device_feature_cache_key());
    assert_ne!(backend.device_feature_cache_key(), other.device_feature_cache_key());
}

#[test]
fn one_static_payload_acquired_by_many_threads_is_one_buffer() {
    let backend = WgpuBackend::acquire().unwrap();
    let payload: Vec<u8> = (0..=255).cycle().take(5000).collect();
    let sets: Vec<_> = std::thread::scope(|scope| {
        let acquire = || backend.acquire_resident_static_uploads(3, &[&payload]).unwrap();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(acquire)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let handle = sets[0].handles()[0];
    assert!(sets.iter().all(|set| set.handles() == [handle]));
    for set in sets {
        assert_eq!(backend.read_resident(handle).unwrap(), payload);
        backend.release_resident_static_uploads(set).unwrap();
    }
    backend.read_resident(handle).unwrap_err();
}

#[test]
fn handles_of_a_lost_device_are_stale_and_static_payloads_are_uploaded_anew() {
    let backend = WgpuBackend::acquire().unwrap();
    let dispatcher: &dyn OptimizerDispatcher = &backend;
    let x = dispatcher.alloc_resident(4).unwrap();
    let old = dispatcher.acquire_resident_static_uploads(5, &[&[7; 40]]).unwrap();
    backend.force_device_lost().unwrap();
    assert_eq!(dispatcher.read_resident(x).unwrap_err().code(), "B302");
    assert_eq!(dispatcher.acquire_resident_static_uploads(5, &[&[7; 40]]).unwrap_err().code(), "B302");
    backend.try_recover().unwrap();

    let stale = |handle| DispatchError::Handle { handle, problem: "stale" };
    assert_eq!(dispatcher.read_resident(x).unwrap_err(), stale(x));
    let new = dispatcher.acquire_resident_static_uploads(5, &[&[7; 40]]).unwrap();
    assert_ne!(new.handles(), old.handles());
    assert_eq!(dispatcher.read_resident_many(new.handles()).unwrap(), [[7; 40]]);
    dispatcher.release_resident_static_uploads(old).unwrap();
    assert_eq!(dispatcher.free_resident(x).unwrap_err(), stale(x));
    dispatcher.release_resident_static_uploads(new).unwrap();
    let other = WgpuBackend::acquire().unwrap();
    show(&conformance::optimizer(&backend, &other));
}

#[test]
fn impact_is_what_the_definition_says_on_the_device_too() {
    show(&conformance::impact(&WgpuBackend::acquire().unwrap(), 1000..1040));
}

/// `out = x + k`, a program of its own for each k.
fn plus(k: u32) -> Checked<Program> {
    Kernel::build(format!("plus_{k}"), |b| {
        let x = b.read_only::<u32>("x");
        let out = b.write_only::<u32>("out", x.len());
        b.domain([x.len()], |[i]| out.store(i, x.load(i) + k));
    })
    .unwrap()
}

struct Cached {
    backend: WgpuBackend,
    programs: Vec<Checked<Program>>,
    keys: Vec<[u8; 32]>,
}

impl Cached {
    fn new(count: u32) -> Self {
        let backend = WgpuBackend::acquire().unwrap();
        let programs: Vec<_> = (0..count).map(plus).collect();
        let key = |program: &Checked<Program>| {
            backend.pipeline_cache_key(program, &DispatchConfig::default()).unwrap()
        };
        let keys = programs.iter().map(key).collect();
        let cached = Self { backend, programs, keys };
        assert_eq!(cached.compiled_anew(), vec![true; count as usize]);
        assert_eq!(cached.compiled_anew(), vec![false; count as usize]);
        cached
    }

    /// Runs every program, and says which had to be compiled for it.
    fn compiled_anew(&self) -> Vec<bool> {
        let run = |(k, program): (u32, &Checked<Program>)| {
            let misses = self.backend.stats().pipelines.misses;
            let outputs =
                self.backend.dispatch_borrowed(program, &[&[0; 4]], &DispatchConfig::default()).unwrap();
            assert_eq!(outputs, [k.to_le_bytes()]);
            self.backend.stats().pipelines.misses > misses
        };
        (0..).zip(&self.programs).map(run).collect()
    }
}

/// The key of a program is that of its compiled form: with another workgroup size it is another.
#[test]
fn a_replaced_workgroup_size_is_in_the_key() {
    let backend = WgpuBackend::acquire().unwrap();
    let program = Kernel::build("groups", |b| {
        let out = b.write_only::<u32>("out", 1_u64);
        b.workgroups([64], [1_u64], |_| out.store(0, 7));
    })
    .unwrap();
    let plain = DispatchConfig::default();
    let resized = DispatchConfig { workgroup: Some([32, 1, 1]), ..plain.clone() };
    let run = |config| assert_eq!(backend.dispatch_borrowed(&program, &[], config).unwrap(), [[7, 0, 0, 0]]);
    run(&plain);
    run(&resized);
    let misses = || backend.stats().pipelines.misses;
    let before = misses();
    let key = backend.pipeline_cache_key(&program, &resized).unwrap();
    assert_ne!(key, backend.pipeline_cache_key(&program, &plain).unwrap());
    let same = DispatchConfig { workgroup: Some([64, 1, 1]), ..plain.clone() };
    assert_eq!(
        backend.pipeline_cache_key(&program, &same).unwrap(),
        backend.pipeline_cache_key(&program, &plain).unwrap()
    );
    // What the key names goes, and nothing else.
    backend.invalidate_pipeline_cache_for_changed_op(1, &[1], &[key]).unwrap();
    run(&plain);
    assert_eq!(misses(), before);
    run(&resized);
    assert_eq!(misses(), before + 1);
}

#[test]
fn impacted_pipelines_leave_the_cache_and_only_those() {
    let cached = Cached::new(6);
    // Rule 0 changed; 0 → 1. Rule 3 derives from 2, and whatever derives from 2 derives from 1. Rule 4 stands
    // alone. The last entry is not tracked.
    let n = 5;
    let cell = |i: usize, j: usize| {
        let mut cells = vec![0; n * n];
        cells[i * n + j] = 1;
        cells
    };
    let (mask, adj, state, join) = ([1, 0, 0, 0, 0], cell(0, 1), cell(3, 2), cell(2, 1));
    let lineage = [0, 1, 2, 3, 4, 5];
    let invalidate = |mask: &[u32], lineage: &[u32], keys: &[[u8; 32]]| {
        cached
            .backend
            .invalidate_impacted_pipeline_cache(mask, &adj, &state, &join, n as u32, 9, lineage, keys)
    };
    let wrong = |what, expected, got| Err(BackendError::WrongLength { what, expected, got });
    assert_eq!(invalidate(&mask[..4], &lineage, &cached.keys), wrong("intervention_mask", 5, 4));
    assert_eq!(invalidate(&mask, &lineage[..5], &cached.keys), wrong("pipeline_keys", 5, 6));
    assert_eq!(cached.compiled_anew(), [false; 6]);
    invalidate(&mask, &lineage, &cached.keys).unwrap();
    assert_eq!(cached.compiled_anew(), [true, true, false, true, false, false]);
    invalidate(&[0; 5], &lineage, &cached.keys).unwrap();
    // Keys that the cache does not have are no error.
    invalidate(&[1; 5], &[0], &[[7; 32]]).unwrap();
    assert_eq!(cached.compiled_anew(), [false; 6]);
}

#[test]
fn pipelines_of_a_changed_op_leave_the_cache() {
    let cached = Cached::new(4);
    let lineage = [u32::MAX, 7, 8, u32::MAX];
    let invalidate = |op, lineage: &[u32]| {
        cached.backend.invalidate_pipeline_cache_for_changed_op(op, lineage, &cached.keys)
    };
    let error = invalidate(7, &lineage[1..]).unwrap_err();
    assert_eq!(error, BackendError::WrongLength { what: "pipeline_keys", expected: 3, got: 4 });
    invalidate(7, &lineage).unwrap();
    assert_eq!(cached.compiled_anew(), [false, true, false, false]);
    invalidate(u32::MAX, &lineage).unwrap();
    assert_eq!(cached.compiled_anew(), [true, false, false, true]);
}
