//! The faults of `docs/testing/cases.md` that are programs, on the reference machine.
#![cfg(feature = "conformance")]
#![allow(clippy::unwrap_used, reason = "a failure here fails the test")]

use vyre_driver::{ReferenceBackend, conformance};

fn case(number: &str) {
    let (_, run) = conformance::CASES.iter().find(|(known, _)| *known == number).unwrap();
    let report = run(&ReferenceBackend::new());
    assert!(report.failures.is_empty(), "{:#?}", report.failures);
    assert!(report.refused.is_empty() && report.compared > 0, "{:#?}", report.refused);
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
fn c06_subgroups_of_any_width() {
    case("C06");
}

#[test]
fn c07_narrow_stores_leave_neighbours_alone() {
    case("C07");
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
