//! Each feature is tied to the test that uses it.

use vyre_driver::{
    Binding, BufferRef, Command, CommandList, DispatchCommand, DispatchConfig, Feature, Span, VyreBackend,
};
use vyre_driver_wgpu::WgpuBackend;
use vyre_foundation::text;

use crate::{doubled, words};

/// The test that uses each feature where the backend says yes, and sees what it says no to. No method and no field
/// asks for those that only say how the device works: their tests compare the report with the device.
fn shown_by(feature: Feature) -> (&'static str, &'static str) {
    let here = concat!(include_str!("../capabilities.rs"), include_str!("features.rs"));
    match feature {
        Feature::Subgroup => (here, "subgroups_run_or_are_refused"),
        Feature::F16 | Feature::Bf16 => (here, "short_floats_round_in_their_own_precision_native_or_not"),
        Feature::TensorCores => {
            (include_str!("../conformance.rs"), "tile_products_are_right_or_refused_by_name")
        }
        Feature::IndirectDispatch => (here, "indirect_dispatch_takes_its_counts_from_a_buffer_or_is_refused"),
        Feature::SpecializationConstants => (here, "specialized_parameters_are_substituted"),
        Feature::Speculation => {
            (include_str!("../speculation.rs"), "the_documented_method_scans_and_counts_in_the_metrics")
        }
        Feature::PersistentThreads | Feature::GridSync => {
            (here, "what_is_not_offered_is_refused_in_a_configuration")
        }
        Feature::Collectives => (here, "collectives_are_those_of_a_world_of_one"),
        Feature::AsyncCompute | Feature::Distributed | Feature::ResidentDispatch => {
            (here, "a_device_is_one_queue_of_one_adapter_in_order")
        }
        Feature::GridSyncSplit => (here, "grid_barriers_are_met_by_splitting_where_that_is_allowed"),
        Feature::Timestamps => (here, "the_device_tells_the_time_where_it_says_so"),
    }
}

#[test]
fn every_feature_has_a_test_that_uses_it() {
    for feature in Feature::ALL {
        let (tests, test) = shown_by(feature);
        assert!(tests.contains(&format!("#[test]\nfn {test}() {{")), "{feature}: there is no test `{test}`");
    }
}

/// A program from text, on one input and one output of two-byte elements.
fn halves(source: &str, x: [u16; 2]) -> Vec<u16> {
    let b = WgpuBackend::acquire().unwrap();
    let (program, _) = text::parse(source).unwrap();
    let input: Vec<u8> = x.iter().flat_map(|x| x.to_le_bytes()).collect();
    let got = b.dispatch_borrowed(&program, &[&input], &DispatchConfig::default()).unwrap();
    got[0].chunks_exact(2).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]])).collect()
}

#[test]
fn short_floats_round_in_their_own_precision_native_or_not() {
    let sums = |ty: &str| {
        format!(
            "program sums {{ buffer x: readonly {ty}[2]; buffer out: writeonly {ty}[2]; launch domain(2) {{ \
             let sum = x[0] + x[1]; store out[0] = sum; store out[1] = sum + x[1]; }} }}"
        )
    };
    // f16: 2048 + 1 is a tie, to 2048 (0x6800), twice; in f32 the second would be 2050 (0x6801).
    assert_eq!(halves(&sums("f16"), [0x6800, 0x3C00]), [0x6800, 0x6800]);
    // bf16: 256 + 1 is a tie, to 256 (0x4380), twice; in f32 the second would be 258 (0x4381).
    assert_eq!(halves(&sums("bf16"), [0x4380, 0x3F80]), [0x4380, 0x4380]);
}

#[test]
fn collectives_are_those_of_a_world_of_one() {
    let b = WgpuBackend::acquire().unwrap();
    assert!(!VyreBackend::supports_distributed_collectives(&b));
    let source = "program world { buffer x: readonly u32[]; buffer y: writeonly u32[len(x)]; launch domain(len(x)) { \
                let sum = all_reduce_add x[point.x]; let own = all_gather x[point.x], 0; \
                let others = all_gather x[point.x], 1; let kept = reduce_scatter_max x[point.x], 0; \
                let first = broadcast x[point.x], 0; \
                store y[point.x] = sum + 10 * own + 100 * others + 1000 * kept + 10000 * first; } }";
    let (program, _) = text::parse(source).unwrap();
    let got = b.dispatch_borrowed(&program, &[&words(&[1, 2, 3])], &DispatchConfig::default()).unwrap();
    // The value itself four times, and nothing of a rank that no device has.
    assert_eq!(got, [words(&[11_011, 22_022, 33_033])]);
}

#[test]
fn a_device_is_one_queue_of_one_adapter_in_order() {
    let b = WgpuBackend::acquire().unwrap();
    assert!(b.supports_resident_dispatch() && !b.supports_async_compute() && !b.is_distributed());
    // Each copy and each dispatch sees all of what was submitted before, and nothing of what comes after.
    let (x, doubled) = (b.allocate_resident(4).unwrap(), doubled());
    let kept: Vec<_> = (0..20).map(|_| b.allocate_resident(4).unwrap()).collect();
    b.upload_resident(&x, &words(&[1])).unwrap();
    let mut works = Vec::new();
    for to in &kept {
        let pipeline = b.compile_native(&doubled, &DispatchConfig::default()).unwrap().unwrap();
        let mut list = CommandList::new();
        let whole = |resource| Span { buffer: BufferRef::Resident(resource), offset: 0, len: 4 };
        list.push(Command::Copy { from: whole(x), to: whole(*to) });
        let binding = Binding { buffer: whole(x).buffer, len: 4 };
        list.push(Command::Dispatch(DispatchCommand::new(pipeline, vec![binding])));
        works.push(b.submit(&list).unwrap());
    }
    for (i, to) in kept.iter().enumerate().rev() {
        assert_eq!(b.download_resident(to).unwrap(), words(&[1 << i]));
    }
    assert_eq!(b.download_resident(&x).unwrap(), words(&[1 << 20]));
    for work in works {
        work.wait(None).unwrap();
    }
}
