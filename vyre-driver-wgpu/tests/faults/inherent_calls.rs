//! The methods of `WgpuBackend` that no trait has, and what its streams and pipelines do.

use vyre_driver::speculate::{AdaptiveSpeculator, CounterTail, SpeculativeDispatchPlan};
use vyre_driver::{DispatchConfig, Memory, MemoryRef, SpeculationMode, VyreBackend};
use vyre_driver_wgpu::WgpuBackend;
use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;

use crate::calls::Kind::{Compiles, Host, Moves, Reruns, Runs};
use crate::calls::Row;
use crate::kit::{BYTES, Kit, Trouble, input, must, must_made, output, words};

pub(crate) const CALLS: &[Row] = &[
    ("WgpuBackend::compile", Compiles, |b, kit, _| {
        assert_eq!(b.compile(&kit.program)?.program().name(), "scaled");
        Ok(())
    }),
    ("WgpuBackend::dispatch_compiled", Reruns, |b, kit, config| {
        let outputs = b.dispatch_compiled(&kit.compiled, &[MemoryRef::Host(&input())], config)?;
        let [Memory::Host(bytes)] = &outputs[..] else { panic!("{outputs:?}") };
        must_made(kit, bytes);
        Ok(())
    }),
    ("WgpuBackend::dispatch_borrowed_for_each_mapped_output", Runs, |b, kit, config| {
        let mut seen = 0;
        b.dispatch_borrowed_for_each_mapped_output(&kit.program, &[&input()], config, |_, bytes| {
            must(kit, bytes);
            seen += 1;
            Ok(())
        })?;
        assert_eq!(seen, 1);
        Ok(())
    }),
    ("WgpuBackend::dispatch_borrowed_for_each_pod_output", Runs, |b, kit, config| {
        let mut seen = Vec::new();
        let see = |_, values: &[u32]| {
            seen.extend_from_slice(values);
            Ok(())
        };
        b.dispatch_borrowed_for_each_pod_output(&kit.program, &[&input()], config, see)?;
        must(kit, &words(seen));
        Ok(())
    }),
    ("WgpuBackend::dispatch_borrowed_batch", Runs, |b, kit, config| {
        let input = input();
        let inputs: [&[u8]; 1] = [&input];
        let job = (&*kit.program, &inputs[..], config);
        // The second job lacks its input: it fails alone.
        let [first, second, third] = &b.dispatch_borrowed_batch(&[job, (job.0, &[], config), job])?[..]
        else {
            panic!("three results")
        };
        must(kit, &first.clone()?[0]);
        must(kit, &third.clone()?[0]);
        assert_eq!(second.as_ref().unwrap_err().code(), "B102");
        Ok(())
    }),
    ("WgpuBackend::dispatch_borrowed_batch_into", Runs, |b, kit, config| {
        let input = input();
        let inputs: [&[u8]; 1] = [&input];
        let job = (&*kit.program, &inputs[..], config);
        let mut outputs = vec![vec![vec![1]], Vec::new()];
        for result in b.dispatch_borrowed_batch_into(&[job, job], &mut outputs)? {
            result?;
        }
        outputs.iter().for_each(|outputs| must(kit, &outputs[0]));
        Ok(())
    }),
    ("WgpuBackend::dispatch_batch", Runs, |b, kit, config| {
        let job = ((*kit.program).clone(), vec![input()], config.clone());
        for outputs in b.dispatch_batch(&[job.clone(), job])? {
            must(kit, &outputs?[0]);
        }
        Ok(())
    }),
    ("WgpuBackend::compile_streaming", Runs, |b, kit, config| {
        let mut stream = b.compile_streaming(&kit.program, config.clone())?;
        let mut outputs = Vec::new();
        for _ in 0..4 {
            outputs.extend(stream.push(&[&input()])?);
        }
        outputs.extend(stream.next_outputs()?);
        outputs.extend(stream.finish()?);
        assert_eq!(outputs.len(), 4);
        outputs.iter().for_each(|outputs| must(kit, &outputs[0]));
        Ok(())
    }),
    ("HostIngressStream::push", Reruns, |_, kit, _| {
        let stream = kit.stream.as_mut().unwrap();
        stream.push(&[&input()])?;
        Ok(())
    }),
    ("HostIngressStream::next_outputs", Reruns, |_, kit, _| {
        let stream = kit.stream.as_mut().unwrap();
        stream.push(&[&input()])?;
        let outputs = stream.next_outputs()?.unwrap();
        must_made(kit, &outputs[0]);
        Ok(())
    }),
    ("HostIngressStream::finish", Reruns, |_, kit, _| {
        let mut stream = kit.stream.take().unwrap();
        let first = stream.push(&[&input()])?;
        let outputs = stream.finish()?;
        must_made(kit, &first.into_iter().chain(outputs).next().unwrap()[0]);
        Ok(())
    }),
    ("WgpuBackend::compile_persistent", Runs, |b, kit, config| {
        let pipeline = b.compile_persistent(&kit.program, config)?;
        for _ in 0..2 {
            must(kit, &pipeline.dispatch(&[&input()])?[0]);
        }
        Ok(())
    }),
    ("WgpuPipeline::dispatch", Reruns, |_, kit, _| {
        must_made(kit, &kit.persistent.dispatch(&[&input()])?[0]);
        Ok(())
    }),
    ("WgpuPipeline::dispatch_into", Reruns, |_, kit, _| {
        let mut outputs = vec![vec![3; 1000], Vec::new()];
        kit.persistent.dispatch_into(&[&input()], &mut outputs)?;
        must_made(kit, &outputs[0]);
        Ok(())
    }),
    ("WgpuBackend::dispatch_speculative_prefilter_confirm", Runs, |b, kit, config| {
        for mode in [SpeculationMode::Force, SpeculationMode::Disable] {
            scan(b, kit, &DispatchConfig { speculation: Some(mode), ..config.clone() })?;
        }
        Ok(())
    }),
    ("WgpuBackend::allocate_wgpu_device_buffer", Moves, |b, kit, _| {
        kit.buffers.push(b.allocate_wgpu_device_buffer(BYTES)?);
        assert_eq!(b.download_device_buffer(&**kit.buffers.last().unwrap())?, [0; BYTES]);
        Ok(())
    }),
    ("WgpuBackend::upload_wgpu_device_buffer", Moves, |b, kit, _| {
        b.upload_wgpu_device_buffer(&mut *kit.buffers[0], &[8; 3])?;
        let bytes = b.download_device_buffer(&*kit.buffers[0])?;
        assert_eq!((&bytes[..3], &bytes[3..]), (&[8; 3][..], &input()[3..]));
        Ok(())
    }),
    ("WgpuBackend::download_wgpu_device_buffer", Moves, |b, kit, _| {
        assert_eq!(b.download_wgpu_device_buffer(&*kit.buffers[0])?, input());
        Ok(())
    }),
    ("WgpuBackend::free_wgpu_device_buffer", Host, |b, kit, _| {
        Ok(b.free_wgpu_device_buffer(kit.buffers.remove(1))?)
    }),
    ("WgpuBackend::dispatch_wgsl", Reruns, |b, kit, _| {
        let source = format!(
            "@group(0) @binding(0) var<storage, read> a: array<u32>;
            @group(0) @binding(1) var<storage, read_write> b: array<u32>;
            @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
                if (id.x < arrayLength(&b)) {{ b[id.x] = a[id.x] * {}u + id.x; }}
            }}",
            kit.factor
        );
        must(kit, &b.dispatch_wgsl(&source, &input(), BYTES, 64)?);
        Ok(())
    }),
    #[cfg(feature = "parity-testing")]
    ("WgpuBackend::probe_op", Runs, |b, kit, _| {
        // Another op for each factor, so that there is something to compile.
        let (op, value, want) = probed(kit.factor);
        assert_eq!(b.probe_op(op, &value.to_le_bytes())?, want.to_le_bytes());
        Ok(())
    }),
    #[cfg(feature = "parity-testing")]
    ("WgpuBackend::probe_op_many", Runs, |b, kit, _| {
        let (op, value, want) = probed(kit.factor);
        assert_eq!(b.probe_op_many(op, &[value; 5])?, [want; 5]);
        Ok(())
    }),
    ("WgpuBackend::invalidate_impacted_pipeline_cache", Host, |b, kit, config| {
        // The rules' only one has changed, and the kit's program comes from it: compiled anew.
        let key = b.pipeline_cache_key(&kit.program, config)?;
        b.invalidate_impacted_pipeline_cache(&[1], &[0], &[0], &[0], 1, 1, &[0], &[key])?;
        Ok(())
    }),
    ("WgpuBackend::invalidate_pipeline_cache_for_changed_op", Host, |b, kit, config| {
        let key = b.pipeline_cache_key(&kit.program, config)?;
        b.invalidate_pipeline_cache_for_changed_op(4, &[4], &[key])?;
        Ok(())
    }),
    ("WgpuBackend::invalidate_impacted_disk_cache", Host, |b, kit, config| {
        let key = b.pipeline_cache_key(&kit.program, config)?;
        let key = key.iter().map(|byte| format!("{byte:02x}")).collect();
        b.invalidate_impacted_disk_cache(&[1], &[0], &[0], &[0], 1, 1, &[0], &[key])?;
        Ok(())
    }),
];

