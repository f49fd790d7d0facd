//! Random programs: the backend against the reference machine, optimised and not.

use std::ops::Range;

use vyre_foundation::machine::{MachineOptions, TrapRecord};
use vyre_foundation::testing::{GenConfig, GeneratedCase, generate, shrink};
use vyre_foundation::text;
use vyre_spec::{Capability, Comparison, DataType, DeviceProfile, TypeSet};

use super::{Failure, Report};
use crate::{BackendError, DispatchConfig, VyreBackend};

/// Failures after which no more programs are run: each is shrunk, which takes many runs.
const ENOUGH: usize = 6;

/// Runs the programs of these seeds. A failure is shrunk, and its message holds the program's text.
pub fn programs(backend: &dyn VyreBackend, seeds: Range<u64>) -> Report {
    let mut report = Report::default();
    for seed in seeds {
        if report.failures.len() >= ENOUGH {
            break;
        }
        let case = generate(seed, &config(backend, seed));
        for unoptimized in [false, true] {
            report.programs += 1;
            match compare(backend, &case, unoptimized) {
                Ok(bytes) => report.compared += bytes / 4,
                Err(Wrong::Refused(message)) => report.refused.push(format!("seed {seed}: {message}")),
                Err(Wrong::Different(first)) => {
                    let small = shrink(case.clone(), &mut |case| {
                        matches!(compare(backend, case, unoptimized), Err(Wrong::Different(_)))
                    });
                    let last = match compare(backend, &small, unoptimized) {
                        Err(Wrong::Different(message)) => message,
                        _ => first,
                    };
                    report.failures.push(Failure {
                        case: format!(
                            "seed {seed}, {}",
                            if unoptimized { "unoptimised" } else { "optimised" }
                        ),
                        message: format!(
                            "{last}\nparameters {:?}\ninputs {:?}\n{}",
                            small.params,
                            small.inputs,
                            text::print(&small.program)
                        ),
                    });
                }
            }
        }
    }
    report
}

/// What a device of this profile can be given; seeds take turns at kinds of programs.
fn config(backend: &dyn VyreBackend, seed: u64) -> GenConfig {
    let profile = backend.profile();
    let subgroups = profile.capabilities.contains(Capability::Subgroup) && seed.is_multiple_of(3);
    GenConfig {
        subgroup_size: profile.subgroup_size.filter(|_| subgroups),
        traps: seed.is_multiple_of(5),
        nodes: if seed.is_multiple_of(7) { 80 } else { 30 },
        // The trap record, workgroup counts (of the program and checked) and what crosses grid barriers take
        // bindings of their own.
        max_buffers: profile.max_storage_bindings.saturating_sub(4).clamp(1, 6),
        grid_barriers: seed.is_multiple_of(4),
        indirect: seed % 4 == 1,
        types: types(profile, seed.is_multiple_of(4)),
        atomics: atomics(profile),
        ..GenConfig::default()
    }
}

/// The types that a device computes; 64-bit values do not cross grid barriers.
fn types(profile: &DeviceProfile, grid_barriers: bool) -> TypeSet {
    let capabilities = profile.capabilities;
    let needs = |ty: DataType| match ty {
        _ if ty.size() == 8 && grid_barriers => false,
        DataType::F64 => {
            // A driver that splits a fused multiply-add has none of f64.
            capabilities.contains(Capability::F64)
                && capabilities.contains(Capability::Int64)
                && !profile.quirks.splits_fma
        }
        _ => true,
    };
    TypeSet::of(&DataType::ALL.into_iter().filter(|&ty| needs(ty)).collect::<Vec<_>>())
}

/// The elements on which a device has atomics.
fn atomics(profile: &DeviceProfile) -> TypeSet {
    let wide = profile.capabilities.contains(Capability::AtomicInt64);
    let has = |ty: &DataType| ty.size() < 8 || wide;
    TypeSet::of(&DataType::ALL.into_iter().filter(has).collect::<Vec<_>>())
}

enum Wrong {
    Refused(String),
    Different(String),
}

/// The bytes compared, or what differs.
fn compare(backend: &dyn VyreBackend, case: &GeneratedCase, unoptimized: bool) -> Result<u64, Wrong> {
    let different = |message: String| Err(Wrong::Different(message));
    let options = MachineOptions { subgroup_size: case.subgroup_size, ..MachineOptions::default() };
    let want = match case.run(&options) {
        Ok(outcome) => outcome,
        Err(error) => return different(format!("the reference machine fails: {error}")),
    };
    let inputs: Vec<&[u8]> = case.inputs.iter().map(Vec::as_slice).collect();
    let config = DispatchConfig { unoptimized, params: case.params.clone(), ..DispatchConfig::default() };
    match (backend.dispatch_checked(&case.program, &inputs, &config), want.trap) {
        (Ok(got), None) => match case.compare(Comparison::EXACT, &want.outputs, &got) {
            Ok(()) => Ok(got.iter().map(|bytes| bytes.len() as u64).sum()),
            Err((buffer, mismatch)) => different(format!("output `{buffer}`: {mismatch:?}")),
        },
        // Which invocation is first is the device's own affair.
        (Err(BackendError::Trap { .. }), Some(_)) => Ok(0),
        (Err(BackendError::Unsupported { what, .. }), _) => Err(Wrong::Refused(what)),
        (Err(error), None) => different(error.to_string()),
        (Err(error), Some(TrapRecord { code, .. })) => {
            different(format!("{error}, not a trap with code {code}"))
        }
        (Ok(_), Some(TrapRecord { code, .. })) => different(format!("outputs, not a trap with code {code}")),
    }
}
