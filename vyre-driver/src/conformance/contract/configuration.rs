//! Every field of the configuration: honoured or refused, and never ignored.

use std::time::Duration;

use super::{Case, Check, Problem, bytes, kernels};
use vyre_spec::CompileOptions;

use crate::{BackendError, DispatchConfig, DispatchPreset, Feature, SpeculationMode, VyreBackend};

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("workgroup counts", grid),
    ("workgroup size", workgroup),
    ("repeated runs", fixpoint),
    ("limits", limits),
    ("presets and budgets", presets),
    ("features asked for", features),
    ("specialised parameters", specialised),
    ("pipelines of specialised parameters", pipelines),
];

fn config() -> DispatchConfig {
    DispatchConfig::default()
}

fn is_config(field: &'static str) -> impl Fn(&BackendError) -> bool {
    move |error| matches!(error, BackendError::Config { field: f, .. } if *f == field)
}

fn unsupported(error: &BackendError) -> bool {
    matches!(error, BackendError::Unsupported { .. })
}

fn grid(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let (count, zero) = (kernels::count()?, bytes(&[0]));
    let run = |grid| backend.dispatch_borrowed(&count, &[&zero], &DispatchConfig { grid, ..config() });
    // Four invocations each.
    for (grid, want) in
        [(None, 8), (Some([5, 1, 1]), 20), (Some([2, 3, 4]), 96), (Some([0, 9, 9]), 0), (Some([1; 3]), 4)]
    {
        case.equal(("grid", grid), &run(grid)?[..], &[bytes(&[want])])?;
    }
    let domain = DispatchConfig { grid: Some([1; 3]), ..config() };
    let run = backend.dispatch_borrowed(&*kernels::step(0)?, &[&zero], &domain);
    case.refused("of a domain", run, unsupported)
}

fn workgroup(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let with = |workgroup| DispatchConfig { workgroup: Some(workgroup), ..config() };
    let zero = bytes(&[0]);
    // Of a domain, it changes nothing that the program can see.
    let input: Vec<u32> = (0..100).collect();
    let want: Vec<u32> = (0..100).map(|x| x * 3 + 2).collect();
    for size in [[1, 1, 1], [7, 1, 1], [64, 1, 1]] {
        let got = backend.dispatch_borrowed(&*kernels::step(2)?, &[&bytes(&input)], &with(size))?;
        case.equal(("domain", size), &got[..], &[bytes(&want)])?;
    }
    // Of two workgroups that cannot tell, it changes how many invocations there are.
    for (size, want) in [([4, 1, 1], 8), ([1, 1, 1], 2), ([3, 2, 1], 12)] {
        let got = backend.dispatch_borrowed(&*kernels::count()?, &[&zero], &with(size))?;
        case.equal(("workgroups", size), &got[..], &[bytes(&[want])])?;
    }
    let ids = kernels::ids()?;
    // The author's own size is no change: 2 × (0 + 1 + 2 + 3).
    let got = backend.dispatch_borrowed(&ids, &[&zero], &with([4, 1, 1]))?;
    case.equal("the author's", &got[..], &[bytes(&[12])])?;
    let run = backend.dispatch_borrowed(&ids, &[&zero], &with([2, 1, 1]));
    case.refused("ids", run, is_config("workgroup"))?;
    let run = backend.dispatch_borrowed(&*kernels::step(0)?, &[&zero], &with([0, 1, 1]));
    case.refused("no invocation", run, is_config("workgroup"))
}

fn fixpoint(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let times = |n| DispatchConfig { fixpoint_iterations: Some(n), ..config() };
    for (n, want) in [(1, 3 * 5 + 1), (2, 3 * (3 * 5 + 1) + 1), (3, 3 * (3 * (3 * 5 + 1) + 1) + 1)] {
        let got = backend.dispatch_borrowed(&*kernels::step(1)?, &[&bytes(&[5])], &times(n))?;
        case.equal(("runs", n), &got[..], &[bytes(&[want])])?;
    }
    // The input of 100 stays, what is read and written is carried over, what is written is the last run's.
    let (a, x) = (bytes(&[100]), bytes(&[1]));
    let got = backend.dispatch_borrowed(&*kernels::mixed()?, &[&a, &x], &times(4))?;
    case.equal("mixed", &got[..], &[bytes(&[401]), bytes(&[402])])?;
    let evens = backend.dispatch_borrowed(&*kernels::evens()?, &[&bytes(&[2, 3])], &times(2))?;
    case.equal("not stored", &evens[..], &[bytes(&[2, 0])])?;
    let none = backend.dispatch_borrowed(&*kernels::step(1)?, &[&x], &times(0));
    case.refused("no run", none, is_config("fixpoint_iterations"))
}

fn limits(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let (step, input) = (kernels::step(1)?, bytes(&[1, 2]));
    let run = |config| backend.dispatch_borrowed(&step, &[&input], &config);
    let long = DispatchConfig { timeout: Some(Duration::from_secs(600)), ..config() };
    case.equal("time enough", &run(long)?[..], &[bytes(&[4, 7])])?;
    let short = DispatchConfig { timeout: Some(Duration::from_micros(999)), ..config() };
    case.refused("timeout", run(short), is_config("timeout"))?;
    let label = DispatchConfig { label: Some("a name with \u{fc}\0".into()), ..config() };
    case.equal("label", &run(label)?[..], &[bytes(&[4, 7])])?;
    let outputs = |limit| DispatchConfig { max_output_bytes: Some(limit), ..config() };
    case.equal("room enough", &run(outputs(8))?[..], &[bytes(&[4, 7])])?;
    let right = |error: &BackendError| *error == BackendError::OutputTooLarge { needs: 8, limit: 7 };
    case.refused("outputs", run(outputs(7)), right)
}

