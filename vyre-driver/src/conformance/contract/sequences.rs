//! Sequences of resident dispatches against the same dispatches one by one.

use std::time::Duration;

use super::host::times;
use super::{Case, Check, Problem, bytes, kernels};
use crate::backend::{ResidentDispatchStep, ResidentReadRange};
use crate::{BackendError, DispatchConfig, Resource, VyreBackend};

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("one resident dispatch", one),
    ("a sequence", sequence),
    ("a repeated sequence", repeated),
    ("the configuration of a step", configured),
    ("aliasing", aliasing),
    ("what a sequence refuses", refused),
];

fn resident(backend: &dyn VyreBackend, words: &[u32]) -> Result<Resource, BackendError> {
    let resource = backend.allocate_resident(4 * words.len())?;
    backend.upload_resident(&resource, &bytes(words))?;
    Ok(resource)
}

fn free(backend: &dyn VyreBackend, all: &[Resource]) -> Result<(), Problem> {
    all.iter().try_for_each(|&resource| backend.free_resident(resource)).map_err(Problem::from)
}

fn whole(resource: &Resource) -> ResidentReadRange<'_> {
    ResidentReadRange { resource, byte_offset: 0, byte_len: resource.len as usize }
}

fn one(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let config = DispatchConfig::default();
    let (x, out) = (resident(backend, &[3, 4, 5, 6])?, resident(backend, &[70, 71, 72, 73, 74])?);
    let result = backend.dispatch_resident_timed(&*kernels::evens()?, &[x, out], &config)?;
    times(backend, case, &result.timing)?;
    case.equal("nothing is read back", &result.outputs, &Vec::new())?;
    // Elements that are not stored keep their value, and so does what the program has no extent for.
    case.equal("out", &backend.download_resident(&out)?, &bytes(&[70, 4, 72, 6, 74]))?;
    case.equal("x", &backend.download_resident(&x)?, &bytes(&[3, 4, 5, 6]))?;
    let short = resident(backend, &[0; 3])?;
    let run = backend.dispatch_resident_timed(&*kernels::evens()?, &[x, short], &config);
    case.refused("too short", run, |error| matches!(error, BackendError::Launch(_)))?;
    let run = backend.dispatch_resident_timed(&*kernels::evens()?, &[x], &config);
    case.refused("one missing", run, |e| *e == BackendError::BindingCount { needs: 2, got: 1 })?;
    free(backend, &[x, out, short])
}

fn sequence(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let config = DispatchConfig::default();
    let (one, two, add) = (kernels::step(1)?, kernels::step(2)?, kernels::add()?);
    let (a, b, sum) = (resident(backend, &[1, 2])?, resident(backend, &[7, 8])?, resident(backend, &[0; 2])?);
    let step = |program, resources| ResidentDispatchStep { program, resources, config: &config };
    let (on_a, on_sum, on_all) = ([a], [sum], [a, b, sum]);
    let steps = [
        step(&*one, &on_a[..]),
        step(&two, &on_a),
        step(&add, &on_all),
        step(&one, &on_sum),
        step(&one, &on_a),
    ];
    // a = (1 × 3 + 1) × 3 + 2 = 14 and (2 × 3 + 1) × 3 + 2 = 23; sum = (a + b) × 3 + 1; then a × 3 + 1.
    let (want_a, want_sum) = (bytes(&[43, 70]), bytes(&[64, 94]));
    let ranges = [
        ResidentReadRange { resource: &sum, byte_offset: 1, byte_len: 6 },
        whole(&a),
        ResidentReadRange { resource: &b, byte_offset: 8, byte_len: 0 },
    ];
    let (mut x, mut y, mut z) = (Vec::with_capacity(64), Vec::new(), vec![1]);
    let place = x.as_ptr();
    let mut outputs = [&mut x, &mut y, &mut z];
    let timing = backend.dispatch_resident_sequence_read_ranges_timed_into(&steps, &ranges, &mut outputs)?;
    times(backend, case, &timing.timing)?;
    case.equal("programs and bytes", &(timing.dispatches, timing.read_bytes), &(5, 14))?;
    case.equal("the ranges", &(&x[..], &y, &z), &(&want_sum[1..7], &want_a, &Vec::new()))?;
    case.equal("the caller's vector", &x.as_ptr(), &place)?;
    // The same one by one.
    backend.upload_resident_many(&[(&a, &bytes(&[1, 2])), (&sum, &bytes(&[0; 2]))])?;
    for step in &steps {
        backend.dispatch_resident_timed(step.program, step.resources, step.config)?;
    }
    case.equal("a", &backend.download_resident(&a)?, &want_a)?;
    case.equal("sum", &backend.download_resident(&sum)?, &want_sum)?;
    let mut read = Vec::new();
    backend.dispatch_resident_sequence_read_ranges_into(&[], &[whole(&b)], &mut [&mut read])?;
    case.equal("no step", &read, &bytes(&[7, 8]))?;
    free(backend, &[a, b, sum])
}

