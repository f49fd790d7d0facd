//! Every call from several threads, while devices are lost, hang and are recovered under them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use vyre_driver::{DispatchConfig, VyreBackend};
use vyre_driver_wgpu::{Fault, Site, WgpuBackend};

use crate::calls;
use crate::kit::{Ends, Kit, Trouble, recover};
use crate::steady::answers;

/// Takes every call through the faults from `threads` threads, `rounds` times each.
fn under_faults(threads: u32, rounds: u32, faults: &[(Site, Fault)]) {
    let b = &WgpuBackend::acquire().unwrap();
    let steady = &answers(b);
    let (done, right, wrong) = (&AtomicU32::new(0), &AtomicU32::new(0), &AtomicU32::new(0));
    let rows: Vec<_> = calls::all().collect();
    let rows = &rows[..];
    let config = &DispatchConfig { timeout: Some(Duration::from_secs(5)), ..DispatchConfig::default() };
    std::thread::scope(|scope| {
        for thread in 0..threads as usize {
            scope.spawn(move || {
                let _ends = Ends(done);
                // Each thread goes through the table in another order.
                let steps = (0..rows.len() * rounds as usize)
                    .map(|i| (i * (2 * thread + 1) + thread * 7) % rows.len());
                for step in steps {
                    let (name, _, call) = rows[step];
                    let result = Kit::try_new(b, 3, 3).and_then(|mut kit| {
                        let result = call(b, &mut kit, config);
                        kit.free(b);
                        result
                    });
                    match result {
                        Ok(()) => right.fetch_add(1, Ordering::Relaxed),
                        Err(Trouble::Other(words)) => panic!("{name}: {words}"),
                        Err(Trouble::ShutDown) => panic!("{name}: nobody has shut it down"),
                        Err(_) => wrong.fetch_add(1, Ordering::Relaxed),
                    };
                    if b.device_lost() {
                        // Of many that recover at once, one does.
                        recover(b);
                    }
                }
            });
        }
        scope.spawn(move || {
            let mut n = 0_usize;
            while done.load(Ordering::Acquire) < threads {
                let (site, fault) = faults[n % faults.len()];
                b.arm_fault(site, (n % 5) as u32, fault);
                std::thread::sleep(Duration::from_millis(15));
                // What hangs goes on.
                b.disarm_faults();
                n += 1;
                // To open a device may take longer than that: the next fault comes after a call that was right.
                let seen = right.load(Ordering::Relaxed);
                while right.load(Ordering::Relaxed) == seen && done.load(Ordering::Acquire) < threads {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        });
    });
    assert!(answers(b) == steady.as_slice());
    b.try_recover().unwrap();
    for (name, _, call) in rows {
        let mut kit = Kit::new(b, 3, 3);
        call(b, &mut kit, config).unwrap_or_else(|trouble| panic!("{name}: {trouble:?}"));
        kit.free(b);
    }
    let (right, wrong) = (right.load(Ordering::Relaxed), wrong.load(Ordering::Relaxed));
    println!("{right} calls were right, {wrong} met a fault");
    assert!(right > 0 && wrong > 0, "{right}, {wrong}");
    // What a recovery has not taken was freed, unless a fault kept a call from giving it a handle at all.
    b.force_device_lost().unwrap();
    b.try_recover().unwrap();
    assert_eq!(b.stats().residents, 0);
}

#[test]
fn eight_threads_call_everything_while_devices_are_lost() {
    under_faults(
        8,
        1,
        &[(Site::Submit, Fault::Lost), (Site::Allocate, Fault::Lost), (Site::Submit, Fault::LostLater)],
    );
}

#[test]
fn eight_threads_call_everything_while_memory_runs_out_and_the_device_hangs() {
    under_faults(
        8,
        1,
        &[
            (Site::Submit, Fault::Hang),
            (Site::Allocate, Fault::OutOfMemory),
            (Site::Submit, Fault::OutOfMemory),
        ],
    );
}
