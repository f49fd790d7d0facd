//! The backend suite of `vyre-driver` on the opened device.

#![allow(clippy::unwrap_used, reason = "a failure here fails the test")]

use vyre_driver::conformance::{self, Depth, Report};
use vyre_driver_wgpu::WgpuBackend;

#[test]
fn every_op_gives_the_reference_value() {
    let backend = WgpuBackend::acquire().unwrap();
    let depth = match std::env::var("VYRE_SUITE_DEPTH").as_deref() {
        Ok("full") => Depth::Full,
        Ok("few") => Depth::Few,
        _ => Depth::Spaced,
    };
    let mut report = conformance::ops(&backend, depth);
    report.merge(conformance::atomics(&backend));
    report.merge(conformance::subgroups(&backend));
    show(&report);
    assert!(report.failures.is_empty(), "{} failures", report.failures.len());
    // What a device lacks is refused by name: 64-bit types, and functions of reals on f64.
    let wide = |text: &String| ["f64", "u64", "i64"].iter().any(|ty| text.contains(ty));
    let refused: Vec<_> = report.refused.iter().filter(|text| !wide(text)).collect();
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn stores_of_narrow_elements_leave_their_neighbours_alone() {
    let report = conformance::narrow_stores(&WgpuBackend::acquire().unwrap());
    show(&report);
    assert!(report.failures.is_empty() && report.refused.is_empty(), "{:#?}", report.refused);
}

#[test]
fn subgroups_are_whole_or_refused() {
    let report = conformance::subgroup_sizes(&WgpuBackend::acquire().unwrap());
    show(&report);
    assert!(report.failures.is_empty(), "{} failures", report.failures.len());
}

#[test]
fn tile_products_are_right_or_refused_by_name() {
    let backend = WgpuBackend::acquire().unwrap();
    let report = conformance::tiles(&backend);
    show(&report);
    assert!(report.failures.is_empty(), "{} failures", report.failures.len());
    assert!(report.refused.is_empty(), "{:#?}", report.refused);
}

#[test]
fn functions_of_f64_are_within_their_bound_or_refused_by_name() {
    let report = conformance::wide_functions(&WgpuBackend::acquire().unwrap());
    show(&report);
    assert!(report.failures.is_empty(), "{} failures", report.failures.len());
}

#[test]
fn floats_are_not_simplified_against_ieee_754() {
    let report = conformance::floats(&WgpuBackend::acquire().unwrap());
    show(&report);
    assert!(report.failures.is_empty(), "{} failures", report.failures.len());
    assert!(report.refused.is_empty(), "{:#?}", report.refused);
}

/// Two at a time: a software device compiles on the calling thread.
#[test]
fn random_programs_give_what_the_reference_machine_gives() {
    let backend = WgpuBackend::acquire().unwrap();
    let mut report = Report::default();
    std::thread::scope(|scope| {
        let half = |seeds| scope.spawn(|| conformance::programs(&backend, seeds));
        for part in [half(0..1_000), half(1_000..2_000)] {
            report.merge(part.join().unwrap());
        }
    });
    show(&report);
    assert!(report.failures.is_empty(), "{} failures", report.failures.len());
    assert!(report.refused.len() * 100 < 2_000, "{:#?}", report.refused);
}

fn show(report: &Report) {
    println!("{} values in {} programs, {} refused", report.compared, report.programs, report.refused.len());
    for failure in report.failures.iter().take(20) {
        println!("{failure}");
    }
}

/// The faults of `docs/testing/cases.md` that are programs; C06 and C07 have tests of their own above.
mod cases {
    use super::*;

    fn case(number: &str) {
        let backend = WgpuBackend::acquire().unwrap();
        let (_, run) = conformance::CASES.iter().find(|(known, _)| *known == number).unwrap();
        let report = run(&backend);
        show(&report);
        assert!(report.failures.is_empty(), "{} failures", report.failures.len());
        assert!(report.compared > 0);
        let wide = |text: &String| ["f64", "u64", "i64"].iter().any(|ty| text.contains(ty));
        assert!(report.refused.iter().all(wide), "{:#?}", report.refused);
    }

    #[test]
    fn c01_remainders_with_negative_operands() {
        case("C01");
    }

    #[test]
    fn c02_ends_of_ranges_and_division_by_zero() {
        case("C02");
    }

    #[test]
    fn c03_floats_outside_the_range_of_integers() {
        case("C03");
    }

    #[test]
    fn c04_functions_of_reals_in_every_float_type() {
        case("C04");
    }

    #[test]
    fn c05_constants_through_every_form() {
        case("C05");
    }

    #[test]
    fn c08_breaks_and_continues_of_loops() {
        case("C08");
    }

    #[test]
    fn c09_locals_of_loops_start_anew() {
        case("C09");
    }

    #[test]
    fn c10_loops_end_with_their_trips_or_say_so() {
        case("C10");
    }

    #[test]
    fn c13_unwritten_shared_memory_is_zero() {
        case("C13");
    }

    #[test]
    fn c14_workgroups_keep_apart() {
        case("C14");
    }
}
