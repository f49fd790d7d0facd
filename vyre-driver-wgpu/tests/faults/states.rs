//! Every call on a device that is lost, that hangs, or that was shut down; and what a backend's life consists of
//! in each state.

use std::time::Duration;

use vyre_driver::{BackendError, DispatchConfig, VyreBackend};
use vyre_driver_wgpu::{Fault, Site, WgpuBackend};

use crate::calls::{self, Kind};
use crate::kit::{Kit, Trouble, input, output, scaled};
use crate::steady::answers;

/// Brings a backend into a state.
type Enter = fn(&WgpuBackend);

/// A state, and how it is entered.
const STATES: &[(State, Enter)] = &[
    (State::Fresh, |_| {}),
    (State::OutOfMemory, |b| {
        b.arm_fault(Site::Submit, 0, Fault::OutOfMemory);
        assert_eq!(run(b, None), Err(Trouble::Memory));
    }),
    (State::Hangs, |b| {
        b.arm_fault(Site::Submit, 0, Fault::Hang);
        assert_eq!(run(b, Some(Duration::from_millis(5))), Err(Trouble::Timeout));
    }),
    (State::Lost, |b| {
        b.arm_fault(Site::Submit, 0, Fault::Lost);
        assert_eq!(run(b, None), Err(Trouble::Lost));
    }),
    (State::ShutDown, |b| b.shutdown().unwrap()),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Fresh,
    OutOfMemory,
    Hangs,
    Lost,
    ShutDown,
}

/// Runs a program.
fn run(b: &WgpuBackend, timeout: Option<Duration>) -> Result<(), Trouble> {
    let config = DispatchConfig { timeout, ..DispatchConfig::default() };
    assert_eq!(b.dispatch_borrowed(&scaled(4), &[&input()], &config)?, [output(4)]);
    Ok(())
}

