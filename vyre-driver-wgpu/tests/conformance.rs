//! The backend suite of `vyre-driver` on the opened device.

use vyre_driver::VyreBackend;
use vyre_driver::conformance::{self, Depth};
use vyre_driver_wgpu::WgpuBackend;

#[test]
fn every_op_gives_the_reference_value() {
    let backend = WgpuBackend::acquire().unwrap();
    // A software device's compiler is slow; a GPU runs every case.
    let depth = if backend.profile().is_software { Depth::Spaced } else { Depth::Full };
    let report = conformance::ops(&backend, depth);
    println!("{} values in {} programs, {} refused", report.compared, report.programs, report.refused.len());
    for failure in report.failures.iter().take(40) {
        println!("{failure}");
    }
    assert!(report.failures.is_empty(), "{} failures", report.failures.len());
    assert!(report.refused.is_empty(), "{:#?}", report.refused);
}
