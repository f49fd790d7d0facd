//! `info`: the adapters, the one that is chosen and why, and what it can do.

use std::fmt::Write as _;

use vyre_driver_wgpu::{AdapterReport, Choice, WgpuBackend};
use vyre_spec::{Capability, DeviceProfile};

use crate::error::CliError;

pub(crate) fn run(json: bool) -> Result<(), CliError> {
    let adapters = WgpuBackend::adapters()?;
    if json {
        return machine_readable(&adapters);
    }
    let mut text = String::new();
    for adapter in &adapters {
        let _ = writeln!(text, "{adapter}");
    }
    crate::print(&text)?;
    // Without a device, this is the error that says what to do.
    let backend = WgpuBackend::acquire()?;
    let (report, choice) = backend.chosen();
    crate::print(&chosen(report, choice, &backend.device_profile()))
}

/// What is said of the chosen adapter.
fn chosen(report: &AdapterReport, choice: Choice, profile: &DeviceProfile) -> String {
    let mut text = format!("\nchosen: adapter {}, {}\n  because {choice}\n", report.index, report.name);
    let names = |wanted: bool| -> String {
        let all = Capability::ALL.into_iter();
        let names: Vec<_> =
            all.filter(|c| profile.capabilities.contains(*c) == wanted).map(Capability::name).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    let _ = writeln!(text, "features: {}\n  lacking: {}", names(true), names(false));
    text.push_str("limits:\n");
    for (name, value) in limits(profile) {
        let _ = writeln!(text, "  {name}: {value}");
    }
    text.push_str("found by probing:\n");
    let quirks = profile.quirks;
    let loops = quirks.max_loop_iterations.map(|n| {
        format!("the driver ends the loops of an invocation together after {n} iterations: programs are kept below")
    });
    let found: Vec<String> = [
        loops,
        quirks
            .folds_floats
            .then(|| "the driver folds arithmetic with literal zeros: these are hidden".into()),
        quirks.splits_fma.then(|| "the driver rounds a fused multiply-add twice: it is emulated".into()),
        quirks
            .folds_self_comparison
            .then(|| "the driver takes NaN for equal to itself: such comparisons test its bits".into()),
        quirks
            .loses_large_divisors
            .then(|| "the driver's division loses divisors above 2^126: these are scaled".into()),
        quirks
            .loses_special_values
            .then(|| "the driver's exponentials and logarithms give numbers for NaN, zero or below: these are tested".into()),
        quirks
            .loses_halves
            .then(|| "the driver's conversions of 16-bit floats are inexact: they are computed in integers".into()),
        quirks
            .clobbers_wide
            .then(|| "the driver's conversions and divisions of 64-bit integers spoil other values: words are used".into()),
        quirks.fails_on_returns.then(|| "the driver's compiler crashes on some returns: there are none".into()),
        quirks.flushes_subnormals.then(|| "the driver flushes subnormal floats to zero".into()),
    ]
    .into_iter()
    .flatten()
    .collect();
    let found = if found.is_empty() { vec!["nothing to work around".to_owned()] } else { found };
    for line in found {
        let _ = writeln!(text, "  {line}");
    }
    text
}

/// The limits of a device, by the names of [`DeviceProfile`]'s fields.
fn limits(profile: &DeviceProfile) -> Vec<(&'static str, String)> {
    let size = profile.max_workgroup_size.map(|n| n.to_string()).join(" × ");
    vec![
        ("subgroup_size", profile.subgroup_size.map_or("not fixed".to_owned(), |n| n.to_string())),
        ("max_workgroup_size", size),
        ("max_workgroup_invocations", profile.max_workgroup_invocations.to_string()),
        ("max_workgroups_per_axis", profile.max_workgroups_per_axis.to_string()),
        ("max_shared_bytes", profile.max_shared_bytes.to_string()),
        ("max_storage_binding_bytes", profile.max_storage_binding_bytes.to_string()),
        ("max_buffer_bytes", profile.max_buffer_bytes.to_string()),
        ("max_storage_bindings", profile.max_storage_bindings.to_string()),
        ("max_immediate_bytes", profile.max_immediate_bytes.to_string()),
    ]
}

#[cfg(not(feature = "cli"))]
fn machine_readable(_: &[AdapterReport]) -> Result<(), CliError> {
    Err(CliError::NeedsFeature { what: "info --json".to_owned() })
}

#[cfg(feature = "cli")]
fn machine_readable(adapters: &[AdapterReport]) -> Result<(), CliError> {
    use serde_json::json;

    let adapters: Vec<_> = adapters
        .iter()
        .map(|a| {
            json!({ "index": a.index, "name": a.name, "api": a.api, "kind": a.kind, "driver": a.driver,
                    "refused": a.refusal.as_ref().map(ToString::to_string) })
        })
        .collect();
    // Without a device a script still wants the list; the status and standard error tell it the rest.
    let backend = WgpuBackend::acquire();
    let chosen = backend.as_ref().ok().map(|backend| {
        let ((report, choice), profile) = (backend.chosen(), backend.device_profile());
        json!({
            "index": report.index,
            "name": report.name,
            "because": choice.to_string(),
            "software": profile.is_software,
            "features": profile.capabilities.iter().map(Capability::name).collect::<Vec<_>>(),
            "limits": {
                "subgroup_size": profile.subgroup_size,
                "max_workgroup_size": profile.max_workgroup_size,
                "max_workgroup_invocations": profile.max_workgroup_invocations,
                "max_workgroups_per_axis": profile.max_workgroups_per_axis,
                "max_shared_bytes": profile.max_shared_bytes,
                "max_storage_binding_bytes": profile.max_storage_binding_bytes,
                "max_buffer_bytes": profile.max_buffer_bytes,
                "max_storage_bindings": profile.max_storage_bindings,
                "max_immediate_bytes": profile.max_immediate_bytes,
            },
            "probes": {
                "max_loop_iterations": profile.quirks.max_loop_iterations,
                "folds_floats": profile.quirks.folds_floats,
                "splits_fma": profile.quirks.splits_fma,
                "folds_self_comparison": profile.quirks.folds_self_comparison,
                "loses_large_divisors": profile.quirks.loses_large_divisors,
                "loses_special_values": profile.quirks.loses_special_values,
                "loses_halves": profile.quirks.loses_halves,
                "clobbers_wide": profile.quirks.clobbers_wide,
                "fails_on_returns": profile.quirks.fails_on_returns,
                "flushes_subnormals": profile.quirks.flushes_subnormals,
            },
        })
    });
    crate::print(&format!("{:#}\n", json!({ "adapters": adapters, "chosen": chosen })))?;
    backend.map(drop).map_err(Into::into)
}
