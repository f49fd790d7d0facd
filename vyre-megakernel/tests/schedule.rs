//! Schedules: what is bound to what, what comes back, and that a run is one list. They run on the reference backend.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here fails the test")]

use std::collections::BTreeMap;

use vyre_driver::{
    BackendInstance, BufferRef, Command, CommandList, ReferenceBackend, Resource, Span, VyreBackend,
};
use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::graph::{GraphBuilder, Inputs, ProgramGraph, SolveError, evaluate};
use vyre_foundation::ir::Program;
use vyre_foundation::machine::MachineOptions;
use vyre_megakernel::{
    Artifact, BindingError, BindingSet, CompileRequest, Facts, Held, Pipelines, Schedule, SearchBudget,
    compile, samples, schedule,
};
use vyre_spec::{DataType, Value, from_bytes, to_bytes};

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

/// `x += by`, in place.
fn add() -> Checked<Program> {
    Kernel::build("add", |k| {
        let by = k.param::<u32>("by");
        let x = k.read_write::<u32>("x");
        k.domain([x.len()], |[i]| x.store(i, x.load(i) + by));
    })
    .unwrap()
}

/// `sum = a + b`.
fn sum() -> Checked<Program> {
    Kernel::build("sum", |k| {
        let a = k.read_only::<u32>("a");
        let b = k.read_only::<u32>("b").with_len(a.len());
        let sum = k.write_only::<u32>("sum", a.len());
        k.domain([a.len()], |[i]| sum.store(i, a.load(i) + b.load(i)));
    })
    .unwrap()
}

struct Device {
    backend: ReferenceBackend,
}

impl Device {
    fn new() -> Self {
        Self { backend: ReferenceBackend::new() }
    }

    fn compile(&self, graph: &ProgramGraph, budget: SearchBudget) -> (Artifact, Pipelines) {
        let request = CompileRequest::graph(graph, self.backend.profile()).with_budget(budget);
        let artifact = compile(&request.validate().unwrap()).unwrap();
        let pipelines = self.pipelines(&artifact);
        (artifact, pipelines)
    }

    fn pipelines(&self, artifact: &Artifact) -> Pipelines {
        let compile = |p| self.backend.compile_checked(p, artifact.options()).unwrap();
        Pipelines::new(artifact, artifact.programs().iter().map(compile).collect()).unwrap()
    }

    fn run(&self, schedule: &Schedule<'_>) -> BTreeMap<String, Vec<u8>> {
        let reads = self.backend.submit(&schedule.list).unwrap().wait(None).unwrap();
        schedule.reads.iter().map(|read| read.name.clone()).zip(reads).collect()
    }

    fn contents(&self, resource: Resource) -> Vec<u8> {
        let mut list = CommandList::new();
        list.read(Span { buffer: BufferRef::Resident(resource), offset: 0, len: resource.len });
        self.backend.submit(&list).unwrap().wait(None).unwrap().remove(0)
    }

