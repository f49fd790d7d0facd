//! Payloads from compiling to running, and everything between that must not be let in. Needs a device.

use std::sync::Arc;

use vyre_driver::{
    BackendError, BackendRegistration, Binding, BufferRef, Command, CommandList, CompiledPipeline,
    DispatchCommand, PayloadError, PayloadKey, ReferenceBackend, Span, TargetPayload, VyreBackend,
    backend_registration,
};
use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_foundation::launch::Params;
use vyre_spec::{Capability, CompileOptions, DeviceProfile, Value};

use super::{NAGA, SPIRV, trust};
use crate::backend::{WGPU_BACKEND_ID, WgpuBackend};

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// `y[i] = x[i] * by + i`.
fn scale() -> Checked<Program> {
    Kernel::build("scale", |k| {
        let by = k.param::<u32>("by");
        let x = k.read_only::<u32>("x");
        let y = k.write_only::<u32>("y", x.len());
        k.domain([x.len()], |[i]| y.store(i, x.load(i) * by + i));
    })
    .unwrap()
}

fn facets() -> &'static BackendRegistration {
    backend_registration(WGPU_BACKEND_ID).unwrap()
}

fn compile(backend: &WgpuBackend, format: &str) -> TargetPayload {
    let compiler = facets().target_compiler().unwrap();
    compiler.compile_as(format, &[scale()], backend.profile(), &CompileOptions::default()).unwrap()
}

fn materialize(
    backend: &dyn VyreBackend,
    payload: &TargetPayload,
    key: Option<&PayloadKey>,
) -> Result<Arc<dyn CompiledPipeline>, BackendError> {
    let pipelines = facets().materializer().unwrap().materialize(backend, payload, key)?;
    Ok(Arc::clone(&pipelines[0]))
}

/// Runs the pipeline of [`scale`] on `x`, between guard words.
fn run(backend: &WgpuBackend, pipeline: Arc<dyn CompiledPipeline>, x: &[u32], by: u32) -> Vec<u8> {
    let bytes = words(x);
    let len = bytes.len() as u64;
    let mut list = CommandList::new();
    let (input, output) = (list.transient(len), list.transient(len));
    list.upload(input, 0, &bytes);
    list.push(Command::Fill { to: Span { buffer: output, offset: 0, len }, byte: 0xEE });
    let bind = |buffer: BufferRef| Binding { buffer, len };
    let params = Params::new().with("by", Value::new(by));
    let bindings = vec![bind(input), bind(output)];
    list.push(Command::Dispatch(DispatchCommand::with(pipeline, bindings, params, None)));
    list.read(Span { buffer: output, offset: 0, len });
    backend.submit(&list).unwrap().wait(None).unwrap().swap_remove(0)
}

fn formats(backend: &WgpuBackend) -> Vec<&'static str> {
    facets().target_compiler().unwrap().formats(backend.profile())
}

#[test]
fn payloads_round_trip_in_every_format_trusted_and_not() {
    let backend = WgpuBackend::acquire().unwrap();
    let want = words(&[7, 15, 23]);
    assert!(formats(&backend).contains(&NAGA));
    for format in formats(&backend) {
        let payload = compile(&backend, format);
        assert_eq!(payload, compile(&backend, format), "the same program gives the same bytes");
        let read = TargetPayload::from_bytes(&payload.to_bytes()).unwrap();
        let pipeline = materialize(&backend, &read, None).unwrap();
        assert_eq!(run(&backend, pipeline, &[1, 2, 3], 7), want, "{format}");

        let key = PayloadKey::new([5; 32]);
        let sealed = TargetPayload::from_bytes(&payload.clone().sealed(&key).to_bytes()).unwrap();
        trust::forget(&payload.digest());
        let pipeline = materialize(&backend, &sealed, Some(&key)).unwrap();
        assert_eq!(run(&backend, pipeline, &[1, 2, 3], 7), want, "{format}, sealed");
        // Without the key, it is from elsewhere.
        let elsewhere = materialize(&backend, &sealed, None);
        if format == SPIRV {
            let untrusted = PayloadError::Untrusted { format: SPIRV.to_owned() };
            assert_eq!(elsewhere.unwrap_err(), untrusted.into());
        } else {
            assert_eq!(run(&backend, elsewhere.unwrap(), &[1, 2, 3], 7), want, "{format}, checked");
        }
    }
}

/// `y[i + by] += x[i]`: in bounds only where `by` and the lengths are so.
fn shifted() -> Checked<Program> {
    Kernel::build("shifted", |k| {
        let by = k.param::<u32>("by");
        let x = k.read_only::<u32>("x");
        let y = k.read_write::<u32>("y");
        k.domain([x.len()], |[i]| y.store(i + by, y.load(i + by) + x.load(i)));
    })
    .unwrap()
}

