//! Schedules: what is bound to what, what comes back, and that a run is one list. They run on the reference backend.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here fails the test")]

mod refused;
mod resident;

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