fn presets(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let (step, input) = (kernels::step(1)?, bytes(&[1]));
    let run = |config| backend.dispatch_borrowed(&step, &[&input], &config);
    let named = |name: &str| DispatchConfig { profile: Some(name.into()), ..config() };
    for preset in backend.presets() {
        let DispatchPreset { name, ulp_budget, .. } = *preset;
        case.equal(name, &run(named(name))?[..], &[bytes(&[4])])?;
        let same = DispatchConfig { ulp_budget: Some(ulp_budget), ..named(name) };
        case.equal((name, "and its budget"), &run(same)?[..], &[bytes(&[4])])?;
        let other = DispatchConfig { ulp_budget: Some(ulp_budget + 1), ..named(name) };
        case.refused((name, "and another budget"), run(other), is_config("ulp_budget"))?;
    }
    let known = |error: &BackendError| {
        backend.presets().iter().all(|preset| error.to_string().contains(preset.name))
            && is_config("profile")(error)
    };
    case.refused("unknown", run(named("turbo")), known)?;
    let bare = DispatchConfig { unoptimized: true, ulp_budget: Some(0), ..config() };
    case.equal("unoptimised", &run(bare)?[..], &[bytes(&[4])])
}

fn features(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let (step, input) = (kernels::step(1)?, bytes(&[1]));
    let run = |config| backend.dispatch_borrowed(&step, &[&input], &config);
    for mode in [SpeculationMode::Disable, SpeculationMode::Auto] {
        let config = DispatchConfig { speculation: Some(mode), ..config() };
        case.equal(mode, &run(config)?[..], &[bytes(&[4])])?;
    }
    let forced = DispatchConfig { speculation: Some(SpeculationMode::Force), ..config() };
    case.refused("speculation", run(forced), is_config("speculation"))?;
    for (feature, config) in [
        (Feature::PersistentThreads, DispatchConfig { persistent_thread: true, ..config() }),
        (Feature::GridSync, DispatchConfig { cooperative: true, ..config() }),
    ] {
        match backend.missing(feature) {
            None => case.equal(feature, &run(config)?[..], &[bytes(&[4])])?,
            Some(why) => {
                case.refused(feature, run(config), |e| unsupported(e) && e.to_string().contains(&why))?
            }
        }
    }
    Ok(())
}

fn specialised(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let shifted = kernels::shifted()?;
    for by in [3u32, 5, 3] {
        let config = config().param("by", by);
        let got = backend.dispatch_borrowed(&shifted, &[&bytes(&[7])], &config)?;
        case.equal(("by", by), &got[..], &[bytes(&[7 + by])])?;
    }
    let launch = |error: &BackendError| matches!(error, BackendError::Launch(_));
    case.refused("no value", backend.dispatch_borrowed(&shifted, &[&bytes(&[7])], &config()), launch)?;
    let wrong = config().param("by", 1.5f32);
    case.refused("a float", backend.dispatch_borrowed(&shifted, &[&bytes(&[7])], &wrong), launch)
}

/// A pipeline is for the values that were substituted, and for any value of a parameter that is not used.
fn pipelines(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let with = |by: u32| config().param("by", by);
    let x = bytes(&[7]);
    let mut got = Vec::new();
    let unused = kernels::shifted_by_four()?;
    // One that nothing was substituted in, compiled in both ways.
    let pipelines = [
        backend.compile_checked(&unused, &CompileOptions::default())?,
        backend.compile_native(&unused, &with(1))?.ok_or("no pipeline")?,
    ];
    for (pipeline, by) in pipelines.iter().flat_map(|pipeline| [(pipeline, 1), (pipeline, 9)]) {
        backend.dispatch_pipeline_into(pipeline, &[&x], &with(by), &mut got)?;
        case.equal(("unused", by), &got[..], &[bytes(&[11])])?;
    }
    // Specialised for 4, `shifted` is the same program; its pipeline is still for 4 alone.
    let four = backend.compile_native(&*kernels::shifted()?, &with(4))?.ok_or("no pipeline")?;
    backend.dispatch_pipeline_into(&four, &[&x], &with(4), &mut got)?;
    case.equal("substituted", &got[..], &[bytes(&[11])])?;
    let other = backend.dispatch_pipeline_into(&four, &[&x], &with(9), &mut got);
    case.refused("other values", other, is_config("params"))?;
    // Where two values come to the same, either will do.
    let halved = kernels::shifted_by_half()?;
    for by in [10, 11] {
        let five = backend.compile_native(&halved, &with(by))?.ok_or("no pipeline")?;
        backend.dispatch_pipeline_into(&five, &[&x], &with(by), &mut got)?;
        case.equal(("halved", by), &got[..], &[bytes(&[12])])?;
    }
    Ok(())
}
