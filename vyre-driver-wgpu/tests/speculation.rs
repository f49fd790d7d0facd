//! Speculative scans on the opened device.
#![allow(clippy::unwrap_used, reason = "a failure here fails the test")]

use vyre_driver::speculate::{AdaptiveSpeculator, CounterTail, SpeculationPath, SpeculativeDispatchPlan};
use vyre_driver::{DispatchConfig, SpeculationMode, VyreBackend, conformance};
use vyre_driver_wgpu::WgpuBackend;
use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;

#[test]
fn speculative_scans_give_what_the_search_does() {
    let report = conformance::speculation(&WgpuBackend::acquire().unwrap());
    for failure in &report.failures {
        println!("{failure}");
    }
    assert!(report.failures.is_empty(), "{} of {} cases fail", report.failures.len(), report.programs);
}

/// Even numbers are candidates, multiples of 4 are confirmed.
fn programs() -> [Checked<Program>; 2] {
    let fused = Kernel::build("fours", |k| {
        let x = k.read_only::<u32>("x");
        let found = k.write_only::<u32>("found", x.len());
        let counts = k.read_write::<u32>("counts").with_len(2_u64);
        k.domain([x.len()], |[i]| {
            k.if_((x.load(i) & 1).eq(0), || {
                let hit = (x.load(i) & 2).eq(0).select(1_u32, 0_u32);
                found.store(i, hit);
                counts.atomic_add(1 - hit, 1);
            });
        });
    });
    let prefilter = Kernel::build("evens", |k| {
        let x = k.read_only::<u32>("x");
        let found = k.write_only::<u32>("found", x.len());
        k.domain([x.len()], |[i]| found.store(i, 1 - (x.load(i) & 1)));
    });
    [fused.unwrap(), prefilter.unwrap()]
}

#[test]
fn the_documented_method_scans_and_counts_in_the_metrics() {
    let backend = WgpuBackend::acquire().unwrap();
    let [fused, prefilter] = programs();
    let plan = SpeculativeDispatchPlan::new(&fused, &prefilter).tail(CounterTail::Buffer);
    let speculator = AdaptiveSpeculator::new();
    let x: Vec<u8> = (0..1000_u32).flat_map(u32::to_le_bytes).collect();
    let want: Vec<u8> = (0..1000_u32).flat_map(|i| u32::from(i % 4 == 0).to_le_bytes()).collect();
    let scan = |mode| {
        let config = DispatchConfig { speculation: mode, ..DispatchConfig::default() };
        let confirm = |mut found: Vec<Vec<u8>>| {
            for (i, word) in found[0].chunks_exact_mut(4).enumerate() {
                word[0] &= u8::from(i % 4 == 0);
            }
            Ok(found)
        };
        backend.dispatch_speculative_prefilter_confirm(&speculator, plan, &[&x], &config, confirm).unwrap()
    };
    for (mode, path, counts) in [
        (None, SpeculationPath::Fused, (250, 250)),
        (Some(SpeculationMode::Auto), SpeculationPath::Fused, (250, 250)),
        (Some(SpeculationMode::Force), SpeculationPath::Fused, (250, 250)),
        (Some(SpeculationMode::Disable), SpeculationPath::Serial, (0, 0)),
    ] {
        let outcome = scan(mode);
        assert_eq!(outcome.outputs, std::slice::from_ref(&want), "{mode:?}");
        assert_eq!((outcome.path, (outcome.committed, outcome.rolled_back)), (path, counts), "{mode:?}");
    }
    let metrics = backend.backend_metric_snapshot();
    let metric = |name| metrics.iter().find(|(other, _)| *other == name).map(|&(_, value)| value);
    assert_eq!(metric("speculation_fused"), Some(3));
    assert_eq!(metric("speculation_serial"), Some(1));
    assert_eq!(metric("speculation_probes"), Some(0));
    assert_eq!(metric("speculation_committed"), Some(750));
    assert_eq!(metric("speculation_rolled_back"), Some(750));
    assert_eq!(metric("speculation_bad_tails"), Some(0));
    assert!(backend.supports_speculation());
}