#[test]
fn a_payload_has_kernels_for_launches_that_break_its_contract() {
    let backend = WgpuBackend::acquire().unwrap();
    let compiler = facets().target_compiler().unwrap();
    for format in formats(&backend) {
        let options = CompileOptions { launch_contract: true, ..CompileOptions::default() };
        let payload = compiler.compile_as(format, &[shifted()], backend.profile(), &options).unwrap();
        assert_eq!(payload.programs[0].kernels.len(), 4);
        let guarded = CompileOptions::default();
        let guarded = compiler.compile_as(format, &[shifted()], backend.profile(), &guarded).unwrap();
        assert_eq!(guarded.programs[0].kernels, payload.programs[0].kernels[2..]);
        let pipeline = materialize(&backend, &payload, None).unwrap();
        for (by, want) in [
            (0, [11, 22, 33, 40]),
            (1, [10, 21, 32, 43]),
            (3, [10, 20, 30, 41]),
            (u32::MAX, [12, 23, 30, 40]),
        ] {
            let (x, y) = (words(&[1, 2, 3]), words(&[10, 20, 30, 40]));
            let mut list = CommandList::new();
            let (input, output) = (list.transient(12), list.transient(16));
            list.upload(input, 0, &x);
            list.upload(output, 0, &y);
            let params = Params::new().with("by", Value::new(by));
            let bindings = vec![Binding { buffer: input, len: 12 }, Binding { buffer: output, len: 16 }];
            let run = DispatchCommand::with(Arc::clone(&pipeline), bindings, params, None);
            list.push(Command::Dispatch(run));
            list.read(Span { buffer: output, offset: 0, len: 16 });
            let got = backend.submit(&list).unwrap().wait(None).unwrap();
            assert_eq!(got, [words(&want)], "{format}, by {by}");
        }
        // Without those, the others are not let in.
        let mut fewer = payload;
        fewer.programs[0].kernels.truncate(2);
        let error = materialize(&backend, &fewer, Some(&PayloadKey::new([0; 32])));
        assert_eq!(error.unwrap_err(), PayloadError::NoMac.into());
        let sealed = fewer.sealed(&PayloadKey::new([0; 32]));
        let error = materialize(&backend, &sealed, Some(&PayloadKey::new([0; 32]))).unwrap_err();
        assert!(error.to_string().contains("no other stands in for it"), "{error}");
    }
}

#[test]
fn a_key_decides_alone() {
    let backend = WgpuBackend::acquire().unwrap();
    let (key, other) = (PayloadKey::new([1; 32]), PayloadKey::new([2; 32]));
    let payload = compile(&backend, NAGA);
    assert_eq!(materialize(&backend, &payload, Some(&key)).unwrap_err(), PayloadError::NoMac.into());
    let sealed = payload.sealed(&other);
    assert_eq!(materialize(&backend, &sealed, Some(&key)).unwrap_err(), PayloadError::WrongMac.into());
}

#[test]
fn no_altered_payload_is_trusted_and_none_panics() {
    let backend = WgpuBackend::acquire().unwrap();
    let key = PayloadKey::new([9; 32]);
    for format in formats(&backend) {
        let payload = compile(&backend, format);
        let sealed = payload.clone().sealed(&key);
        // A change in code or layout, with the digest made to fit.
        for kernel in 0..2 {
            let len = payload.programs[0].kernels[kernel].code.len();
            for at in (0..len).step_by(len / 12) {
                let mut altered = sealed.clone();
                altered.programs[0].kernels[kernel].code[at] ^= 0x41;
                assert!(!trust::is_known(&altered.digest()));
                let refused = materialize(&backend, &altered, Some(&key)).unwrap_err();
                assert_eq!(refused, PayloadError::WrongMac.into());
                match materialize(&backend, &altered, None) {
                    // What naga still takes runs with every check on, and ends.
                    Ok(pipeline) => assert_eq!(run(&backend, pipeline, &[1, 2, 3], 7).len(), 12),
                    Err(error) => assert_eq!(error.code(), "B120", "{error}"),
                }
            }
            let len = payload.programs[0].kernels[kernel].layout.len();
            for at in 0..len {
                let mut altered = payload.clone();
                altered.programs[0].kernels[kernel].layout[at] ^= 1;
                if let Err(error) = materialize(&backend, &altered, None) {
                    assert_eq!(error.code(), "B120", "{error}");
                }
                let mut shorter = payload.clone();
                shorter.programs[0].kernels[kernel].layout.truncate(at);
                assert_eq!(materialize(&backend, &shorter, None).unwrap_err().code(), "B120");
            }
        }
    }
}

#[test]
fn code_from_elsewhere_stays_in_its_buffers() {
    let backend = WgpuBackend::acquire().unwrap();
    let mut payload = compile(&backend, NAGA);
    for kernel in &mut payload.programs[0].kernels {
        // Every index is turned into one far beyond the buffer.
        let text = String::from_utf8(kernel.code.clone()).unwrap();
        let wild = text.replace("x[", "x[1000000000u + ").replace("y[", "y[1000000000u + ");
        assert_ne!(wild, text);
        kernel.code = wild.into_bytes();
    }
    let pipeline = materialize(&backend, &payload, None).unwrap();
    // Some element of the buffer may be written, as wgpu clamps or drops; the device is not harmed.
    assert_eq!(run(&backend, pipeline, &[1, 2, 3], 7).len(), 12);
    let pipeline = materialize(&backend, &compile(&backend, NAGA), None).unwrap();
    assert_eq!(run(&backend, pipeline, &[5], 2), words(&[10]));
}

