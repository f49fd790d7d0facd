use std::any::Any;
use std::sync::Arc;

use vyre_driver::{BackendInstance, BufferRef, Command, CompiledPipeline, Resource};
use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_foundation::launch::LaunchError;
use vyre_foundation::wire;
use vyre_spec::{Capability, CapabilitySet, CompileOptions, DataType, DeviceProfile};

use crate::{
    Artifact, ArtifactError, BindingError, BindingSet, CompileRequest, ProfileDigest, RequestError,
    ValidRequest, compile, schedule,
};

fn saxpy() -> Checked<Program> {
    Kernel::build("saxpy", |k| {
        let a = k.param::<f32>("a");
        let x = k.read_only::<f32>("x");
        let y = k.read_write::<f32>("y").with_len(x.len());
        let norm = k.write_only::<f32>("norm", x.len());
        k.domain([y.len()], |[i]| {
            let v = a * x.load(i) + y.load(i);
            y.store(i, v);
            norm.store(i, v.abs());
        });
    })
    .unwrap()
}

fn grouped(size: [u32; 3], shared: u32, subgroup: bool) -> Checked<Program> {
    Kernel::build("grouped", |k| {
        let out = k.read_write::<u32>("out");
        let tile = k.shared::<u32>("tile", shared);
        k.workgroups(size, [1, 1, 1], |group| {
            tile.store(group.local_index, group.local_index);
            let v = if subgroup { group.local_index.subgroup_add() } else { group.local_index };
            out.store(group.local_index, v);
        });
    })
    .unwrap()
}

fn artifact() -> Artifact {
    compile(&CompileRequest::new(&saxpy(), &DeviceProfile::reference()).validate().unwrap())
}

#[test]
fn requests_are_held_against_the_profile() {
    let profile = DeviceProfile {
        name: "small".into(),
        capabilities: CapabilitySet::EMPTY,
        subgroup_size: Some(32),
        max_workgroup_size: [128, 64, 8],
        max_workgroup_invocations: 256,
        max_shared_bytes: 1024,
        max_storage_bindings: 2,
        ..DeviceProfile::reference()
    };
    let refusal = |program: &Checked<Program>, profile: &DeviceProfile| {
        CompileRequest::new(program, profile).validate().unwrap_err()
    };
    let limit = |error: RequestError| match error {
        RequestError::Limit { value, limit, .. } => (value, limit),
        other => panic!("{other}"),
    };
    assert!(CompileRequest::new(&grouped([64, 4, 1], 256, false), &profile).validate().is_ok());
    assert_eq!(limit(refusal(&grouped([129, 1, 1], 4, false), &profile)), (129, 128));
    assert_eq!(limit(refusal(&grouped([64, 5, 1], 4, false), &profile)), (320, 256));
    // 257 elements of 4 bytes.
    assert_eq!(limit(refusal(&grouped([64, 1, 1], 257, false), &profile)), (1028, 1024));
    assert_eq!(limit(refusal(&saxpy(), &profile)), (3, 2));
    let lanes = grouped([48, 1, 1], 64, true);
    assert!(matches!(
        refusal(&lanes, &profile),
        RequestError::Capability { capability: Capability::Subgroup, .. }
    ));
    let able = DeviceProfile { capabilities: CapabilitySet::EMPTY.with(Capability::Subgroup), ..profile };
    assert!(matches!(
        refusal(&lanes, &able),
        RequestError::PartialSubgroup { invocations: 48, lanes: 32, .. }
    ));
}

#[test]
fn options_that_cannot_be_honoured_are_refused() {
    let profile = DeviceProfile::reference();
    let refused = |program: &Checked<Program>, options| {
        let request = CompileRequest::new(program, &profile).with_options(options);
        matches!(request.validate(), Err(RequestError::Option { .. }))
    };
    let sized = |size| CompileOptions { workgroup_size: Some(size), ..CompileOptions::default() };
    assert!(refused(&grouped([64, 1, 1], 64, false), sized([32, 1, 1])));
    assert!(refused(&saxpy(), sized([0, 1, 1])));
    assert!(!refused(&saxpy(), sized([32, 1, 1])));
    assert!(refused(&saxpy(), CompileOptions { fold_grid: true, ..CompileOptions::default() }));
    assert!(refused(&saxpy(), CompileOptions { windows: vec![1, 2], ..CompileOptions::default() }));
}

