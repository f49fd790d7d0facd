//! `emit`: the code that a program becomes.

use std::fs;

use vyre_driver::VyreBackend;
use vyre_driver_wgpu::{WgpuBackend, descriptors};
use vyre_emit_naga::{SpirvOptions, to_hlsl, to_msl, to_spirv, to_wgsl};
use vyre_lower::LowerError;
use vyre_spec::{CompileOptions, DeviceProfile};

use crate::args::{Emit, Form};
use crate::error::CliError;
use crate::load;

pub(crate) fn run(arguments: &Emit) -> Result<(), CliError> {
    let loaded = load::load(&arguments.file)?;
    let profile =
        if arguments.device { WgpuBackend::acquire()?.profile().clone() } else { DeviceProfile::reference() };
    // What the device runs where the launch keeps to the contract.
    let options = CompileOptions { launch_contract: true, ..CompileOptions::default() };
    let kernels = descriptors(&loaded.program, &profile, &options)?.kernels;
    let mut code = Vec::new();
    for kernel in &kernels {
        let emitted = || vyre_emit_naga::emit(kernel);
        code.extend(match arguments.form {
            Form::Kdesc => kernel.to_string().into_bytes(),
            Form::Wgsl => to_wgsl(&emitted()?)?.into_bytes(),
            Form::Msl => to_msl(&emitted()?)?.into_bytes(),
            Form::Hlsl => to_hlsl(&emitted()?)?.into_bytes(),
            // Texts of several kernels follow each other; binary modules do not.
            Form::Spirv if kernels.len() > 1 => {
                return Err(LowerError::SeveralKernels { kernels: kernels.len() }.into());
            }
            Form::Spirv => {
                let words = to_spirv(&emitted()?, &SpirvOptions { names: true, ..SpirvOptions::default() })?;
                words.iter().flat_map(|word| word.to_le_bytes()).collect()
            }
        });
    }
    match &arguments.output {
        Some(path) => fs::write(path, code).map_err(|source| CliError::Write { path: path.clone(), source }),
        // The parser saw to it that this is text.
        None => crate::print(&String::from_utf8_lossy(&code)),
    }
}
