//! The optimizer interface, on the reference backend.
#![cfg(feature = "conformance")]

use vyre_driver::{ReferenceBackend, conformance};

#[test]
fn the_reference_backend_is_an_optimizer_dispatcher() {
    let report = conformance::optimizer(&ReferenceBackend::new(), &ReferenceBackend::new());
    for failure in &report.failures {
        println!("{failure}");
    }
    assert!(report.failures.is_empty(), "{} of {} cases fail", report.failures.len(), report.programs);
}