#[test]
fn bytes_are_laid_out_as_documented() {
    let options = CompileOptions {
        optimize: false,
        workgroup_size: Some([64, 2, 1]),
        ulp_budget: 3,
        ..CompileOptions::default()
    };
    let profile = DeviceProfile::reference();
    let request = CompileRequest::new(&saxpy(), &profile).with_options(options.clone()).validate().unwrap();
    let artifact = compile(&request);
    let encoded = wire::encode(&saxpy());
    let mut want = b"VYREART\0\x01\0\0\0".to_vec();
    want.extend(ProfileDigest::of(&profile).0);
    want.extend([0, 3, 0, 0, 0, 1, 64, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0]);
    want.extend((encoded.len() as u64).to_le_bytes());
    want.extend(encoded);
    let (content, digest) = artifact.bytes().split_at(want.len());
    assert_eq!(content, want);
    assert_eq!(digest, artifact.id().as_bytes());
    let read = Artifact::from_bytes(artifact.bytes()).unwrap();
    assert_eq!((read.options(), read.id()), (&options, artifact.id()));
    assert_eq!((&**read.program(), read.profile()), (&*saxpy(), ProfileDigest::of(&profile)));
}

#[test]
fn ids_tell_requests_apart() {
    let profile = DeviceProfile::reference();
    let id = |program: &Checked<Program>, profile: &DeviceProfile, optimize| {
        let options = CompileOptions { optimize, ..CompileOptions::default() };
        compile(&CompileRequest::new(program, profile).with_options(options).validate().unwrap()).id()
    };
    let base = id(&saxpy(), &profile, true);
    assert_eq!(base, id(&saxpy(), &profile, true));
    assert_ne!(base, id(&saxpy(), &profile, false));
    assert_ne!(base, id(&grouped([64, 1, 1], 64, false), &profile, true));
    let newer = DeviceProfile { driver: "next".into(), ..profile };
    assert_ne!(base, id(&saxpy(), &newer, true));
}

#[test]
fn damage_is_noticed() {
    let good = artifact();
    let good = good.bytes();
    for at in 0..good.len() {
        let mut flipped = good.to_vec();
        flipped[at] ^= 1 << (at % 8);
        assert!(Artifact::from_bytes(&flipped).is_err(), "a flip at {at}");
        assert!(Artifact::from_bytes(&good[..at]).is_err(), "cut at {at}");
        let mut longer = good.to_vec();
        longer.insert(at, good[at]);
        assert!(Artifact::from_bytes(&longer).is_err(), "a byte more at {at}");
    }
    assert_eq!(Artifact::from_bytes(b"").unwrap_err(), ArtifactError::NotAnArtifact);
    let mut newer = good.to_vec();
    newer[8] = 2;
    assert_eq!(Artifact::from_bytes(&newer).unwrap_err(), ArtifactError::Version { got: 2, known: 1 });
}

#[test]
fn forged_bytes_are_refused_or_are_canonical() {
    // With the digest made to fit, what is accepted must be what compiling writes.
    let good = artifact();
    let content = &good.bytes()[..good.bytes().len() - 32];
    let mut accepted = 0;
    for at in 0..content.len() {
        for change in [0x01, 0x80, 0xFF] {
            let mut forged = content.to_vec();
            forged[at] ^= change;
            let digest = blake3::derive_key("vyre artifact", &forged);
            forged.extend(digest);
            if let Ok(read) = Artifact::from_bytes(&forged) {
                accepted += 1;
                let request = CompileRequest::new(read.program(), &DeviceProfile::reference())
                    .with_options(read.options().clone());
                // But for the profile's digest, which is of an unknown profile.
                let again = compile(&ValidRequest(request));
                assert_eq!(again.bytes()[44..content.len()], forged[44..content.len()]);
            }
        }
    }
    // Every change of the 32 bytes of the profile's digest, at least.
    assert!(accepted >= 96);
}

