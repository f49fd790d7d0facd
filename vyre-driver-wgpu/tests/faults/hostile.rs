//! Uses that nobody should make, of objects that outlive what they are of, while faults strike.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use vyre_driver::{DispatchConfig, VyreBackend};
use vyre_driver_wgpu::{Fault, Site, WgpuBackend};

use crate::kit::{BYTES, Ends, Kit, Trouble, input, output, recover, words};

fn config() -> DispatchConfig {
    DispatchConfig::default()
}

/// What `scaled(3)` makes of 100 words that start at `start`.
fn tripled(start: u32) -> [Vec<u8>; 1] {
    [words((0..100).map(|i| (i + start) * 3 + i))]
}

#[test]
fn a_visitor_may_do_anything_with_the_backend() {
    let b = &WgpuBackend::acquire().unwrap();
    let kit = Kit::new(b, 3, 3);
    let visit = |inside: &dyn Fn()| {
        let mut seen = Vec::new();
        let visited =
            b.dispatch_borrowed_for_each_mapped_output(&kit.program, &[&input()], &config(), |_, bytes| {
                inside();
                // The bytes are still what they were.
                seen = bytes.to_vec();
                Ok(())
            });
        visited.map_err(Trouble::from).map(|()| assert_eq!(seen, output(3)))
    };
    let dispatch = || b.dispatch_borrowed(&kit.program, &[&input()], &config()).map_err(Trouble::from);
    visit(&|| assert_eq!(dispatch(), Ok(vec![output(3)]))).unwrap();
    visit(&|| b.trim()).unwrap();
    // A loss inside the visit is that of later work: these bytes had been read back.
    let lost = visit(&|| {
        b.force_device_lost().unwrap();
        assert_eq!(dispatch(), Err(Trouble::Lost));
        b.try_recover().unwrap();
        assert_eq!(dispatch(), Ok(vec![output(3)]));
    });
    assert!(matches!(lost, Ok(()) | Err(Trouble::Lost)), "{lost:?}");
    let panicked = catch_unwind(AssertUnwindSafe(|| visit(&|| panic!("the visitor's own"))));
    assert!(panicked.is_err());
    assert_eq!(dispatch(), Ok(vec![output(3)]));
    let down = visit(&|| b.shutdown().unwrap());
    assert!(matches!(down, Ok(()) | Err(Trouble::ShutDown)), "{down:?}");
}

#[test]
fn what_a_backend_gave_outlives_it_in_any_order() {
    for order in 0..4 {
        let b = WgpuBackend::acquire().unwrap();
        let mut kit = Kit::new(&b, 3, 3);
        let pending = b.dispatch_borrowed_async(&kit.program, &[&input()], &config()).unwrap();
        let mut stream = kit.stream.take().unwrap();
        stream.push(&[&input()]).unwrap();
        match order {
            0 => drop(b),
            1 => {
                b.force_device_lost().unwrap();
                drop(b);
            }
            2 => {
                b.arm_fault(Site::Submit, 0, Fault::Hang);
                stream.push(&[&input()]).unwrap();
                drop(b);
            }
            _ => b.shutdown().unwrap(),
        }
        let (pending, streamed) =
            (pending.wait().map_err(Trouble::from), stream.finish().map_err(Trouble::from));
        let persistent = kit.persistent.dispatch(&[&input()]).map_err(Trouble::from);
        match order {
            0 => {
                assert_eq!(pending, Ok(vec![output(3)]));
                assert_eq!((streamed, persistent), (Ok(vec![vec![output(3)]]), Ok(vec![output(3)])));
            }
            1 => {
                let lost = Trouble::Lost;
                assert_eq!((pending, streamed), (Err(lost.clone()), Err(lost.clone())));
                assert_eq!(persistent, Err(lost));
            }
            2 => {
                let late = Trouble::Timeout;
                assert_eq!((pending, streamed), (Err(late.clone()), Err(late.clone())));
                assert_eq!(persistent, Err(late));
            }
            _ => {
                // What was under way still ends.
                assert_eq!((pending, streamed), (Ok(vec![output(3)]), Ok(vec![vec![output(3)]])));
                assert_eq!(persistent, Err(Trouble::ShutDown));
            }
        }
    }
}