#[test]
fn kernels_that_do_not_fit_their_program_are_refused() {
    let backend = WgpuBackend::acquire().unwrap();
    let good = compile(&backend, NAGA);
    let refused = |change: &dyn Fn(&mut TargetPayload)| {
        let mut payload = good.clone();
        change(&mut payload);
        materialize(&backend, &payload, None).unwrap_err().to_string()
    };
    let kernels = |p: &mut TargetPayload| std::mem::take(&mut p.programs[0].kernels);
    assert!(refused(&|p| drop(kernels(p))).contains("0 kernels, not 2"));
    assert!(refused(&|p| p.programs[0].kernels.swap(0, 1)).contains("folded"));
    assert!(refused(&|p| p.programs[0].kernels[0].workgroup_size = [1, 1, 1]).contains("workgroup size"));
    assert!(refused(&|p| p.programs[0].kernels[0].entry_point.push('x')).contains("no entry point"));
    assert!(refused(&|p| p.programs[0].kernels[0].code = b"fn".to_vec()).contains("naga cannot read"));
    assert!(refused(&|p| p.programs[0].program.truncate(9)).contains("cannot be decoded"));
    // A program that only reads what the kernel writes.
    let reads = Kernel::build("reads", |k| {
        let by = k.param::<u32>("by");
        let (x, y) = (k.read_only::<u32>("x"), k.read_only::<u32>("y"));
        let z = k.write_only::<u32>("z", x.len());
        k.domain([x.len()], |[i]| z.store(i, x.load(i) * by + y.load(i)));
    })
    .unwrap();
    let reads = vyre_foundation::wire::encode(&reads);
    assert!(refused(&|p| p.programs[0].program.clone_from(&reads)).contains("only reads"));
}

#[test]
fn payloads_for_others_are_refused() {
    let backend = WgpuBackend::acquire().unwrap();
    let payload = compile(&backend, NAGA);
    let error = materialize(&ReferenceBackend::new(), &payload, None).unwrap_err();
    let expected = PayloadError::OtherBackend { payload: "wgpu".to_owned(), backend: "reference".to_owned() };
    assert_eq!(error, expected.into());

    let mut profile = backend.device_profile();
    profile.driver.push_str(" of yesterday");
    let compiler = facets().target_compiler().unwrap();
    let options = CompileOptions::default();
    let other = compiler.compile_as(NAGA, &[scale()], &profile, &options).unwrap();
    let error = materialize(&backend, &other, None).unwrap_err().to_string();
    assert!(error.contains("its driver or settings have changed"), "{error}");

    let mut needy = payload;
    let all = Capability::ALL.into_iter();
    let Some(lacking) = all.into_iter().find(|c| !profile.capabilities.contains(*c)) else { return };
    needy.needs = needy.needs.with(lacking);
    let error = materialize(&backend, &needy, None).unwrap_err();
    assert!(error.to_string().contains(lacking.name()), "{error}");

    // Compiling names what a profile takes.
    let error = compiler.compile(&[scale()], &DeviceProfile::reference(), &options).unwrap_err();
    assert!(error.to_string().contains("it takes: none"), "{error}");
    let error = compiler.compile_as("ptx", &[scale()], backend.profile(), &options).unwrap_err();
    assert!(error.to_string().contains(NAGA), "{error}");
}

#[test]
fn grids_beyond_the_axis_limit_take_the_folded_kernel() {
    let backend = WgpuBackend::acquire().unwrap();
    let groups = u64::from(backend.profile().max_workgroups_per_axis) + 5;
    if groups > 1 << 20 {
        return;
    }
    let program = Kernel::build("wide", |k| {
        let y = k.write_only::<u32>("y", groups);
        k.workgroups([1], [groups], |group| y.store(group.id[0], group.id[0]));
    })
    .unwrap();
    let compiler = facets().target_compiler().unwrap();
    let payload = compiler.compile(&[program], backend.profile(), &CompileOptions::default()).unwrap();
    let pipeline = materialize(&backend, &payload, None).unwrap();
    let len = groups * 4;
    let mut list = CommandList::new();
    let y = list.transient(len);
    let bindings = vec![Binding { buffer: y, len }];
    list.push(Command::Dispatch(DispatchCommand::new(pipeline, bindings)));
    list.read(Span { buffer: y, offset: 0, len });
    let got = backend.submit(&list).unwrap().wait(None).unwrap();
    assert_eq!(got, [words(&(0..groups as u32).collect::<Vec<_>>())]);
}