/// A method of a backend's life, called in a state.
type Row = (&'static str, fn(&WgpuBackend, State));

pub(crate) const LIFE: &[Row] = &[
    ("WgpuBackend::new", |_, _| run(&WgpuBackend::new().unwrap(), None).unwrap()),
    ("WgpuBackend::acquire", |_, _| run(&WgpuBackend::acquire().unwrap(), None).unwrap()),
    ("WgpuBackend::acquire_adapter", |b, _| {
        run(&WgpuBackend::acquire_adapter(b.chosen().0.index).unwrap(), None).unwrap();
    }),
    // The shared one is another one than `b`.
    ("WgpuBackend::shared", |_, _| run(&WgpuBackend::shared().unwrap(), None).unwrap()),
    ("WgpuBackend::force_device_lost", |b, state| {
        let done = b.force_device_lost();
        if state == State::ShutDown {
            return assert!(matches!(done, Err(BackendError::ShutDown { .. })), "{done:?}");
        }
        done.unwrap();
        assert_eq!(run(b, None), Err(Trouble::Lost));
        b.try_recover().unwrap();
        run(b, None).unwrap();
    }),
    ("VyreBackend::device_lost", |b, state| assert_eq!(b.device_lost(), state == State::Lost)),
    ("VyreBackend::try_recover", |b, state| {
        let done = b.try_recover();
        if state == State::ShutDown {
            return assert!(matches!(done, Err(BackendError::ShutDown { .. })), "{done:?}");
        }
        // Also from a device that hangs, which is given up: what is armed stays armed.
        done.unwrap();
        run(b, None).unwrap();
    }),
    ("VyreBackend::shutdown", |b, state| {
        let done = b.shutdown();
        match state {
            State::Lost => assert!(matches!(done, Err(BackendError::DeviceLost { .. })), "{done:?}"),
            _ => done.unwrap(),
        }
        b.shutdown().unwrap();
        assert_eq!(run(b, None), Err(Trouble::ShutDown));
    }),
    ("Clone::clone", |b, _| {
        let other = b.clone();
        assert_eq!((other.instance(), other.device_lost()), (b.instance(), b.device_lost()));
    }),
    ("Clone::clone_from", |b, state| {
        let mut other = WgpuBackend::acquire().unwrap();
        other.clone_from(b);
        assert_eq!((other.instance(), other.device_lost()), (b.instance(), state == State::Lost));
    }),
];

#[test]
fn a_backends_life_goes_on_in_every_state() {
    for (name, call) in LIFE {
        for (state, enter) in STATES {
            let b = WgpuBackend::acquire().unwrap();
            let steady = answers(&b);
            enter(&b);
            assert!(answers(&b) == steady, "{state:?}");
            call(&b, *state);
            assert!(answers(&b) == steady, "{name}, {state:?}");
        }
    }
}

#[test]
fn every_call_on_a_lost_device_says_so_and_what_was_its_is_stale_afterwards() {
    let b = &WgpuBackend::acquire().unwrap();
    let config = DispatchConfig::default();
    for &(name, kind, call) in calls::all() {
        let [mut first, mut second, mut third] = [3; 3].map(|factor| Kit::new(b, factor, factor));
        let lost = |result: Result<(), Trouble>| match result {
            Err(Trouble::Lost) => {}
            // What needs no device is done.
            Ok(()) if kind == Kind::Host => {}
            other => panic!("{name}: {other:?}"),
        };
        // With what was compiled still in memory, and without.
        b.arm_fault(Site::Submit, 0, Fault::Lost);
        assert_eq!(run(b, None), Err(Trouble::Lost));
        lost(call(b, &mut first, &config));
        b.force_device_lost().unwrap();
        lost(call(b, &mut second, &config));
        b.try_recover().unwrap();
        let stale = call(b, &mut third, &config);
        assert!(matches!(stale, Ok(()) | Err(Trouble::Stale)), "{name}: {stale:?}");
        [first, second, third].into_iter().for_each(|kit| kit.free(b));
        let mut kit = Kit::new(b, 3, 3);
        call(b, &mut kit, &config).unwrap_or_else(|trouble| panic!("{name}: {trouble:?}"));
        kit.free(b);
    }
    assert_eq!(b.stats().residents, 0);
}

#[test]
fn every_call_on_a_device_that_hangs_is_late_or_needs_no_wait_and_is_right_when_it_goes_on() {
    let b = &WgpuBackend::acquire().unwrap();
    let limit = Some(Duration::from_millis(20));
    let config = DispatchConfig { timeout: limit, ..DispatchConfig::default() };
    for &(name, kind, call) in calls::all() {
        let mut kit = Kit::new(b, 3, 3);
        b.arm_fault(Site::Submit, 0, Fault::Hang);
        assert_eq!(run(b, Some(Duration::from_millis(1))), Err(Trouble::Timeout));
        match call(b, &mut kit, &config) {
            Err(Trouble::Timeout) => assert!(!matches!(kind, Kind::Host | Kind::Compiles), "{name}"),
            // What needs no wait is done.
            Ok(()) => {
                let waits = matches!(kind, Kind::Moves | Kind::Runs | Kind::Reruns);
                assert!(!waits || name == "HostIngressStream::push", "{name} saw work end");
            }
            Err(other) => panic!("{name}: {other:?}"),
        }
        b.disarm_faults();
        kit.free(b);
        let mut kit = Kit::new(b, 3, 3);
        call(b, &mut kit, &DispatchConfig::default()).unwrap_or_else(|trouble| panic!("{name}: {trouble:?}"));
        kit.free(b);
    }
    assert!(!b.device_lost());
}

#[test]
fn every_call_after_a_shutdown_says_so() {
    let b = &WgpuBackend::acquire().unwrap();
    let kits: Vec<_> = calls::all().map(|_| Kit::new(b, 3, 3)).collect();
    b.shutdown().unwrap();
    for (&(name, _, call), mut kit) in calls::all().zip(kits) {
        let result = call(b, &mut kit, &DispatchConfig::default());
        // Of a set whose buffers others have, only their number goes down.
        let counts = name == "OptimizerDispatcher::release_resident_static_uploads" && result.is_ok();
        assert!(counts || result == Err(Trouble::ShutDown), "{name}: {result:?}");
        kit.free(b);
    }
}

#[test]
fn a_device_that_hangs_is_given_up_and_leaves_nothing_behind() {
    let b = &WgpuBackend::acquire().unwrap();
    let kit = Kit::new(b, 3, 3);
    let kept = b.allocate_retained(8).unwrap();
    b.upload_resident(&kept, &[1, 2, 3]).unwrap();
    let generation = b.stats().generation;
    let pending = b.dispatch_borrowed_async(&kit.program, &[&input()], &DispatchConfig::default()).unwrap();
    b.arm_fault(Site::Submit, 0, Fault::Hang);
    assert_eq!(run(b, Some(Duration::from_millis(1))), Err(Trouble::Timeout));
    // The queue is in order: nothing else ends either, whoever waits in whatever way.
    assert!(!pending.is_ready());
    assert_eq!(run(b, Some(Duration::from_millis(1))), Err(Trouble::Timeout));
    assert_eq!(run(b, None), Err(Trouble::Timeout));
    assert_eq!(b.flush().map_err(Trouble::from), Err(Trouble::Timeout));
    b.try_recover().unwrap();
    // Its successor is well, and the old one's work is lost.
    assert!(b.stats().generation > generation);
    run(b, None).unwrap();
    b.flush().unwrap();
    assert_eq!(pending.wait().map_err(Trouble::from), Err(Trouble::Lost));
    assert_eq!(b.download_resident(&kept).unwrap(), [1, 2, 3, 0, 0, 0, 0, 0]);
    assert_eq!(b.download_resident(&kit.pair[0]).map_err(Trouble::from), Err(Trouble::Stale));
    assert_eq!(b.disarm_faults(), 0);
    run(b, None).unwrap();
    assert_eq!(b.stats().residents, 1);
}

#[test]
fn buffers_of_work_that_is_late_stay_as_they_are_until_it_ends() {
    let b = &WgpuBackend::acquire().unwrap();
    let kit = Kit::new(b, 3, 3);
    let limit = DispatchConfig { timeout: Some(Duration::from_millis(1)), ..DispatchConfig::default() };
    b.arm_fault(Site::Submit, 0, Fault::Hang);
    let late = b.dispatch_resident_timed(&kit.program, &kit.pair, &limit);
    assert_eq!(late.map(drop).map_err(Trouble::from), Err(Trouble::Timeout));
    // Freed under it, and others allocated: what they get is theirs alone.
    b.free(kit.pair[0]).unwrap();
    let others: Vec<_> = (0..8).map(|_| b.allocate(400).unwrap()).collect();
    assert_eq!(b.disarm_faults(), 0);
    assert!(others.iter().all(|other| b.download_resident(other).unwrap() == [0; 400]));
    assert_eq!(b.download_resident(&kit.pair[1]).unwrap(), output(3));
}
