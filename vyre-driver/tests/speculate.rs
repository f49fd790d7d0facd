//! Speculative scans, on the reference backend.
#![cfg(feature = "conformance")]

use vyre_driver::{ReferenceBackend, conformance};

#[test]
fn speculative_scans_give_what_the_search_does() {
    let report = conformance::speculation(&ReferenceBackend::new());
    for failure in &report.failures {
        println!("{failure}");
    }
    assert!(report.failures.is_empty(), "{} of {} cases fail", report.failures.len(), report.programs);
}
