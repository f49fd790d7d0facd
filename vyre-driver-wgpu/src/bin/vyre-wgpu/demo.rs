//! `demo`: proof that a program of ours runs on this machine's GPU.

use vyre_driver::{DispatchConfig, VyreBackend};
use vyre_driver_wgpu::WgpuBackend;
use vyre_foundation::build::Kernel;

use crate::error::CliError;

/// Multiplies 6 by 7 on the device. The factors are loaded, so nothing can have been computed before.
pub(crate) fn run() -> Result<String, CliError> {
    let program = Kernel::build("demo", |k| {
        let factors = k.read_only::<u32>("factors");
        let product = k.write_only::<u32>("product", 1u64);
        k.domain([1u64], |[i]| product.store(i, factors.load(0u32) * factors.load(1u32)));
    })?;
    let backend = WgpuBackend::acquire()?;
    let factors: Vec<u8> = [6u32, 7].iter().flat_map(|x| x.to_le_bytes()).collect();
    let outputs = backend.dispatch_checked(&program, &[&factors], &DispatchConfig::default())?;
    match outputs.as_slice() {
        [product] if *product == 42u32.to_le_bytes() => Ok("vyre demo gpu_u32=42\n".to_owned()),
        other => Err(CliError::WrongDemo { got: format!("{other:?}") }),
    }
}