#[test]
fn a_prepared_pipeline_and_a_stream_go_on_after_each_fault() {
    let b = &WgpuBackend::acquire().unwrap();
    let kit = Kit::new(b, 3, 3);
    let limit = DispatchConfig { timeout: Some(Duration::from_secs(5)), ..config() };
    let pipeline = b.compile_persistent(&kit.program, &limit).unwrap();
    let mut stream = b.compile_streaming(&kit.program, config()).unwrap();
    let faults = [
        (Site::Submit, Fault::OutOfMemory, Trouble::Memory),
        (Site::Allocate, Fault::OutOfMemory, Trouble::Memory),
        (Site::Submit, Fault::Hang, Trouble::Timeout),
    ];
    for (round, (site, fault, want)) in (0_u32..).zip(faults.iter().cycle().take(6)) {
        let chunk = |i: u32| words((0..100).map(|word| word + 1000 * round + i));
        assert_eq!(pipeline.dispatch(&[&chunk(1)]).unwrap(), tripled(1000 * round + 1));
        assert_eq!(stream.push(&[&chunk(2)]).unwrap(), None);
        if *site == Site::Allocate {
            // Inputs of another length, for which nothing is prepared and the pool has nothing.
            b.trim();
            b.arm_fault(*site, 0, *fault);
            let longer = words(0..20_000);
            assert_eq!(pipeline.dispatch(&[&longer]).map_err(Trouble::from), Err(want.clone()));
            b.arm_fault(*site, 0, *fault);
            assert_eq!(stream.push(&[&longer]).map(drop).map_err(Trouble::from), Err(want.clone()));
        } else {
            b.arm_fault(*site, 0, *fault);
            let limited = DispatchConfig { timeout: Some(Duration::from_millis(1)), ..config() };
            if *fault == Fault::Hang {
                let late = b.dispatch_borrowed(&kit.program, &[&input()], &limited);
                assert_eq!(late.map(drop).map_err(Trouble::from), Err(want.clone()));
                // The chunk that is waited for is lost to its reader, and no other.
                assert_eq!(stream.next_outputs().map(drop).map_err(Trouble::from), Err(want.clone()));
                b.disarm_faults();
                assert_eq!(stream.push(&[&chunk(2)]).unwrap(), None);
            } else {
                assert_eq!(pipeline.dispatch(&[&chunk(3)]).map_err(Trouble::from), Err(want.clone()));
                b.arm_fault(*site, 0, *fault);
                assert_eq!(stream.push(&[&chunk(3)]).map(drop).map_err(Trouble::from), Err(want.clone()));
            }
        }
        assert_eq!(b.disarm_faults(), 0);
        assert_eq!(pipeline.dispatch(&[&chunk(4)]).unwrap(), tripled(1000 * round + 4));
        assert_eq!(stream.next_outputs().unwrap().unwrap(), tripled(1000 * round + 2));
        assert_eq!(stream.next_outputs().unwrap(), None);
    }
}

/// What the host has put into a retained buffer by a call that succeeded is there after any number of losses.
#[test]
fn retained_uploads_survive_losses_from_eight_threads() {
    let b = &WgpuBackend::acquire().unwrap();
    let (done, rounds) = (&AtomicU32::new(0), &AtomicU32::new(0));
    std::thread::scope(|scope| {
        for thread in 0..8_u32 {
            scope.spawn(move || {
                let _ends = Ends(done);
                // Odd sizes and offsets, so that edges are merged on the device.
                let (len, at) = (BYTES as u64 + u64::from(thread), 1 + thread as usize);
                let kept = loop {
                    match b.allocate_retained(len).map_err(Trouble::from) {
                        Ok(kept) => break kept,
                        Err(Trouble::Lost | Trouble::Stale) => recover(b),
                        Err(other) => panic!("{other:?}"),
                    }
                };
                let mut certain = vec![0; len as usize];
                for round in 0..250_u8 {
                    let bytes = [round.wrapping_mul(7) ^ thread as u8; 33];
                    let mut attempted = certain.clone();
                    attempted[at..at + 33].copy_from_slice(&bytes);
                    let uploaded = b.upload_resident_at(&kept, at, &bytes).map_err(Trouble::from);
                    let seen = loop {
                        match b.download_resident(&kept).map_err(Trouble::from) {
                            Ok(seen) => break seen,
                            Err(Trouble::Lost) => recover(b),
                            Err(other) => panic!("{other:?}"),
                        }
                    };
                    match uploaded {
                        Ok(()) => assert!(seen == attempted, "an upload is lost"),
                        Err(Trouble::Lost) => assert!(seen == attempted || seen == certain),
                        Err(other) => panic!("{other:?}"),
                    }
                    certain = seen;
                    rounds.fetch_add(1, Ordering::AcqRel);
                }
            });
        }
        scope.spawn(move || {
            for n in 0_u32.. {
                let before = rounds.load(Ordering::Acquire);
                match n % 3 {
                    0 => b.arm_fault(Site::Submit, n % 5, Fault::LostLater),
                    1 => b.arm_fault(Site::Submit, n % 7, Fault::Lost),
                    _ => b.force_device_lost().unwrap(),
                }
                std::thread::sleep(Duration::from_millis(60));
                b.disarm_faults();
                // A recovery, which restores eight buffers, comes to its end before the next loss, however long a device
                // takes to open.
                while rounds.load(Ordering::Acquire) == before && done.load(Ordering::Acquire) < 8 {
                    std::thread::sleep(Duration::from_millis(5));
                }
                if done.load(Ordering::Acquire) == 8 {
                    break;
                }
            }
            b.disarm_faults();
        });
    });
    b.try_recover().unwrap();
    assert_eq!(b.stats().residents, 8);
}
