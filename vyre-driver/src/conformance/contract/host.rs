//! Dispatch on host bytes, in every form.

use std::sync::Arc;

use super::{Case, Check, Problem, bytes, kernels};
use crate::{
    BackendError, DispatchConfig, Executable, Feature, Memory, MemoryRef, OutputBuffers, Timing, TryWait,
    VyreBackend,
};

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("dispatch on host bytes", dispatch),
    ("outputs in the caller's vectors", into),
    ("dispatch without waiting", pending),
    ("timed dispatch", timed),
    ("compiled programs", compiled),
    ("memory of the host and of the device", memory),
    ("traps", traps),
];

fn dispatch(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let config = DispatchConfig::default();
    let (a, b) = (bytes(&[1, u32::MAX, 7]), bytes(&[10, 2, 0]));
    let want = [bytes(&[11, 1, 7])];
    let add = kernels::add()?;
    case.equal("checked", &backend.dispatch_checked(&add, &[&a, &b], &config)?[..], &want)?;
    case.equal("borrowed", &backend.dispatch_borrowed(&add, &[&a, &b], &config)?[..], &want)?;
    let owned = [a.clone(), b.clone()];
    case.equal("owned", &VyreBackend::dispatch(backend, &add, &owned, &config)?[..], &want)?;
    // Inputs and outputs are both in declaration order, and a buffer of each access has its place.
    let mixed = backend.dispatch_borrowed(&*kernels::mixed()?, &[&a, &b], &config)?;
    case.equal("mixed", &mixed[..], &[bytes(&[11, 1, 7]), bytes(&[12, 2, 8])])?;
    let evens = backend.dispatch_borrowed(&*kernels::evens()?, &[&bytes(&[3, 4, 5, 6])], &config)?;
    case.equal("elements that are not stored", &evens[..], &[bytes(&[0, 4, 0, 6])])?;
    let empty = backend.dispatch_borrowed(&add, &[&[], &[]], &config)?;
    case.equal("no element", &empty[..], &[Vec::new()])?;
    let launch = |error: &BackendError| matches!(error, BackendError::Launch(_));
    case.refused("too few inputs", backend.dispatch_borrowed(&add, &[&a], &config), launch)?;
    case.refused("too many", backend.dispatch_borrowed(&add, &[&a, &a, &a], &config), launch)?;
    case.refused("unequal", backend.dispatch_borrowed(&add, &[&a, &[]], &config), launch)?;
    case.refused("half an element", backend.dispatch_borrowed(&add, &[&[0; 6], &[0; 6]], &config), launch)
}

fn into(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let (config, mixed) = (DispatchConfig::default(), kernels::mixed()?);
    // One vector is large enough, one is too small, and there is one too many.
    let mut outputs: OutputBuffers = vec![Vec::with_capacity(64), vec![9], vec![1, 2, 3]];
    let first = outputs.first().map(|output| output.as_ptr());
    for round in 0..3u32 {
        let (a, x) = (bytes(&[round, 5]), bytes(&[100, 200]));
        backend.dispatch_borrowed_into(&mixed, &[&a, &x], &config, &mut outputs)?;
        let want = [bytes(&[100 + round, 205]), bytes(&[101 + round, 206])];
        case.equal(("outputs", round), &outputs[..], &want)?;
        case.equal(("allocation", round), &outputs.first().map(|output| output.as_ptr()), &first)?;
    }
    Ok(())
}

fn pending(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let (config, step) = (DispatchConfig::default(), kernels::step(1)?);
    let inputs: Vec<Vec<u8>> = (0..8).map(|i| bytes(&[i, i + 100])).collect();
    let want: Vec<_> = (0..8).map(|i| bytes(&[i * 3 + 1, (i + 100) * 3 + 1])).collect();
    let mut all = Vec::new();
    for input in &inputs {
        all.push(backend.dispatch_borrowed_async(&step, &[input], &config)?);
    }
    all.push(backend.dispatch_async(&step, &inputs[..1], &config)?);
    let owned = all.pop().map(|pending| pending.wait()).transpose()?;
    case.equal("owned", &owned, &Some(vec![want[0].clone()]))?;
    // The last first: waiting does not go by order of submission.
    for (i, pending) in all.into_iter().enumerate().rev() {
        let mut outputs = OutputBuffers::new();
        match i % 3 {
            0 => outputs = pending.wait()?,
            1 => pending.await_into(&mut outputs)?,
            _ => {
                let mut pending = pending;
                outputs = loop {
                    match pending.try_wait()? {
                        TryWait::Ready(outputs) => break outputs,
                        TryWait::Pending(again) => pending = again,
                    }
                    std::thread::yield_now();
                }
            }
        }
        case.equal(("dispatch", i), &outputs[..], &[want[i].clone()])?;
    }
    let pending = backend.dispatch_borrowed_async(&step, &[&inputs[0]], &config)?;
    while !pending.is_ready() {
        std::thread::yield_now();
    }
    case.equal("ready", &pending.wait()?[..], &want[..1])
}

