//! The public surface as a user's crate sees it: every method of `WgpuBackend` is named, called and its value
//! checked. docs/testing/vyre-driver-wgpu.md says which test does that for which method, and the test here holds
//! that table against [`methods::METHODS`].
#![cfg(feature = "parity-testing")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failure here fails the test")]

mod backend;
mod inherent;
mod methods;
mod optimizer;
mod residents;
mod signatures;
mod table;
mod views;

use vyre_driver::DispatchConfig;
use vyre_driver_wgpu::WgpuBackend;
use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;

fn open() -> WgpuBackend {
    WgpuBackend::acquire().unwrap()
}

fn config() -> DispatchConfig {
    DispatchConfig::default()
}

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// `x[i] += x[i]`.
fn double() -> Checked<Program> {
    Kernel::build("double", |k| {
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| x.store(i, x.load(i) + x.load(i)));
    })
    .unwrap()
}

/// `z[i] = x[i] + y[i]`.
fn add() -> Checked<Program> {
    Kernel::build("add", |k| {
        let (x, y) = (k.read_only::<u32>("x"), k.read_only::<u32>("y"));
        let z = k.write_only::<u32>("z", x.len());
        k.domain([x.len()], |[i]| z.store(i, x.load(i) + y.load(i)));
    })
    .unwrap()
}
