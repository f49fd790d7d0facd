//! Each call with a fault at its first, second and every further allocation or submission.

use std::collections::BTreeMap;
use std::time::Duration;

use vyre_driver::{DispatchConfig, VyreBackend};
use vyre_driver_wgpu::{Fault, Site, WgpuBackend};

use crate::calls::{self, Call, Kind};
use crate::kit::{BYTES, Kit, Trouble};
use crate::steady::answers;

/// The factor of every program here.
const FACTOR: u32 = 3;

/// Leaves a pattern in the pool's buffers, so that bytes of others would show.
fn soil(b: &WgpuBackend) {
    let dirty: Vec<_> = (0..4).map(|_| b.allocate(BYTES as u64).unwrap()).collect();
    for resource in dirty {
        b.upload_resident(&resource, &[0xA5; BYTES]).unwrap();
        b.free(resource).unwrap();
    }
}

/// The call without a fault: what the buffers hold before and after it.
fn clean(b: &WgpuBackend, name: &str, call: Call) -> [Vec<Option<Vec<u8>>>; 2] {
    let mut kit = Kit::new(b, FACTOR, FACTOR);
    let before = kit.contents(b);
    call(b, &mut kit, &DispatchConfig::default()).unwrap_or_else(|trouble| panic!("{name}: {trouble:?}"));
    let after = kit.contents(b);
    kit.free(b);
    [before, after]
}

/// Takes every call through the fault, until it no longer strikes. Gives how often each call failed by it.
fn sweep(site: Site, fault: Fault, want: Trouble, timeout: Option<Duration>) -> BTreeMap<&'static str, u32> {
    let b = &WgpuBackend::acquire().unwrap();
    let steady = answers(b);
    let config = DispatchConfig { timeout, ..DispatchConfig::default() };
    let mut failed = BTreeMap::new();
    for &(name, kind, call) in calls::all() {
        let states = clean(b, name, call);
        let failed = failed.entry(name).or_insert(0);
        for skip in 0..60 {
            assert!(skip < 59, "{name} goes on for ever");
            soil(b);
            let mut kit = Kit::new(b, FACTOR, FACTOR);
            if site == Site::Allocate {
                // Otherwise the pool has what is asked for.
                b.trim();
            }
            b.arm_fault(site, skip, fault);
            let result = call(b, &mut kit, &config);
            assert!(answers(b) == steady, "{name}, {skip}: an answer has changed");
            let unspent = b.disarm_faults();
            let struck = match result {
                // It did not come that far.
                Ok(()) if unspent > 0 => false,
                // It did without what it could not have, or never looked at what hangs.
                Ok(()) => true,
                // The time was over before the fault struck: the machine is busy.
                Err(Trouble::Timeout) if unspent > 0 && timeout.is_some() => true,
                Err(trouble) => {
                    assert_eq!((&trouble, unspent), (&want, 0), "{name}, {skip}");
                    *failed += 1;
                    true
                }
            };
            if b.device_lost() {
                b.try_recover().unwrap();
            } else if fault == Fault::OutOfMemory {
                // What is refused has no effect, on any buffer.
                let now = kit.contents(b);
                assert!(states.contains(&now), "{name}, {skip}: half of it was done");
            }
            kit.free(b);
            if !struck {
                break;
            }
            clean(b, name, call);
        }
        if matches!(kind, Kind::Host | Kind::Compiles) {
            assert_eq!(*failed, 0, "{name}");
        }
    }
    failed
}

/// Every call of these kinds has failed at least once.
fn all_failed(failed: &BTreeMap<&'static str, u32>, kinds: &[Kind]) {
    let missed: Vec<_> = calls::all()
        .filter(|(name, kind, _)| kinds.contains(kind) && failed.get(name) == Some(&0))
        .map(|row| row.0)
        .collect();
    assert!(missed.is_empty(), "the fault never struck {missed:?}");
}

#[test]
fn memory_that_runs_out_at_any_allocation_is_typed_and_has_no_effect() {
    let failed = sweep(Site::Allocate, Fault::OutOfMemory, Trouble::Memory, None);
    // The second run of a prepared pipeline allocates nothing, and a flush nothing at all.
    all_failed(&failed, &[Kind::Runs]);
}

#[test]
fn memory_that_runs_out_at_any_submission_is_typed_and_has_no_effect() {
    let failed = sweep(Site::Submit, Fault::OutOfMemory, Trouble::Memory, None);
    all_failed(&failed, &[Kind::Moves, Kind::Runs, Kind::Reruns]);
}

#[test]
fn a_loss_at_any_allocation_is_typed_and_recovered_from() {
    let failed = sweep(Site::Allocate, Fault::Lost, Trouble::Lost, None);
    all_failed(&failed, &[Kind::Runs]);
}

#[test]
fn a_loss_at_any_submission_is_typed_and_recovered_from() {
    let failed = sweep(Site::Submit, Fault::Lost, Trouble::Lost, None);
    all_failed(&failed, &[Kind::Moves, Kind::Runs, Kind::Reruns]);
}

#[test]
fn a_loss_after_any_submission_is_typed_and_recovered_from() {
    let failed = sweep(Site::Submit, Fault::LostLater, Trouble::Lost, None);
    all_failed(&failed, &[Kind::Runs]);
}

#[test]
fn a_device_that_hangs_after_any_submission_is_a_timeout_for_whoever_waits() {
    let limit = Some(Duration::from_millis(20));
    let failed = sweep(Site::Submit, Fault::Hang, Trouble::Timeout, limit);
    // `push` alone does not wait.
    let waits = |kind: &Kind| matches!(kind, Kind::Moves | Kind::Runs | Kind::Reruns);
    for (name, kind, _) in calls::all().filter(|(name, ..)| *name != "HostIngressStream::push") {
        assert!(!waits(kind) || failed[name] > 0, "{name}");
    }
}