fn repeated(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let config = DispatchConfig::default();
    let (one, two) = (kernels::step(1)?, kernels::step(2)?);
    for count in [0, 1, 2, 5] {
        let x = resident(backend, &[4])?;
        let step =
            |program| ResidentDispatchStep { program, resources: std::slice::from_ref(&x), config: &config };
        let (prefix, repeated) = ([step(&*one)], [step(&*two), step(&*one)]);
        let want = (0..count).fold(4 * 3 + 1, |x: u32, _| (x * 3 + 2) * 3 + 1);
        let mut got = Vec::new();
        backend.dispatch_resident_repeated_sequence_read_ranges_into(
            &prefix,
            &repeated,
            count,
            &[whole(&x)],
            &mut [&mut got],
        )?;
        case.equal(("repeated", count), &got, &bytes(&[want]))?;
        free(backend, &[x])?;
    }
    Ok(())
}

fn configured(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let count = kernels::count()?;
    let shifted = kernels::shifted()?;
    let (n, x) = (resident(backend, &[0])?, resident(backend, &[1])?);
    let wide = DispatchConfig { grid: Some([5, 1, 1]), ..DispatchConfig::default() };
    let small = DispatchConfig { workgroup: Some([1, 1, 1]), ..DispatchConfig::default() };
    let thrice = DispatchConfig {
        fixpoint_iterations: Some(3),
        timeout: Some(Duration::from_secs(600)),
        ..DispatchConfig::default()
    };
    let (by_two, by_nine) =
        (DispatchConfig::default().param("by", 2u32), DispatchConfig::default().param("by", 9u32));
    let (on_n, on_x) = ([n], [x]);
    let counting = |config| ResidentDispatchStep { program: &count, resources: &on_n, config };
    let shifting = |config| ResidentDispatchStep { program: &shifted, resources: &on_x, config };
    let steps = [counting(&wide), counting(&small), counting(&thrice), shifting(&by_two), shifting(&by_nine)];
    let (mut got_n, mut got_x) = (Vec::new(), Vec::new());
    let mut outputs = [&mut got_n, &mut got_x];
    let ranges = [whole(&n), whole(&x)];
    let timing = backend.dispatch_resident_sequence_read_ranges_timed_into(&steps, &ranges, &mut outputs)?;
    // 5 × 4, 2 × 1 and 3 × 2 × 4 invocations.
    case.equal("counts", &got_n, &bytes(&[46]))?;
    case.equal("parameters", &got_x, &bytes(&[12]))?;
    case.equal("programs", &timing.dispatches, &7)?;
    // A repetition of a step that repeats itself.
    let mut got = Vec::new();
    backend.dispatch_resident_repeated_sequence_read_ranges_into(
        &[],
        &[counting(&thrice)],
        2,
        &[whole(&n)],
        &mut [&mut got],
    )?;
    case.equal("nested", &got, &bytes(&[46 + 2 * 24]))?;
    let limited = DispatchConfig { max_output_bytes: Some(3), ..DispatchConfig::default() };
    let run = backend.dispatch_resident_timed(&count, &on_n, &limited);
    case.refused("outputs", run, |e| *e == BackendError::OutputTooLarge { needs: 4, limit: 3 })?;
    free(backend, &[n, x])
}

fn aliasing(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let config = DispatchConfig::default();
    let (add, x, y) = (kernels::add()?, resident(backend, &[1, 2])?, resident(backend, &[0, 0])?);
    // Two buffers that are only read may be one.
    backend.dispatch_resident_timed(&add, &[x, x, y], &config)?;
    case.equal("read twice", &backend.download_resident(&y)?, &bytes(&[2, 4]))?;
    let names =
        |first: &str, second: &str| BackendError::Aliasing { first: first.into(), second: second.into() };
    let run = backend.dispatch_resident_timed(&add, &[x, y, x], &config);
    case.refused("a and sum", run, |error| *error == names("a", "sum"))?;
    let run = backend.dispatch_resident_timed(&add, &[y, x, x], &config);
    case.refused("b and sum", run, |error| *error == names("b", "sum"))?;
    case.equal("untouched", &backend.download_resident(&x)?, &bytes(&[1, 2]))?;
    free(backend, &[x, y])
}

fn refused(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let config = DispatchConfig::default();
    let (one, x) = (kernels::step(1)?, resident(backend, &[4])?);
    let on_x = [x];
    let step = ResidentDispatchStep { program: &one, resources: &on_x, config: &config };
    let run = backend.dispatch_resident_sequence_read_ranges_into(&[step], &[whole(&x)], &mut []);
    case.refused("no vector", run, |e| matches!(e, BackendError::Config { field: "outputs", .. }))?;
    let range = ResidentReadRange { resource: &x, byte_offset: 2, byte_len: 3 };
    let mut out = Vec::new();
    let run = backend.dispatch_resident_sequence_read_ranges_into(&[step], &[range], &mut [&mut out]);
    case.refused("beyond", run, |error| matches!(error, BackendError::OutOfRange { .. }))?;
    let short = DispatchConfig { timeout: Some(Duration::from_micros(1)), ..DispatchConfig::default() };
    let late = ResidentDispatchStep { config: &short, ..step };
    let run = backend.dispatch_resident_sequence_read_ranges_into(&[step, late], &[], &mut []);
    case.refused("timeout", run, |e| matches!(e, BackendError::Config { field: "timeout", .. }))?;
    // Nothing of what was refused has run.
    case.equal("untouched", &backend.download_resident(&x)?, &bytes(&[4]))?;
    free(backend, &[x])
}
