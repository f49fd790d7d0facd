//! Runs every facet of the wgpu backend on the opened device and prints what it found as JSON: the version, the
//! device, the features with the reason for each that is missing, the facets with their outcome, and the counts
//! of the conformance suite. The status is 1 if a facet fails or the suite finds a wrong value.
//!
//! ```sh
//! cargo run -p vyre-driver-wgpu --example wgpu_release_surface
//! ```

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use vyre_driver::backend::{ResidentDispatchStep, ResidentReadRange};
use vyre_driver::conformance::{self, Report};
use vyre_driver::{
    BackendValidationCapabilities, CompiledPipeline, DispatchConfig, Executable, Memory, MemoryRef,
    PayloadKey, TargetPayload, VyreBackend, backend_registration,
};
use vyre_driver_wgpu::{WGPU_BACKEND_ID, WgpuBackend};
use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_spec::CompileOptions;

type Done = Result<(), Box<dyn Error>>;
/// A facet: its name, and what shows that it works.
type Facet = (&'static str, fn(&WgpuBackend) -> Done);

const FACETS: &[Facet] = &[
    ("host_dispatch", host_dispatch),
    ("pending_dispatch", pending_dispatch),
    ("timed_dispatch", timed_dispatch),
    ("batch", batch),
    ("visited_outputs", visited_outputs),
    ("compiled_once", compiled_once),
    ("stream", stream),
    ("persistent_pipeline", persistent_pipeline),
    ("executable", executable),
    ("lowering", lowering),
    ("device_buffers", device_buffers),
    ("resident_sequence", resident_sequence),
    ("optimizer", optimizer),
    ("target_payloads", target_payloads),
    ("raw_wgsl", raw_wgsl),
    ("capabilities", capabilities),
    ("metrics", metrics),
    ("recovery", recovery),
];

fn main() -> ExitCode {
    // The second one's handles are foreign to the first.
    let (backend, other) = match WgpuBackend::acquire().and_then(|b| Ok((b, WgpuBackend::acquire()?))) {
        Ok(both) => both,
        Err(error) => {
            eprintln!("error: {error}\nhelp: {}", error.help());
            return ExitCode::FAILURE;
        }
    };
    let mut broken = 0;
    let facets: Vec<Value> = FACETS
        .iter()
        .map(|(name, run)| {
            let error = run(&backend).err().map(|error| error.to_string());
            broken += usize::from(error.is_some());
            json!({ "facet": name, "works": error.is_none(), "error": error })
        })
        .collect();
    let features: Vec<Value> = backend
        .capability_report()
        .into_iter()
        .map(|line| json!({ "feature": line.name, "supported": line.supported, "reason": line.reason }))
        .collect();
    let parts = [
        ("contract", conformance::contract(&backend)),
        ("ops", conformance::ops(&backend, conformance::Depth::Spaced)),
        ("floats", conformance::floats(&backend)),
        ("programs", conformance::programs(&backend, 0..50)),
        ("optimizer", conformance::optimizer(&backend, &other)),
        ("impact", conformance::impact(&backend, 0..10)),
        ("speculation", conformance::speculation(&backend)),
    ];
    let wrong: usize = parts.iter().map(|(_, report)| report.failures.len()).sum();
    let conformance: Map<_, _> =
        parts.iter().map(|(name, report)| ((*name).to_owned(), counts(report))).collect();
    let profile = backend.device_profile();
    let evidence = json!({
        "version": backend.version(),
        "backend": {
            "id": backend.id(),
            "device": profile.name,
            "driver": profile.driver,
            "api": profile.api,
            "software": profile.is_software,
            "adapter_index": backend.chosen().0.index,
        },
        "features": features,
        "facets": facets,
        "coverage": { "facets": FACETS.len(), "working": FACETS.len() - broken },
        "conformance": conformance,
        "gaps": broken + wrong,
    });
    println!("{evidence:#}");
    if broken + wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn counts(report: &Report) -> Value {
    let failures: Vec<_> = report.failures.iter().map(ToString::to_string).collect();
    json!({ "programs": report.programs, "compared": report.compared, "refused": report.refused,
            "failures": failures })
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, got: T, want: T) -> Done {
    if got == want { Ok(()) } else { Err(format!("{what}: {got:?} where {want:?} was asked").into()) }
}

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn config() -> DispatchConfig {
    DispatchConfig::default()
}

fn double() -> Result<Checked<Program>, Box<dyn Error>> {
    Ok(Kernel::build("double", |k| {
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| x.store(i, x.load(i) + x.load(i)));
    })?)
}

fn host_dispatch(b: &WgpuBackend) -> Done {
    let program = double()?;
    let outputs = VyreBackend::dispatch(b, &program, &[words(&[1, 2, 3])], &config())?;
    expect("outputs", outputs, vec![words(&[2, 4, 6])])?;
    let mut into = Vec::new();
    b.dispatch_borrowed_into(&program, &[&words(&[4])], &config(), &mut into)?;
    expect("outputs of the caller", into, vec![words(&[8])])
}

fn pending_dispatch(b: &WgpuBackend) -> Done {
    let pending = b.dispatch_borrowed_async(&*double()?, &[&words(&[5])], &config())?;
    expect("outputs", pending.wait()?, vec![words(&[10])])
}

fn timed_dispatch(b: &WgpuBackend) -> Done {
    let timed = b.dispatch_borrowed_timed(&*double()?, &[&words(&[6])], &config())?;
    expect("outputs", timed.outputs, vec![words(&[12])])?;
    let timestamps = b.backend_capabilities().feature("timestamps");
    expect("a device time", Some(timed.timing.device.is_some()), timestamps)
}

fn batch(b: &WgpuBackend) -> Done {
    let job = |x| Ok::<_, Box<dyn Error>>(((*double()?).clone(), vec![words(&[x])], config()));
    let done = b.dispatch_batch(&[job(1)?, job(2)?])?;
    let outputs: Result<Vec<_>, _> = done.into_iter().collect();
    expect("outputs", outputs?, vec![vec![words(&[2])], vec![words(&[4])]])
}

fn visited_outputs(b: &WgpuBackend) -> Done {
    let mut sum = 0;
    b.dispatch_borrowed_for_each_pod_output(&*double()?, &[&words(&[7, 8])], &config(), |_, x: &[u32]| {
        sum += x.iter().sum::<u32>();
        Ok(())
    })?;
    expect("the sum", sum, 30)
}

fn compiled_once(b: &WgpuBackend) -> Done {
    let compiled = b.compile(&*double()?)?;
    let x = words(&[21]);
    let outputs = b.dispatch_compiled(&compiled, &[MemoryRef::Host(&x)], &config())?;
    expect("outputs", outputs, vec![Memory::Host(words(&[42]))])
}

fn stream(b: &WgpuBackend) -> Done {
    let mut stream = b.compile_streaming(&*double()?, config())?;
    let mut outputs = Vec::new();
    for x in 0..4 {
        outputs.extend(stream.push(&[&words(&[x])])?);
    }
    outputs.extend(stream.finish()?);
    expect("outputs", outputs, (0..4).map(|x| vec![words(&[2 * x])]).collect())
}

fn persistent_pipeline(b: &WgpuBackend) -> Done {
    let pipeline: Arc<dyn CompiledPipeline> = b.compile_persistent(&*double()?, &config())?;
    let mut outputs = Vec::new();
    for x in [3, 4] {
        b.dispatch_pipeline_into(&pipeline, &[&words(&[x])], &config(), &mut outputs)?;
        expect("outputs", outputs.clone(), vec![words(&[2 * x])])?;
    }
    Ok(())
}

fn executable(b: &WgpuBackend) -> Done {
    let x = b.allocate_resident(4)?;
    b.upload_resident(&x, &words(&[9]))?;
    Executable::dispatch(b, &*double()?, &[MemoryRef::Device(x)], &config())?;
    expect("the resident", b.download_resident(&x)?, words(&[18]))?;
    Ok(b.free_resident(x)?)
}

fn lowering(b: &WgpuBackend) -> Done {
    let lowered = b.lower_to_backend_ir(&*double()?)?;
    expect("entry points", b.lower_to_target(&lowered).entry_points.len(), 1)
}

fn device_buffers(b: &WgpuBackend) -> Done {
    let mut buffer = b.allocate_wgpu_device_buffer(5)?;
    b.upload_wgpu_device_buffer(&mut *buffer, &[1, 2, 3])?;
    expect("bytes", b.download_wgpu_device_buffer(&*buffer)?, vec![1, 2, 3, 0, 0])?;
    Ok(b.free_wgpu_device_buffer(buffer)?)
}

fn resident_sequence(b: &WgpuBackend) -> Done {
    let (program, config) = (double()?, config());
    let x = b.allocate_resident(4)?;
    b.upload_resident(&x, &words(&[1]))?;
    let resources = [x];
    let step = ResidentDispatchStep { program: &program, resources: &resources, config: &config };
    let read = [ResidentReadRange { resource: &x, byte_offset: 0, byte_len: 4 }];
    let mut out = Vec::new();
    b.dispatch_resident_repeated_sequence_read_ranges_into(&[step], &[step], 9, &read, &mut [&mut out])?;
    expect("ten doublings", out, words(&[1 << 10]))?;
    Ok(b.free_resident(x)?)
}

fn optimizer(b: &WgpuBackend) -> Done {
    // Here alone: some of its methods have names of `VyreBackend`'s.
    use vyre_driver::optimizer::OptimizerDispatcher;

    let o: &dyn OptimizerDispatcher = b;
    let x = o.alloc_resident(4)?;
    o.upload_resident(x, &words(&[3]))?;
    o.dispatch_resident(&*double()?, &[x], None)?;
    expect("the resident", o.read_resident(x)?, words(&[6]))?;
    Ok(o.free_resident(x)?)
}

fn target_payloads(b: &WgpuBackend) -> Done {
    let registration = backend_registration(WGPU_BACKEND_ID)?;
    let (compiler, materializer) = (registration.target_compiler()?, registration.materializer()?);
    let key = PayloadKey::new([7; 32]);
    for format in compiler.formats(b.profile()) {
        let compiled = compiler.compile_as(format, &[double()?], b.profile(), &CompileOptions::default())?;
        let read = TargetPayload::from_bytes(&compiled.sealed(&key).to_bytes())?;
        for pipeline in materializer.materialize(b, &read, Some(&key))? {
            let mut outputs = Vec::new();
            b.dispatch_pipeline_into(&pipeline, &[&words(&[8])], &config(), &mut outputs)?;
            expect(format, outputs, vec![words(&[16])])?;
        }
    }
    Ok(())
}

fn raw_wgsl(b: &WgpuBackend) -> Done {
    let shader = "
        @group(0) @binding(0) var<storage, read> a: array<u32>;
        @group(0) @binding(1) var<storage, read_write> b: array<u32>;
        @compute @workgroup_size(1) fn main(@builtin(workgroup_id) id: vec3<u32>) { b[id.x] = ~a[id.x]; }";
    expect("output", b.dispatch_wgsl(shader, &words(&[0]), 4, 1)?, words(&[u32::MAX]))
}

fn capabilities(b: &WgpuBackend) -> Done {
    let report = b.capability_report();
    let unexplained = report.iter().filter(|line| line.supported == line.reason.is_some()).count();
    expect("lines whose reason does not fit", unexplained, 0)?;
    expect("the name", b.adapter_caps().name, b.device_profile().name)
}

fn metrics(b: &WgpuBackend) -> Done {
    expect("a cache", b.pipeline_cache_snapshot().is_some_and(|cache| cache.entries > 0), true)?;
    expect("no metrics", b.backend_metric_snapshot().is_empty(), false)?;
    expect("errors outside our calls", b.stats().uncaptured_errors, 0)
}

fn recovery(b: &WgpuBackend) -> Done {
    b.force_device_lost()?;
    expect("lost", b.device_lost(), true)?;
    b.try_recover()?;
    expect("lost after recovery", b.device_lost(), false)?;
    host_dispatch(b)
}
