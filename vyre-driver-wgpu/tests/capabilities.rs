//! Each capability is used where the backend says yes, and refused by type where it says no.
#![allow(clippy::unwrap_used, reason = "a failure here fails the test")]

#[path = "capabilities/features.rs"]
mod features;

use vyre_driver::{
    AdapterCaps, BackendCapabilities, BackendError, BackendValidationCapabilities, Binding, Command,
    CommandList, DispatchCommand, DispatchConfig, Feature, Span, VyreBackend,
};
use vyre_driver_wgpu::{CapabilityLine, WgpuBackend};
use vyre_foundation::build::Kernel;
use vyre_foundation::check::{Checked, check};
use vyre_foundation::ir::{Arena, Buffer, Count, Expr, Extent, Launch, Node, Place, Program, RegionId};
use vyre_spec::ops::CastOp;
use vyre_spec::{Access, Axis, BuiltIn, DataType, MemoryOrdering, Value};

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn line(backend: &WgpuBackend, name: &str) -> CapabilityLine {
    backend.capability_report().into_iter().find(|line| line.name == name).unwrap()
}

/// Whether the backend refuses a dispatch that asks for something of the configuration.
fn refuses(backend: &WgpuBackend, config: &DispatchConfig) -> bool {
    let program = doubled();
    match backend.dispatch_borrowed(&program, &[&words(&[1])], config) {
        Ok(_) => false,
        Err(error) => {
            assert!(
                matches!(error, BackendError::Unsupported { .. } | BackendError::Config { .. }),
                "{error}"
            );
            true
        }
    }
}

fn doubled() -> Checked<Program> {
    Kernel::build("double", |k| {
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| x.store(i, x.load(i) + x.load(i)));
    })
    .unwrap()
}

#[test]
fn every_line_of_the_report_agrees_with_its_method_and_every_no_has_a_reason() {
    let b = WgpuBackend::acquire().unwrap();
    let says = |feature: Feature| line(&b, feature.name()).supported;
    let methods = [
        (Feature::Subgroup, VyreBackend::supports_subgroup_ops(&b)),
        (Feature::F16, b.supports_f16()),
        (Feature::Bf16, b.supports_bf16()),
        (Feature::TensorCores, b.supports_tensor_cores()),
        (Feature::AsyncCompute, b.supports_async_compute()),
        (Feature::IndirectDispatch, VyreBackend::supports_indirect_dispatch(&b)),
        (Feature::SpecializationConstants, b.supports_specialization_constants()),
        (Feature::Speculation, b.supports_speculation()),
        (Feature::PersistentThreads, b.supports_persistent_thread_dispatch()),
        (Feature::Collectives, VyreBackend::supports_distributed_collectives(&b)),
        (Feature::Distributed, b.is_distributed()),
        (Feature::GridSync, b.supports_grid_sync()),
        (Feature::GridSyncSplit, b.allows_host_grid_sync_split()),
        (Feature::ResidentDispatch, b.supports_resident_dispatch()),
    ];
    for (feature, method) in methods {
        assert_eq!(says(feature), method, "{feature}");
    }
    let report = b.capability_report();
    assert_eq!(report.len(), Feature::ALL.len() + DataType::ALL.len());
    for line in &report {
        assert_eq!(line.supported, line.reason.is_none(), "{line:?}");
        assert!(line.reason.as_ref().is_none_or(|reason| reason.len() > 20), "{line:?}");
    }
    // What the APIs below cannot give is refused for a reason that names them.
    for feature in
        [Feature::AsyncCompute, Feature::PersistentThreads, Feature::Collectives, Feature::Distributed]
    {
        assert!(line(&b, feature.name()).reason.unwrap().contains("wgpu"), "{feature}");
    }
    for feature in [Feature::Bf16, Feature::GridSync] {
        assert!(line(&b, feature.name()).reason.unwrap().contains("naga"), "{feature}");
    }
    // Tiles are there just where the probe's products came out right.
    let tensor_cores = line(&b, "tensor_cores");
    assert_eq!(tensor_cores.supported, !b.device_profile().tiles.is_empty());
    assert!(
        tensor_cores
            .reason
            .is_none_or(|reason| reason.contains("ooperative") || reason.contains("COOPERATIVE"))
    );
}