#[cfg(feature = "parity-testing")]
fn probed(factor: u32) -> (vyre_driver_wgpu::UnOp, f32, f32) {
    use vyre_driver_wgpu::UnOp;
    // Results that are exact on every device.
    let ops = [
        (UnOp::Floor, 2.5, 2.0),
        (UnOp::Ceil, 2.5, 3.0),
        (UnOp::Trunc, -2.5, -2.0),
        (UnOp::Round, 2.5, 2.0),
        (UnOp::Abs, -2.5, 2.5),
        (UnOp::Neg, 2.5, -2.5),
        (UnOp::Sign, -2.5, -1.0),
        (UnOp::Fract, 2.5, 0.5),
        (UnOp::Sqrt, 0.0, 0.0),
        (UnOp::Sin, 0.0, 0.0),
    ];
    ops[factor as usize % ops.len()]
}

/// Even words are candidates; those that are multiples of 4 are confirmed, on the device or by the caller.
fn scans(factor: u32) -> [Checked<Program>; 2] {
    // The factor makes other programs of the same meaning.
    let fused = Kernel::build("fours", |k| {
        let x = k.read_only::<u32>("x");
        let found = k.write_only::<u32>("found", x.len());
        let counts = k.read_write::<u32>("counts").with_len(2_u64);
        k.domain([x.len()], |[i]| {
            k.if_((x.load(i) & 1).eq(0), || {
                let hit = (x.load(i) & 2).eq(0).select(factor, 0_u32);
                found.store(i, hit);
                counts.atomic_add(hit.eq(0).select(1_u32, 0_u32), 1);
            });
        });
    });
    let prefilter = Kernel::build("evens", |k| {
        let x = k.read_only::<u32>("x");
        let found = k.write_only::<u32>("found", x.len());
        k.domain([x.len()], |[i]| found.store(i, (1 - (x.load(i) & 1)) * factor));
    });
    [fused.unwrap(), prefilter.unwrap()]
}

fn scan(b: &WgpuBackend, kit: &Kit, config: &DispatchConfig) -> Result<(), Trouble> {
    let [fused, prefilter] = scans(kit.factor);
    let plan = SpeculativeDispatchPlan::new(&fused, &prefilter).tail(CounterTail::Buffer);
    let confirm = |mut found: Vec<Vec<u8>>| {
        // Word i of the input is i + 5.
        for (i, word) in found[0].chunks_exact_mut(4).enumerate().filter(|(i, _)| (i + 5) % 4 != 0) {
            assert!(i < 100);
            word.fill(0);
        }
        Ok(found)
    };
    let speculator = AdaptiveSpeculator::new();
    let outcome =
        b.dispatch_speculative_prefilter_confirm(&speculator, plan, &[&input()], config, confirm)?;
    let want = words((5..105).map(|x| if x % 4 == 0 { kit.factor } else { 0 }));
    assert_eq!(outcome.outputs, [want]);
    assert_ne!(output(kit.factor), outcome.outputs[0]);
    Ok(())
}
