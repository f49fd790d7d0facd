//! Random programs: the backend against the reference machine, optimised and not.

use std::ops::Range;
use std::time::{Duration, Instant};

use vyre_foundation::machine::{MachineError, MachineOptions, Outcome, TrapRecord};
use vyre_foundation::testing::{GenConfig, GeneratedCase, generate, shrink};
use vyre_foundation::text;
use vyre_spec::{Capability, Comparison, DataType, DeviceProfile, TypeSet};

use super::{Failure, Form, Report};
use crate::{BackendError, VyreBackend};

/// Failures after which no more programs are run: each is shrunk, which takes many runs.
const ENOUGH: usize = 6;

/// How long a failure is made smaller: a driver may take long for each program.
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs the programs of these seeds, optimised and not, and some in every form. A failure is shrunk, and its message holds the
/// program's text.
pub fn programs(backend: &dyn VyreBackend, seeds: Range<u64>) -> Report {
    let mut report = Report::default();
    for seed in seeds {
        if report.failures.len() >= ENOUGH {
            break;
        }
        let forms: &[Form] = if seed % 5 == 2 { &Form::ALL } else { &[Form::Optimised, Form::Unoptimised] };
        report.merge(program(backend, seed, forms));
    }
    report
}

/// As [`programs`], for one seed and the forms of these that its program has.
pub fn program(backend: &dyn VyreBackend, seed: u64, forms: &[Form]) -> Report {
    let mut report = Report::default();
    let case = random_case(backend, seed);
    let want = expected(&case);
    for &form in forms.iter().filter(|form| form.fits(backend, &case)) {
        report.programs += 1;
        match compare(backend, &case, form, &want) {
            Ok(bytes) => report.compared += bytes / 4,
            Err(Wrong::Refused(message)) => report.refused.push(format!("seed {seed}: {message}")),
            Err(Wrong::Different(first)) => report.failures.push(shrunk(backend, case.clone(), form, first)),
        }
    }
    report
}

/// The random case that a device of this backend's profile is given for a seed.
pub fn random_case(backend: &dyn VyreBackend, seed: u64) -> GeneratedCase {
    generate(seed, &config(backend, seed))
}

/// A smaller case of the seed's at whose program the process crashes. `answers` says of the first candidates whether
/// they crash; the others are run in every form, and `survived` is called after each that did not.
pub fn shrink_crash(
    backend: &dyn VyreBackend,
    seed: u64,
    answers: &[bool],
    survived: &mut dyn FnMut(),
) -> GeneratedCase {
    let mut known = answers.iter();
    shrink(random_case(backend, seed), &mut |case| match known.next() {
        Some(&crashes) => crashes,
        None => {
            for form in Form::ALL.into_iter().filter(|form| form.fits(backend, case)) {
                // Only a crash counts.
                let _ = form.run(backend, case);
            }
            survived();
            false
        }
    })
}

/// A case as text: its parameters, its inputs with long ones cut, and its program.
pub fn show(case: &GeneratedCase) -> String {
    let inputs: Vec<String> = case
        .inputs
        .iter()
        .map(|bytes| {
            // What shrinking left is mostly zeros at the end.
            let kept = bytes.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
            let shown = bytes.get(..kept.min(256)).unwrap_or_default();
            format!("{} bytes {shown:?}{}", bytes.len(), if kept > shown.len() { ", …" } else { ", then 0" })
        })
        .collect();
    format!("parameters {:?}\ninputs {}\n{}", case.params, inputs.join("; "), text::print(&case.program))
}

/// A failure as small as it gets.
fn shrunk(backend: &dyn VyreBackend, case: GeneratedCase, form: Form, first: String) -> Failure {
    let begun = Instant::now();
    let judge = |case: &GeneratedCase| match compare(backend, case, form, &expected(case)) {
        Err(Wrong::Different(message)) => Some(message),
        _ => None,
    };
    let seed = case.seed;
    let small = shrink(case, &mut |case| begun.elapsed() < PATIENCE && judge(case).is_some());
    Failure {
        case: format!("seed {seed}, {}", form.name()),
        message: format!("{}\n{}", judge(&small).unwrap_or(first), show(&small),),
    }
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
        types: types(profile),
        atomics: atomics(profile),
        ..GenConfig::default()
    }
}

/// The types that a device computes.
fn types(profile: &DeviceProfile) -> TypeSet {
    let capabilities = profile.capabilities;
    let needs = |ty: DataType| match ty {
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

/// What the reference machine gives.
fn expected(case: &GeneratedCase) -> Result<Outcome, MachineError> {
    let options = MachineOptions { subgroup_size: case.subgroup_size, ..MachineOptions::default() };
    case.run(&options)
}

/// The bytes compared, or what differs.
fn compare(
    backend: &dyn VyreBackend,
    case: &GeneratedCase,
    form: Form,
    want: &Result<Outcome, MachineError>,
) -> Result<u64, Wrong> {
    let different = |message: String| Err(Wrong::Different(message));
    let want = match want {
        Ok(outcome) => outcome,
        Err(error) => return different(format!("the reference machine fails: {error}")),
    };
    let got = form.run(backend, case);
    if matches!(got, Err(BackendError::DeviceLost { .. })) {
        // So that the next program, or a smaller one, finds a device. What remains lost fails there.
        let _ = backend.try_recover();
    }
    match (got, &want.trap) {
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
