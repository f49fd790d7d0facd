//! The methods of `WgpuBackend` that no trait has.

use std::sync::Arc;

use vyre_driver::speculate::{AdaptiveSpeculator, CounterTail, SpeculativeDispatchPlan};
use vyre_driver::{CompiledPipeline, DispatchConfig, Memory, MemoryRef, SpeculationMode, VyreBackend};
use vyre_driver_wgpu::{LoweringError, UnOp, WgpuBackend, WgpuPipeline};
use vyre_foundation::build::Kernel;
use vyre_foundation::ir::Program;

use crate::{add, config, double, open, words};

#[test]
fn acquisition() {
    let b = WgpuBackend::new().unwrap();
    assert_eq!(b.adapter_info().name, WgpuBackend::acquire().unwrap().adapter_info().name);
    let index = b.chosen().0.index;
    assert_eq!(WgpuBackend::acquire_adapter(index).unwrap().adapter_info().name, b.adapter_info().name);
    assert!(Arc::ptr_eq(&WgpuBackend::shared().unwrap(), &WgpuBackend::shared().unwrap()));
    let (device, _queue) = &*b.device_queue();
    assert_eq!(device.limits(), *b.device_limits());
}

#[test]
fn records() {
    let b = open();
    let profile = WgpuBackend::device_profile(&b);
    assert_eq!((profile.backend.as_str(), &profile.name), ("wgpu", &b.adapter_info().name));
    let caps = b.adapter_caps();
    assert_eq!((&caps.name, caps.max_workgroup_size), (&profile.name, profile.max_workgroup_size));
    b.dispatch_borrowed(&double(), &[&words(&[1])], &config()).unwrap();
    assert_eq!((b.stats().adapter, b.stats().pipelines.misses), (profile.name, 1));
}

#[test]
fn lowering() {
    let b = open();
    let lowered = b.lower_to_backend_ir(&add()).unwrap();
    let module = b.lower_to_target(&lowered);
    let entry = &module.entry_points[0];
    assert_eq!(
        (entry.name.as_str(), entry.workgroup_size),
        (lowered.entry_point(), lowered.workgroup_size())
    );
    assert!(module.global_variables.iter().filter(|(_, v)| v.binding.is_some()).count() >= 3);
    // Nothing was compiled on the device.
    assert_eq!(b.stats().pipelines.entries, 0);
    let too_wide = Kernel::build("wide", |k| {
        let x = k.write_only::<u32>("x", 1_u64);
        k.workgroups([1 << 20], [1_u64], |_| x.store(0_u32, 1_u32));
    })
    .unwrap();
    assert!(matches!(b.lower_to_backend_ir(&too_wide), Err(LoweringError::Lower(_))));
}

#[test]
fn compiled_once() {
    let b = open();
    let compiled = b.compile(&double()).unwrap();
    assert_eq!(compiled.program().name(), "double");
    let x = words(&[21]);
    for _ in 0..2 {
        let got = b.dispatch_compiled(&compiled, &[MemoryRef::Host(&x)], &config()).unwrap();
        assert_eq!(got, [Memory::Host(words(&[42]))]);
    }
    assert_eq!(b.stats().pipelines.misses, 1);
    let foreign = open().dispatch_compiled(&compiled, &[MemoryRef::Host(&x)], &config()).unwrap_err();
    assert_eq!(foreign.code(), "B107", "{foreign}");
}

#[test]
fn raw_shaders_and_probes() {
    let b = open();
    let shader = "
        @group(0) @binding(0) var<storage, read> a: array<u32>;
        @group(0) @binding(1) var<storage, read_write> b: array<u32>;
        @compute @workgroup_size(1) fn main(@builtin(workgroup_id) id: vec3<u32>) { b[id.x] = a[id.x] ^ 5u; }";
    assert_eq!(b.dispatch_wgsl(shader, &words(&[1, 4]), 8, 1).unwrap(), words(&[4, 1]));
    assert_eq!(b.probe_op(UnOp::Floor, &2.5_f32.to_le_bytes()).unwrap(), 2.0_f32.to_le_bytes());
    assert_eq!(b.probe_op_many(UnOp::Abs, &[-1.5, 2.0]).unwrap(), [1.5, 2.0]);
}

