//! The contract suite of `vyre-driver` on the opened device: every method of the backend trait.

#![allow(clippy::unwrap_used, reason = "a failure here fails the test")]

use vyre_driver::conformance::{self, Report};
use vyre_driver_wgpu::WgpuBackend;

#[test]
fn the_whole_contract_is_kept() {
    let report = conformance::contract(&WgpuBackend::acquire().unwrap());
    accepted(&report);
    assert!(report.compared > 1_000, "{}", report.compared);
}

#[test]
fn a_backend_that_was_shut_down_says_so() {
    accepted(&conformance::shutdown(&WgpuBackend::acquire().unwrap()));
}

fn accepted(report: &Report) {
    println!("{} values in {} parts", report.compared, report.programs);
    assert!(report.failures.is_empty(), "{:#?}", report.failures);
    assert!(report.refused.is_empty(), "{:#?}", report.refused);
}
