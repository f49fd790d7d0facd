//! Programs to payloads, without a device.

use vyre_driver::{BackendError, PayloadError, PayloadKernel, PayloadProgram, TargetCompiler, TargetPayload};
use vyre_emit_naga::{naga, to_wgsl};
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_foundation::wire;
use vyre_spec::{Capability, CapabilitySet, CompileOptions, DeviceProfile};
use wgpu::naga::front;

use super::{NAGA, SPIRV, layout, trust};
use crate::backend::WGPU_BACKEND_ID;
use crate::compile;
use crate::ir::WgpuProgram;

/// The target compiler of this backend.
#[derive(Debug)]
pub(crate) struct WgpuTargetCompiler;

impl TargetCompiler for WgpuTargetCompiler {
    fn formats(&self, profile: &DeviceProfile) -> Vec<&'static str> {
        if profile.backend != WGPU_BACKEND_ID {
            return Vec::new();
        }
        // A profile is strict where lowered modules are loaded as SPIR-V.
        match profile.capabilities.contains(Capability::StrictFloat) {
            true => vec![SPIRV, NAGA],
            false => vec![NAGA],
        }
    }

    fn compile_as(
        &self,
        format: &str,
        programs: &[Checked<Program>],
        profile: &DeviceProfile,
        options: &CompileOptions,
    ) -> Result<TargetPayload, BackendError> {
        let formats = self.formats(profile);
        let Some(format) = formats.iter().copied().find(|known| *known == format) else {
            return Err(PayloadError::Format {
                format: format.to_owned(),
                device: profile.name.clone(),
                known: formats.into_iter().map(str::to_owned).collect(),
            }
            .into());
        };
        let mut needs = CapabilitySet::EMPTY;
        let mut compiled = Vec::with_capacity(programs.len());
        for program in programs {
            let mut kernels = Vec::with_capacity(4);
            // Where they are asked for, first the kernels that may rest on a launch contract; then, if they do, guarded
            // ones for launches that break it.
            let rounds: &[bool] = if options.launch_contract { &[true, false] } else { &[false] };
            let mut are_more_needed = true;
            for &launch_contract in rounds {
                if !std::mem::take(&mut are_more_needed) {
                    break;
                }
                for fold_grid in [false, true] {
                    let options = CompileOptions { fold_grid, launch_contract, ..options.clone() };
                    let lowered =
                        WgpuProgram::lower(program, profile, &options).map_err(|e| e.on(&profile.name))?;
                    let descriptor = &lowered.descriptor;
                    are_more_needed |= !descriptor.contract.is_empty();
                    needs = descriptor.needs.iter().fold(needs, CapabilitySet::with);
                    needs = needs.with_if(Capability::Immediates, descriptor.launch.immediates);
                    kernels.push(kernel(format, &lowered, profile)?);
                }
            }
            compiled.push(PayloadProgram { program: wire::encode(program), kernels });
        }
        let payload = TargetPayload::new(WGPU_BACKEND_ID, format, profile, needs, compiled);
        trust::remember(payload.digest());
        Ok(payload)
    }
}

fn kernel(
    format: &'static str,
    lowered: &WgpuProgram,
    profile: &DeviceProfile,
) -> Result<PayloadKernel, BackendError> {
    let WgpuProgram { descriptor, emitted } = lowered;
    let unsupported = |what: String| BackendError::Unsupported {
        what,
        device: profile.name.clone(),
        remedy: "compile the program on the opened backend instead of to a payload".to_owned(),
    };
    let (entry_point, code) = if format == SPIRV {
        let bytes = compile::spirv(emitted)?.into_iter().flat_map(u32::to_le_bytes).collect();
        (emitted.entry_point.clone(), bytes)
    } else {
        let text = to_wgsl(emitted).map_err(|error| unsupported(error.to_string()))?;
        // naga may write the entry point under another name; and what it cannot read again is no payload.
        let module = naga_module(&text).map_err(unsupported)?;
        let entry = module.entry_points.into_iter().next();
        let entry = entry.ok_or_else(|| unsupported("a module without an entry point".to_owned()))?;
        (entry.name, text.into_bytes())
    };
    let layout = layout::encode(descriptor).map_err(|what| unsupported(what.to_owned()))?;
    Ok(PayloadKernel { entry_point, workgroup_size: descriptor.workgroup_size, layout, code })
}

/// Reads a naga module's text.
pub(super) fn naga_module(text: &str) -> Result<naga::Module, String> {
    front::wgsl::parse_str(text)
        .map_err(|error| format!("naga cannot read the module's text: {}", error.emit_to_string(text)))
}