    fn filled(&self, values: &[u32]) -> Resource {
        let bytes = to_bytes(values);
        let resource = self.backend.allocate(bytes.len() as u64).unwrap();
        self.backend.upload_resident(&resource, &bytes).unwrap();
        resource
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    from_bytes(bytes).unwrap()
}

/// How many commands are of each kind: uploads, fills, copies, dispatches, reads.
fn kinds(schedule: &Schedule<'_>) -> [usize; 5] {
    let mut kinds = [0; 5];
    for command in schedule.list.commands() {
        kinds[match command {
            Command::Upload { .. } => 0,
            Command::Fill { .. } => 1,
            Command::Copy { .. } => 2,
            Command::Dispatch(_) => 3,
            Command::Read { .. } => 4,
            other => panic!("{other:?}"),
        }] += 1;
    }
    kinds
}

#[test]
fn one_program_uploads_runs_and_reads_what_is_not_resident() {
    let device = Device::new();
    let request = CompileRequest::new(&saxpy(), device.backend.profile()).validate().unwrap();
    let artifact = compile(&request).unwrap();
    let pipelines = device.pipelines(&artifact);
    let resource = Resource { owner: BackendInstance::next(), generation: 1, slot: 0, len: 8 };
    let x = [1, 2, 3, 4, 5, 6, 7, 8];
    let bindings = BindingSet::new().bytes("x", &x).resident("y", resource).param("a", 2.0f32).label("run");
    let schedule = schedule(&artifact, &pipelines, &bindings, &Held::new()).unwrap();
    let list = schedule.list;
    assert_eq!(list.label(), Some("run"));
    assert_eq!(list.transients(), [8, 8]);
    // The program stores all of `norm`: it is not cleared before; `y` is changed in the caller's buffer.
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
    let names: Vec<_> = schedule.reads.iter().map(|read| read.name.as_str()).collect();
    assert_eq!(names, ["norm"]);
}

#[test]
fn a_chain_is_one_list_and_reads_its_output_alone() {
    let device = Device::new();
    let graph = samples::chain(8).unwrap();
    let x: Vec<u8> = to_bytes(&[0.5f32, -3.0, 7.25, 0.0, 1e30]);
    let want = evaluate(&graph, &Inputs::new().value("x", &x), &MachineOptions::default()).unwrap();
    for (budget, kernels) in [(SearchBudget::none(), 8), (SearchBudget::default(), 1)] {
        let (artifact, pipelines) = device.compile(&graph, budget);
        let bindings = BindingSet::new().bytes("x", &x);
        let schedule = schedule(&artifact, &pipelines, &bindings, &Held::new()).unwrap();
        assert_eq!(kinds(&schedule), [1, 0, 0, kernels, 1]);
        assert_eq!(device.run(&schedule).into_values().collect::<Vec<_>>(), want.outputs);
    }
}

#[test]
fn what_is_changed_in_place_stays_for_others() {
    let device = Device::new();
    let g = GraphBuilder::new("places");
    let n = g.dim("n");
    let x = g.input::<u32>("x", [n]);
    let more = g.call(&add(), (5u32, x)).unwrap();
    let most = g.call(&add(), (7u32, more)).unwrap();
    let both = g.call(&sum(), [x, most]).unwrap();
    g.output("more", more);
    g.output("both", both);
    g.output("x_again", x);
    g.output("both_again", both);
    let graph = g.finish().unwrap();
    for budget in [SearchBudget::none(), SearchBudget::default()] {
        let (artifact, pipelines) = device.compile(&graph, budget);
        let host = BindingSet::new().values("x", &[1u32, 2]);
        let want = [("both", [14, 16]), ("both_again", [14, 16]), ("more", [6, 7]), ("x_again", [1, 2])];
        let want: BTreeMap<String, _> =
            want.into_iter().map(|(name, values)| (name.to_owned(), to_bytes(&values))).collect();
        assert_eq!(device.run(&schedule(&artifact, &pipelines, &host, &Held::new()).unwrap()), want);
        // A caller's buffer is left as it was.
        let mine = device.filled(&[1, 2]);
        let resident = BindingSet::new().resident("x", mine);
        assert_eq!(device.run(&schedule(&artifact, &pipelines, &resident, &Held::new()).unwrap()), want);
        assert_eq!(words(&device.contents(mine)), [1, 2]);
    }
}

#[test]
fn residents_take_outputs_where_they_are_or_by_a_copy() {
    let device = Device::new();
    let g = GraphBuilder::new("feedback");
    let n = g.dim("n");
    let (x, y) = (g.input::<u32>("x", [n]), g.input::<u32>("y", [n]));
    let next = g.call(&sum(), [x, y]).unwrap();
    let after = g.call(&sum(), [x, next]).unwrap();
    // The output `x` is computed before the input `x` is read for the last time.
    g.output("x", next);
    g.output("after", after);
    let graph = g.finish().unwrap();
    for budget in [SearchBudget::none(), SearchBudget::default()] {
        let (artifact, pipelines) = device.compile(&graph, budget);
        let (x, after) = (device.filled(&[1, 10]), device.filled(&[0, 0]));
        let y = [3u32, 4];
        let bindings = BindingSet::new().resident("x", x).values("y", &y).resident("after", after);
        for (x_is, after_is) in [([4, 14], [5, 24]), ([7, 18], [11, 32])] {
            let schedule = schedule(&artifact, &pipelines, &bindings, &Held::new()).unwrap();
            assert!(device.run(&schedule).is_empty());
            assert_eq!(words(&device.contents(x)), x_is);
            assert_eq!(words(&device.contents(after)), after_is);
        }
        // By id, the input alone is meant.
        let id = artifact.graph().value_named("x").unwrap();
        let bindings = BindingSet::new().resident(id, x).values("y", &y);
        let outputs = device.run(&schedule(&artifact, &pipelines, &bindings, &Held::new()).unwrap());
        assert_eq!((words(&outputs["x"]), words(&outputs["after"])), (vec![10, 22], vec![17, 40]));
        assert_eq!(words(&device.contents(x)), [7, 18]);

        let short = BindingSet::new().resident("x", x).values("y", &y).resident("after", device.filled(&[0]));
        let refused = schedule(&artifact, &pipelines, &short, &Held::new()).unwrap_err();
        assert_eq!(refused, BindingError::ResidentLength { name: "after".into(), needs: 8, got: 4 });
        let shared = BindingSet::new().resident("x", x).values("y", &y).resident("after", x);
        let refused = schedule(&artifact, &pipelines, &shared, &Held::new()).unwrap_err();
        assert!(matches!(refused, BindingError::SharedOutput { .. }), "{refused}");
    }
}

#[test]
fn residents_change_places_all_at_once() {
    let device = Device::new();
    let g = GraphBuilder::new("exchange");
    let n = g.dim("n");
    let (x, y) = (g.input::<u32>("x", [n]), g.input::<u32>("y", [n]));
    g.output("y", x);
    g.output("x", y);
    g.output("was_x", x);
    g.output("sum", g.call(&sum(), [x, y]).unwrap());
    let graph = g.finish().unwrap();
    let (artifact, pipelines) = device.compile(&graph, SearchBudget::default());
    let (x, y) = (device.filled(&[1, 2]), device.filled(&[3, 4]));
    let bindings = BindingSet::new().resident("x", x).resident("y", y);
    for (x_is, y_is) in [([3, 4], [1, 2]), ([1, 2], [3, 4])] {
        let outputs = device.run(&schedule(&artifact, &pipelines, &bindings, &Held::new()).unwrap());
        assert_eq!((words(&outputs["was_x"]), words(&outputs["sum"])), (y_is.to_vec(), vec![4, 6]));
        assert_eq!((words(&device.contents(x)), words(&device.contents(y))), (x_is.to_vec(), y_is.to_vec()));
    }
}

/// Retains `total`, and two values that change places in every run.
fn retaining() -> ProgramGraph {
    let g = GraphBuilder::new("retaining");
    let n = g.dim("n");
    let x = g.input::<u32>("x", [n]);
    let total = g.retained::<u32>("total", [n]);
    let (a, b) = (g.retained::<u32>("a", [n]), g.retained::<u32>("b", [n]));
    let next = g.call(&add(), (1u32, total)).unwrap();
    let out = g.call(&sum(), [x, next]).unwrap();
    g.update(total, next);
    g.update(a, b);
    g.update(b, a);
    g.output("out", out);
    g.output("a", a);
    g.finish().unwrap()
}

#[test]
fn held_values_are_updated_where_they_are() {
    let device = Device::new();
    let graph = retaining();
    let (artifact, pipelines) = device.compile(&graph, SearchBudget::none());
    let id = |name| graph.value_named(name).unwrap();
    let held = Held::from([
        (id("total"), device.filled(&[0, 0])),
        (id("a"), device.filled(&[1, 2])),
        (id("b"), device.filled(&[3, 4])),
    ]);
    let x = [10u32, 20];
    let bindings = BindingSet::new().values("x", &x);
    for (out, a) in [([11, 21], [1, 2]), ([12, 22], [3, 4]), ([13, 23], [1, 2])] {
        let schedule = schedule(&artifact, &pipelines, &bindings, &held).unwrap();
        // The counter is changed in its own memory. Two values that change places are put aside, both.
        assert_eq!(kinds(&schedule), [1, 0, 4, 2, 2]);
        let outputs = device.run(&schedule);
        assert_eq!((words(&outputs["out"]), words(&outputs["a"])), (out.to_vec(), a.to_vec()));
    }
    assert_eq!(words(&device.contents(held[&id("total")])), [3, 3]);
    // What a run binds replaces what is held; another length than what is held contradicts it.
    let total = [100u32, 200];
    let bound = BindingSet::new().values("x", &x).values("total", &total);
    let outputs = device.run(&schedule(&artifact, &pipelines, &bound, &held).unwrap());
    assert_eq!(words(&outputs["out"]), [111, 221]);
    assert_eq!(words(&device.contents(held[&id("total")])), [101, 201]);
    let other = BindingSet::new().values("x", &[1u32]).values("total", &[1u32]).values("a", &[1u32]);
    let other = other.values("b", &[1u32]);
    let refused = schedule(&artifact, &pipelines, &other, &held).unwrap_err();
    assert!(matches!(refused, BindingError::ResidentLength { needs: 4, got: 8, .. }), "{refused}");
    let longer = BindingSet::new().values("x", &[1u32, 2, 3]);
    let refused = schedule(&artifact, &pipelines, &longer, &held).unwrap_err();
    assert!(matches!(refused, BindingError::Solve(SolveError::Shape { .. })), "{refused}");
}

#[test]
fn without_what_is_held_a_run_is_the_first() {
    let device = Device::new();
    let graph = retaining();
    for budget in [SearchBudget::none(), SearchBudget::default()] {
        let (artifact, pipelines) = device.compile(&graph, budget);
        let x = [10u32, 20];
        let bindings = BindingSet::new().values("x", &x).values("a", &[6u32, 7]);
        for _ in 0..2 {
            let outputs = device.run(&schedule(&artifact, &pipelines, &bindings, &Held::new()).unwrap());
            assert_eq!((words(&outputs["out"]), words(&outputs["a"])), (vec![11, 21], vec![6, 7]));
        }
        // A caller's buffer is retained in place.
        let total = device.filled(&[50, 50]);
        let bindings = BindingSet::new().values("x", &x).resident("total", total);
        for more in [51, 52] {
            let outputs = device.run(&schedule(&artifact, &pipelines, &bindings, &Held::new()).unwrap());
            assert_eq!(words(&outputs["out"]), [10 + more, 20 + more]);
            assert_eq!(words(&device.contents(total)), [more, more]);
        }
    }
}

#[test]
fn one_buffer_of_two_values_is_read_as_it_was_and_never_gets_two() {
    let device = Device::new();
    let graph = retaining();
    for budget in [SearchBudget::none(), SearchBudget::default()] {
        let (artifact, pipelines) = device.compile(&graph, budget);
        // `x` is read after `total`, in the same buffer, has been updated.
        let both = device.filled(&[50, 60]);
        let bindings = BindingSet::new().resident("x", both).resident("total", both);
        let outputs = device.run(&schedule(&artifact, &pipelines, &bindings, &Held::new()).unwrap());
        assert_eq!(words(&outputs["out"]), [50 + 51, 60 + 61]);
        assert_eq!(words(&device.contents(both)), [51, 61]);
        let refused = |bindings: &BindingSet<'_>| {
            schedule(&artifact, &pipelines, bindings, &Held::new()).unwrap_err().to_string()
        };
        let x = BindingSet::new().values("x", &[1u32, 2]);
        let one = x.clone().resident("total", both).resident("out", both);
        assert!(refused(&one).starts_with("`out` and `total` are bound to one resident buffer"));
        let two = x.clone().resident("total", both).resident("b", both);
        assert!(refused(&two).starts_with("`total` and `b` are bound to one resident buffer"));
        // `a` is what the run found, but the buffer is to have what `a` becomes.
        assert!(refused(&x.clone().resident("a", both)).starts_with("`a` and `a` are bound"));
        // What is held is updated there: the buffer is read for it, and gets the output.
        let held = Held::from([(graph.value_named("total").unwrap(), device.filled(&[0, 0]))]);
        let outputs = device.run(&schedule(&artifact, &pipelines, &one, &held).unwrap());
        assert!(!outputs.contains_key("out"));
        assert_eq!(words(&device.contents(both)), [1 + 52, 2 + 62]);
    }
}

