//! What does not fit is refused by name.

use super::*;

#[test]
fn facts_hold_in_every_run() {
    let device = Device::new();
    let g = GraphBuilder::new("facts");
    let (n, by) = (g.dim("n"), g.param::<u32>("by"));
    let x = g.input::<u32>("x", [n]);
    g.output("y", g.call(&add(), [by, x]).unwrap());
    let graph = g.finish().unwrap();
    let facts = Facts::new().with_dim("n", 2).with_param("by", Value::new(3u32));
    let request = CompileRequest::graph(&graph, device.backend.profile()).with_facts(facts);
    let artifact = compile(&request.validate().unwrap()).unwrap();
    let pipelines = device.pipelines(&artifact);
    let run = |bindings: &BindingSet<'_>| {
        schedule(&artifact, &pipelines, bindings, &Held::new()).map(|s| words(&device.run(&s)["y"]))
    };
    // A fact stands for what is not bound.
    assert_eq!(run(&BindingSet::new().values("x", &[1u32, 2])), Ok(vec![4, 5]));
    assert_eq!(run(&BindingSet::new().values("x", &[1u32, 2]).param("by", 3u32)), Ok(vec![4, 5]));
    let broken = run(&BindingSet::new().values("x", &[1u32, 2, 3])).unwrap_err();
    assert_eq!(broken, BindingError::Fact { name: "n".into(), promised: "2".into(), got: "3".into() });
    let broken = run(&BindingSet::new().values("x", &[1u32, 2]).param("by", 4u32)).unwrap_err();
    assert!(matches!(&broken, BindingError::Fact { name, .. } if name == "by"), "{broken}");
}

#[test]
fn bindings_that_do_not_fit_are_named() {
    let device = Device::new();
    let request = CompileRequest::new(&saxpy(), device.backend.profile()).validate().unwrap();
    let artifact = compile(&request).unwrap();
    let pipelines = device.pipelines(&artifact);
    let refusal =
        |bindings: &BindingSet<'_>| schedule(&artifact, &pipelines, bindings, &Held::new()).unwrap_err();
    let good = || BindingSet::new().values("x", &[1.0f32]).values("y", &[2.0f32]);
    let fine = good().param("a", 1.0f32);
    assert!(schedule(&artifact, &pipelines, &fine, &Held::new()).is_ok());
    let unknown = refusal(&good().values("z", &[1.0f32]));
    assert!(
        matches!(&unknown, BindingError::UnknownValue { key, known } if key == "z" && known.len() == 3),
        "{unknown}"
    );
    assert_eq!(refusal(&good().values("x", &[1.0f32])), BindingError::Twice("x".into()));
    let id = artifact.graph().value_named("x").unwrap();
    assert_eq!(refusal(&good().values(id, &[1.0f32])), BindingError::Twice("x".into()));
    let unbound = BindingError::Unbound { name: "y".into(), element: DataType::F32 };
    assert_eq!(refusal(&BindingSet::new().values("x", &[1.0f32])), unbound);
    let ty = refusal(&BindingSet::new().values("x", &[1u32]));
    assert!(matches!(ty, BindingError::ElementType { needs: DataType::F32, got: DataType::U32, .. }));
    assert_eq!(refusal(&good().values("norm", &[1.0f32])), BindingError::OutputOnly("norm".into()));
    let no_param = refusal(&good());
    assert!(matches!(no_param, BindingError::Solve(SolveError::MissingParam { .. })));
    let other = refusal(&good().param("b", 1.0f32));
    assert!(matches!(other, BindingError::UnknownParam { .. }));
    assert_eq!(refusal(&good().param("a", 1.0f32).param("a", 1.0f32)), BindingError::Twice("a".into()));
    let short = BindingSet::new().values("x", &[1.0f32, 2.0]).values("y", &[2.0f32]).param("a", 1.0f32);
    assert!(matches!(refusal(&short), BindingError::Solve(SolveError::Shape { .. })));
    let pipeline = |program| device.backend.compile_checked(&program, artifact.options()).unwrap();
    let other = Pipelines::new(&artifact, vec![pipeline(add())]).unwrap_err();
    assert!(matches!(other, BindingError::OtherProgram { index: 0, .. }), "{other}");
    let more = Pipelines::new(&artifact, vec![pipeline(saxpy()), pipeline(saxpy())]).unwrap_err();
    assert_eq!(more, BindingError::PipelineCount { needs: 1, got: 2 });
}

#[test]
fn counts_are_for_one_kernel() {
    let device = Device::new();
    let count = Kernel::build("count", |k| {
        let out = k.read_write::<u32>("out");
        k.workgroups([1, 1, 1], [1, 1, 1], |group| {
            out.store(group.id[0], group.id[0] + 1u32);
        });
    })
    .unwrap();
    let artifact =
        compile(&CompileRequest::new(&count, device.backend.profile()).validate().unwrap()).unwrap();
    let pipelines = device.pipelines(&artifact);
    let bindings = BindingSet::new().values("out", &[9u32; 4]).counts([3, 1, 1]);
    let outputs = device.run(&schedule(&artifact, &pipelines, &bindings, &Held::new()).unwrap());
    assert_eq!(words(&outputs["out"]), [1, 2, 3, 9]);
    let (artifact, pipelines) = device.compile(&samples::chain(2).unwrap(), SearchBudget::none());
    let bindings = BindingSet::new().values("x", &[1.0f32]).counts([1, 1, 1]);
    let refused = schedule(&artifact, &pipelines, &bindings, &Held::new()).unwrap_err();
    assert_eq!(refused, BindingError::Counts { kernels: 2 });
    let g = GraphBuilder::new("nothing_to_run");
    let x = g.input::<f32>("x", [1]);
    g.output("y", x);
    let (artifact, pipelines) = device.compile(&g.finish().unwrap(), SearchBudget::none());
    let refused = schedule(&artifact, &pipelines, &bindings, &Held::new()).unwrap_err();
    assert_eq!(refused, BindingError::Counts { kernels: 0 });
}

#[test]
fn dimensions_that_overflow_or_are_zero_are_errors_of_the_run() {
    let device = Device::new();
    let g = GraphBuilder::new("sizes");
    let (n, m) = (g.dim("n"), g.dim("m"));
    let x = g.input::<u32>("x", [n]);
    let wide = g.retained::<u32>("wide", [m * m]);
    let split = g.input::<u32>("split", [n.ceil_div(m)]);
    g.output("y", g.call(&add(), (1u32, x)).unwrap());
    g.output("wide", wide);
    g.output("split", split);
    let (artifact, pipelines) = device.compile(&g.finish().unwrap(), SearchBudget::default());
    let run = |m: u64, split: &[u32]| {
        let bindings = BindingSet::new().values("x", &[1u32, 2, 3]).values("split", split).dim("m", m);
        schedule(&artifact, &pipelines, &bindings, &Held::new()).map(|s| words(&device.run(&s)["y"]))
    };
    assert_eq!(run(2, &[0, 0]), Ok(vec![2, 3, 4]));
    // 3 / 0 is nothing, (2^33)² is above 2^64, and (2^16)² above the 2^32 - 1 elements of a value.
    let fails = |m: u64, split: &[u32]| match run(m, split) {
        Err(BindingError::Solve(error)) => error,
        other => panic!("{other:?}"),
    };
    assert!(matches!(fails(0, &[]), SolveError::Arithmetic { .. }));
    assert!(matches!(fails(1 << 33, &[0]), SolveError::Arithmetic { .. }));
    assert!(matches!(fails(1 << 16, &[0]), SolveError::TooLarge { value: 0x1_0000_0000, .. }));
}