#[derive(Debug)]
struct Pipeline(Checked<Program>);

impl CompiledPipeline for Pipeline {
    fn program(&self) -> &Checked<Program> {
        &self.0
    }

    fn options(&self) -> Option<&CompileOptions> {
        None
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn pipeline(program: Checked<Program>) -> Arc<dyn CompiledPipeline> {
    Arc::new(Pipeline(program))
}

#[test]
fn a_schedule_uploads_runs_and_reads_what_is_not_resident() {
    let resource = Resource { owner: BackendInstance::next(), generation: 1, slot: 0, len: 8 };
    let x = [1, 2, 3, 4, 5, 6, 7, 8];
    let bindings = BindingSet::new().bytes("x", &x).resident("y", resource).param("a", 2.0f32).label("run");
    let schedule = schedule(&artifact(), &pipeline(saxpy()), &bindings).unwrap();
    let list = schedule.list;
    assert_eq!(list.label(), Some("run"));
    assert_eq!(list.transients(), [8, 8]);
    // The program stores all of `norm`: it is not cleared before.
    let [Command::Upload { to, bytes }, Command::Dispatch(run), Command::Read { from }] = list.commands()
    else {
        panic!("{:?}", list.commands());
    };
    assert_eq!((to.buffer, *bytes), (BufferRef::Transient(0), &x[..]));
    let bound: Vec<_> = run.bindings().iter().map(|binding| (binding.buffer, binding.len)).collect();
    assert_eq!(
        bound,
        [(BufferRef::Transient(0), 8), (BufferRef::Resident(resource), 8), (BufferRef::Transient(1), 8)]
    );
    assert_eq!((from.buffer, from.len), (BufferRef::Transient(1), 8));
    let names: Vec<_> = schedule.reads.iter().map(|&id| saxpy().buffer(id).name.clone()).collect();
    assert_eq!(names, ["norm"]);
}

#[test]
fn bindings_that_do_not_fit_are_named() {
    let (artifact, pipeline) = (artifact(), pipeline(saxpy()));
    let refusal = |bindings: &BindingSet<'_>| schedule(&artifact, &pipeline, bindings).unwrap_err();
    let good = || BindingSet::new().values("x", &[1.0f32]).values("y", &[2.0f32]);
    assert!(schedule(&artifact, &pipeline, &good().param("a", 1.0f32)).is_ok());
    let unknown = refusal(&good().values("z", &[1.0f32]));
    assert!(
        matches!(&unknown, BindingError::UnknownBuffer { name, known } if name == "z" && known.len() == 3)
    );
    assert_eq!(refusal(&good().values("x", &[1.0f32])), BindingError::Twice("x".into()));
    let unbound = BindingError::Unbound { name: "y".into(), element: DataType::F32 };
    assert_eq!(refusal(&BindingSet::new().values("x", &[1.0f32])), unbound);
    let ty = refusal(&BindingSet::new().values("x", &[1u32]));
    assert!(matches!(ty, BindingError::ElementType { needs: DataType::F32, got: DataType::U32, .. }));
    assert_eq!(refusal(&good().values("norm", &[1.0f32])), BindingError::OutputOnly("norm".into()));
    let no_param = refusal(&good());
    assert!(matches!(no_param, BindingError::Launch(LaunchError::MissingParam { .. })));
    let short = BindingSet::new().values("x", &[1.0f32, 2.0]).values("y", &[2.0f32]).param("a", 1.0f32);
    assert!(matches!(refusal(&short), BindingError::Launch(LaunchError::BufferLength { .. })));
    let other = super::tests::pipeline(grouped([8, 1, 1], 8, false));
    assert!(matches!(
        schedule(&artifact, &other, &good().param("a", 1.0f32)),
        Err(BindingError::OtherProgram { .. })
    ));
}