#[test]
fn constants_are_uploaded_unless_they_are_held() {
    let device = Device::new();
    let g = GraphBuilder::new("constants");
    let w = g.constant("w", &[5u32, 6]);
    let x = g.input::<u32>("x", [2]);
    let y = g.call(&sum(), [x, w]).unwrap();
    g.output("y", y);
    g.output("w", w);
    let graph = g.finish().unwrap();
    let (artifact, pipelines) = device.compile(&graph, SearchBudget::default());
    let bindings = BindingSet::new().values("x", &[1u32, 1]);
    let fresh = schedule(&artifact, &pipelines, &bindings, &Held::new()).unwrap();
    assert_eq!(kinds(&fresh)[0], 2);
    let held = Held::from([(graph.value_named("w").unwrap(), device.filled(&[5, 6]))]);
    let kept = schedule(&artifact, &pipelines, &bindings, &held).unwrap();
    assert_eq!(kinds(&kept)[0], 1);
    for schedule in [fresh, kept] {
        let outputs = device.run(&schedule);
        assert_eq!((words(&outputs["y"]), words(&outputs["w"])), (vec![6, 7], vec![5, 6]));
    }
}

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
fn degenerate_graphs_run_as_their_text_says() {
    let device = Device::new();
    for budget in [SearchBudget::none(), SearchBudget::default()] {
        // No nodes: the input under two names, no elements of it included.
        let g = GraphBuilder::new("empty");
        let x = g.input::<u32>("x", [g.dim("n")]);
        g.output("x", x);
        g.output("again", x);
        let (artifact, pipelines) = device.compile(&g.finish().unwrap(), budget);
        assert!(artifact.programs().is_empty());
        for want in [vec![], vec![7u32, 8]] {
            let bindings = BindingSet::new().values("x", &want);
            let outputs = device.run(&schedule(&artifact, &pipelines, &bindings, &Held::new()).unwrap());
            assert_eq!((words(&outputs["x"]), words(&outputs["again"])), (want.clone(), want));
        }
        // One value that a kernel reads and changes: it reads the old one, whoever is first.
        let both = Kernel::build("both", |k| {
            let old = k.read_only::<u32>("old");
            let new = k.read_write::<u32>("new").with_len(old.len());
            k.domain([new.len()], |[i]| new.store(i, new.load(i) + old.load(old.len() - 1u32 - i)));
        })
        .unwrap();
        let g = GraphBuilder::new("both");
        let x = g.input::<u32>("x", [g.dim("n")]);
        let one = g.call(&add(), (1u32, x)).unwrap();
        let two = g.call(&both, [one, one]).unwrap();
        let seen = g.retained::<u32>("seen", [2]);
        g.output("two", g.call(&both, [two, two]).unwrap());
        g.output("seen", seen);
        let (artifact, pipelines) = device.compile(&g.finish().unwrap(), budget);
        // 3, 5: 3 + 5, 5 + 3; twice 8.
        for (x, want) in [(vec![], vec![]), (vec![2u32, 4], vec![16u32, 16])] {
            let bindings = BindingSet::new().values("x", &x);
            let outputs = device.run(&schedule(&artifact, &pipelines, &bindings, &Held::new()).unwrap());
            assert_eq!((words(&outputs["two"]), words(&outputs["seen"])), (want, vec![0, 0]));
        }
    }
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