#[test]
fn the_views_agree_with_the_profile_and_the_limits_of_wgpu() {
    let b = WgpuBackend::acquire().unwrap();
    let (profile, limits) = (b.device_profile(), b.device_limits());
    assert_eq!(b.max_compute_workgroups_per_dimension(), limits.max_compute_workgroups_per_dimension);
    assert_eq!(b.max_compute_invocations_per_workgroup(), limits.max_compute_invocations_per_workgroup);
    assert_eq!(b.max_storage_buffer_bytes(), limits.max_storage_buffer_binding_size);
    let [x, y, z] = b.max_workgroup_size();
    let of_wgpu = [
        limits.max_compute_workgroup_size_x,
        limits.max_compute_workgroup_size_y,
        limits.max_compute_workgroup_size_z,
    ];
    assert_eq!([x, y, z], of_wgpu);
    assert_eq!(b.subgroup_size(), profile.subgroup_size);
    assert_eq!(b.adapter_caps(), AdapterCaps::of(&profile));

    let value = b.backend_capabilities();
    assert_eq!((value.version, value.backend.as_str()), (BackendCapabilities::VERSION, "wgpu"));
    assert_eq!(value.limit("workgroup_size_x"), Some(u64::from(x)));
    assert_eq!(value.limit("storage_binding_bytes"), Some(b.max_storage_buffer_bytes()));
    assert_eq!(value.limit("no such limit"), None);
    for feature in Feature::ALL {
        assert_eq!(value.feature(feature.name()), Some(b.missing(feature).is_none()), "{feature}");
    }
    assert_eq!(b.backend_name(), "wgpu");
}

#[test]
fn a_workgroup_at_each_limit_runs_and_above_it_is_refused() {
    let b = WgpuBackend::acquire().unwrap();
    let limit = b.max_workgroup_size()[0].min(b.max_compute_invocations_per_workgroup());
    let size = |size| DispatchConfig { workgroup: Some([size, 1, 1]), ..DispatchConfig::default() };
    let input = words(&[3, 4]);
    assert_eq!(b.dispatch_borrowed(&doubled(), &[&input], &size(limit)).unwrap(), [words(&[6, 8])]);
    let error = b.dispatch_borrowed(&doubled(), &[&input], &size(limit + 1)).unwrap_err();
    assert!(matches!(error, BackendError::Limit { limit: l, .. } if l == u64::from(limit)), "{error}");
}

#[test]
fn casts_run_to_the_types_it_names_and_no_other() {
    let b = WgpuBackend::acquire().unwrap();
    for ty in DataType::ALL {
        let from = if ty == DataType::U32 { DataType::F32 } else { DataType::U32 };
        let op = *CastOp::ALL.iter().find(|op| op.allows(from, ty)).unwrap();
        let one = Value::one(from);
        let input = one.bits().to_le_bytes();
        let got = b.dispatch_checked(&cast(op, from, ty), &[&input[..4]], &DispatchConfig::default());
        assert_eq!(b.supports_cast_target(&ty), line(&b, &format!("cast_to_{ty}")).supported);
        assert_eq!(b.supports_cast_target(&ty), b.backend_capabilities().cast_targets.contains(&ty.name()));
        if b.supports_cast_target(&ty) {
            let want = op.eval(one, ty).unwrap();
            assert_eq!(Value::from_le_bytes(ty, &got.unwrap()[0]), want, "{ty}");
        } else {
            assert!(matches!(got, Err(BackendError::Unsupported { .. })), "{ty}: {got:?}");
        }
    }
}

fn cast(op: CastOp, from: DataType, to: DataType) -> Checked<Program> {
    let mut arena = Arena::new("cast");
    let one = arena.extent(Extent::Literal(1));
    let mut buffer = |name: &str, element, access| {
        let name = name.to_owned();
        arena.buffer(Buffer { name, element, access, count: Count::Extent(one), coherent: false })
    };
    let (x, out) = (buffer("x", from, Access::ReadOnly), buffer("out", to, Access::WriteOnly));
    arena.set_launch(Launch::Domain { extent: [one; 3], axes: 1 });
    let index = arena.expr(Expr::BuiltIn(BuiltIn::Point(Axis::X)));
    let loaded = arena.push(RegionId::new(0), Node::Load { place: Place::Buffer(x), index });
    let loaded = arena.expr(Expr::Result(loaded));
    let value = arena.expr(Expr::Cast(op, to, loaded));
    arena.push(RegionId::new(0), Node::Store { place: Place::Buffer(out), index, value });
    check(arena.finish().unwrap().0).unwrap()
}

#[test]
fn subgroups_run_or_are_refused() {
    let b = WgpuBackend::acquire().unwrap();
    let width = b.subgroup_size().unwrap_or(32);
    let program = Kernel::build("sum", |k| {
        let x = k.read_write::<u32>("x");
        k.workgroups([width], [1_u64], |group| {
            let i = group.local_index;
            x.store(i, x.load(i).subgroup_add());
        });
    })
    .unwrap();
    let input: Vec<u32> = (1..=width).collect();
    let got = b.dispatch_checked(&program, &[&words(&input)], &DispatchConfig::default());
    if VyreBackend::supports_subgroup_ops(&b) {
        let sum = width * (width + 1) / 2;
        assert_eq!(got.unwrap(), [words(&vec![sum; width as usize])]);
    } else {
        assert!(matches!(got, Err(BackendError::Unsupported { .. })), "{got:?}");
    }
}

