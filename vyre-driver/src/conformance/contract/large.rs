//! Sizes beyond 32 bits: refused by type, before anything is allocated or run.

use vyre_foundation::build::Kernel;
use vyre_foundation::launch::LaunchError;
use vyre_spec::CompileOptions;

use super::{Case, Check, Problem, bytes, kernels};
use crate::{BackendError, Binding, Command, CommandList, DispatchCommand, DispatchConfig, VyreBackend};

pub(super) const CHECKS: &[(&str, Check)] =
    &[("buffers beyond 32 bits", buffers), ("launches beyond 32 bits", launches)];

/// The first number of elements that no id of 32 bits reaches.
const TOO_MANY: u64 = 1 << 32;

fn too_large(error: &BackendError) -> bool {
    matches!(error, BackendError::Launch(LaunchError::TooLarge { value, .. }) if *value >= TOO_MANY)
}

fn buffers(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    // An output whose elements the dispatch would count, of one byte and of eight.
    let outputs = [
        Kernel::build("bytes", |k| {
            let n = k.param::<u32>("n").extent();
            let out = k.write_only::<u8>("out", n * n);
            k.domain([1_u64], |[i]| out.store(i, 1_u8));
        })?,
        Kernel::build("words", |k| {
            let n = k.param::<u32>("n").extent();
            let out = k.write_only::<u64>("out", n * n);
            k.domain([1_u64], |[i]| out.store(i, 1_u64));
        })?,
    ];
    for output in &outputs {
        for n in [1_u32 << 16, u32::MAX] {
            let config = DispatchConfig::default().param("n", n);
            case.refused(
                ("an output of n × n", n),
                backend.dispatch_checked(output, &[], &config),
                |error| {
                    too_large(error) || matches!(error, BackendError::Launch(LaunchError::Arithmetic { .. }))
                },
            )?;
        }
    }
    // A buffer of the caller's whose bytes are its elements, by the dispatch of a list.
    let step = Kernel::build("step", |k| {
        let x = k.read_write::<u8>("x");
        k.domain([1_u64], |[i]| x.store(i, x.load(i) + 1_u8));
    })?;
    let pipeline = backend.compile_checked(&step, &CompileOptions::default())?;
    let mut list = CommandList::new();
    let buffer = list.transient(16);
    list.push(Command::Dispatch(DispatchCommand::new(pipeline, vec![Binding { buffer, len: TOO_MANY }])));
    let run = backend.submit(&list).and_then(|work| work.wait(None));
    case.refused("a binding", run, |error| {
        too_large(error) || matches!(error, BackendError::OutOfRange { .. })
    })
}

fn launches(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let (count, zero) = (kernels::count()?, bytes(&[0]));
    for grid in [[u32::MAX; 3], [u32::MAX, u32::MAX, 1], [u32::MAX, 1, u32::MAX]] {
        let config = DispatchConfig { grid: Some(grid), ..DispatchConfig::default() };
        let run = backend.dispatch_borrowed(&count, &[&zero], &config);
        case.refused(("workgroups", grid), run, too_large)?;
    }
    let domain = Kernel::build("domain", |k| {
        let n = k.param::<u32>("n").extent();
        let x = k.read_write::<u32>("x").with_len(1_u64);
        k.domain([n * n], |[i]| x.store(i, 1_u32));
    })?;
    for n in [1_u32 << 16, u32::MAX] {
        let config = DispatchConfig::default().param("n", n);
        let run = backend.dispatch_checked(&domain, &[&zero], &config);
        case.refused(("points", n), run, too_large)?;
    }
    // The same arithmetic, with a count that there is.
    let config = DispatchConfig::default().param("n", 3_u32);
    let run = backend.dispatch_checked(&domain, &[&zero], &config)?;
    case.equal("nine points", &run[..], &[bytes(&[1])])
}