fn timed(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let input = bytes(&[5; 64]);
    let result =
        backend.dispatch_borrowed_timed(&*kernels::step(0)?, &[&input], &DispatchConfig::default())?;
    case.equal("outputs", &result.outputs[..], &[bytes(&[15; 64])])?;
    times(backend, case, &result.timing)
}

/// Times that fit together. How long they are is the machine's affair.
pub(super) fn times(backend: &dyn VyreBackend, case: &mut Case, timing: &Timing) -> Result<(), Problem> {
    case.equal("wall time is submission and waiting", &timing.wall, &(timing.submit + timing.wait))?;
    let has_clock = backend.missing(Feature::Timestamps).is_none();
    case.equal("a device time", &timing.device.is_some(), &has_clock)
}

fn compiled(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let config = DispatchConfig::default();
    let step = kernels::step(4)?;
    let own = backend.compile_native(&step, &config)?;
    let shared = backend.compile_native_shared(Arc::new((*step).clone()), &config)?;
    for pipeline in [own, shared].into_iter().flatten() {
        let mut outputs = OutputBuffers::new();
        for x in [1, 20] {
            backend.dispatch_pipeline_into(&pipeline, &[&bytes(&[x])], &config, &mut outputs)?;
            case.equal(("pipeline", x), &outputs[..], &[bytes(&[x * 3 + 4])])?;
        }
        let other = DispatchConfig { unoptimized: true, ..DispatchConfig::default() };
        let run = backend.dispatch_pipeline_into(&pipeline, &[&bytes(&[1])], &other, &mut outputs);
        case.refused("another configuration", run, |e| matches!(e, BackendError::Config { .. }))?;
    }
    let config = |by: u32| DispatchConfig::default().param("by", by);
    if let Some(pipeline) = backend.compile_native(&*kernels::shifted()?, &config(3))? {
        let mut outputs = OutputBuffers::new();
        backend.dispatch_pipeline_into(&pipeline, &[&bytes(&[40])], &config(3), &mut outputs)?;
        case.equal("specialised", &outputs[..], &[bytes(&[43])])?;
        let run = backend.dispatch_pipeline_into(&pipeline, &[&bytes(&[40])], &config(5), &mut outputs);
        case.refused("another value", run, |e| matches!(e, BackendError::Config { field: "params", .. }))?;
    }
    Ok(())
}

fn memory(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let (config, mixed) = (DispatchConfig::default(), kernels::mixed()?);
    let (a, x) = (bytes(&[1, 2]), backend.allocate_resident(8)?);
    backend.upload_resident(&x, &bytes(&[10, 20]))?;
    let inputs = [MemoryRef::Host(&a), MemoryRef::Device(x)];
    let outputs = Executable::dispatch(backend, &mixed, &inputs, &config)?;
    let want = [Memory::Device(x), Memory::Host(bytes(&[12, 23]))];
    case.equal("in place", &outputs[..], &want)?;
    case.equal("the resident", &backend.download_resident(&x)?, &bytes(&[11, 22]))?;
    let inputs = [MemoryRef::Device(x), MemoryRef::Host(&a)];
    let outputs = Executable::dispatch(backend, &mixed, &inputs, &config)?;
    let want = [Memory::Host(bytes(&[12, 24])), Memory::Host(bytes(&[13, 25]))];
    case.equal("from the host", &outputs[..], &want)?;
    case.equal("host bytes", &outputs.first().and_then(Memory::host), &Some(&bytes(&[12, 24])[..]))?;
    let aliased = Executable::dispatch(backend, &mixed, &[MemoryRef::Device(x); 2], &config);
    case.refused("one buffer twice", aliased, |e| matches!(e, BackendError::Aliasing { .. }))?;
    Ok(backend.free_resident(x)?)
}

fn traps(backend: &dyn VyreBackend, case: &mut Case) -> Result<(), Problem> {
    let (config, program) = (DispatchConfig::default(), kernels::trap()?);
    let good = bytes(&[1, 10]);
    let trapped = |error: &BackendError| matches!(error, BackendError::Trap { code: 7, address: 1, .. });
    let bad = bytes(&[1, 11]);
    case.refused("host", backend.dispatch_borrowed(&program, &[&bad], &config), trapped)?;
    let pending = backend.dispatch_borrowed_async(&program, &[&bad], &config)?;
    case.refused("pending", pending.wait(), trapped)?;
    let x = backend.allocate_resident(8)?;
    backend.upload_resident(&x, &bad)?;
    case.refused("resident", backend.dispatch_resident_timed(&program, &[x], &config), trapped)?;
    // Nothing of it is left for the next dispatch.
    case.equal("after", &backend.dispatch_borrowed(&program, &[&good], &config)?[..], &[bytes(&[2, 11])])?;
    Ok(backend.free_resident(x)?)
}