#[test]
fn batches() {
    let b = open();
    let (double, add, config) = (double(), add(), config());
    let (x, y) = (words(&[1, 2]), words(&[10, 20]));
    let (one, two): ([&[u8]; 1], [&[u8]; 2]) = ([&x], [&x, &y]);
    // The second job lacks an input: it fails alone.
    let jobs: [(&Program, &[&[u8]], &DispatchConfig); 3] =
        [(&double, &one, &config), (&add, &one, &config), (&add, &two, &config)];
    let done = b.dispatch_borrowed_batch(&jobs).unwrap();
    assert_eq!(done[0].as_ref().unwrap(), &[words(&[2, 4])]);
    assert!(done[1].is_err());
    assert_eq!(done[2].as_ref().unwrap(), &[words(&[11, 22])]);
    let mut outputs = vec![Vec::new(); 3];
    let done = b.dispatch_borrowed_batch_into(&jobs, &mut outputs).unwrap();
    assert!(done[0].is_ok() && done[1].is_err() && done[2].is_ok());
    assert_eq!((&outputs[0], &outputs[2]), (&vec![words(&[2, 4])], &vec![words(&[11, 22])]));
    let owned = [((*double).clone(), vec![x], config)];
    let done = b.dispatch_batch(&owned).unwrap();
    assert_eq!(done[0].as_ref().unwrap(), &[words(&[2, 4])]);
}

#[test]
fn visited_outputs() {
    let b = open();
    let (x, y) = (words(&[1, 2]), words(&[10, 20]));
    let mut seen = Vec::new();
    b.dispatch_borrowed_for_each_mapped_output(&add(), &[&x, &y], &config(), |i, bytes| {
        seen.push((i, bytes.to_vec()));
        Ok(())
    })
    .unwrap();
    assert_eq!(seen, [(0, words(&[11, 22]))]);
    let mut sum = 0_u32;
    b.dispatch_borrowed_for_each_pod_output(&add(), &[&x, &y], &config(), |_, values: &[u32]| {
        sum += values.iter().sum::<u32>();
        Ok(())
    })
    .unwrap();
    assert_eq!(sum, 33);
}

#[test]
fn streams_and_persistent_pipelines() {
    let b = open();
    let mut stream = b.compile_streaming(&double(), config()).unwrap();
    let mut outputs = Vec::new();
    for chunk in 0..5 {
        outputs.extend(stream.push(&[&words(&[chunk])]).unwrap());
    }
    outputs.extend(stream.finish().unwrap());
    let want: Vec<_> = (0..5).map(|chunk| vec![words(&[2 * chunk])]).collect();
    assert_eq!(outputs, want);

    let pipeline: Arc<WgpuPipeline> = b.compile_persistent(&double(), &config()).unwrap();
    let pipeline: Arc<dyn CompiledPipeline> = pipeline;
    let mut outputs = Vec::new();
    for _ in 0..3 {
        b.dispatch_pipeline_into(&pipeline, &[&words(&[8])], &config(), &mut outputs).unwrap();
        assert_eq!(outputs, [words(&[16])]);
    }
}

#[test]
fn speculation() {
    let b = open();
    // Even numbers are candidates, multiples of 4 are confirmed.
    let fused = Kernel::build("fours", |k| {
        let x = k.read_only::<u32>("x");
        let found = k.write_only::<u32>("found", x.len());
        let counts = k.read_write::<u32>("counts").with_len(2_u64);
        k.domain([x.len()], |[i]| {
            k.if_((x.load(i) & 1).eq(0), || {
                let hit = (x.load(i) & 2).eq(0).select(1_u32, 0_u32);
                found.store(i, hit);
                counts.atomic_add(1 - hit, 1);
            });
        });
    })
    .unwrap();
    let prefilter = Kernel::build("evens", |k| {
        let x = k.read_only::<u32>("x");
        let found = k.write_only::<u32>("found", x.len());
        k.domain([x.len()], |[i]| found.store(i, 1 - (x.load(i) & 1)));
    })
    .unwrap();
    let plan = SpeculativeDispatchPlan::new(&fused, &prefilter).tail(CounterTail::Buffer);
    let x = words(&[0, 1, 2, 4]);
    let confirm = |mut found: Vec<Vec<u8>>| {
        found[0][8] = 0;
        Ok(found)
    };
    for mode in [SpeculationMode::Force, SpeculationMode::Disable] {
        let config = DispatchConfig { speculation: Some(mode), ..config() };
        let speculator = AdaptiveSpeculator::new();
        let outcome =
            b.dispatch_speculative_prefilter_confirm(&speculator, plan, &[&x], &config, confirm).unwrap();
        assert_eq!(outcome.outputs, [words(&[1, 0, 0, 1])], "{mode:?}");
    }
}