#[test]
fn what_is_not_offered_is_refused_in_a_configuration() {
    let b = WgpuBackend::acquire().unwrap();
    let persistent = DispatchConfig { persistent_thread: true, ..DispatchConfig::default() };
    assert_eq!(refuses(&b, &persistent), !b.supports_persistent_thread_dispatch());
    let cooperative = DispatchConfig { cooperative: true, ..DispatchConfig::default() };
    assert_eq!(refuses(&b, &cooperative), !b.supports_grid_sync());
}

#[test]
fn specialized_parameters_are_substituted() {
    let b = WgpuBackend::acquire().unwrap();
    assert!(b.supports_specialization_constants());
    let mut arena = Arena::new("scale");
    let by = arena.param(vyre_foundation::ir::Param {
        name: "by".to_owned(),
        ty: DataType::U32,
        specialize: true,
    });
    let one = arena.extent(Extent::Literal(1));
    let x = arena.buffer(Buffer {
        name: "x".to_owned(),
        element: DataType::U32,
        access: Access::WriteOnly,
        count: Count::Extent(one),
        coherent: false,
    });
    arena.set_launch(Launch::Domain { extent: [one; 3], axes: 1 });
    let index = arena.expr(Expr::BuiltIn(BuiltIn::Point(Axis::X)));
    let value = arena.expr(Expr::Param(by));
    arena.push(RegionId::new(0), Node::Store { place: Place::Buffer(x), index, value });
    let program = check(arena.finish().unwrap().0).unwrap();
    for value in [7_u32, 9] {
        let config = DispatchConfig::default().param("by", value);
        assert_eq!(b.dispatch_checked(&program, &[], &config).unwrap(), [words(&[value])]);
    }
    // Each value is code of its own.
    assert_eq!(b.stats().pipelines.misses, 2);
}

#[test]
fn the_device_tells_the_time_where_it_says_so() {
    let b = WgpuBackend::acquire().unwrap();
    let timed = b.dispatch_borrowed_timed(&doubled(), &[&words(&[1])], &DispatchConfig::default()).unwrap();
    assert_eq!(timed.timing.device.is_some(), line(&b, "timestamps").supported);
}

#[test]
fn indirect_dispatch_takes_its_counts_from_a_buffer_or_is_refused() {
    let b = WgpuBackend::acquire().unwrap();
    let count = Kernel::build("count", |k| {
        let n = k.read_write::<u32>("n").with_len(1_u64);
        k.workgroups([1], [1_u64], |_| {
            n.atomic_add(0_u32, 1_u32);
        });
    })
    .unwrap();
    let pipeline = b.compile_native(&count, &DispatchConfig::default()).unwrap().unwrap();
    let mut list = CommandList::new();
    let (n, counts) = (list.transient(4), list.transient(12));
    let bytes = words(&[2, 3, 4]);
    list.upload(n, 0, &[0; 4]);
    list.upload(counts, 0, &bytes);
    let dispatch = DispatchCommand::new(pipeline, vec![Binding { buffer: n, len: 4 }]);
    list.push(Command::DispatchIndirect { dispatch, counts: Span { buffer: counts, offset: 0, len: 12 } });
    list.read(Span { buffer: n, offset: 0, len: 4 });
    let got = b.submit(&list).and_then(|work| work.wait(None));
    if VyreBackend::supports_indirect_dispatch(&b) {
        assert_eq!(got.unwrap(), [words(&[24])]);
    } else {
        assert!(matches!(got, Err(BackendError::Unsupported { .. })), "{got:?}");
    }
}

#[test]
fn grid_barriers_are_met_by_splitting_where_that_is_allowed() {
    let b = WgpuBackend::acquire().unwrap();
    // Each invocation reads what its neighbour of the next workgroup wrote before the barrier.
    let program = Kernel::build("neighbours", |k| {
        let x = k.read_write::<u32>("x").with_len(64_u64);
        let y = k.write_only::<u32>("y", 64_u64);
        k.workgroups([16], [4_u64], |group| {
            let i = group.global_id[0];
            x.store(i, i * 3);
            k.barrier(MemoryOrdering::GridSync);
            y.store(i, x.load((i + 16) & 63));
        });
    })
    .unwrap();
    let got = b.dispatch_checked(&program, &[&words(&[0; 64])], &DispatchConfig::default());
    if b.allows_host_grid_sync_split() {
        let want: Vec<u32> = (0..64).map(|i| (i + 16) % 64 * 3).collect();
        assert_eq!(got.unwrap()[1], words(&want));
    } else {
        assert!(matches!(got, Err(BackendError::Unsupported { .. })), "{got:?}");
    }
}
