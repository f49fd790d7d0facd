//! Faults while a backend is opened, and while a lost one is opened again.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here fails the test")]

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use vyre_driver::{BackendError, DispatchConfig, VyreBackend};
use vyre_driver_wgpu::{Fault, Site, WgpuBackend};
use vyre_foundation::build::Kernel;
use vyre_spec::DeviceProfile;

fn words(values: impl IntoIterator<Item = u32>) -> Vec<u8> {
    values.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Runs a program; a result that there is is right.
fn run(b: &WgpuBackend, timeout: Option<Duration>) -> Result<(), BackendError> {
    let program = Kernel::build("scaled", |k| {
        let source = k.read_only::<u32>("source");
        let target = k.write_only::<u32>("target", source.len());
        k.domain([source.len()], |[i]| target.store(i, source.load(i) * 3_u32 + i));
    })
    .unwrap();
    let config = DispatchConfig { timeout, ..DispatchConfig::default() };
    let outputs = b.dispatch(&program, &[words(5..105)], &config)?;
    assert_eq!(outputs, [words((0..100).map(|i| (i + 5) * 3 + i))]);
    Ok(())
}

type Open = fn() -> Result<Arc<WgpuBackend>, BackendError>;

/// Every way to open a backend.
const WAYS: [(&str, Open); 5] = [
    ("acquire", || WgpuBackend::acquire().map(Arc::new)),
    ("new", || WgpuBackend::new().map(Arc::new)),
    ("acquire_adapter", || {
        let reports = WgpuBackend::adapters().unwrap();
        let usable = reports.iter().find(|report| report.refusal.is_none()).unwrap();
        WgpuBackend::acquire_adapter(usable.index).map(Arc::new)
    }),
    ("shared", WgpuBackend::shared),
    ("open", || WgpuBackend::builder().open().map(Arc::new)),
];

/// What can go wrong at a site, and the code of the error of whoever opens a device.
const FAULTS: [(Site, Fault, &str); 6] = [
    (Site::Open, Fault::Lost, "B002"),
    (Site::Allocate, Fault::OutOfMemory, "B301"),
    (Site::Allocate, Fault::Lost, "B302"),
    (Site::Submit, Fault::OutOfMemory, "B301"),
    (Site::Submit, Fault::Lost, "B302"),
    (Site::Submit, Fault::LostLater, "B302"),
];

/// Opens with the fault after `skip` others. Says whether it struck.
fn opened_under(way: (&str, Open), fault: (Site, Fault, &str), skip: u32, profile: &DeviceProfile) -> bool {
    let ((name, open), (site, kind, code)) = (way, fault);
    WgpuBackend::arm_next_open(site, skip, kind);
    match open() {
        Ok(b) => {
            let unspent = b.disarm_faults();
            // It may have done without what it could not have, but not without a part of the device.
            assert_eq!(VyreBackend::profile(&*b), profile, "{name}, {fault:?}, {skip}");
            run(&b, None).unwrap();
            // The shared one is opened anew.
            b.shutdown().unwrap();
            unspent == 0
        }
        Err(error) => {
            assert_eq!(error.code(), code, "{name}, {fault:?}, {skip}: {error}");
            // Every adapter is named, also where one was to be opened.
            if let BackendError::NoDevice { probed, .. } = &error {
                let reports = WgpuBackend::adapters().unwrap();
                assert_eq!(probed.len(), reports.len(), "{probed:?}");
                assert!(
                    reports.iter().all(|r| probed.iter().any(|line| line.contains(&r.name))),
                    "{probed:?}"
                );
                assert!(probed[0].contains("could not be opened"), "{probed:?}");
            }
            true
        }
    }
}

#[test]
fn every_way_to_open_a_backend_fails_by_type_and_is_right_the_next_time() {
    let profile = WgpuBackend::acquire().unwrap().device_profile();
    for way in WAYS {
        for fault in FAULTS {
            let mut struck = 0;
            for skip in 0.. {
                assert!(skip < 60, "{} goes on for ever", way.0);
                let strikes = opened_under(way, fault, skip, &profile);
                struck += u32::from(strikes);
                if !strikes {
                    break;
                }
                // Nothing of the failure is remembered.
                let b = way.1().unwrap();
                assert_eq!(VyreBackend::profile(&*b), &profile);
                run(&b, None).unwrap();
                b.shutdown().unwrap();
                // All go the same way; one of them goes to its end.
                if way.0 != "acquire" {
                    break;
                }
            }
            assert!(struck > 0, "{}, {fault:?}", way.0);
        }
    }
}

#[test]
fn a_device_that_hangs_while_it_is_opened_is_a_timeout() {
    WgpuBackend::arm_next_open(Site::Submit, 0, Fault::Hang);
    let error = WgpuBackend::acquire().unwrap_err();
    assert!(matches!(error, BackendError::Timeout { .. }), "{error}");
    run(&WgpuBackend::acquire().unwrap(), None).unwrap();
}

#[test]
fn a_recovery_that_fails_at_any_step_is_typed_and_the_next_one_does_everything() {
    // With something planned for its opening, a backend probes its adapter again at each recovery.
    WgpuBackend::arm_next_open(Site::CacheRead, 0, Fault::Io);
    let b = &WgpuBackend::acquire().unwrap();
    b.disarm_faults();
    let profile = b.device_profile();
    let kept: Vec<_> = (0..3_u8).map(|i| (b.allocate_retained(300).unwrap(), vec![i + 1; 300])).collect();
    for (resource, bytes) in &kept {
        b.upload_resident(resource, bytes).unwrap();
    }
    for fault in FAULTS {
        let (site, kind, code) = fault;
        let mut failed = 0;
        for skip in 0.. {
            assert!(skip < 60, "{fault:?} goes on for ever");
            b.force_device_lost().unwrap();
            b.arm_fault(site, skip, kind);
            let recovered = b.try_recover();
            let unspent = b.disarm_faults();
            if let Err(error) = &recovered {
                assert_eq!((error.code(), unspent), (code, 0), "{fault:?}, {skip}: {error}");
                failed += 1;
            }
            assert_eq!(b.device_lost(), recovered.is_err() || kind == Fault::LostLater && unspent == 0);
            b.try_recover().unwrap();
            assert_eq!(b.device_profile(), profile, "{fault:?}, {skip}");
            run(b, None).unwrap();
            for (resource, bytes) in &kept {
                assert_eq!(b.download_resident(resource).unwrap(), *bytes, "{fault:?}, {skip}");
            }
            if unspent > 0 {
                break;
            }
        }
        assert!(failed > 0, "{fault:?}");
    }
    assert_eq!(b.stats().residents, 3);
}

#[test]
fn a_device_that_hangs_under_a_recovery_is_a_timeout_and_given_up() {
    let b = &WgpuBackend::acquire().unwrap();
    let kept = b.allocate_retained(8).unwrap();
    b.upload_resident(&kept, &[7; 8]).unwrap();
    b.force_device_lost().unwrap();
    b.arm_fault(Site::Submit, 0, Fault::Hang);
    b.try_recover().unwrap();
    let late = run(b, Some(Duration::from_millis(5))).unwrap_err();
    assert!(matches!(late, BackendError::Timeout { .. }), "{late}");
    b.try_recover().unwrap();
    run(b, None).unwrap();
    assert_eq!(b.download_resident(&kept).unwrap(), [7; 8]);
}

#[test]
fn a_cache_directory_that_cannot_be_used_keeps_nobody_from_opening() {
    let scratch = std::env::temp_dir().join(format!("vyre-opening-{}", std::process::id()));
    fs::create_dir(&scratch).unwrap();
    let file = scratch.join("file");
    fs::write(&file, b"no directory").unwrap();
    for dir in [file.clone(), file.join("below")] {
        let b = WgpuBackend::builder().cache_dir(&dir).open().unwrap();
        let before = b.stats().disk.unwrap();
        assert!(before.refused.as_ref().is_some_and(|why| !why.is_empty()), "{before:?}");
        run(&b, None).unwrap();
        b.force_device_lost().unwrap();
        b.try_recover().unwrap();
        run(&b, None).unwrap();
        b.prepare().unwrap();
        assert_eq!(b.stats().disk.unwrap(), before);
        b.shutdown().unwrap();
    }
    assert_eq!(fs::read(&file).unwrap(), b"no directory");
    // What is none of ours is left alone.
    let strange = scratch.join("strange");
    let b = WgpuBackend::builder().cache_dir(&strange).open().unwrap();
    fs::create_dir(strange.join("0-0.vyreblob")).unwrap();
    fs::write(strange.join("notes.txt"), b"mine").unwrap();
    run(&b, None).unwrap();
    b.force_device_lost().unwrap();
    b.try_recover().unwrap();
    run(&b, None).unwrap();
    let seen = b.stats().disk.unwrap();
    assert_eq!((seen.refused, seen.rejected, seen.read_errors, seen.write_errors), (None, 0, 0, 0));
    assert_eq!(fs::read(strange.join("notes.txt")).unwrap(), b"mine");
    fs::remove_dir_all(&scratch).unwrap();
}
